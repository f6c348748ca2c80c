# Cargo does the work; this installs what tests and benchmarks need besides Rust.
.PHONY: build test bench install-deps

build:
	cargo build --release --locked

test: install-deps
	cargo test --release --locked

bench:
	@.ci/install-deps bench
	cargo bench --locked

install-deps:
	@.ci/install-deps
