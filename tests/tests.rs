mod launch;
mod mpi;
