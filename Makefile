# Cargo does the work. This file installs the dependencies of tests and benchmarks apart from Rust.
SHELL := .ci/timed
.PHONY: build check processors test faults loom miri bench papers fuzz dist release doc install-deps

build:
	cargo build --release --locked

# Checks in addition to the tests. They need only Rust, and include the MPI code if an MPI is installed.
check:
	cargo fmt --check
	.ci/prose
	@command -v mpicc >/dev/null || echo "skipped: clippy of the MPI code: mpicc is missing; make install-deps installs it"
	cargo clippy --release --locked --workspace --all-targets \
	    --features polars$$(command -v mpicc >/dev/null && echo ,mpi) -- -D warnings
	@$(MAKE) --no-print-directory processors
	@$(MAKE) --no-print-directory doc
	@.ci/check-package

# The worker for other processors, and the driver for ARM, with the features of a plain build and without linking: `true` stands for their
# C compilers, which nothing needs before the linker. corosensei, the coroutines of simulated ranks, names a feature for POWER that Rust 1.95 has without it. The variable
# lets it, in a folder of its own, because build scripts run again when it changes.
ARM = aarch64-unknown-linux-gnu
POWER = powerpc64le-unknown-linux-gnu
CHECK = RUSTFLAGS="-D warnings" cargo check --release --locked --bins
processors:
	rustup target add $(ARM) riscv64gc-unknown-linux-gnu $(POWER)
	CC_$(subst -,_,$(ARM))=true AR_$(subst -,_,$(ARM))=true $(CHECK) -p apexmap -p apexmap-measure --target $(ARM)
	$(CHECK) -p apexmap-measure --target riscv64gc-unknown-linux-gnu
	RUSTC_BOOTSTRAP=corosensei $(CHECK) -p apexmap-measure --target $(POWER) --target-dir target/power

# All tests, with none skipped. More tests than processors run at a time, because many wait for launchers, jobs and limits. nextest
# also knows which tests exclude each other (.config/nextest.toml), so that none holds a place while it waits for another.
THREADS := $$(($$(nproc) * 2))
TEST = APEXMAP_REQUIRE_ALL=1 cargo test --release --locked --features polars
test: install-deps
	@if cargo nextest --version >/dev/null 2>&1; then \
	    APEXMAP_REQUIRE_ALL=1 cargo nextest run --release --locked --features polars --test-threads $(THREADS) && \
	    $(TEST) --doc; \
	else RUST_TEST_THREADS=$(THREADS) $(TEST); fi
	$(TEST) --test tests -- --ignored licences:: pip_installs
	@$(MAKE) --no-print-directory loom

# Misbehaving launchers, and each fault a hundred times (15 minutes): a table of tries, losses, orphans and hangs
# (docs/appendix/faults.md).
faults:
	cargo test --release --locked -- launchers::
	cargo test --release --locked -- --ignored --nocapture --test-threads 1 each_fault_

# The synchronisation of the threads transport in all possible orders of its threads.
loom:
	cargo test --release --locked --manifest-path tests/loom/Cargo.toml --target-dir target/loom

# The unsafe loops that miri can interpret, with both kinds of vectors; needs `rustup component add miri --toolchain nightly`.
miri:
	PROPTEST_CASES=3 MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-permissive-provenance" \
	    RUSTFLAGS="-Ctarget-feature=+avx2,+avx512f" cargo +nightly miri test --locked --target-dir target/miri --test tests -- \
	    gf2:: the_timed_sum_is_the_plain_sum a_block_beyond_memory_panics_instead

bench:
	@.ci/install-deps bench
	cargo bench --locked
	cargo test --release --locked -- --ignored nothing_

# The papers' experiments on simulated machines, two at a time (about 11 minutes on two cores). Resumes an interrupted run. The page is
# papers/papers.html.
papers: build
	cargo build --release --locked --example papers
	ls examples/papers/*.toml | xargs -P 2 -I FILE sh -c \
	    'target/release/apexmap run FILE --no-report --out results/papers/$$(basename FILE .toml)'
	target/release/examples/papers results/papers papers

# Fuzzes the readers of files, flags and lines for a minute each; `FUZZ_SECONDS=600 make fuzz` runs longer. Builds the
# dependencies again first.
fuzz:
	@.ci/fuzz

# A tarball in target/dist that builds offline; the worker builds without libclang too.
dist:
	@.ci/dist

# The files of a release in target/files: one that any Linux starts, for x86-64 and 64-bit ARM.
release:
	@.ci/release

doc:
	RUSTDOCFLAGS="-D warnings" cargo doc --release --locked --no-deps
	RUSTDOCFLAGS="-D warnings -A rustdoc::private-intra-doc-links" cargo doc --release --locked --no-deps --workspace --document-private-items

install-deps:
	@.ci/install-deps
