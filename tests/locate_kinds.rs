//! Kinds of accesses of loops with known answers, in several languages and at several levels of optimisation.

use crate::common::{self, Scratch};
use crate::locate_tracer::options;
use apexmap_locate::analysis::Analysis;
use apexmap_locate::located::Located;
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

const RUST: &str = r#"
#[inline(never)] #[no_mangle] pub fn sweep_loop(w: &[u64]) -> u64 { w.iter().sum() }
#[inline(never)] #[no_mangle] pub fn strided_loop(w: &[u64]) -> u64 { w.iter().step_by(64).sum() }
#[inline(never)] #[no_mangle] pub fn random_loop(w: &[u64], p: &[u32]) -> u64 { p.iter().map(|i| w[*i as usize]).sum() }
fn main() {
    let n = 1u64 << 18;
    let w: Vec<u64> = (0..n).collect();
    let p: Vec<u32> = (0..n).map(|k| ((k.wrapping_mul(k).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 30) & (n - 1)) as u32).collect();
    println!("{}", sweep_loop(&w) + strided_loop(&w) + random_loop(&w, &p));
}
"#;

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

/// Returns the kind of a function. The words of an index or of a stack do not count, so that its kind is the one with most accesses that
/// are neither local nor a sweep, if there are many, or else a sweep.
fn kind_of_function(located: &Located, is_function: &dyn Fn(&str) -> bool) -> Option<Kind> {
    let parts = || located.lines.iter().filter(|part| is_function(&part.function));
    let most =
        |kinds: &dyn Fn(Kind) -> bool| parts().filter(|part| kinds(part.kind())).max_by_key(|part| part.accesses);
    let swept = most(&|kind| kind == Kind::Sweep).map_or(0, |part| part.accesses);
    let other = most(&|kind| !matches!(kind, Kind::Sweep | Kind::Local)).filter(|part| 4 * part.accesses > swept);
    other.map_or((swept > 0).then_some(Kind::Sweep), |part| Some(part.kind()))
}

/// Returns the answers for the loops of a program that are wrong.
fn wrong_kinds(program: &Path, kinds: &[Kind]) -> Vec<String> {
    let mut analysis = Analysis::default();
    let traced = trace(&[program.as_os_str().to_owned()], &options(), &mut analysis).unwrap();
    let located = Located::new(&traced.sites, analysis, [("second-level cache", 1 << 20), ("last cache", 32 << 20)]);
    let kind_of_loop = |expected: &Kind| {
        let name = format!("{expected}_loop");
        // The outlined body of a parallel loop is `sweep_loop._omp_fn.0`.
        kind_of_function(&located, &|function| function.split(['.', '_']).take(2).eq(name.split('_')))
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

#[test]
fn kinds_of_loops_in_rust_are_right() {
    needs!(Valgrind);
    let scratch = Scratch::new();
    for flags in [["-Copt-level=1"], ["-Copt-level=3"]] {
        let program = compile(&scratch, "rustc", &flags, ("loops.rs", RUST));
        assert_eq!(wrong_kinds(&program, &ALL[..3]), [""; 0], "{flags:?}");
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
    let mut analysis = Analysis::default();
    let traced = trace(&[program.as_os_str().to_owned()], &options(), &mut analysis).unwrap();
    let located = Located::new(&traced.sites, analysis, [("second-level cache", 1 << 20), ("last cache", 32 << 20)]);
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
    let kinds = table.map(|(function, _)| (function, kind_of_function(&located, &|name| name == function)));
    assert_eq!(kinds, table.map(|(function, kind)| (function, Some(kind))));
}
