//! The lines with which a task gives its output: `###Phase-output###: {"key":"k","value":"v"}`.
//!
//! The marker may stand anywhere in a line of the log. Memory is bounded, however long the lines are.

use serde_json::{Map, Value};

/// What marks a line.
pub const MARKER: &str = "###Phase-output###:";
/// The longest line that may hold an output, in bytes.
const MAX_LINE: usize = 1 << 20;
/// How many lines of the end of the log are kept, and how much of each.
const TAIL: (usize, usize) = (10, 1024);

/// An output line that is not one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutputError {
    /// What follows the marker is no JSON object with a text value.
    #[error(
        "an output line of the task cannot be read: {0}\nhint: write outputs with `kando output KEY VALUE`"
    )]
    Malformed(String),
    /// The line is too long.
    #[error(
        "an output line of the task is longer than 1 MiB\nhint: keep large data at the location, and give its path"
    )]
    TooLong,
}

/// The line that gives an output.
pub fn line(key: &str, value: &str) -> String {
    format!("{MARKER} {}", serde_json::json!({"key": key, "value": value}))
}

/// Whether the key may be used: letters, digits and `_`, and not empty.
pub fn valid_key(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Reads a log piece by piece.
#[derive(Default)]
pub struct OutputParser {
    line: Vec<u8>,
    /// Whether the rest of the line at hand is dropped, because it is too long and has no marker.
    dropping: bool,
    output: Map<String, Value>,
    tail: std::collections::VecDeque<String>,
}

impl OutputParser {
    /// Takes the next piece of the log.
    ///
    /// # Errors
    /// At the first output line that cannot be read.
    pub fn feed(&mut self, mut piece: &[u8]) -> Result<(), OutputError> {
        while let Some(end) = piece.iter().position(|b| *b == b'\n') {
            let (head, rest) = piece.split_at(end);
            self.take(head)?;
            self.end_line()?;
            piece = rest.get(1..).unwrap_or_default();
        }
        self.take(piece)
    }

    /// Ends the log: the output, and its last lines.
    ///
    /// # Errors
    /// As [`OutputParser::feed`].
    pub fn finish(mut self) -> Result<(Map<String, Value>, Vec<String>), OutputError> {
        self.end_line()?;
        Ok((self.output, self.tail.into()))
    }

    fn take(&mut self, piece: &[u8]) -> Result<(), OutputError> {
        if self.dropping {
            return Ok(());
        }
        self.line.extend_from_slice(piece);
        if self.line.len() > MAX_LINE {
            if find(&self.line).is_some() {
                return Err(OutputError::TooLong);
            }
            self.remember();
            self.line.clear();
            self.dropping = true;
        }
        Ok(())
    }

    fn end_line(&mut self) -> Result<(), OutputError> {
        if !std::mem::take(&mut self.dropping) {
            self.read_output()?;
            if !self.line.is_empty() {
                self.remember();
            }
        }
        self.line.clear();
        Ok(())
    }

    fn read_output(&mut self) -> Result<(), OutputError> {
        #[derive(serde::Deserialize)]
        struct Line {
            #[serde(default)]
            key: String,
            #[serde(default)]
            value: String,
        }
        let Some(at) = find(&self.line) else { return Ok(()) };
        let content = self.line.get(at + MARKER.len()..).unwrap_or_default().trim_ascii();
        if content.is_empty() {
            return Ok(());
        }
        // The text itself is not shown: it may hold a secret.
        let line: Line =
            serde_json::from_slice(content).map_err(|e| OutputError::Malformed(e.to_string()))?;
        self.output.insert(line.key, line.value.into());
        self.line.clear();
        Ok(())
    }

    fn remember(&mut self) {
        let shown = self.line.get(..self.line.len().min(TAIL.1)).unwrap_or_default();
        let text = String::from_utf8_lossy(shown).trim_end_matches('\r').to_owned();
        if self.tail.len() == TAIL.0 {
            self.tail.pop_front();
        }
        self.tail.push_back(text);
    }
}

fn find(line: &[u8]) -> Option<usize> {
    line.windows(MARKER.len()).position(|window| window == MARKER.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(log: &str) -> Result<Map<String, Value>, OutputError> {
        let mut parser = OutputParser::default();
        parser.feed(log.as_bytes())?;
        parser.finish().map(|(output, _)| output)
    }

    #[test]
    fn lines_of_all_shapes() {
        for (log, expected) in [
            ("", serde_json::json!({})),
            ("noise\n", serde_json::json!({})),
            ("###Phase-output###: {\"key\":\"a\",\"value\":\"b\"}", serde_json::json!({"a": "b"})),
            (
                "progress 5% ###Phase-output###:{\"key\":\"a\",\"value\":\"b\",\"more\":1}  \r\nx",
                serde_json::json!({"a": "b"}),
            ),
            ("###Phase-output###:\n", serde_json::json!({})),
            ("###Phase-output###: {\"value\":\"b\"}\n", serde_json::json!({"": "b"})),
            (&(line("a", "1") + "\n" + &line("a", "2")), serde_json::json!({"a": "2"})),
            ("##Phase-output###: {\"key\":\"a\",\"value\":\"b\"}", serde_json::json!({})),
        ] {
            assert_eq!(Value::Object(parse(log).unwrap()), expected, "{log}");
        }
        for log in [
            "###Phase-output###: {\"key\":\"a\",\"value\":\"b\"",
            "###Phase-output###: {\"key\":\"a\",\"value\":1}",
        ] {
            assert!(matches!(parse(log), Err(OutputError::Malformed(_))), "{log}");
        }
    }

    #[test]
    fn endless_lines_do_not_fill_the_memory() {
        let mut parser = OutputParser::default();
        for _ in 0..64 {
            parser.feed(&[b'x'; 1 << 16]).unwrap();
            assert!(parser.line.len() <= MAX_LINE + (1 << 16));
        }
        parser.feed(b"\n").unwrap();
        parser.feed(line("k", "v").as_bytes()).unwrap();
        let (output, tail) = parser.finish().unwrap();
        assert_eq!((output["k"].as_str(), tail.len()), (Some("v"), 1));
    }

    proptest! {
        /// Wherever the stream is cut, the output is the same.
        #[test]
        fn pieces_do_not_matter(values in prop::collection::vec("\\PC{0,40}", 1..5), size in 1_usize..50) {
            let log: String = values.iter().enumerate()
                .map(|(i, v)| format!("noise {i}\nx {}\n", line(&format!("k{i}"), v))).collect();
            let mut parser = OutputParser::default();
            for piece in log.as_bytes().chunks(size) {
                parser.feed(piece).unwrap();
            }
            let (output, _) = parser.finish().unwrap();
            for (i, value) in values.iter().enumerate() {
                prop_assert_eq!(output[&format!("k{i}")].as_str().unwrap(), value);
            }
        }
    }
}
