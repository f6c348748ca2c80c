//! Tests with both MPIs across a simulated network. Its hosts are network namespaces, joined by a switch with a chosen
//! delay and rate.

mod hosts;
mod ping;
mod switch;

use super::common::{Scratch, output, refusal_message, successful_stdout};
use super::mpi_worker::{MPICH, Mpi, OPEN_MPI, lock_launches};
use apexmap_results::disk::Folder;
use apexmap_results::disk::manifest::Manifest;
use hosts::Network;
use serde_json::Value;
use std::fs;
use std::process::Output;
use std::time::{Duration, Instant};
pub use switch::{Links, Setting};

/// A slow network. The time in the hosts' network stacks is small in comparison.
const SLOW: Setting = Setting { delay: Duration::from_micros(200), rate: 12.5e6 };
const FAST: Setting = Setting { delay: Duration::from_micros(50), rate: 125e6 };

/// Returns the first requirement of a network that is missing on this machine.
pub fn missing_requirement() -> Option<String> {
    let is_missing =
        |name: &str| std::env::split_paths("/usr/sbin:/usr/bin:/sbin:/bin").all(|folder| !folder.join(name).is_file());
    let require = |requirement: &str, works: bool| (!works).then(|| requirement.to_owned());
    (["ip", "unshare", "nsenter"].into_iter().find(|name| is_missing(name)).map(str::to_owned))
        .or_else(|| require("root", nix::unistd::geteuid().is_root()))
        .or_else(|| require("/dev/net/tun", std::path::Path::new("/dev/net/tun").exists()))
        .or_else(|| {
            require(
                "a real-time priority",
                std::thread::spawn(|| switch::real_time().is_ok()).join().is_ok_and(|works| works),
            )
        })
        .or_else(|| {
            let group = hosts::create_cpu_group(&format!("apexmap-{}-try", std::process::id()), 0);
            let works = group.as_ref().is_ok_and(|group| fs::remove_dir(group).is_ok());
            require("a control group for processors", works)
        })
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

impl Network {
    /// Runs `apexmap` on the first host.
    fn apexmap(&self, arguments: &[&str]) -> String {
        let output = output(&mut self.command(env!("CARGO_BIN_EXE_apexmap"), arguments));
        assert!(output.status.success(), "{arguments:?}: {}", text(&output));
        text(&output)
    }

    /// Measures a sweep on the hosts, one rank on each.
    fn measure(&self, mpi: &Mpi, sweep: &str, result: &str) -> String {
        self.measure_with(mpi, sweep, result, &[])
    }

    fn measure_with(&self, mpi: &Mpi, sweep: &str, result: &str, further: &[&str]) -> String {
        let (worker, launcher) = (mpi.worker().display(), mpi.launcher);
        let launch = format!("[launch]\ntransport = \"mpi\"\nlauncher = \"{launcher}\"\nworker = \"{worker}\"\n");
        fs::write(self.scratch.join("s.toml"), format!("{sweep}{launch}")).expect("a file");
        let names = self.names();
        let run = ["run", "s.toml", "--no-report", "--replace", "--out", result, "--hosts", &names];
        self.apexmap(&[&run[..], further].concat())
    }

    /// Returns the time of plain sockets for a short message between hosts, and for each further byte, in seconds.
    fn sockets(&self) -> (f64, f64) {
        let [short, long] = [8, 8008].map(|bytes| ping::tcp_half_round_trip(self, bytes));
        (short, (long - short) / 8000.0)
    }
}

#[test]
fn frames_follow_each_other_on_a_link_and_are_delayed_once() {
    let setting = Setting { delay: Duration::from_micros(100), rate: 1e6 };
    let now = Instant::now();
    let (frame, delay) = (setting.on_wire(976), setting.delay);
    assert_eq!(frame, Duration::from_millis(1), "976 bytes and 24 bytes of headers at 1 MB/s");
    let mut links = Links::new(3, now);
    assert_eq!(links.send(now, 0, &[1], 976, setting), [now + frame + delay]);
    assert_eq!(links.send(now, 0, &[1], 976, setting), [now + 2 * frame + delay], "it waits for the first");
    assert_eq!(links.send(now, 2, &[1], 976, setting), [now + 3 * frame + delay], "one link leads to host 1");
    assert_eq!(links.send(now, 1, &[2], 976, setting), [now + frame + delay], "the other direction is free");
    let later = now + 10 * frame;
    assert_eq!(links.send(later, 0, &[1, 2], 976, setting), [later + frame + delay; 2], "a broadcast leaves once");
    let faster = Setting { delay: 2 * delay, rate: 2e6 };
    assert_eq!(links.send(later, 0, &[1], 976, faster), [later + frame + frame / 2 + 2 * delay]);
}

/// Returns the time of a message of one frame on the wire, including the delay.
fn wire_seconds(setting: Setting, bytes: usize) -> f64 {
    setting.delay.as_secs_f64() + (bytes + switch::MESSAGE_OVERHEAD) as f64 / setting.rate
}

#[test]
fn no_message_is_faster_than_the_configured_network() {
    needs!(Network);
    let network = Network::start(2, FAST);
    for setting in [FAST, SLOW] {
        network.switch.set(setting);
        for bytes in [8, 8008] {
            let took = ping::tcp_half_round_trip(&network, bytes);
            assert!(took >= wire_seconds(setting, bytes), "{bytes} bytes took {took} s: {setting:?}");
        }
    }
}

#[test]
#[ignore = "needs the machine for itself: cargo test --release --locked -- --ignored --test-threads 1 network"]
fn the_network_has_the_configured_delay_and_rate() {
    needs!(Network);
    let network = Network::start(2, FAST);
    let (fast, fast_byte) = network.sockets();
    network.switch.set(SLOW);
    let (slow, slow_byte) = network.sockets();
    // The time in the hosts' stacks, which is the same with both settings.
    let stacks = fast - wire_seconds(FAST, 8);
    assert!(stacks > 0.0 && (slow - wire_seconds(SLOW, 8) - stacks).abs() < stacks, "{fast} s, {slow} s");
    for (setting, byte) in [(FAST, fast_byte), (SLOW, slow_byte)] {
        let host_seconds = 8000.0 * (byte - 1.0 / setting.rate);
        assert!(host_seconds.abs() < stacks, "the hosts take {host_seconds} s for 8000 bytes, {stacks} s per message");
    }
}

/// Measures and verifies kernels with messages and one-sided kernels, with one rank per host.
fn verify_kernels(mpi: &'static Mpi, hosts: usize) {
    mpi.worker();
    let _alone = lock_launches();
    let network = Network::start(hosts, FAST);
    let words = 4096 * hosts;
    let sweep = format!(
        "[fixed]\nranks = {hosts}\n[[include]]\nkernel = \"random_access.hypercube\"\nN_words = 4096\n\
         [[include]]\nkernel = [\"apex_map.two_sided\", \"apex_map.one_sided\"]\nM = {words}\nN = 4\nI = 64\n\
         [[include]]\nkernel = \"random_access.one_sided\"\nN_words = 4096\nupdates = 0.25\n\
         [[include]]\nkernel = \"calibrate.get\"\nmessages = 64\n[repeat]\nmin = 2\n"
    );
    let messages = network.measure(mpi, &sweep, "result");
    assert!(messages.contains(&format!("{hosts} ranks of {}", mpi.name)), "{messages}");
    assert!(messages.contains(&format!("on {hosts} nodes, the first on h1")), "{messages}");
    let tried = network.apexmap(&["run", "s.toml", "--trial", "--hosts", &network.names()]);
    assert!(tried.contains(&format!("ranks      {hosts} on {hosts} nodes (h1, h2")), "{tried}");
    assert!(tried.contains("1 on each") && tried.contains("ping-pong"), "{tried}");
    assert!(messages.contains("5 of 5 points done\n") && messages.contains("10 samples in "), "{messages}");
    // Open MPI's default component fails here. The trial detects that and reports it once.
    assert_eq!(
        messages.matches("note: MPI_Win_create fails").count(),
        usize::from(mpi.name == "Open MPI"),
        "{messages}"
    );
    let manifest = Manifest::read(&Folder { path: network.scratch.join("result") }).expect("a manifest");
    assert_eq!(manifest.hosts.join(","), network.names());
}

#[test]
fn open_mpi_measures_across_two_hosts() {
    needs!(Network);
    needs!(Mpi);
    verify_kernels(&OPEN_MPI, 2);
}

#[test]
fn runs_on_several_hosts_start_with_a_trial_and_a_card_check() {
    needs!(Network);
    needs!(Mpi);
    OPEN_MPI.worker();
    let _alone = lock_launches();
    let network = Network::start(2, SLOW);
    let card = "name = \"fast\"\nsummary = \"\"\nsource = \"a test\"\n[numbers.network_latency_seconds]\nvalue = 1\n\
                unit = \"us\"\nhow = \"a guess\"\n";
    fs::write(network.scratch.join("card.toml"), card).expect("a file");
    let worker = OPEN_MPI.worker().display();
    let sweep = format!(
        "[fixed]\nkernel = \"message_rate.ping_pong\"\nranks = 2\nmessages = 16\n[launch]\ntransport = \"mpi\"\n\
         launcher = \"openmpi\"\nworker = \"{worker}\"\nlaunches = 1\n[repeat]\nmin = 2\n"
    );
    fs::write(network.scratch.join("s.toml"), sweep).expect("a file");
    let names = network.names();
    let run = ["run", "s.toml", "--out", "result", "--hosts", &names, "--card", "card.toml", "--card-of-another-host"];
    let messages = network.apexmap(&run);
    assert!(
        messages.contains("trial of the largest launch") && messages.contains("ranks      2 on 2 nodes (h1, h2)"),
        "{messages}"
    );
    assert!(messages.contains("The card belongs to another network: a short message takes 1 us on it"), "{messages}");
    let page = fs::read_to_string(network.scratch.join("result/report.html")).expect("a report");
    assert!(page.contains("The card belongs to another network"));
    let left: Vec<_> = fs::read_dir(&*network.scratch).expect("a folder").flatten().map(|e| e.file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().contains("-try-")), "{left:?}");
    assert!(!network.apexmap(&run).contains("trial of the largest launch"), "it is known");
}

#[test]
fn open_mpi_measures_across_four_hosts() {
    needs!(Network);
    needs!(Mpi);
    verify_kernels(&OPEN_MPI, 4);
}

#[test]
fn open_mpi_measures_across_eight_hosts() {
    needs!(Network);
    needs!(Mpi);
    verify_kernels(&OPEN_MPI, 8);
}

#[test]
fn mpich_measures_across_two_hosts() {
    needs!(Network);
    needs!(Mpi);
    verify_kernels(&MPICH, 2);
}

#[test]
fn mpich_measures_across_four_hosts() {
    needs!(Network);
    needs!(Mpi);
    verify_kernels(&MPICH, 4);
}

#[test]
fn mpich_measures_across_eight_hosts() {
    needs!(Network);
    needs!(Mpi);
    verify_kernels(&MPICH, 8);
}

#[test]
fn too_many_ranks_for_the_hosts_are_refused_before_a_launch() {
    needs!(Mpi);
    let scratch = Scratch::new();
    let (file, worker) = (scratch.join("s.toml"), OPEN_MPI.worker().display());
    let sweep = format!(
        "[fixed]\nkernel = \"message_rate.ping_pong\"\n[axes]\nranks = [2, 8]\n[launch]\ntransport = \"mpi\"\n\
         launcher = \"openmpi\"\nworker = \"{worker}\"\nhosts = [\"h1\", \"h2\"]\n"
    );
    fs::write(&file, sweep).expect("a file");
    let (file, out) = (file.to_str().expect("UTF-8"), scratch.join("result").display().to_string());
    let error = refusal_message(&["run", file, "--out", &out]);
    assert!(error.contains("8 ranks take 8 hosts, but the list has 2 hosts: h1, h2"), "{error}");
    let error = refusal_message(&["run", file, "--out", &out, "--hosts", "h1,h2,h3", "--ranks-per-node", "2"]);
    assert!(error.contains("8 ranks take 4 hosts, but the list has 3 hosts"), "{error}");
    let error = refusal_message(&["run", file, "--out", &out, "--ranks-per-node", "4", "--submit=slurm"]);
    assert!(error.contains("the batch system chooses the hosts"), "{error}");
    assert!(!scratch.join("result").exists());
    let plan = successful_stdout(&["plan", file, "--out", &out, "--ranks-per-node", "4"]);
    assert!(plan.contains("hosts: h1, h2, 4 ranks on each"), "{plan}");
}

/// Returns a parameter of a fit and the ends of its interval.
fn estimate(fit: &Value, symbol: &str) -> (f64, f64, f64) {
    let estimates = fit["fit"]["estimates"].as_array().expect("estimates");
    let estimate = estimates
        .iter()
        .find(|estimate| estimate["symbol"] == symbol)
        .unwrap_or_else(|| panic!("{symbol} was not fitted: {fit}"));
    let [value, low, high] = ["value", "low", "high"].map(|name| estimate[name].as_f64().expect("a number"));
    (value, low, high)
}

/// Checks LogGP's parameters at both settings. They must agree with the switch plus the time of plain sockets.
fn log_gp(mpi: &'static Mpi) {
    mpi.worker();
    let _alone = lock_launches();
    let network = Network::start(2, FAST);
    let sweep = "[fixed]\nranks = 2\n[axes]\nkernel = [\"message_rate.ping_pong\", \"message_rate.streaming\"]\nmessages = 128\n\
         message_bytes = [8, 64, 512, 1024, 2048, 4096, 8192]\n\
         [[include]]\nkernel = \"calibrate.send\"\nmessage_bytes = 8\n\
         [[include]]\nkernel = \"calibrate.receive\"\nmessage_bytes = 8\n[repeat]\nmin = 6\n";
    let one_way = [("fast", FAST), ("slow", SLOW)].map(|(name, setting)| {
        network.switch.set(setting);
        let (short, byte) = network.sockets();
        network.measure(mpi, sweep, name);
        let json = network.apexmap(&["fit", name, "--model", "point_to_point.log_gp", "--format", "json"]);
        let fit: Value = serde_json::from_str(&json).expect("JSON");
        let [latency, send, receive, by_byte] = ["L", "o_s", "o_r", "G"].map(|symbol| estimate(&fit, symbol));
        let summary = format!(
            "{} {setting:?}: sockets {:.1} us, {:.2} ns/B; L {}, o_s {}, o_r {} us, G {} ns/B",
            mpi.name,
            1e6 * short,
            1e9 * byte,
            format_estimate(latency, 1e6),
            format_estimate(send, 1e6),
            format_estimate(receive, 1e6),
            format_estimate(by_byte, 1e9)
        );
        println!("{summary}");
        // A byte takes its time on the wire plus a time in the hosts. For 8000 bytes, the latter is less than for a
        // message.
        let hosts = short - setting.delay.as_secs_f64();
        assert!(1.0 / setting.rate <= by_byte.2 && by_byte.1 <= 1.0 / setting.rate + hosts / 8000.0, "{summary}");
        let ends = [latency.1 + send.1 + receive.1, latency.2 + send.2 + receive.2];
        assert!(setting.delay.as_secs_f64() <= ends[1], "{summary}");
        ends
    });
    // The time in hosts and library is the same at both settings and cancels.
    let [fast, slow] = one_way;
    let added_delay = (SLOW.delay - FAST.delay).as_secs_f64();
    assert!(
        slow[0] - fast[1] <= added_delay && added_delay <= slow[1] - fast[0],
        "{added_delay} s more: {fast:?} s, {slow:?} s"
    );
    let messages = network.apexmap(&["compare", "fast", "slow", "--no-page"]);
    // Long messages lose most: the rate is a tenth, while the latency only quadruples.
    let most = messages.split("ratios from ").nth(1).and_then(|rest| rest.split(" to ").next());
    assert!(most.is_some_and(|most| most.ends_with("message_bytes = 8 KiB")), "{messages}");
}

/// Formats a value with its interval: `80 [79.6, 80.5]`.
fn format_estimate((value, low, high): (f64, f64, f64), times: f64) -> String {
    format!("{:.3} [{:.3}, {:.3}]", times * value, times * low, times * high)
}

#[test]
#[ignore = "takes minutes"]
fn calibration_of_a_slow_network_ends_in_time_with_valid_bounds() {
    needs!(Network);
    needs!(Mpi);
    OPEN_MPI.worker();
    let _alone = lock_launches();
    let network = Network::start(2, SLOW);
    let worker = OPEN_MPI.worker().display().to_string();
    let messages = network.apexmap(&[
        "calibrate",
        "--launcher",
        "openmpi",
        "--worker",
        &worker,
        "--hosts",
        "h1,h2",
        "--out",
        "card",
        "--allow-disturbed",
    ]);
    println!("{messages}");
    assert!(messages.contains("Network"), "{messages}");
    let numbers = network.apexmap(&["card", "card/card.toml", "--all"]);
    for number in ["network_latency_seconds", "network_bandwidth_bytes_per_second"] {
        assert!(numbers.contains(number), "the card has no {number}: {numbers}");
    }
    let sweep = "[fixed]\nkernel = \"random_access.hypercube\"\nranks = 2\nN_words = 65536\n[axes]\nQ = [64, 4096]\n[repeat]\nmin = 6\n";
    network.measure_with(&OPEN_MPI, sweep, "bounded", &["--card", "card/card.toml"]);
    let csv = network.apexmap(&["query", "bounded", "--select", "share_of_bound", "--format", "csv"]);
    println!("{csv}");
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let head = lines.next().expect("a head");
    let column = head.iter().position(|name| *name == "share_of_bound_median").expect("a column");
    let shares: Vec<f64> = lines.filter_map(|line| line.get(column)?.parse().ok()).collect();
    assert!(shares.len() == 2 && shares.iter().all(|share| *share > 0.0 && *share <= 1.0), "{csv}");
}

#[test]
#[ignore = "needs the machine for itself: cargo test --release --locked -- --ignored --test-threads 1 recovers_the_delay"]
fn open_mpi_recovers_the_delay_and_the_rate() {
    needs!(Network);
    needs!(Mpi);
    log_gp(&OPEN_MPI);
}

#[test]
#[ignore = "needs the machine for itself: cargo test --release --locked -- --ignored --test-threads 1 recovers_the_delay"]
fn mpich_recovers_the_delay_and_the_rate() {
    needs!(Network);
    needs!(Mpi);
    log_gp(&MPICH);
}
