# Cargo does the work; this installs what tests and benchmarks need besides Rust.
.PHONY: build check test faults loom bench fuzz dist static doc install-deps

build:
	cargo build --release --locked

# What a change must not break besides the tests; needs Rust alone, and looks at the MPI code where there is an MPI.
check:
	cargo fmt --check
	cargo clippy --release --locked --workspace --all-targets -- -D warnings
	cargo clippy --release --locked --features polars --example frames -- -D warnings
	cargo clippy --release --locked -p apexmap-measure -- -D warnings
	@if command -v mpicc >/dev/null; then set -x; \
	    cargo clippy --release --locked -p apexmap-measure --features mpi --all-targets -- -D warnings; \
	else echo "skipped: clippy of the MPI code: mpicc is missing; make install-deps installs it"; fi
	@$(MAKE) --no-print-directory doc
	@.ci/check-package
	cargo test --release --locked -- --ignored licences::

# Everything, with nothing skipped.
test: install-deps
	APEXMAP_REQUIRE_ALL=1 cargo test --release --locked
	cargo test --locked -p apexmap-results --features polars
	@$(MAKE) --no-print-directory loom

# Launchers that misbehave, and each fault a hundred times, which takes a quarter of an hour: a table of tries, losses, orphans and hangs (docs/faults.md).
faults:
	cargo test --release --locked -- launchers::
	cargo test --release --locked -- --ignored --nocapture --test-threads 1 each_fault_

# The synchronisation of the threads transport, in all orders that its threads may run in.
loom:
	cargo test --release --locked --manifest-path tests/loom/Cargo.toml --target-dir target/loom

bench:
	@.ci/install-deps bench
	cargo bench --locked
	cargo test --release --locked -- --ignored nothing_

# Readers of files, flags and lines, a minute each: `FUZZ_SECONDS=600 make fuzz` looks longer. Builds dependencies anew, first.
fuzz:
	@.ci/fuzz

# A tarball that builds without a network, the worker also without libclang: target/dist.
dist:
	@.ci/dist

# The driver as one file that needs no C library of its machine: target/static.
static:
	@.ci/static

doc:
	RUSTDOCFLAGS="-D warnings" cargo doc --release --locked --no-deps
	RUSTDOCFLAGS="-D warnings -A rustdoc::private-intra-doc-links" cargo doc --release --locked --no-deps --workspace --document-private-items

install-deps:
	@.ci/install-deps
