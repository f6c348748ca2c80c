//! The limits of control groups, version 1 or 2: for each resource, the smallest of the process's group and all groups above.
use super::files::SystemFiles;

#[derive(Debug, Default, PartialEq)]
pub struct Limits {
    /// Processor time, in hardware threads.
    pub cpu_quota: Option<f64>,
    pub memory_bytes: Option<u64>,
    /// Hardware threads that the process's own group allows.
    pub cpus: Option<Vec<usize>>,
}

/// The folders begin with the group itself and end at the visible root.
struct Group {
    /// For version 1; empty for version 2.
    controllers: Vec<String>,
    folders: Vec<String>,
}

impl Limits {
    pub fn read(system: &dyn SystemFiles) -> Self {
        let mut limits = Self::default();
        for group in groups(system) {
            let controls = |name: &str| group.controllers.iter().any(|other| other == name);
            let is_v2 = group.controllers.is_empty();
            for folder in &group.folders {
                if is_v2 || controls("memory") {
                    limits.restrict_memory(memory(system, folder, is_v2));
                }
                if is_v2 || controls("cpu") {
                    limits.restrict_quota(quota(system, folder, is_v2));
                }
            }
            if let (true, Some(own_folder)) = (is_v2 || controls("cpuset"), group.folders.first()) {
                let names = ["cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus"];
                let set = names.iter().find_map(|name| system.read_list(&format!("{own_folder}/{name}")));
                limits.cpus = set.filter(|set| !set.is_empty()).or(limits.cpus);
            }
        }
        limits
    }

    fn restrict_memory(&mut self, bytes: Option<u64>) {
        self.memory_bytes = [self.memory_bytes, bytes].into_iter().flatten().min();
    }

    fn restrict_quota(&mut self, quota: Option<f64>) {
        self.cpu_quota = [self.cpu_quota, quota].into_iter().flatten().reduce(f64::min);
    }
}

fn memory(system: &dyn SystemFiles, folder: &str, is_v2: bool) -> Option<u64> {
    /// Without a limit, version 1 reports a number a little less than 2^63.
    const NO_LIMIT: u64 = 1 << 62;
    let name = if is_v2 { "memory.max" } else { "memory.limit_in_bytes" };
    system.read_number(&format!("{folder}/{name}")).filter(|&bytes| bytes < NO_LIMIT)
}

fn quota(system: &dyn SystemFiles, folder: &str, is_v2: bool) -> Option<f64> {
    // Without a limit, the quota is `max` or -1.
    let (quota, period): (f64, f64) = if is_v2 {
        let text = system.text(&format!("{folder}/cpu.max"))?;
        let (quota, period) = text.split_once(' ')?;
        (quota.parse().ok()?, period.parse().ok()?)
    } else {
        let read_time = |name: &str| system.read_number(&format!("{folder}/cpu.cfs_{name}_us"));
        (read_time("quota")?, read_time("period")?)
    };
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

fn groups(system: &dyn SystemFiles) -> Vec<Group> {
    let mounts = mounts(system);
    let text = system.text("proc/self/cgroup").unwrap_or_default();
    let group = |line: &str| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        let controllers: Vec<String> =
            controllers.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
        let is_hierarchy = |mount: &&Mount| match controllers.first() {
            None => mount.is_v2,
            Some(name) => !mount.is_v2 && mount.options.iter().any(|option| option == name),
        };
        // A container may see only its own part of the tree. With another mount, it may also see more.
        let contains_path = |mount: &&Mount| relative_path(path, &mount.root).is_some();
        let mount = mounts.iter().filter(is_hierarchy).find(contains_path).or(mounts.iter().find(is_hierarchy))?;
        let mut folders = vec![mount.point.clone()];
        for part in relative_path(path, &mount.root).unwrap_or_default().split('/').filter(|part| !part.is_empty()) {
            folders.push(format!("{}/{part}", folders.last().expect("the mount point")));
        }
        folders.reverse();
        Some(Group { controllers, folders })
    };
    text.lines().filter_map(group).collect()
}

fn relative_path<'a>(path: &'a str, folder: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(folder.trim_end_matches('/'))?;
    ((rest.is_empty() || rest.starts_with('/')) && !path.split('/').any(|part| part == "..")).then_some(rest)
}

struct Mount {
    is_v2: bool,
    /// The group that is visible at the mount point.
    root: String,
    point: String,
    options: Vec<String>,
}

fn mounts(system: &dyn SystemFiles) -> Vec<Mount> {
    let text = system.text("proc/self/mountinfo").unwrap_or_default();
    let mount = |line: &str| {
        let (fields, fields_after) = line.split_once(" - ")?;
        let (mut before, mut after) = (fields.split(' ').skip(3), fields_after.split(' '));
        let second = match after.next()? {
            "cgroup2" => true,
            "cgroup" => false,
            _ => return None,
        };
        Some(Mount {
            is_v2: second,
            root: before.next()?.to_owned(),
            point: before.next()?.to_owned(),
            options: after.nth(1)?.split(',').map(str::to_owned).collect(),
        })
    };
    text.lines().filter_map(mount).collect()
}

/// Kills because memory ran out, of this machine plus those of this process's control groups; `None` if the system has no count.
pub fn memory_kills(system: &dyn SystemFiles) -> Option<u64> {
    let count = |file: &str| {
        let text = system.text(file)?;
        text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse::<u64>().ok())
    };
    let files_of_group = |group: Group| {
        let is_v2 = group.controllers.is_empty();
        let memory = is_v2 || group.controllers.iter().any(|name| name == "memory");
        let name = if is_v2 { "memory.events" } else { "memory.oom_control" };
        let folders: Vec<String> = if memory { group.folders } else { Vec::new() };
        folders.into_iter().map(move |folder| format!("{folder}/{name}"))
    };
    let files = groups(system).into_iter().flat_map(files_of_group).chain(["proc/vmstat".to_owned()]);
    files.filter_map(|file| count(&file)).reduce(u64::saturating_add)
}

/// The file with the time for which a limit of processor time stopped the process's control group.
#[derive(Clone, Debug, PartialEq)]
pub struct Throttling {
    file: String,
    is_v2: bool,
}

impl Throttling {
    /// `None` if the system does not record this time.
    pub fn find(system: &dyn SystemFiles) -> Option<Self> {
        let statistics_of_group = |group: Group| {
            let is_v2 = group.controllers.is_empty();
            let cpu = is_v2 || group.controllers.iter().any(|name| name == "cpu");
            let throttling = Self { file: format!("{}/cpu.stat", group.folders.first()?), is_v2 };
            (cpu && throttling.seconds(system).is_some()).then_some(throttling)
        };
        groups(system).into_iter().find_map(statistics_of_group)
    }

    pub fn seconds(&self, system: &dyn SystemFiles) -> Option<f64> {
        let text = system.text(&self.file)?;
        let (name, per_second) = if self.is_v2 { ("throttled_usec", 1e6) } else { ("throttled_time", 1e9) };
        let number = text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<f64>().ok())?;
        Some(number / per_second)
    }
}
