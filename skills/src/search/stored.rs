//! An index as bytes, so that one that was built once need not be built again.
//!
//! ```text
//! HEAD  basis  groups  entries  vectors  words  checksum
//! ```
//!
//! Numbers are little-endian, texts and lists stand behind their length. Whatever the bytes are, reading them neither panics nor
//! takes more memory than a few times their length; the checksum is against damage, not against whoever may write the file.

use std::io::{self, Write};
use std::sync::Arc;

use super::basis::Basis;
use super::content::{Content, Indexed, Ranked};
use super::hybrid::Hybrid;
use super::lexical::{Lexical, Posting, Postings};
use super::model::Vector;
use super::{SearchIndex, SearchOptions, unknown};
use crate::catalog::{EntryKind, Shown};
use crate::entry_id::EntryId;

/// What the bytes begin with: to be changed with their layout.
const HEAD: &[u8] = b"shelf search 1\n";
/// How long the checksum is.
const CHECKSUM: usize = 32;
/// A posting's place and value.
const POSTING: usize = 8;

/// An index that was read, before it is known to be of use.
#[derive(Debug)]
pub struct StoredIndex {
    basis: Basis,
    ranked: Ranked,
}

impl SearchIndex {
    /// Writes the index with what it was built from, for [`StoredIndex::read`].
    ///
    /// # Errors
    /// What writing comes to, and [`io::ErrorKind::InvalidData`] for an index beyond all measure.
    pub fn store(&self, basis: &Basis, out: &mut dyn Write) -> io::Result<()> {
        let hasher = blake3::Hasher::new();
        let mut writer = Writer { out, hasher };
        writer.raw(HEAD)?;
        writer.raw(&basis.0)?;
        writer.content(&self.content)?;
        let checksum = writer.hasher.finalize();
        writer.out.write_all(checksum.as_bytes())
    }
}

impl StoredIndex {
    /// How many bytes tell the basis.
    pub const BEGINNING: usize = HEAD.len() + size_of::<Basis>();

    /// What an index was built from, told by its beginning.
    pub fn basis_in(beginning: &[u8]) -> Option<Basis> {
        let basis = beginning.strip_prefix(HEAD)?.first_chunk()?;
        Some(Basis(*basis))
    }

    /// Reads an index; `None` for anything but what [`SearchIndex::store`] wrote.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (bytes, checksum) = bytes.split_last_chunk::<CHECKSUM>()?;
        if blake3::hash(bytes) != *checksum {
            return None;
        }
        let basis = Self::basis_in(bytes)?;
        let mut reader = Reader(bytes.get(Self::BEGINNING..)?);
        let ranked = reader.ranked()?;
        reader.0.is_empty().then_some(Self { basis, ranked })
    }

    /// The index, when it was built from this; its generation is 0. `shown` has the servers, and `options` are part of the basis.
    pub fn into_index(
        self,
        basis: &Basis,
        shown: &dyn Shown,
        options: &SearchOptions,
    ) -> Option<SearchIndex> {
        (self.basis == *basis).then(|| SearchIndex {
            generation: 0,
            content: Arc::new(Content::new(self.ranked, Vec::new(), options)),
            unknown: unknown(shown),
        })
    }
}

/// Writes parts, and hashes what it writes.
struct Writer<'a> {
    out: &'a mut dyn Write,
    hasher: blake3::Hasher,
}

impl Writer<'_> {
    fn raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hasher.update(bytes);
        self.out.write_all(bytes)
    }

    fn count(&mut self, count: usize) -> io::Result<()> {
        let count = u32::try_from(count).map_err(io::Error::other)?;
        self.raw(&count.to_le_bytes())
    }

    fn text(&mut self, text: &str) -> io::Result<()> {
        self.count(text.len())?;
        self.raw(text.as_bytes())
    }

    fn content(&mut self, content: &Content) -> io::Result<()> {
        self.count(content.groups.len())?;
        for (name, about) in &content.groups {
            self.text(name)?;
            self.text(about)?;
        }
        self.count(content.entries.len())?;
        for entry in &content.entries {
            self.text(entry.id.as_str())?;
            self.raw(&[u8::from(entry.kind == EntryKind::Skill)])?;
            self.text(&entry.line)?;
            self.raw(&[u8::from(entry.own.is_some())])?;
            if let Some(own) = &entry.own {
                self.text(own)?;
            }
        }
        self.raw(&[u8::from(content.hybrid.is_some())])?;
        for vector in content.hybrid.iter().flat_map(Hybrid::vectors) {
            let values = vector.as_ref().map(Vector::values).unwrap_or_default();
            self.count(values.len())?;
            let bytes: Vec<u8> = values
                .iter()
                .flat_map(|value| value.to_le_bytes())
                .collect();
            self.raw(&bytes)?;
        }
        self.words(&content.lexical)
    }

    fn words(&mut self, lexical: &Lexical) -> io::Result<()> {
        let words = lexical.in_order();
        self.count(words.len())?;
        let mut bytes = Vec::new();
        for (token, postings) in words {
            self.raw(&token.to_le_bytes())?;
            self.count(postings.len())?;
            bytes.clear();
            for posting in postings {
                bytes.extend_from_slice(&posting.place.to_le_bytes());
                bytes.extend_from_slice(&posting.value.to_le_bytes());
            }
            self.raw(&bytes)?;
        }
        Ok(())
    }
}

/// What is not read yet.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    fn number(&mut self) -> Option<usize> {
        usize::try_from(u32::from_le_bytes(self.array()?)).ok()
    }

    /// How many things come, of which none is shorter than `least` bytes: nothing is set aside for what can't be there.
    fn count(&mut self, least: usize) -> Option<usize> {
        let count = self.number()?;
        (count <= self.0.len() / least).then_some(count)
    }

    fn flag(&mut self) -> Option<bool> {
        match self.array()? {
            [0] => Some(false),
            [1] => Some(true),
            _ => None,
        }
    }

    fn text(&mut self) -> Option<&'a str> {
        let length = self.number()?;
        str::from_utf8(self.take(length)?).ok()
    }

    fn ranked(&mut self) -> Option<Ranked> {
        let groups = (0..self.count(8)?)
            .map(|_| Some((self.text()?.to_owned(), self.text()?.to_owned())))
            .collect::<Option<_>>()?;
        let entries = (0..self.count(10)?)
            .map(|_| self.entry())
            .collect::<Option<Vec<_>>>()?;
        let vectors = if self.flag()? {
            let vectors = entries.iter().map(|_| self.vector());
            Some(vectors.collect::<Option<Vec<_>>>()?)
        } else {
            None
        };
        let lexical = Arc::new(self.lexical(entries.len())?);
        let hybrid = vectors.map(|vectors| Hybrid::new(Arc::clone(&lexical), vectors));
        Some(Ranked {
            entries,
            groups,
            lexical,
            hybrid,
        })
    }

    fn entry(&mut self) -> Option<Indexed> {
        let id = EntryId(self.text()?.into());
        let kind = match self.flag()? {
            true => EntryKind::Skill,
            false => EntryKind::Tool,
        };
        let line = self.text()?.to_owned();
        let own = match self.flag()? {
            true => Some(self.text()?.to_owned()),
            false => None,
        };
        Some(Indexed {
            id,
            kind,
            line,
            own,
        })
    }

    /// `Some(None)` for an entry of which the model knows nothing.
    fn vector(&mut self) -> Option<Option<Vector>> {
        let count = self.count(4)?;
        let (values, _) = self.take(count * 4)?.as_chunks::<4>();
        let values = values.iter().map(|value| f32::from_le_bytes(*value));
        Some((count > 0).then(|| Vector::of(values)))
    }

    fn lexical(&mut self, documents: usize) -> Option<Lexical> {
        let count = self.count(12)?;
        let mut postings = Postings::default();
        postings.reserve(count);
        for _ in 0..count {
            let token = u64::from_le_bytes(self.array()?);
            let count = self.count(POSTING)?;
            let (places, _) = self.take(count * POSTING)?.as_chunks::<POSTING>();
            let places = places.iter().map(|&[a, b, c, d, e, f, g, h]| {
                let posting = Posting {
                    place: u32::from_le_bytes([a, b, c, d]),
                    value: f32::from_le_bytes([e, f, g, h]),
                };
                ((posting.place as usize) < documents).then_some(posting)
            });
            postings.insert(token, places.collect::<Option<Vec<_>>>()?);
        }
        Some(Lexical::of(postings, documents))
    }
}

#[cfg(test)]
mod tests;
