# Cargo does the work; this installs what tests and benchmarks need besides Rust.
.PHONY: build test bench doc install-deps

build:
	cargo build --release --locked

test: install-deps
	cargo test --release --locked

bench:
	@.ci/install-deps bench
	cargo bench --locked

doc:
	RUSTDOCFLAGS="-D warnings" cargo doc --release --locked --no-deps

install-deps:
	@.ci/install-deps
