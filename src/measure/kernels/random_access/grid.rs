//! Updates travel through a grid in dimension order (Blue Gene/P paper, Section 4.2). One dimension is an all-to-all exchange;
//! dimensions of size two are a hypercube.

/// The coordinates of a rank are its digits in a mixed radix; the first dimension is the least significant digit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeGrid {
    sizes: Vec<usize>,
}

impl NodeGrid {
    /// Dimensions of size one are omitted, because nothing travels along them.
    pub fn new(sizes: &[usize]) -> Self {
        Self { sizes: sizes.iter().copied().filter(|&size| size > 1).collect() }
    }

    /// At most `dimensions` dimensions, as equal as the prime factors of `ranks` allow, the largest first.
    pub fn from_ranks(ranks: usize, dimensions: usize) -> Self {
        let mut sizes = vec![1; dimensions];
        for prime in prime_factors(ranks).into_iter().rev() {
            if let Some(smallest) = sizes.iter_mut().min() {
                *smallest *= prime;
            }
        }
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        Self::new(&sizes)
    }

    pub fn dimensions(&self) -> usize {
        self.sizes.len()
    }

    pub fn coordinate(&self, rank: usize, dimension: usize) -> usize {
        rank / self.stride(dimension) % self.sizes[dimension]
    }

    fn stride(&self, dimension: usize) -> usize {
        self.sizes[..dimension].iter().product()
    }

    pub fn peers(&self, rank: usize, dimension: usize) -> Vec<usize> {
        let (stride, own) = (self.stride(dimension), self.coordinate(rank, dimension));
        let others = (0..self.sizes[dimension]).filter(|&place| place != own);
        others.map(|place| rank - own * stride + place * stride).collect()
    }

    /// Returns the dimension and the next rank of an update at `rank` for `owner`, or `None` if `rank` is `owner`.
    pub fn next_hop(&self, rank: usize, owner: usize) -> Option<(usize, usize)> {
        let mut stride = 1;
        for (dimension, &size) in self.sizes.iter().enumerate() {
            let (coordinate, target) = (rank / stride % size, owner / stride % size);
            if coordinate != target {
                return Some((dimension, rank - coordinate * stride + target * stride));
            }
            stride *= size;
        }
        None
    }
}

/// Returns the prime factors, ascending.
pub fn prime_factors(mut number: usize) -> Vec<usize> {
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
