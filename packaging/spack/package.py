# SPDX-License-Identifier: (Apache-2.0 OR MIT)

# `make dist` writes this file with the checksum of its tarball into target/dist/spack:
#   spack repo create ~/recipes recipes && spack repo add ~/recipes/spack_repo/recipes
#   mkdir ~/recipes/spack_repo/recipes/packages/apexmap
#   cp target/dist/spack/package.py ~/recipes/spack_repo/recipes/packages/apexmap
#   cd target/dist && spack install apexmap ^openmpi

import os

from spack_repo.builtin.build_systems.cargo import CargoPackage

from spack.package import *


class Apexmap(CargoPackage):
    """Measures how fast the memory and network of a machine deliver data, and draws maps of the rate over locality.

    Spack looks for the tarball of `make dist` in the current directory, or in a mirror. It has the sources of all crates."""

    manual_download = True
    url = f"file://{os.getcwd()}/apexmap-0.2.0.tar.gz"

    license("(MIT OR Apache-2.0) AND ISC")

    version("0.2.0", sha256="@SHA256@")

    variant("mpi", default=True, description="Build apexmap-worker for this MPI")
    variant(
        "libclang",
        default=False,
        when="+mpi",
        description="Read the header of an MPI for which the tarball has no bindings",
    )

    depends_on("c", type="build")
    depends_on("rust@1.94:", type="build")
    depends_on("mpi", when="+mpi")
    depends_on("llvm+clang", type="build", when="+libclang")

    def setup_build_environment(self, env: EnvironmentModifications) -> None:
        if self.spec.satisfies("+mpi"):
            env.set("MPICC", self.spec["mpi"].mpicc)
        if self.spec.satisfies("+libclang"):
            env.set("LIBCLANG_PATH", self.spec["llvm"].prefix.lib)

    # The driver. `check` runs the repository's tests, without those that need more than Rust.
    build_args = ["--locked", "--offline"]
    check_args = ["--locked", "--offline", "--release"]

    @run_after("build")
    def build_worker(self):
        if self.spec.satisfies("+mpi"):
            with working_dir(self.stage.source_path):
                options = ["-j", str(make_jobs), "--features", "mpi", *self.build_args]
                cargo("install", "--root", "out", "--path", "src/measure", *options)
