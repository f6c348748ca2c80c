# Cargo does the work; this installs what the tests need besides Rust.
.PHONY: build test bench install-deps

build:
	cargo build --release --locked

test: install-deps
	cargo test --release --locked

bench:
	cargo bench --locked

install-deps:
	@.ci/install-deps
