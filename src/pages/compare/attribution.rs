//! How much each term of two times has to do with their ratio.
//!
//! SOURCE: B. W. Ang, The LMDI approach to decomposition analysis: a practical guide, Energy Policy 33 (2005), pages 867 to 871:
//!   the logarithmic mean Divisia index (LMDI-I), of sums.
//! DEFINITION: Of ln(B / A), where A and B are sums of terms, the term i makes (b_i - a_i) / L(A, B), with the logarithmic mean
//!   L(A, B) = (B - A) / ln(B / A).
//!
//! The parts add up to the logarithm of the ratio, whatever the terms and however far apart the sums. They only change their signs
//! where the sides are exchanged, and depend on no order in which terms are replaced. A term may be zero on one side or both.

/// The part of each term in ln(sum of `b` / sum of `a`); both sums are positive.
pub fn parts(a: &[f64], b: &[f64]) -> Vec<f64> {
    let mean = logarithmic_mean(a.iter().sum(), b.iter().sum());
    a.iter().zip(b).map(|(a, b)| (b - a) / mean).collect()
}

/// (b - a) / ln(b / a), which is a where both are equal.
fn logarithmic_mean(a: f64, b: f64) -> f64 {
    let apart = (b - a) / a;
    // Not of b / a, which rounding would make 1 too soon.
    if apart == 0.0 { a } else { (b - a) / apart.ln_1p() }
}
