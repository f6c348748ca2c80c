//! A grid of ranks in any number of dimensions, through which updates travel in dimension order.
//!
//! SOURCE: Blue Gene/P paper, Section 4.2. One dimension is an all-to-all exchange; dimensions of size two are a
//!   hypercube.

/// Ranks as numbers of a mixed radix, the first dimension running fastest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeGrid {
    sizes: Vec<usize>,
}

impl NodeGrid {
    /// These dimensions; those of size one are left out, as nothing travels along them.
    pub fn new(sizes: &[usize]) -> Self {
        Self { sizes: sizes.iter().copied().filter(|&size| size > 1).collect() }
    }

    /// As even as the prime factors of `ranks` allow in at most so many dimensions, the largest first.
    pub fn even(ranks: usize, dimensions: usize) -> Self {
        let mut sizes = vec![1; dimensions];
        for prime in prime_factors(ranks).into_iter().rev() {
            if let Some(least) = sizes.iter_mut().min() {
                *least *= prime;
            }
        }
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        Self::new(&sizes)
    }

    pub fn dimensions(&self) -> usize {
        self.sizes.len()
    }

    /// The place of a rank in its line of this dimension.
    pub fn place(&self, rank: usize, dimension: usize) -> usize {
        rank / self.stride(dimension) % self.sizes[dimension]
    }

    fn stride(&self, dimension: usize) -> usize {
        self.sizes[..dimension].iter().product()
    }

    /// Ranks that differ from `rank` in this dimension only, in the order of their places.
    pub fn peers(&self, rank: usize, dimension: usize) -> Vec<usize> {
        let (stride, own) = (self.stride(dimension), self.place(rank, dimension));
        let others = (0..self.sizes[dimension]).filter(|&place| place != own);
        others.map(|place| rank - own * stride + place * stride).collect()
    }

    /// The dimension along which an update at `at` for `owner` travels next, and where to; `None` if it is there.
    pub fn next(&self, at: usize, owner: usize) -> Option<(usize, usize)> {
        let mut stride = 1;
        for (dimension, &size) in self.sizes.iter().enumerate() {
            let (here, there) = (at / stride % size, owner / stride % size);
            if here != there {
                return Some((dimension, at - here * stride + there * stride));
            }
            stride *= size;
        }
        None
    }
}

/// In ascending order.
fn prime_factors(mut number: usize) -> Vec<usize> {
    let (mut factors, mut candidate) = (Vec::new(), 2);
    while candidate * candidate <= number {
        while number.is_multiple_of(candidate) {
            factors.push(candidate);
            number /= candidate;
        }
        candidate += 1;
    }
    if number > 1 {
        factors.push(number);
    }
    factors
}
