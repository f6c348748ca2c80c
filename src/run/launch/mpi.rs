//! MPI libraries: which one a worker or a launcher belongs to, and which launchers start which workers.

use std::fmt;

/// Libraries that start ranks alike. Those of the MPICH family share their binary interface (<https://www.mpich.org/abi/>).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    OpenMpi,
    Mpich,
}

impl Family {
    /// The family whose programs a launcher starts; `None` for launchers of several.
    pub fn of_launcher(id: &str) -> Option<Self> {
        match id {
            "openmpi" => Some(Self::OpenMpi),
            "mpich" => Some(Self::Mpich),
            _ => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mpi {
    pub family: Family,
    /// The name in its description: `Intel MPI`.
    name: &'static str,
    /// The version: `4.1.4`; empty if not recognised.
    version: String,
}

/// Words in MPI_Get_library_version and `mpirun --version`, the most specific first: `CRAY MPICH` contains `MPICH`.
const NAMES: [(&str, &str, Family); 8] = [
    ("Open MPI", "Open MPI", Family::OpenMpi),
    ("OpenRTE", "Open MPI", Family::OpenMpi),
    ("Open RTE", "Open MPI", Family::OpenMpi),
    ("Intel(R) MPI", "Intel MPI", Family::Mpich),
    ("CRAY MPICH", "Cray MPICH", Family::Mpich),
    ("MVAPICH", "MVAPICH", Family::Mpich),
    ("MPICH", "MPICH", Family::Mpich),
    ("HYDRA build details", "MPICH's Hydra", Family::Mpich),
];

/// The name and the version in a library's or a program's description of itself, which may have further parts.
pub fn short_name(description: &str) -> &str {
    description.split(['\n', ',']).next().unwrap_or_default().trim()
}

impl Mpi {
    pub fn parse(description: &str) -> Option<Self> {
        let (position, (word, name, family)) =
            NAMES.into_iter().find_map(|entry| Some((description.find(entry.0)?, entry)))?;
        let is_version = |word: &&str| {
            let mut parts = word.split('.');
            parts.by_ref().take(2).filter(|part| part.starts_with(|c: char| c.is_ascii_digit())).count() == 2
        };
        let words = description[position + word.len()..].split(|c: char| c.is_whitespace() || "(),".contains(c));
        let version = words.map(|word| word.trim_start_matches('v')).find(is_version).unwrap_or_default().to_owned();
        Some(Self { family, name, version })
    }

    /// Whether this launcher starts a program of this library. Launchers of Open MPI start only those of their major version.
    pub fn starts(&self, library: &Self) -> bool {
        let major = |mpi: &Self| mpi.version.split('.').next().map(str::to_owned).filter(|major| !major.is_empty());
        let has_equal_major = || major(self).zip(major(library)).is_none_or(|(own, other)| own == other);
        self.family == library.family && (self.family == Family::Mpich || has_equal_major())
    }
}

impl fmt::Display for Mpi {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} {}", self.name, self.version)
    }
}
