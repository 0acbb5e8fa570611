//! Vectors of meaning. What makes them is behind a port.

use serde::{Deserialize, Serialize};

/// A vector in a named space, unit length.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NamedVector {
    /// Name of the space (model id, with `.window` for the window vector).
    pub space: String,
    /// As long as the space's dimension.
    pub vector: Vec<f32>,
}

/// The cosine of two vectors of unit length and the same dimension.
pub fn cosine(one: &[f32], other: &[f32]) -> f32 {
    // Several sums side by side: one alone must be added up in order, which keeps the processor from doing eight at once.
    const LANES: usize = 16;
    let (ones, one_rest) = one.as_chunks::<LANES>();
    let (others, other_rest) = other.as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for (one, other) in ones.iter().zip(others) {
        for ((sum, a), b) in sums.iter_mut().zip(one).zip(other) {
            *sum += a * b;
        }
    }
    sums.iter().sum::<f32>() + one_rest.iter().zip(other_rest).map(|(a, b)| a * b).sum::<f32>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cosines_take_every_dimension() {
        for dimension in [1, 15, 16, 17, 384] {
            let mut vector = vec![0.0; dimension];
            vector[dimension - 1] = 1.0;
            assert_eq!(cosine(&vector, &vector), 1.0, "{dimension}");
        }
        assert_eq!(cosine(&[0.6, 0.8], &[0.8, -0.6]), 0.0);
    }
}
