use crate::hardware::{FilesBelow, SystemFiles};
use std::path::{Path, PathBuf};

/// For an energy value, because the counters advance only once per millisecond.
pub const MIN_SECONDS: f64 = 0.01;
const FOLDER: &str = "sys/class/powercap";

/// All processor packages (powercap), combined into one counter that does not wrap.
pub struct Energy {
    root: PathBuf,
    packages: Vec<Package>,
}

struct Package {
    file: String,
    /// The value at which the counter wraps, in microjoules.
    range: u64,
    last_reading: u64,
    total: u64,
}

impl Energy {
    /// `None` if the system has no counters, or if this user may not read them.
    pub fn open(root: &Path) -> Option<Self> {
        let system: &dyn SystemFiles = &FilesBelow(root);
        let mut names = system.names(FOLDER);
        names.sort();
        let package = |name: String| {
            let number = |file: &str| system.text(&format!("{FOLDER}/{name}/{file}"))?.parse().ok();
            let kind = system.text(&format!("{FOLDER}/{name}/name"))?;
            let last_reading = number("energy_uj").filter(|_| kind.starts_with("package"))?;
            let range = number("max_energy_range_uj")?;
            Some(Package { file: format!("{FOLDER}/{name}/energy_uj"), range, last_reading, total: 0 })
        };
        let packages: Vec<Package> = names.into_iter().filter_map(package).collect();
        (!packages.is_empty()).then(|| Self { root: root.to_owned(), packages })
    }

    /// Since the counters were opened. If a counter wrapped more than once since the last call, the result is too small.
    pub fn joules(&mut self) -> Option<f64> {
        let system: &dyn SystemFiles = &FilesBelow(&self.root);
        for package in &mut self.packages {
            let reading: u64 = system.text(&package.file)?.parse().ok()?;
            package.total += match reading.checked_sub(package.last_reading) {
                Some(difference) => difference,
                None => package.range.saturating_sub(package.last_reading) + reading,
            };
            package.last_reading = reading;
        }
        Some(self.packages.iter().map(|package| package.total).sum::<u64>() as f64 / 1e6)
    }
}
