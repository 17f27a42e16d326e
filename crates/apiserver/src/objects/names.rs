//! Names that the server makes up.

/// The letters of generated names: no vowels and nothing that is easily mistaken.
const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
/// How many random letters a generated name ends with.
const RANDOM: usize = 5;
/// The longest generated name.
const LIMIT: usize = 63;

/// Appends five random letters to the base, which is cut to make room.
pub(crate) fn generate(base: &str) -> String {
    let mut end = base.len().min(LIMIT - RANDOM);
    while !base.is_char_boundary(end) {
        end -= 1;
    }
    let mut name = base[..end].to_owned();
    name.push_str(&suffix());
    name
}

/// Five random letters.
pub(crate) fn suffix() -> String {
    let random = uuid::Uuid::new_v4();
    random
        .as_bytes()
        .iter()
        .take(RANDOM)
        .filter_map(|byte| ALPHABET.get(usize::from(*byte) % ALPHABET.len()))
        .map(|letter| char::from(*letter))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_base_is_cut() {
        assert_eq!(generate(&"x".repeat(100)).len(), LIMIT);
        assert!(generate("web-").starts_with("web-"));
    }
}
