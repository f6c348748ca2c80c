//! The addresses that codes read and write, in words, as (array, address). A word that stays in a register counts once. Each
//! trace runs the code twice; the first time fills the memory.

/// Calls `access(array, word)` for each access of a code.
type Access<'a> = &'a mut dyn FnMut(usize, usize);

/// C = A B as dot products of the rows of A and the columns of B.
pub fn naive_product(n: usize, access: Access) {
    let (b, c) = (n * n, 2 * n * n);
    for i in 0..n {
        for j in 0..n {
            for k in 0..n {
                access(0, i * n + k);
                access(1, b + k * n + j);
            }
            access(2, c + i * n + j);
        }
    }
}

/// C += A B in tiles; the innermost loop is along the rows of B and C.
pub fn tiled_product(n: usize, tile: usize, access: Access) {
    let (b, c) = (n * n, 2 * n * n);
    let starts = || (0..n).step_by(tile);
    for (i0, j0, k0) in starts().flat_map(|i| starts().flat_map(move |j| starts().map(move |k| (i, j, k)))) {
        for (i, k) in (i0..i0 + tile).flat_map(|i| (k0..k0 + tile).map(move |k| (i, k))) {
            access(0, i * n + k);
            for j in j0..j0 + tile {
                access(1, b + k * n + j);
                access(2, c + i * n + j);
            }
        }
    }
}

/// y = A x with A in compressed rows: the five-point stencil on a grid of `side` by `side` points, periodic.
pub fn five_point(side: usize, access: Access) {
    let rows = side * side;
    let [values, columns, x, starts, y] = [0, 5 * rows, 10 * rows, 11 * rows, 12 * rows];
    for row in 0..rows {
        access(3, starts + row);
        for (k, column) in [rows - side, rows - 1, 0, 1, side].map(|step| (row + step) % rows).into_iter().enumerate() {
            access(0, values + 5 * row + k);
            access(1, columns + 5 * row + k);
            access(2, x + column);
        }
        access(4, y + row);
    }
}

/// a = b + s c.
pub fn triad(n: usize, access: Access) {
    for i in 0..n {
        for array in 0..3 {
            access(array, array * n + i);
        }
    }
}

/// A list of nodes of two words. The nodes are in the order of a generator modulo a prime, far from that of their addresses.
pub fn list_walk(prime: usize, generator: usize, access: Access) {
    let mut node = 1;
    for _ in 1..prime {
        access(0, 2 * node);
        access(0, 2 * node + 1);
        node = node * generator % prime;
    }
}
