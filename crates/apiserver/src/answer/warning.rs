//! The `Warning` headers of an answer.

use std::collections::HashSet;

use http::{HeaderMap, HeaderName, HeaderValue};

/// Most characters of all warnings together; beyond it each is cut, and once what was cut is as much, nothing more is told.
const TOTAL: usize = 4096;
/// Most characters of one warning once they are cut.
const EACH: usize = 256;

/// The warnings of one answer, each told once (upstream: `endpoints/filters/warning.go`). However many there are, what is kept is
/// what can be told.
#[derive(Debug, Default)]
pub(crate) struct Warnings {
    known: HashSet<String>,
    ordered: Vec<String>,
    /// How many characters are told.
    told: usize,
    cuts: bool,
}

impl Warnings {
    /// Adds a warning.
    pub(crate) fn add(&mut self, text: String) {
        let is_full = self.cuts && self.told >= TOTAL;
        if text.is_empty() || is_full || !self.known.insert(text.clone()) {
            return;
        }
        let own = length(&text, self.cuts);
        if own > 0 && !self.cuts && self.told + own > TOTAL {
            self.cuts = true;
            self.told = self.ordered.iter().map(|text| length(text, true)).sum();
        }
        self.told += length(&text, self.cuts);
        self.ordered.push(text);
    }

    /// The texts, as they are told.
    pub(crate) fn into_texts(self) -> Vec<String> {
        let cuts = self.cuts;
        self.ordered.into_iter().map(|text| if cuts { cut(&text).to_owned() } else { text }).collect()
    }
}

/// How many characters of a text are told; none of one that cannot be.
fn length(text: &str, cuts: bool) -> usize {
    let text = if cuts { cut(text) } else { text };
    if text.chars().any(char::is_control) { 0 } else { text.chars().count() }
}

fn cut(text: &str) -> &str {
    text.char_indices().nth(EACH).and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}

/// Writes warnings as headers: `299 - "text"`. As upstream, one that has a line break or the like in it is left out.
pub(crate) fn write(headers: &mut HeaderMap, warnings: &[String]) {
    for text in warnings {
        let quoted = text.replace('\\', "\\\\").replace('"', "\\\"");
        if text.is_empty() || text.chars().any(char::is_control) {
            continue;
        }
        if let Ok(value) = HeaderValue::from_bytes(format!("299 - \"{quoted}\"").as_bytes()) {
            headers.append(HeaderName::from_static("warning"), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(texts: impl IntoIterator<Item = String>) -> Vec<String> {
        let mut warnings = Warnings::default();
        texts.into_iter().for_each(|text| warnings.add(text));
        warnings.into_texts()
    }

    #[test]
    fn warnings_are_told_once_and_in_order() {
        assert_eq!(told(["b", "a", "b", ""].map(str::to_owned)), ["b", "a"]);
    }

    #[test]
    fn many_warnings_are_told_up_to_what_headers_may_hold() {
        let many = told((0..200_000).map(|number| format!("unknown field \"field{number:06}\"")));
        assert_eq!(many.len(), TOTAL.div_ceil(27));
        let few = told((0..3).map(|number| format!("{number}{}", "x".repeat(2000))));
        assert!(few.iter().all(|text| text.len() == EACH), "what is too much together is cut");
        let two = told((0..2).map(|number| format!("{number}{}", "x".repeat(2000))));
        assert!(two.iter().all(|text| text.len() == 2001));
    }
}
