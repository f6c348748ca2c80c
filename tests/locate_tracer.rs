//! Programs under the tool of `apexmap locate`: their behaviour stays, and counters of small programs have known values.

use crate::common::{self, Scratch, refusal_message};
use apexmap_locate::reuse::Displaced;
use apexmap_locate::site::{Sink, Site, is_kept};
use apexmap_locate::tracer::{TraceOptions, Traced, trace};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

/// Loops with known counters. `N` is the number of trips.
const WALKS: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#define N (1 << 15)
typedef struct Node { struct Node *next; long value; char rest[112]; } Node;
static long words[N], column[N * 8];
static unsigned places[N];
static Node nodes[N], *pointers[N];
__attribute__((noinline)) long sweep(void) { long sum = 0; for (int i = 0; i < N; i++) sum += words[i]; return sum; }
__attribute__((noinline)) long down(void) { long sum = 0; for (int i = 0; i < N * 8; i += 512) sum += column[i]; return sum; }
__attribute__((noinline)) long gather(void) { long sum = 0; for (int i = 0; i < N; i++) sum += words[places[i]]; return sum; }
__attribute__((noinline)) long walk(void) { Node *node = nodes; for (int i = 0; i < N; i++) node = node->next; return node->value; }
__attribute__((noinline)) long visit(void) { long sum = 0; for (int i = 0; i < N; i++) sum += pointers[i]->value; return sum; }
int main(void) {
    unsigned long state = 88172645463325252ul;
    for (int i = 0; i < N; i++) places[i] = i, words[i] = i;
    for (int i = N - 1; i > 0; i--) {
        state ^= state << 13; state ^= state >> 7; state ^= state << 17;
        int j = state % i; unsigned place = places[i]; places[i] = places[j]; places[j] = place;
    }
    for (int i = 0; i < N; i++) nodes[places[i]].next = &nodes[places[(i + 1) % N]], pointers[i] = &nodes[places[i]];
    for (int i = 0; i < N; i++) nodes[i].value = i, column[i * 8] = i;
    long sum = sweep() + down() + gather() + walk() + visit();
    printf("%ld\n", sum);
    return 0;
}
"#;
const TRIPS: u64 = 1 << 15;

/// The folder of a cache of these tests: the tool is compiled there once.
fn cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache")
}

/// The default options, with the cache of these tests.
pub fn options() -> TraceOptions {
    TraceOptions { cache: Some(cache().join("apexmap")), ..TraceOptions::default() }
}

/// Numbers of sampled accesses, which are checked against the rule of sampling.
#[derive(Default)]
struct Recorder {
    /// Accesses to old lines.
    old: u64,
    level: u32,
    last_site: usize,
}

impl Recorder {
    /// Returns the number of sampled accesses, while none are left out.
    fn count_sampled(&self, traced: &Traced) -> u64 {
        traced.sites.iter().flat_map(|site| site.young).sum::<u64>() + self.old
    }
}

impl Sink for Recorder {
    fn access_old(&mut self, site: usize, line: u64, displaced: Displaced) {
        assert!(is_kept(line, self.level) && displaced.line.is_none_or(|line| is_kept(line, self.level)));
        assert!(displaced.line.is_none() || displaced.young == 8);
        self.old += 1;
        self.last_site = self.last_site.max(site);
    }

    fn enter_young(&mut self, site: usize, line: u64) {
        assert!(is_kept(line, self.level));
        self.last_site = self.last_site.max(site);
    }

    fn enter_page(&mut self, site: usize, page: u64) {
        assert!(is_kept(page, self.level));
        self.last_site = self.last_site.max(site);
    }

    fn begin(&mut self) {
        *self = Self::default();
    }

    fn halve(&mut self) {
        self.level += 1;
    }
}

pub fn compile(scratch: &Scratch, name: &str, source: &str, flags: &[&str]) -> PathBuf {
    let (program, file) = (scratch.join(name), scratch.join(format!("{name}.c")));
    fs::write(&file, source).unwrap();
    let output = common::output(Command::new("cc").args(["-g", "-w"]).arg("-o").arg(&program).arg(&file).args(flags));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program
}

fn trace_program(program: &[&Path], options: &TraceOptions, sink: &mut Recorder) -> Traced {
    let program: Vec<OsString> = program.iter().map(|word| word.as_os_str().to_owned()).collect();
    trace(&program, options, sink).unwrap()
}

/// Returns the sites of a function's loads that the function's loop executes.
fn loads<'a>(traced: &'a Traced, function: &str, size: u32) -> Vec<&'a Site> {
    let is_load = |site: &&Site| !site.is_store && site.size >= size && site.name.function == function;
    traced.sites.iter().filter(is_load).filter(|site| site.counters.accesses > 16).collect()
}

/// Whether nearly all accesses of a site have a property.
fn is_nearly_all(part: u64, site: &Site) -> bool {
    part * 100 >= site.counters.accesses * 98
}

#[test]
fn counters_of_known_loops_are_exact_at_every_optimisation() {
    needs!(Valgrind);
    let scratch = Scratch::new();
    for flags in [["-O0"], ["-O2"], ["-O3"]] {
        let program = compile(&scratch, "walks", WALKS, &flags);
        let traced = trace_program(&[&program], &options(), &mut Recorder::default());
        assert!(traced.exit.success() && traced.notes.is_empty(), "{:?}", traced.notes);
        let is_on_the_stack = |site: &&Site| site.counters.same_address > 0;
        let bytes =
            |sites: &[&Site]| sites.iter().map(|site| site.counters.accesses * u64::from(site.size)).sum::<u64>();
        let sites = |function, size| -> Vec<&Site> {
            loads(&traced, function, size).into_iter().filter(|site| !is_on_the_stack(site)).collect()
        };

        let sweep = sites("sweep", 8);
        assert_eq!(bytes(&sweep), TRIPS * 8, "{flags:?}");
        assert!(sweep.iter().all(|site| site.counters.same_stride == site.counters.accesses - 2), "{flags:?}");
        assert!(sweep.iter().all(|site| site.counters.runs == 1 && site.counters.stride == i64::from(site.size)));

        let down = sites("down", 8);
        assert_eq!(bytes(&down), TRIPS / 64 * 8, "{flags:?}");
        assert!(down.iter().all(|site| site.counters.stride == 4096 && site.counters.same_line == 0), "{flags:?}");

        let gather = sites("gather", 8);
        let gathered = gather.iter().filter(|site| site.counters.same_stride * 2 < site.counters.accesses);
        let gathered: Vec<&Site> = gathered.copied().collect();
        assert_eq!(bytes(&gathered), TRIPS * 8, "{flags:?}");
        assert!(gathered.iter().all(|site| site.counters.chained * 50 < site.counters.accesses), "{flags:?}");

        let walk = sites("walk", 8);
        assert_eq!(walk.iter().map(|site| site.counters.accesses).sum::<u64>(), TRIPS, "{flags:?}");
        assert!(walk.iter().all(|site| is_nearly_all(site.counters.chained, site)), "{flags:?}");

        let visit = sites("visit", 8);
        let visited: Vec<&&Site> = visit.iter().filter(|site| is_nearly_all(site.counters.pointed, site)).collect();
        assert_eq!(visited.iter().map(|site| site.counters.accesses).sum::<u64>(), TRIPS, "{flags:?}");
        assert!(visited.iter().all(|site| site.counters.chained * 50 < site.counters.accesses), "{flags:?}");
        assert!(visited.iter().all(|site| site.name.file.ends_with("walks.c") && site.name.line > 0));
        assert!(visited.iter().all(|site| site.name.object.ends_with("/walks")));
    }
}

#[test]
fn the_trace_begins_at_a_function_and_ends_after_some_accesses_or_seconds_but_the_program_goes_on() {
    needs!(Valgrind);
    let scratch = Scratch::new();
    let program = compile(&scratch, "walks", WALKS, &["-O1"]);
    let from = TraceOptions { from: Some("gather".into()), ..options() };
    let part = trace_program(&[&program], &from, &mut Recorder::default());
    assert!(loads(&part, "sweep", 8).is_empty() && loads(&part, "main", 1).is_empty());
    let gathered: u64 = loads(&part, "gather", 8).iter().map(|site| site.counters.accesses).sum();
    assert_eq!(gathered, TRIPS);

    let accesses = TraceOptions { accesses: Some(100_000), ..options() };
    let mut recorder = Recorder::default();
    let part = trace_program(&[&program], &accesses, &mut recorder);
    let sampled = recorder.count_sampled(&part);
    assert_eq!((part.accesses, sampled), (100_000, 100_000));
    assert!(part.exit.success());
    assert_eq!(part.notes, ["The trace ends after 100000 accesses."]);

    // The program runs for at least three seconds.
    let source = r#"
        #include <time.h>
        int main(void) {
            volatile long count = 0;
            for (time_t start = time(0); time(0) < start + 4;) count++;
            return count > 0 ? 7 : 8;
        }"#;
    let slow = compile(&scratch, "slow", source, &["-O1"]);
    let seconds = TraceOptions { seconds: Some(1), ..options() };
    let part = trace_program(&[&slow], &seconds, &mut Recorder::default());
    assert_eq!(part.notes, ["The trace ends after 1 s.", "The program ended with exit code 7."]);
    assert!(part.accesses > 0);

    let program = [program.into_os_string()];
    let never = TraceOptions { from: Some("gath".into()), ..options() };
    let error = trace(&program, &never, &mut Recorder::default()).unwrap_err();
    assert!(error.message.ends_with("never called gath"), "{error}");
}

#[test]
fn beyond_the_limit_the_rate_halves_and_all_sampled_accesses_obey_it() {
    needs!(Valgrind);
    let scratch = Scratch::new();
    let program = compile(&scratch, "walks", WALKS, &["-O1"]);
    let limited = TraceOptions { line_limit: Some(1 << 12), ..options() };
    let (mut sample, mut whole) = (Recorder::default(), Recorder::default());
    let sampled = trace_program(&[&program], &limited, &mut sample);
    let unlimited = TraceOptions { line_limit: None, ..options() };
    let exact = trace_program(&[&program], &unlimited, &mut whole);
    // About 2^16.2 lines: half of them are nodes, half are of the column.
    assert_eq!([sample.level, whole.level], [5, 0]);
    assert_eq!(whole.count_sampled(&exact), exact.accesses);
    // Both runs count alike, but for the environment of valgrind itself.
    assert!(sampled.accesses.abs_diff(exact.accesses) < 1000);
    assert!(sample.old * 2 < whole.old);
    // Accesses to sampled lines stand for all: each counts 2^level.
    let young = |traced: &Traced| traced.sites.iter().flat_map(|site| site.young).sum::<u64>() as f64;
    assert!((young(&sampled) / young(&exact) - 1.0).abs() < 0.2, "{} {}", young(&sampled), young(&exact));
    assert!(whole.last_site < exact.sites.len());
}

#[test]
fn many_accesses_to_few_lines_halve_the_rate_too() {
    needs!(Valgrind);
    let scratch = Scratch::new();
    let source = r#"
        #include <stdlib.h>
        __attribute__((noinline)) long jump(long *words, long n) {
            unsigned long state = 88172645463325252ul;
            for (long i = 0; i < 3000000; i++) {
                state ^= state << 13; state ^= state >> 7; state ^= state << 17;
                words[state % n] += i;
            }
            return words[0];
        }
        int main(void) { long n = 1 << 19; return jump(malloc(8 * n), n) == 7; }"#;
    let program = compile(&scratch, "jumps", source, &["-O1"]);
    let limits = [options().line_limit, None];
    let levels = limits.map(|line_limit| {
        let from = TraceOptions { from: Some("jump".into()), line_limit, ..options() };
        let mut recorder = Recorder::default();
        trace_program(&[&program], &from, &mut recorder);
        recorder.level
    });
    // Fewer lines than the limit, but three words for each of 3 million jumps.
    assert_eq!(levels, [1, 0]);
}

/// A program's output, errors and exit, alone and traced. The program writes to the files `out` and `err` of its argument.
fn both_ways(scratch: &Scratch, source: &str, flags: &[&str]) -> ExitStatus {
    let start = r#"
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <fcntl.h>
        #include <signal.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        #include <sys/wait.h>
        #include <unistd.h>
        static void redirect(const char *folder) {
            if (chdir(folder) || !freopen("out", "w", stdout) || !freopen("err", "w", stderr)) exit(99);
        }
    "#;
    let program = compile(scratch, "program", &format!("{start}{source}"), flags);
    let folders = ["alone", "traced"].map(|name| scratch.join(name));
    for folder in &folders {
        let _ = fs::remove_dir_all(folder);
        fs::create_dir(folder).unwrap();
    }
    let alone = Command::new(&program).arg(&folders[0]).status().unwrap();
    let traced = trace_program(&[&program, &folders[1]], &options(), &mut Recorder::default());
    for file in ["out", "err"] {
        let [alone, traced] = folders.each_ref().map(|folder| fs::read_to_string(folder.join(file)).unwrap());
        assert_eq!(alone, traced, "{file}");
    }
    assert!(!fs::read_to_string(folders[0].join("out")).unwrap().is_empty());
    assert_eq!((alone.code(), alone.signal()), (traced.exit.code(), traced.exit.signal()));
    traced.exit
}

#[test]
fn programs_that_fork_and_exec_keep_their_output_and_exit_code() {
    needs!(Valgrind);
    let scratch = Scratch::new();
    let exit = both_ways(
        &scratch,
        r#"int main(int n, char **v) {
            redirect(v[1]);
            int status;
            if (fork() == 0) { for (int i = 0; i < 1000; i++) printf("child %d\n", i); exit(3); }
            wait(&status);
            printf("%d\n", WEXITSTATUS(status)); fflush(stdout);
            if (vfork() == 0) { execl("/bin/sh", "sh", "-c", "echo from a shell; exit 4", NULL); _exit(9); }
            wait(&status);
            fprintf(stderr, "%d %d\n", WEXITSTATUS(status), system("exit 5") >> 8);
            return 6;
        }"#,
        &["-O1"],
    );
    assert_eq!(exit.code(), Some(6));
}

#[test]
fn a_program_that_replaces_itself_is_followed() {
    needs!(Valgrind);
    let scratch = Scratch::new();
    let source = r#"int main(int n, char **v) {
        redirect(v[1]);
        printf("before\n"); fflush(stdout);
        execl("/nonexistent", "x", NULL);
        execl("/bin/sh", "sh", "-c", "ls /proc/self/fd | wc -l; env | grep -v -e ^LD_PRELOAD= -e ^VALGRIND_LIB= -e ^PWD= | sort; exit 8", NULL);
        return 9;
    }"#;
    assert_eq!(both_ways(&scratch, source, &["-O1"]).code(), Some(8));
    let program = [&*scratch.join("program"), &*scratch.join("traced")];
    let traced = trace_program(&program, &options(), &mut Recorder::default());
    assert!(traced.notes[0].ends_with("replaced itself by /bin/sh (exec), which is traced."), "{:?}", traced.notes);
    assert!(traced.sites.iter().all(|site| site.name.file != "program.c"), "the first program does not count");
    assert!(traced.accesses > 1000);
}

#[test]
fn wrapper_scripts_lead_to_the_program_that_they_start_with_exec() {
    needs!(Valgrind);
    let scratch = Scratch::new();
    compile(&scratch, "walks", WALKS, &["-O1"]);
    let script = |name: &str, text: &str| {
        let path = scratch.join(name);
        fs::write(&path, format!("#!/bin/sh\ncd \"$(dirname \"$0\")\"\n{text}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    };
    script("inner", "exec ./walks");
    let outer = script("outer", "(true); ls >/dev/null; exec env NAME=value ./inner");
    let traced = trace_program(&[&outer], &options(), &mut Recorder::default());
    assert_eq!(loads(&traced, "walk", 8).iter().map(|site| site.counters.accesses).sum::<u64>(), TRIPS);
    assert!(traced.exit.success() && traced.notes[0].contains("replaced itself by ./walks"), "{:?}", traced.notes);
    assert_eq!(traced.untraced, None, "what the script had started before");
    // A program that valgrind cannot run replaces the script all the same, and a function is found in the last program.
    let from = TraceOptions { from: Some("gather".into()), ..options() };
    let part = trace_program(&[&outer], &from, &mut Recorder::default());
    assert_eq!(loads(&part, "gather", 8).iter().map(|site| site.counters.accesses).sum::<u64>(), TRIPS);
    assert!(loads(&part, "walk", 1 << 10).is_empty());
}

#[test]
fn programs_that_are_started_are_named_first() {
    needs!(Valgrind);
    let scratch = Scratch::new();
    compile(&scratch, "walks", WALKS, &["-O1"]);
    let script = scratch.join("script");
    fs::write(&script, "#!/bin/sh\n./walks\n./walks\n(true)\n./missing\nexit 0\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_apexmap"));
    command.args(["locate", "--", "./script"]).env("XDG_CACHE_HOME", cache()).current_dir(&*scratch);
    let screen = String::from_utf8(common::output(&mut command).stderr).unwrap();
    let start = screen.lines().filter(|line| !line.contains("not found")).take(3).collect::<Vec<_>>().join(" ");
    let start = start.split_whitespace().collect::<Vec<_>>().join(" ");
    let expected = "Not traced: programs that it started (2: ./walks), copies of itself that it forked (2).";
    assert!(start.starts_with(expected) && screen.contains("apexmap locate -- ./walks"), "{screen}");
    assert!(screen.contains("misses"), "{screen}");
}

#[test]
fn programs_with_sanitizers_or_split_debug_information_get_a_sentence() {
    needs!(Valgrind);
    let scratch = Scratch::new();
    let run = |flags: &[&str]| {
        let program = compile(&scratch, "refused", "int main(void) { return 0; }", flags).into_os_string();
        trace(&[program], &options(), &mut Recorder::default()).map(drop)
    };
    let sanitized = run(&["-fsanitize=address"]).unwrap_err();
    assert!(sanitized.message.contains("built with a sanitizer") && sanitized.help.contains("-fsanitize"));
    // Valgrind 3.19 cannot read it, later ones may.
    if let Err(split) = run(&["-g3", "-gdwarf-5", "-gsplit-dwarf"]) {
        assert!(split.message.contains("cannot read the debug information") && split.help.contains("-gsplit-dwarf"));
    }
}

#[test]
fn maps_that_fail_under_valgrind_are_noted() {
    needs!(Valgrind);
    let scratch = Scratch::new();
    let source = r#"
        #include <sys/mman.h>
        int main(void) {
            mmap(0, 1ul << 62, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            return 0;
        }"#;
    let program = compile(&scratch, "maps", source, &["-O1"]);
    let traced = trace_program(&[&program], &options(), &mut Recorder::default());
    assert!(traced.notes[0].starts_with("The program got no map of 4096 PiB"), "{:?}", traced.notes);
}

#[test]
fn programs_that_load_libraries_keep_their_output() {
    needs!(Valgrind);
    let scratch = Scratch::new();
    let exit = both_ways(
        &scratch,
        r#"int main(int n, char **v) {
            redirect(v[1]);
            void *library = dlopen("libm.so.6", RTLD_NOW);
            double (*cosine)(double) = (double (*)(double))dlsym(library, "cos");
            printf("%.12f\n", cosine(1.0));
            return dlclose(library);
        }"#,
        &["-O1", "-ldl"],
    );
    assert_eq!(exit.code(), Some(0));
}

#[test]
fn programs_that_a_signal_ends_keep_their_output_and_signal() {
    needs!(Valgrind);
    let scratch = Scratch::new();
    for signal in ["SIGSEGV", "SIGTERM", "SIGABRT"] {
        let source = format!(
            r#"static void handle(int number) {{ printf("handled %d\n", number); fflush(stdout); }}
            int main(int n, char **v) {{
                redirect(v[1]);
                signal(SIGUSR1, handle); raise(SIGUSR1);
                raise({signal});
                return 0;
            }}"#
        );
        assert!(both_ways(&scratch, &source, &["-O1"]).signal().is_some(), "{signal}");
    }
}

#[test]
fn programs_that_close_all_descriptors_are_traced_to_the_end() {
    needs!(Valgrind);
    let scratch = Scratch::new();
    let exit = both_ways(
        &scratch,
        r#"int main(int n, char **v) {
            redirect(v[1]);
            printf("%ld\n", (long)(lseek(3, 0, SEEK_CUR))); fflush(stdout);
            for (int i = 0; i < 70000; i++) close(i);
            if (close_range(0, ~0u, 0)) return 1;
            int file = open("later", O_CREAT | O_WRONLY, 0600);
            if (dup2(file, 1) != 1) return 2;
            return write(1, "later\n", 6) == 6 ? 0 : 3;
        }"#,
        &["-O1"],
    );
    assert_eq!(exit.code(), Some(0));
    assert_eq!(fs::read_to_string(scratch.join("traced/later")).unwrap(), "later\n");
}

#[test]
fn static_programs_and_scripts_are_traced() {
    needs!(Valgrind);
    let scratch = Scratch::new();
    let program = compile(&scratch, "static", WALKS, &["-O1", "-static"]);
    let traced_static = trace_program(&[&program], &options(), &mut Recorder::default());
    assert_eq!(loads(&traced_static, "walk", 8).iter().map(|site| site.counters.accesses).sum::<u64>(), TRIPS);
    let script = scratch.join("script");
    fs::write(&script, "#!/bin/sh\nexit 12\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let traced_script = trace_program(&[&script], &options(), &mut Recorder::default());
    assert_eq!(traced_script.exit.code(), Some(12));
    assert_eq!(traced_script.notes, ["The program ended with exit code 12."]);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn programs_with_instructions_of_avx_512_get_the_flags_that_avoid_them() {
    needs!(Valgrind);
    let scratch = Scratch::new();
    // vaddps %zmm0, %zmm0, %zmm0
    let source = r#"int main(void) { __asm__(".byte 0x62, 0xf1, 0x7c, 0x48, 0x58, 0xc0"); return 0; }"#;
    let program = compile(&scratch, "wide", source, &[]);
    let error = trace(&[program.into_os_string()], &options(), &mut Recorder::default()).unwrap_err();
    assert!(error.message.contains("does not know") && error.help.contains("-mno-avx512f"), "{error}");
}

#[test]
fn programs_that_valgrind_cannot_run_are_refused_with_the_next_step() {
    let scratch = Scratch::new();
    let file = |name: &str, contents: &[u8], mode: u32| {
        let path = scratch.join(name);
        fs::write(&path, contents).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path.display().to_string()
    };
    let header = |class: u8, machine: u8| [&b"\x7fELF"[..], &[class], &[0; 13], &[machine, 0]].concat();
    let cases = [
        ("/nonexistent/program".to_owned(), "there is no program"),
        ("nonexistent-program".to_owned(), "write ./ before it"),
        (file("data", b"data", 0o644), "is not executable"),
        (file("setuid", &header(2, 62), 0o4755), "setuid"),
        (file("narrow", &header(1, 3), 0o755), "32-bit"),
        (file("foreign", &header(2, 0xF3), 0o755), "for another processor"),
        (file("text", b"echo no interpreter\n", 0o755), "name the interpreter"),
        (file("empty", b"", 0o755), "neither a program nor a script"),
    ];
    for (program, expected) in cases {
        let message = refusal_message(&["locate", "--", &program]);
        assert!(message.contains(expected) && message.contains("help:"), "{program}: {message}");
    }
}

/// `apexmap locate -- true` with its own cache.
fn locate(cache: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_apexmap"));
    command.args(["locate", "--", "true"]).env("XDG_CACHE_HOME", cache);
    command
}

#[test]
fn concurrent_first_uses_compile_one_tool_and_later_ones_need_no_compiler() {
    needs!(Valgrind);
    let scratch = Scratch::new();
    let start = || locate(&scratch).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    for child in [start(), start(), start()] {
        let output = common::wait_for_output(child);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let files: Vec<_> =
        fs::read_dir(scratch.join("apexmap")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    assert!(files[0].to_string_lossy().starts_with("locate-valgrind-"));
    assert!(common::output(locate(&scratch).env("CC", "/nonexistent")).status.success());
}

#[test]
fn the_screen_goes_to_standard_error_and_json_to_a_file() {
    needs!(Valgrind);
    let scratch = Scratch::new();
    let file = scratch.join("echo.json");
    let arguments =
        [Path::new("locate"), Path::new("--json"), &file, Path::new("--"), Path::new("echo"), Path::new("own")];
    let mut command = Command::new(env!("CARGO_BIN_EXE_apexmap"));
    let output = common::output(command.args(arguments).env("XDG_CACHE_HOME", cache()));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "own\n");
    let document: serde_json::Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert!(document["accesses"].as_u64().unwrap() > 1000);
    assert!(String::from_utf8_lossy(&output.stderr).contains("misses"));
}

#[test]
fn a_new_tool_replaces_those_of_other_versions_that_are_a_day_old() {
    needs!(Valgrind);
    let scratch = Scratch::new();
    let folder = scratch.join("apexmap");
    fs::create_dir_all(folder.join(".locate-killed")).unwrap();
    for name in ["locate-valgrind-3.18.0-old", "locate-valgrind-3.18.0-young", "mine"] {
        fs::write(folder.join(name), "").unwrap();
    }
    for name in [".locate-killed", "locate-valgrind-3.18.0-old", "mine"] {
        let status = Command::new("touch").args(["-d", "2 days ago"]).arg(folder.join(name)).status().unwrap();
        assert!(status.success());
    }
    assert!(common::output(&mut locate(&scratch)).status.success());
    let names = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.collect();
    names.sort();
    assert!(names.len() == 3 && names[0].ends_with("3.18.0-young") && names[2] == "mine", "{names:?}");
}

#[test]
fn without_a_compiler_the_message_names_the_next_step_and_without_a_cache_nothing_is_missing() {
    needs!(Valgrind);
    let scratch = Scratch::new();
    let output = common::output(locate(&scratch).env("CC", "/nonexistent/cc"));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3));
    assert!(
        message.contains("C compiler") && message.contains("cannot start /nonexistent/cc") && message.contains("gcc"),
        "{message}"
    );
    let output = common::output(locate(&scratch).env("CC", "false"));
    assert!(String::from_utf8_lossy(&output.stderr).contains("false cannot compile the tool"));
    let output = common::output(locate(Path::new("/proc/self")).env("TMPDIR", &*scratch));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let left: Vec<_> = fs::read_dir(&*scratch).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["apexmap"], "the temporary tool is removed");
}

/// Makes a folder with the parts of the installed valgrind, whose headers and libraries may be changed.
fn copy_valgrind(prefix: &Path) {
    let link = |from: &[&str], file: &str, to: &str| {
        let source = from.iter().map(Path::new).find(|folder| folder.join(file).exists()).expect(file);
        let to = prefix.join(to);
        fs::create_dir_all(&to).unwrap();
        for entry in fs::read_dir(source).unwrap().map(Result::unwrap) {
            let to = to.join(entry.file_name());
            let is_core = entry.file_name().to_string_lossy().starts_with("libcoregrind");
            if is_core { fs::copy(entry.path(), to).map(drop) } else { std::os::unix::fs::symlink(entry.path(), to) }
                .unwrap();
        }
    };
    let processor = if cfg!(target_arch = "x86_64") { "amd64" } else { "arm64" };
    let debian = format!("/usr/lib/{}-linux-gnu/valgrind", std::env::consts::ARCH);
    let folders = [&debian, "/usr/libexec/valgrind", "/usr/lib64/valgrind", "/usr/lib/valgrind"];
    link(&folders, &format!("vgpreload_core-{processor}-linux.so"), "libexec/valgrind");
    link(&folders, &format!("libcoregrind-{processor}-linux.a"), "lib/valgrind");
    link(&["/usr/include/valgrind"], "pub_tool_basics.h", "include/valgrind");
}

#[test]
fn without_valgrind_or_its_headers_the_message_names_the_packages() {
    let scratch = Scratch::new();
    let parts = scratch.join("libexec/valgrind");
    let refuse = |expected: &str| {
        let output = common::output(locate(&scratch).env("VALGRIND_LIB", &parts));
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(3));
        assert!(message.contains(expected) && message.contains("the package valgrind"), "{message}");
    };
    refuse("needs valgrind\n");
    needs!(Valgrind);
    copy_valgrind(&scratch);
    fs::remove_dir_all(scratch.join("include")).unwrap();
    refuse("needs valgrind's headers for tools");
}

#[test]
fn an_update_of_valgrind_compiles_another_tool() {
    needs!(Valgrind);
    let scratch = Scratch::new();
    copy_valgrind(&scratch);
    let count_tools_after_run = || {
        let output = common::output(locate(&scratch).env("VALGRIND_LIB", scratch.join("libexec/valgrind")));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        fs::read_dir(scratch.join("apexmap")).unwrap().count()
    };
    assert_eq!([count_tools_after_run(), count_tools_after_run()], [1, 1]);
    let libraries = fs::read_dir(scratch.join("lib/valgrind")).unwrap().map(|entry| entry.unwrap().path());
    for library in libraries.filter(|path| !path.is_symlink()) {
        assert!(Command::new("touch").args(["-d", "tomorrow"]).arg(library).status().unwrap().success());
    }
    assert_eq!(count_tools_after_run(), 2);
}

/// The name of the tool is the same for all users of a machine.
#[test]
fn a_tool_that_another_user_may_have_planted_is_not_run() {
    needs!(Valgrind);
    let scratch = Scratch::new();
    assert!(common::output(&mut locate(&scratch)).status.success());
    let folder = scratch.join("apexmap");
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    let tool = fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    assert_eq!(mode(&tool), 0o700);
    let mark = scratch.join("ran");
    let plant = |path: &Path, mode: u32| {
        fs::write(path, format!("#!/bin/sh\ntouch '{}'\n", mark.display())).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    // A link, and a file that a group may write. Both are replaced by the tool.
    let elsewhere = scratch.join("planted");
    plant(&elsewhere, 0o755);
    fs::remove_file(&tool).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &tool).unwrap();
    assert!(common::output(&mut locate(&scratch)).status.success() && !mark.exists());
    assert!(fs::symlink_metadata(&tool).unwrap().is_file());
    plant(&tool, 0o775);
    assert!(common::output(&mut locate(&scratch)).status.success() && !mark.exists());
    // A folder of another user, which only root can make; and a link to one.
    plant(&tool, 0o755);
    let linked = scratch.join("linked");
    fs::create_dir(&linked).unwrap();
    std::os::unix::fs::symlink(&folder, linked.join("apexmap")).unwrap();
    assert!(common::output(&mut locate(&linked)).status.success() && !mark.exists());
    if nix::unistd::geteuid().is_root() {
        std::os::unix::fs::chown(&folder, Some(65534), None).unwrap();
        assert!(common::output(&mut locate(&scratch)).status.success() && !mark.exists());
        std::os::unix::fs::chown(&folder, Some(0), None).unwrap();
        std::os::unix::fs::chown(&tool, Some(65534), None).unwrap();
        assert!(common::output(&mut locate(&scratch)).status.success() && !mark.exists());
    }
}
