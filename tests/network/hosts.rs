//! Simulated hosts: namespaces with a network device each, joined by a switch.

use super::switch::{MTU, Setting, Switch, mac};
use crate::common::Scratch;
use nix::libc;
use nix::sched::{CloneFlags, setns};
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Admits one network at a time, because the hosts share the machine's processors.
static NETWORK_LOCK: Mutex<()> = Mutex::new(());

/// Hosts `h1`, `h2` and so on, each with one processor of this machine. Dropping the value stops them.
pub struct Network {
    pub scratch: Scratch,
    pub switch: Switch,
    hosts: Vec<Host>,
    _alone: MutexGuard<'static, ()>,
}

struct Host {
    name: String,
    /// Parent of all processes of the host; they end with it.
    keeper: Child,
    /// Id of the host's first process, in this machine's namespace.
    pid: u32,
    /// Control group that restricts the host to one processor.
    group: PathBuf,
}

impl Network {
    pub fn start(hosts: usize, setting: Setting) -> Self {
        let alone = NETWORK_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
        let scratch = Scratch::new();
        let names: String = (0..hosts).map(|index| format!("{} h{}\n", address(index), index + 1)).collect();
        fs::write(scratch.join("hosts"), format!("127.0.0.1 localhost\n{names}")).expect("a file");
        fs::create_dir(scratch.join("sys")).expect("a folder");
        let hosts: Vec<Host> = (0..hosts).map(|index| Host::start(index, &scratch)).collect();
        let ports = hosts.iter().enumerate().map(|(index, host)| host.connect(index)).collect();
        let network = Self { switch: Switch::start(ports, setting), scratch, hosts, _alone: alone };
        network.write_agent();
        network
    }

    /// Returns the names of all hosts: `h1,h2`.
    pub fn names(&self) -> String {
        self.hosts.iter().map(|host| host.name.as_str()).collect::<Vec<_>>().join(",")
    }

    /// Returns the path of a host's network namespace, for [`on_host`].
    pub fn namespace_of(&self, index: usize) -> PathBuf {
        PathBuf::from(format!("/proc/{}/ns/net", self.hosts[index].pid))
    }

    /// Writes a replacement for ssh, which starts a process in all namespaces of a host.
    ///
    /// The first argument that is not an option is the host; the rest is for its shell.
    fn write_agent(&self) {
        let mut text = String::from("#!/bin/sh\nwhile :; do case \"$1\" in -*) shift;; *) break;; esac; done\n");
        text += "host=$1; shift\ncase $host in\n";
        for Host { name, pid, group, .. } in &self.hosts {
            text += &format!("{name}) pid={pid} group={};;\n", group.display());
        }
        text += "*) echo \"there is no host $host\" >&2; exit 1;;\nesac\n";
        text += "echo $$ > \"$group/cgroup.procs\" || exit 1\n";
        text += "exec nsenter --target $pid --mount --uts --ipc --net --pid -- sh -c \"$*\"\n";
        write_program(&self.agent(), &text);
        // A process in the process namespace of one host cannot start processes in another's, so launchers stay outside
        // of it.
        let Host { pid, group, .. } = &self.hosts[0];
        let text = format!(
            "#!/bin/sh\necho $$ > {}/cgroup.procs || exit 1\n\
             exec nsenter --target {pid} --uts --ipc --net -- unshare --mount -- sh -c '{} && exec \"$0\" \"$@\"' \"$@\"\n",
            group.display(),
            mount_commands(&self.scratch)
        );
        write_program(&self.scratch.join("on-first"), &text);
    }

    fn agent(&self) -> PathBuf {
        self.scratch.join("agent")
    }

    /// Returns a command on the first host, with the settings that launchers need to start processes on all hosts.
    pub fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.scratch.join("on-first"));
        command.arg(program).args(arguments).stdin(Stdio::null()).current_dir(&*self.scratch);
        command.env("OMPI_MCA_plm_rsh_agent", self.agent()).env("HYDRA_LAUNCHER_EXEC", self.agent());
        // Prevents launchers from using an allocation on this machine, of Slurm or another system.
        command.env("HYDRA_LAUNCHER", "ssh").env("OMPI_MCA_plm", "rsh");
        command.env("OMPI_MCA_btl", "self,tcp").env("OMPI_MCA_pml", "ob1");
        // Hosts share processors, so ranks that wait must yield.
        command.env("OMPI_MCA_mpi_yield_when_idle", "1");
        command
    }
}

fn write_program(path: &Path, text: &str) {
    fs::write(path, text).expect("a file");
    fs::set_permissions(path, PermissionsExt::from_mode(0o755)).expect("permissions");
}

fn address(index: usize) -> String {
    format!("10.77.0.{}", index + 1)
}

/// Returns shell commands that give a host its own files: the names of all hosts, and its network devices in /sys,
/// where UCX looks.
fn mount_commands(scratch: &Path) -> String {
    let [hosts, sys] = ["hosts", "sys"].map(|name| scratch.join(name).display().to_string());
    let bind = |folder: &str| format!("mount --bind {sys}/{folder} /sys/{folder}");
    let [devices, classes] = ["devices/virtual/net", "class/net"].map(bind);
    format!("mount --bind {hosts} /etc/hosts && mount -t sysfs sys {sys} && {devices} && {classes}")
}

impl Host {
    fn start(index: usize, scratch: &Scratch) -> Self {
        let name = format!("h{}", index + 1);
        let script = format!(
            "echo {name} > /proc/sys/kernel/hostname && {} && mount -t tmpfs none /dev/shm \
             && ip link set lo up && echo ready && exec sleep infinity",
            mount_commands(scratch)
        );
        let mut command = Command::new("unshare");
        command.args(["--mount", "--uts", "--ipc", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]);
        command.args(["sh", "-c", &script]).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut keeper = command.spawn().expect("unshare");
        let mut line = String::new();
        let output = keeper.stdout.take().expect("its output");
        BufReader::new(output).read_line(&mut line).expect("a line");
        assert_eq!(line, "ready\n", "host {name} did not start");
        let children = format!("/proc/{0}/task/{0}/children", keeper.id());
        let children = fs::read_to_string(children).expect("the children of unshare");
        let pid = children.trim().parse().expect("one child");
        let processors = std::thread::available_parallelism().map_or(1, |number| number.get());
        let group = create_cpu_group(&format!("apexmap-{}-{name}", std::process::id()), index % processors)
            .expect("a control group with its own processor");
        Self { name, keeper, pid, group }
    }

    /// Returns the other end of the host's network device.
    fn connect(&self, index: usize) -> File {
        let space = PathBuf::from(format!("/proc/{}/ns/net", self.pid));
        let device = on_host(&space, || tap("tap0")).expect("a TAP device");
        let mac = mac(index).map(|byte| format!("{byte:02x}")).join(":");
        let script =
            format!("ip link set tap0 address {mac} mtu {MTU} up && ip address add {}/24 dev tap0", address(index));
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.pid.to_string(), "--net", "--", "sh", "-c", &script]);
        assert!(command.status().expect("nsenter").success(), "the device of {} cannot be set up", self.name);
        device
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.keeper.kill();
        let _ = self.keeper.wait();
        // Processes that are ending still count for a moment.
        for _ in 0..100 {
            if fs::remove_dir(&self.group).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

/// Calls a function in the network of a host. A separate thread enters the namespace, so no other code is affected.
pub fn on_host<T: Send>(space: &Path, action: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let space = File::open(space).expect("the host's network");
            setns(space, CloneFlags::CLONE_NEWNET).expect("a way into the host's network");
            action()
        });
        thread.join().expect("the action does not panic")
    })
}

/// Opens a TAP device with this name in the network of this thread.
fn tap(name: &str) -> std::io::Result<File> {
    let file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open("/dev/net/tun")?;
    // SAFETY: all zero is an empty request.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_TAP | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: the call takes a request with a device's name and flags.
    match unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &request) } {
        0 => Ok(file),
        _ => Err(std::io::Error::last_os_error()),
    }
}

/// Creates a control group that restricts its members to one processor. Launchers bind the first rank of a host to the
/// host's first processor, which would be the same one for all hosts.
pub fn create_cpu_group(name: &str, processor: usize) -> std::io::Result<PathBuf> {
    let (first, second) = (Path::new("/sys/fs/cgroup/cpuset"), Path::new("/sys/fs/cgroup"));
    let root = if first.join("cpuset.mems").is_file() {
        first
    } else {
        fs::write(second.join("cgroup.subtree_control"), "+cpuset")?;
        second
    };
    let group = root.join(name);
    fs::create_dir_all(&group)?;
    let memory =
        ["cpuset.mems", "cpuset.mems.effective"].iter().find_map(|name| fs::read_to_string(root.join(name)).ok());
    fs::write(group.join("cpuset.cpus"), processor.to_string())?;
    fs::write(group.join("cpuset.mems"), memory.unwrap_or_default().trim())?;
    Ok(group)
}
