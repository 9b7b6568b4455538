//! The built-in static embeddings: a text's meaning as a vector, the mean of its word pieces' vectors.
//!
//! The model is compiled in and of English. This file knows nothing of entries or requests.

#[cfg(test)]
mod tests;
mod word_piece;

use std::sync::{Arc, OnceLock};

use safetensors::SafeTensors;
use safetensors::tensor::Dtype;

use super::words::is_stop_word;
use word_piece::WordPiece;

const TABLE: &[u8] = include_bytes!("../../data/static-96/model.safetensors");
const TOKENIZER: &[u8] = include_bytes!("../../data/static-96/tokenizer.json");

/// How many pieces of a text are read: what stands further behind moves the mean little, and a text may be megabytes long.
const MAX_PIECES: usize = 512;

/// A text's meaning: a vector of length 1.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Vector(Arc<[f32]>);

/// What the model makes of a text.
#[derive(Debug)]
pub(super) struct Reading {
    /// Its meaning; `None` where no piece of it is known.
    pub(super) vector: Option<Vector>,
    /// How many words that say something are words of the model as a whole.
    pub(super) known: usize,
    /// How many are not: names, misspelt words, other languages.
    pub(super) unknown: usize,
}

/// The table of vectors and what finds the rows of a text.
#[derive(Debug)]
pub(super) struct Model {
    pieces: WordPiece,
    rows: &'static [u8],
    dimensions: usize,
}

/// What is compiled in, for a test that knows whether it is as it was.
#[cfg(test)]
pub(super) fn compiled_in() -> impl Iterator<Item = &'static [u8]> {
    [TABLE, TOKENIZER].into_iter()
}

impl Model {
    /// The model, loaded by whoever is the first to need it.
    pub(super) fn shared() -> &'static Self {
        static MODEL: OnceLock<Model> = OnceLock::new();
        MODEL.get_or_init(Self::load)
    }

    fn load() -> Self {
        let file = SafeTensors::deserialize(TABLE).expect("the compiled-in table is whole");
        let table = file
            .tensor("embeddings")
            .expect("the compiled-in table has its one tensor");
        assert_eq!(table.dtype(), Dtype::I8, "the table is of bytes");
        let &[_, dimensions] = table.shape() else {
            unreachable!("the compiled-in table has rows and columns");
        };
        Self {
            pieces: WordPiece::read(TOKENIZER).expect("the compiled-in tokenizer is whole"),
            rows: table.data(),
            dimensions,
        }
    }

    /// The meaning of a text; `None` where no piece of it is known.
    pub(super) fn embed(&self, text: &str) -> Option<Vector> {
        self.read(text).vector
    }

    /// The meaning of a text, and how much of it is known.
    pub(super) fn read(&self, text: &str) -> Reading {
        // Bytes are added, of at most `MAX_PIECES` pieces.
        let mut sum = vec![0_i32; self.dimensions];
        let mut left = MAX_PIECES;
        let (mut known, mut unknown) = (0, 0);
        self.pieces.words(text, &mut |word, pieces| {
            for piece in pieces.iter().take(left) {
                for (sum, value) in sum.iter_mut().zip(self.row(*piece)) {
                    *sum += i32::from(*value as i8);
                }
            }
            left = left.saturating_sub(pieces.len());
            if word.chars().any(char::is_alphabetic) && !is_stop_word(word) {
                if pieces.len() == 1 && word.is_ascii() {
                    known += 1;
                } else {
                    unknown += 1;
                }
            }
            left > 0
        });
        // Only the direction counts, so the sum is as good as the mean.
        let mut sum: Vec<f32> = sum.into_iter().map(|value| value as f32).collect();
        Reading {
            vector: Vector::normalised(&mut sum),
            known,
            unknown,
        }
    }

    fn row(&self, piece: u32) -> &'static [u8] {
        let start = piece as usize * self.dimensions;
        // A piece beyond the table has no meaning; the tests see to it that there is none.
        self.rows
            .get(start..start + self.dimensions)
            .unwrap_or_default()
    }
}

impl Vector {
    /// The vector of this direction; `None` for that which has none.
    fn normalised(values: &mut [f32]) -> Option<Self> {
        let length = values.iter().map(|value| value * value).sum::<f32>().sqrt();
        if length <= f32::EPSILON {
            return None;
        }
        values.iter_mut().for_each(|value| *value /= length);
        Some(Self((&*values).into()))
    }

    /// Its coordinates.
    pub(super) fn values(&self) -> &[f32] {
        &self.0
    }

    /// The vector of these coordinates, which [`Vector::values`] gave.
    pub(super) fn of(values: impl Iterator<Item = f32>) -> Self {
        Self(values.collect())
    }

    /// The direction between several: the mean of vectors of equal length.
    pub(super) fn mean(vectors: &[Self]) -> Option<Self> {
        let (first, rest) = vectors.split_first()?;
        let mut sum = first.0.to_vec();
        for vector in rest {
            for (sum, value) in sum.iter_mut().zip(&*vector.0) {
                *sum += value;
            }
        }
        Self::normalised(&mut sum)
    }

    /// The cosine of the angle between the two.
    pub(super) fn cosine(&self, other: &Self) -> f32 {
        // Several sums side by side, which the processor adds at once; one after the other it may not reorder.
        let mut sums = [0.0; 8];
        let (ones, one_rest) = self.0.as_chunks::<8>();
        let (others, other_rest) = other.0.as_chunks::<8>();
        for (one, other) in ones.iter().zip(others) {
            for ((sum, a), b) in sums.iter_mut().zip(one).zip(other) {
                *sum += a * b;
            }
        }
        let rest: f32 = one_rest.iter().zip(other_rest).map(|(a, b)| a * b).sum();
        sums.iter().sum::<f32>() + rest
    }
}
