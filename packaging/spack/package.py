# Installs the driver, apexmap, into bin, and with +mpi also the worker, apexmap-worker. Not yet tested on a cluster.
# Copy this folder into a repository of recipes as packages/apexmap, or try it with
#   spack repo create myrepo; cp -r packaging/spack myrepo/packages/apexmap; spack repo add myrepo; spack install apexmap
# `spack install apexmap +mpi ^openmpi` builds the worker for Open MPI.

from spack.package import *


class Apexmap(CargoPackage):
    """Measures how fast the memory and network of a machine deliver data, and draws maps of the rate over locality."""

    # The tarball of `make dist` contains all crates, so the build needs no network.
    url = "file:///path/to/apexmap-0.2.0.tar.gz"

    license("(MIT OR Apache-2.0) AND ISC")

    version("0.2.0")

    variant("mpi", default=True, description="Build the worker for this MPI")

    depends_on("rust@1.95:", type="build")
    depends_on("c", type="build")
    depends_on("mpi", when="+mpi")
    depends_on("llvm+clang", type="build", when="+mpi")

    def setup_build_environment(self, env):
        if self.spec.satisfies("+mpi"):
            env.set("MPICC", self.spec["mpi"].mpicc)
            env.set("LIBCLANG_PATH", self.spec["llvm"].prefix.lib)

    def build(self, spec, prefix):
        cargo = which("cargo")
        cargo("build", "--release", "--locked", "--offline")
        if spec.satisfies("+mpi"):
            cargo(
                "build", "--release", "--locked", "--offline", "--package", "apexmap-measure", "--features", "mpi",
            )

    def install(self, spec, prefix):
        mkdirp(prefix.bin)
        install("target/release/apexmap", prefix.bin)
        if spec.satisfies("+mpi"):
            install("target/release/apexmap-worker", prefix.bin)
