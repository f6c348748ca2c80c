//! Kinds of accesses of loops with known answers, in several languages and at several levels of optimisation.

use crate::common::{self, Scratch};
use crate::locate_tracer::options;
use crate::needs::find_on_path;
use apexmap_locate::analysis::Analysis;
use apexmap_locate::located::{Located, Part};
use apexmap_locate::tracer::trace;
use apexmap_locate::walk::Kind;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// C, and C++ without its lists.
const C: &str = r#"
#include <stdio.h>
#define N (1 << 15)
typedef struct Node { struct Node *next; long value; char rest[112]; } Node;
static long words[N], column[N * 8];
static unsigned places[N];
static Node nodes[N], *pointers[N];
#define LOOP extern "C" __attribute__((noinline)) long
#ifndef __cplusplus
#undef LOOP
#define LOOP __attribute__((noinline)) long
#endif
LOOP sweep_loop(void) { long sum = 0; for (int i = 0; i < N; i++) sum += words[i]; return sum; }
LOOP strided_loop(void) { long sum = 0; for (int i = 0; i < N * 8; i += 64) sum += column[i]; return sum; }
LOOP random_loop(void) { long sum = 0; for (int i = 0; i < N; i++) sum += words[places[i]]; return sum; }
LOOP chain_loop(void) { Node *node = nodes; for (int i = 0; i < N; i++) node = node->next; return node->value; }
LOOP pointer_loop(void) { long sum = 0; for (int i = 0; i < N; i++) sum += pointers[i]->value; return sum; }
int main(void) {
    unsigned long state = 88172645463325252ul;
    for (int i = 0; i < N; i++) places[i] = i, words[i] = i;
    for (int i = N - 1; i > 0; i--) {
        state ^= state << 13; state ^= state >> 7; state ^= state << 17;
        int j = state % i; unsigned place = places[i]; places[i] = places[j]; places[j] = place;
    }
    for (int i = 0; i < N; i++) nodes[places[i]].next = &nodes[places[(i + 1) % N]], pointers[i] = &nodes[places[i]];
    for (int i = 0; i < N; i++) nodes[i].value = i, column[i * 8] = i;
    printf("%ld\n", sweep_loop() + strided_loop() + random_loop() + chain_loop() + pointer_loop());
    return 0;
}
"#;

const FORTRAN: &str = "
integer(8) function sweep_loop(w, n) result(s)
  integer(8) :: n, w(n)
  s = 0
  do i = 1, n
    s = s + w(i)
  end do
end function
integer(8) function strided_loop(w, n) result(s)
  integer(8) :: n, w(n)
  s = 0
  do i = 1, n, 64
    s = s + w(i)
  end do
end function
integer(8) function random_loop(w, p, n) result(s)
  integer(8) :: n, w(n)
  integer :: p(n)
  s = 0
  do i = 1, n
    s = s + w(p(i))
  end do
end function
program loops
  integer(8), external :: sweep_loop, strided_loop, random_loop
  integer(8), parameter :: n = 2**18
  integer(8), allocatable :: w(:)
  integer(8) :: k
  integer, allocatable :: p(:)
  allocate(w(n), p(n))
  do k = 1, n
    w(k) = k
    p(k) = int(iand(ishft(k * k * 2654435761_8, -7), n - 1)) + 1
  end do
  print *, sweep_loop(w, n), strided_loop(w, n), random_loop(w, p, n)
end program
";

const ALL: [Kind; 5] = [Kind::Sweep, Kind::Strided, Kind::Random, Kind::Chain, Kind::Pointer];

fn compile(scratch: &Scratch, compiler: &str, flags: &[&str], (name, source): (&str, &str)) -> PathBuf {
    let (file, program) = (scratch.join(name), scratch.join("loops"));
    fs::write(&file, source).unwrap();
    let mut command = Command::new(compiler);
    let output =
        common::output(command.arg("-g").args(flags).arg("-o").arg(&program).arg(&file).current_dir(&**scratch));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program
}

/// Returns the part that answers for a function. The words of an index or of a stack do not count, so that it is the one with most
/// accesses that are neither local nor a sweep, if there are many, or else a sweep.
fn part_of_function<'a>(located: &'a Located, is_function: &dyn Fn(&str) -> bool) -> Option<&'a Part> {
    let parts = || located.lines.iter().filter(|part| is_function(&part.function));
    let most =
        |kinds: &dyn Fn(Kind) -> bool| parts().filter(|part| kinds(part.kind())).max_by_key(|part| part.accesses);
    let swept = most(&|kind| kind == Kind::Sweep);
    let other = most(&|kind| !matches!(kind, Kind::Sweep | Kind::Local));
    other.filter(|part| 4 * part.accesses > swept.map_or(0, |swept| swept.accesses)).or(swept)
}

fn locate(program: &Path) -> Located {
    let mut analysis = Analysis::default();
    let traced = trace(&[program.as_os_str().to_owned()], &options(), &mut analysis).unwrap();
    Located::new(&traced.sites, analysis, [("second-level cache", 1 << 20), ("last cache", 32 << 20)])
}

/// Returns the answers for the loops of a program that are wrong.
fn wrong_kinds(program: &Path, kinds: &[Kind]) -> Vec<String> {
    let located = locate(program);
    let kind_of_loop = |expected: &Kind| {
        let name = format!("{expected}_loop");
        // The outlined body of a parallel loop is `sweep_loop._omp_fn.0`.
        part_of_function(&located, &|function| function.split(['.', '_']).take(2).eq(name.split('_'))).map(Part::kind)
    };
    let wrong = kinds.iter().filter(|kind| kind_of_loop(kind) != Some(**kind));
    wrong.map(|kind| format!("{kind}: {:?}", kind_of_loop(kind))).collect()
}

#[test]
fn kinds_of_loops_in_c_and_cpp_are_right_at_every_optimisation_and_in_parallel_regions() {
    needs!(Valgrind);
    let scratch = Scratch::new();
    let parallel = C.replace(
        "for (int i = 0; i < N; i++) sum",
        "\n#pragma omp parallel for reduction(+:sum)\nfor (int i = 0; i < N; i++) sum",
    );
    let programs: [(&str, &[&str], (&str, &str)); 6] = [
        ("cc", &["-O0"], ("loops.c", C)),
        ("cc", &["-O2"], ("loops.c", C)),
        ("cc", if cfg!(target_arch = "x86_64") { &["-O3", "-march=x86-64-v3"] } else { &["-O3"] }, ("loops.c", C)),
        ("c++", &["-O2", "-fpermissive", "-w"], ("loops.cpp", C)),
        ("c++", &["-O3", "-fpermissive", "-w"], ("loops.cpp", C)),
        ("cc", &["-O2", "-fopenmp"], ("parallel.c", parallel.as_str())),
    ];
    for (compiler, flags, source) in programs {
        let program = compile(&scratch, compiler, flags, source);
        assert_eq!(wrong_kinds(&program, &ALL), [""; 0], "{compiler} {flags:?}");
    }
}

#[test]
fn kinds_of_loops_in_fortran_are_right() {
    needs!(Fortran);
    needs!(Valgrind);
    let scratch = Scratch::new();
    for flags in ["-O0", "-O2", "-O3"] {
        let program = compile(&scratch, "gfortran", &[flags], ("loops.f90", FORTRAN));
        assert_eq!(wrong_kinds(&program, &ALL[..3]), [""; 0], "{flags}");
    }
}

/// Eight codes that the rules were not made for. Each has one hot function, whose answer is a kind.
const HELD_OUT: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define N (1 << 16)
#define HOT __attribute__((noinline, noclone))
static unsigned long state = 88172645463325252ul;
static unsigned long draw(void) { state ^= state << 13; state ^= state >> 7; return state ^= state << 17; }
typedef struct Tree { struct Tree *left, *right; unsigned long key; char rest[104]; } Tree;
HOT long histogram(const unsigned char *text, long *count) { for (int i = 0; i < 16 * N; i++) count[text[i] * 32]++; return count[64]; }
HOT double stencil(double *to, const double *from) { for (int i = 1; i < 4 * N - 1; i++) to[i] = from[i - 1] + from[i + 1] - from[i]; return to[9]; }
HOT double transpose(double *to, const double *from) { for (int i = 0; i < 512; i++) for (int j = 0; j < 512; j++) to[i] += from[j * 512 + i]; return to[9]; }
HOT long search(Tree *tree) { long found = 0; for (int i = 0; i < N; i++) { unsigned long key = draw(); for (Tree *node = tree; node; node = key < node->key ? node->left : node->right) found += node->key == key; } return found; }
HOT long probe(const long *table) { long sum = 0; for (int i = 0; i < 4 * N; i++) sum += table[(draw() * 0x9E3779B97F4A7C15ul) >> 44]; return sum; }
HOT int follow(const int *next) { int at = 0; for (int i = 0; i < 4 * N; i++) at = next[at]; return at; }
HOT long columns(const char (*rows)[200]) { long sum = 0; for (int i = 0; i < N; i++) sum += rows[i][7]; return sum; }
HOT long words(char **lines) { long sum = 0; for (int i = 0; i < N; i++) sum += lines[i][5]; return sum; }
int main(void) {
    unsigned char *text = malloc(16 * N);
    long *table = malloc(8 << 20), *count = calloc(256 * 32, 8);
    double *from = malloc(8 * 4 * N), *to = calloc(4 * N, 8);
    int *next = malloc(4 * N);
    char (*rows)[200] = malloc(200 * N), **lines = malloc(8 * N);
    Tree *tree = calloc(N, sizeof *tree), *root = NULL;
    for (int i = 0; i < 16 * N; i++) text[i] = draw() >> 30;
    for (int i = 0; i < 1 << 20; i++) table[i] = i;
    for (int i = 0; i < 4 * N; i++) from[i] = i;
    for (int i = 0; i < N; i++) next[i] = i, memset(rows[i], i, 200), lines[i] = rows[draw() % N];
    for (int i = N - 1; i > 0; i--) { int j = draw() % i, other = next[i]; next[i] = next[j]; next[j] = other; }
    for (int i = 0; i < N; i++) {
        Tree **place = &root;
        tree[i].key = draw();
        while (*place) place = tree[i].key < (*place)->key ? &(*place)->left : &(*place)->right;
        *place = &tree[i];
    }
    printf("%ld %f %f %ld %ld %d %ld %ld\n", histogram(text, count), stencil(to, from), transpose(to, from), search(root), probe(table),
        follow(next), columns((const char (*)[200])rows), words(lines));
    return 0;
}
"#;

#[test]
fn kinds_of_eight_codes_that_the_rules_were_not_made_for_are_right() {
    needs!(Valgrind);
    let scratch = Scratch::new();
    let program = compile(&scratch, "cc", &["-O2", "-w"], ("held.c", HELD_OUT));
    let located = locate(&program);
    // Of the accesses of a function, those that are neither local nor a sweep, unless there are few.
    let table = [
        ("histogram", Kind::Random),
        ("stencil", Kind::Sweep),
        ("transpose", Kind::Strided),
        ("search", Kind::Pointer),
        ("probe", Kind::Random),
        ("follow", Kind::Chain),
        ("columns", Kind::Strided),
        ("words", Kind::Pointer),
    ];
    let kinds =
        table.map(|(function, _)| (function, part_of_function(&located, &|name| name == function).map(Part::kind)));
    assert_eq!(kinds, table.map(|(function, kind)| (function, Some(kind))));
}

/// Eight loops. Each call visits its data in the same order as the one before, so that alpha is 1. The calls of `column` with different
/// arguments have no line in common.
const LOOPS: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#define N 32768L
#define LOOP __attribute__((noinline)) long
#define OPAQUE __asm__ volatile("")
typedef struct Node { struct Node *next; long rest[7]; } Node;
static Node nodes[N / 2];
static long words[8 * N];
static double to[N], from[N];
static int places[N];
LOOP sum_words(const long *w) { OPAQUE; long sum = 0; for (long i = 0; i < N; i++) sum += w[i]; return sum; }
LOOP every_16th(const long *w) { OPAQUE; long sum = 0; for (long i = 0; i < 8 * N; i += 16) sum += w[i]; return sum; }
LOOP records(const Node *n) { OPAQUE; long sum = 0; for (long i = 0; i < N / 2; i++) sum += n[i].rest[0]; return sum; }
LOOP gather(const long *w, const int *p) { OPAQUE; long sum = 0; for (long i = 0; i < N; i++) sum += w[p[i]]; return sum; }
LOOP list(const Node *n) { OPAQUE; for (long i = 0; i < N / 2; i++) n = n->next; return n->rest[0]; }
LOOP stencil(double *a, const double *b) { for (long i = 1; i < N - 1; i++) a[i] = b[i - 1] + b[i + 1] - 2 * b[i]; return 0; }
LOOP update(long *w) { unsigned long x = 1; for (long i = 0; i < N; i++) x = x * 6364136223846793005ul + 1442695040888963407ul, w[x >> 49] ^= x; return 0; }
LOOP column(const long *w) { OPAQUE; long sum = 0; for (long i = 0; i < 512; i++) sum += w[i * 512]; return sum; }
int main(void) {
    unsigned long state = 88172645463325252ul;
    for (long i = 0; i < N; i++) places[i] = i;
    for (long i = N - 1; i > 0; i--) {
        state ^= state << 13; state ^= state >> 7; state ^= state << 17;
        long j = state % i; int place = places[i]; places[i] = places[j]; places[j] = place;
    }
    Node *last = nodes;
    for (long i = 0; i < N; i++) if (places[i] > 0 && places[i] < N / 2) last = last->next = &nodes[places[i]];
    last->next = nodes;
    long all = 0;
    for (int pass = 0; pass < 3; pass++) {
        all += sum_words(words) + every_16th(words) + records(nodes) + gather(words, places) + list(nodes) + stencil(to, from) + update(words);
        for (long i = 0; i < 32; i++) all += column(words + 8 * i);
    }
    printf("%ld\n", all);
    return 0;
}
"#;

const LOOPS_IN_RUST: &str = r#"
use std::hint::black_box;
type Node = [usize; 8];
const N: usize = 32768;
#[inline(never)] fn sum_words(w: &[u64]) -> u64 { black_box(0); w[..N].iter().sum() }
#[inline(never)] fn every_16th(w: &[u64]) -> u64 { black_box(0); w.iter().step_by(16).sum() }
#[inline(never)] fn records(n: &[Node]) -> usize { black_box(0); n.iter().map(|n| n[1]).sum() }
#[inline(never)] fn gather(w: &[u64], p: &[u32]) -> u64 { black_box(0); p.iter().map(|i| w[*i as usize]).sum() }
#[inline(never)] fn list(n: &[Node]) -> usize { black_box(0); let mut node = &n[0]; for _ in 0..n.len() { node = unsafe { &*(node[0] as *const Node) }; } node[1] }
#[inline(never)] fn stencil(a: &mut [f64], b: &[f64]) { for (a, b) in a.iter_mut().zip(b.windows(3)) { *a = b[0] + b[2] - 2.0 * b[1]; } }
#[inline(never)] fn update(w: &mut [u64]) { let mut x = 1u64; for _ in 0..N { x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407); w[(x >> 49) as usize] ^= x; } }
#[inline(never)] fn column(w: &[u64]) -> u64 { black_box(0); let mut sum = 0; for i in 0..512 { sum += w[i * 512]; } sum }
fn main() {
    let mut words = vec![0u64; 8 * N];
    let (mut to, from) = (vec![0f64; N], vec![0f64; N]);
    let mut places: Vec<u32> = (0..N as u32).collect();
    let mut state = 88172645463325252u64;
    for i in (1..N).rev() { state ^= state << 13; state ^= state >> 7; state ^= state << 17; places.swap(i, (state % i as u64) as usize); }
    let order: Vec<usize> = places.iter().map(|p| *p as usize).filter(|p| *p < N / 2).collect();
    let mut nodes = vec![[0usize; 8]; N / 2];
    for (i, place) in order.iter().enumerate() { nodes[*place][0] = &nodes[order[(i + 1) % order.len()]] as *const Node as usize; }
    for _ in 0..3 {
        black_box(sum_words(&words) + every_16th(&words) + gather(&words, &places));
        black_box(records(&nodes) + list(&nodes));
        stencil(&mut to, &from);
        update(&mut words);
        for i in 0..32 { black_box(column(&words[8 * i..])); }
    }
}
"#;

/// The kind and L of each loop. Words that a compiler keeps in registers change L by less than 2 times.
const TABLE: [(&str, Kind, f64); 8] = [
    ("sum_words", Kind::Sweep, 4096.0),
    ("every_16th", Kind::Strided, 1.0),
    ("records", Kind::Strided, 1.0),
    ("gather", Kind::Random, 1.0),
    ("list", Kind::Chain, 1.0),
    ("stencil", Kind::Sweep, 4096.0),
    ("update", Kind::Random, 1.0),
    ("column", Kind::Strided, 1.0),
];

fn check_table(compiler: &str, flags: &[&str], source: (&str, &str)) {
    let scratch = Scratch::new();
    let located = locate(&compile(&scratch, compiler, flags, source));
    let is_without_line = |part: &Part| part.name.starts_with("loops.") && part.name.ends_with(":0");
    assert!(!located.lines.iter().any(is_without_line), "{compiler} {flags:?}: a line 0 of a compiler has a row");
    for (name, kind, words) in TABLE {
        let part = part_of_function(&located, &|function| function.rsplit("::").any(|part| part == name));
        let answer = part.map(|part| (part.kind(), part.place.map(|place| (place.alpha, place.block_words))));
        let is_right = |alpha: f64, length: f64| (alpha - 1.0).abs() < 0.05 && (0.5..=2.0).contains(&(length / words));
        let is_right = answer.is_some_and(|(own, place)| own == kind && place.is_some_and(|(a, l)| is_right(a, l)));
        assert!(is_right, "{compiler} {flags:?} {name}: {answer:?}");
    }
}

const VECTORS: &str = if cfg!(target_arch = "x86_64") { "-mavx2" } else { "-g" };
/// With DWARF 5, valgrind 3.19 cannot read what `clang -Ofast` links.
const FLAGS: [&[&str]; 5] =
    [&["-O1"], &["-O2"], &["-O3"], &["-O3", "-funroll-loops"], &["-Ofast", VECTORS, "-gdwarf-4"]];

#[test]
fn eight_loops_have_the_same_kind_and_place_with_all_flags_of_gcc_and_rustc() {
    needs!(Valgrind);
    FLAGS.iter().for_each(|flags| check_table("cc", flags, ("loops.c", LOOPS)));
    let newer = if cfg!(target_arch = "x86_64") { "-Ctarget-cpu=x86-64-v3" } else { "-Cdebuginfo=2" };
    for flags in [["-Copt-level=1"; 2], ["-Copt-level=2"; 2], ["-Copt-level=3"; 2], ["-Copt-level=3", newer]] {
        check_table("rustc", &flags, ("loops.rs", LOOPS_IN_RUST));
    }
}

#[test]
fn eight_loops_have_the_same_kind_and_place_with_all_flags_of_clang() {
    needs!(Valgrind);
    needs!(Clang);
    let compilers =
        ["clang-14", "clang-15", "clang-16", "clang"].into_iter().filter(|name| find_on_path(name).is_some());
    for compiler in compilers {
        FLAGS.iter().for_each(|flags| check_table(compiler, flags, ("loops.c", LOOPS)));
    }
}
