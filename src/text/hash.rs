//! The hash by which two stores of the same memory are known to be one.

use sha2::{Digest, Sha256};

/// SHA-256 of the three parts, hexadecimal. Each part is framed by its length, so no two different triples read alike;
/// an absent part is not an empty one.
pub fn content_hash(title: Option<&str>, content: &str, context: Option<&str>) -> String {
    let mut hasher = Sha256::new();
    for part in [title, Some(content), context] {
        match part {
            None => hasher.update([0]),
            Some(part) => {
                hasher.update([1]);
                hasher.update((part.len() as u64).to_le_bytes());
                hasher.update(part);
            }
        }
    }
    hex::encode(hasher.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_is_the_one_that_is_stored() {
        // Stored data depends on this value.
        assert_eq!(
            content_hash(Some("title"), "content", None),
            "9b81564b12174298417fe0a52ed1a276d3a021defc0c11a7a8daaad306310155"
        );
    }

    #[test]
    fn parts_do_not_run_into_each_other() {
        let hashes = [
            content_hash(None, "ab", None),
            content_hash(Some("a"), "b", None),
            content_hash(Some(""), "ab", None),
            content_hash(None, "a", Some("b")),
            content_hash(None, "ab", Some("")),
            content_hash(Some("ab"), "", None),
        ];
        for (i, hash) in hashes.iter().enumerate() {
            assert!(!hashes[..i].contains(hash), "case {i}");
        }
    }
}
