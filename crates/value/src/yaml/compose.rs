//! Tokens to nodes: the grammar. Only the first document of a text is read.

use std::collections::HashMap;

use super::Error;
use super::scanner::{Kind, Scanner};
use super::source::Source;

/// One document: nodes that name each other by number.
#[derive(Debug, Default)]
pub(super) struct Document {
    pub(super) nodes: Vec<Node>,
    /// None for a text without a document.
    pub(super) root: Option<usize>,
}

#[derive(Debug)]
pub(super) struct Node {
    /// The line in which it starts, counted from zero.
    pub(super) line: usize,
    pub(super) shape: Shape,
}

#[derive(Debug)]
pub(super) enum Shape {
    Scalar(Scalar),
    Sequence(Vec<usize>),
    /// Keys and values, by turns.
    Mapping(Vec<usize>),
    /// Stands for another node, which had this name.
    Alias(usize, String),
}

#[derive(Debug)]
pub(super) struct Scalar {
    pub(super) text: String,
    /// The whole tag; empty if there is none.
    pub(super) tag: String,
    /// Whether the text decides what it is: it has no quotes, or the tag `!`.
    pub(super) implicit: bool,
}

/// What comes next in a collection.
#[derive(Clone, Copy)]
enum Next {
    BlockEntry,
    /// An entry of a sequence that is as deep as the mapping around it.
    IndentlessEntry,
    BlockKey,
    BlockValue,
    FlowEntry {
        first: bool,
    },
    FlowKey {
        first: bool,
    },
    FlowValue,
    /// The value of a key without a colon.
    NoFlowValue,
    /// A mapping of one pair within a flow sequence.
    PairKey,
    PairValue,
    PairEnd,
}

/// A collection that is open.
struct Frame {
    node: usize,
    next: Next,
}

/// Reads the first document of a text.
pub(super) fn compose(source: &Source<'_>) -> Result<Document, Error> {
    let mut composer = Composer {
        scanner: Scanner::new(source),
        document: Document::default(),
        frames: Vec::new(),
        anchors: HashMap::new(),
        tags: Vec::new(),
    };
    composer.document()?;
    Ok(composer.document)
}

struct Composer<'a> {
    scanner: Scanner<'a>,
    document: Document,
    frames: Vec<Frame>,
    anchors: HashMap<String, usize>,
    /// Handles and what they stand for.
    tags: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Composer<'_> {
    fn document(&mut self) -> Result<(), Error> {
        match self.scanner.peek()?.kind {
            Kind::StreamEnd => return Ok(()),
            Kind::Version { .. } | Kind::TagDirective { .. } | Kind::DocumentStart => {
                self.directives()?;
                let token = self.scanner.peek()?;
                if token.kind != Kind::DocumentStart {
                    return Err(Error::parsing(token.line, "did not find expected <document start>"));
                }
                self.scanner.take()?;
                let token = self.scanner.peek()?;
                let line = token.line;
                match token.kind {
                    Kind::Version { .. }
                    | Kind::TagDirective { .. }
                    | Kind::DocumentStart
                    | Kind::DocumentEnd
                    | Kind::StreamEnd => self.empty(line),
                    _ => self.node(true, false)?,
                }
            }
            _ => {
                self.directives()?;
                self.node(true, false)?;
            }
        }
        while let Some(frame) = self.frames.last() {
            match frame.next {
                Next::BlockEntry => self.block_entry()?,
                Next::IndentlessEntry => self.indentless_entry()?,
                Next::BlockKey => self.block_key()?,
                Next::BlockValue => self.block_value()?,
                Next::FlowEntry { first } => self.flow_entry(first)?,
                Next::FlowKey { first } => self.flow_key(first)?,
                Next::FlowValue => self.flow_value()?,
                Next::NoFlowValue => {
                    let line = self.scanner.peek()?.line;
                    self.expect(Next::FlowKey { first: false });
                    self.empty(line);
                }
                Next::PairKey => self.pair_key()?,
                Next::PairValue => self.pair_value()?,
                Next::PairEnd => {
                    self.scanner.peek()?;
                    self.frames.pop();
                }
            }
        }
        // What follows is not read, but its first token has to be one.
        self.scanner.peek()?;
        Ok(())
    }

    fn directives(&mut self) -> Result<(), Error> {
        let mut version = false;
        loop {
            let token = self.scanner.peek()?;
            let line = token.line;
            match &token.kind {
                Kind::Version { .. } if version => {
                    return Err(Error::parsing(line, "found duplicate %YAML directive"));
                }
                Kind::Version { major: 1, minor: 1 } => version = true,
                Kind::Version { .. } => return Err(Error::parsing(line, "found incompatible YAML document")),
                Kind::TagDirective { handle, .. } if self.tags.iter().any(|(known, _)| known == handle) => {
                    return Err(Error::parsing(line, "found duplicate %TAG directive"));
                }
                Kind::TagDirective { handle, prefix } => self.tags.push((handle.clone(), prefix.clone())),
                _ => break,
            }
            self.scanner.take()?;
        }
        for (handle, prefix) in [("!", "!"), ("!!", "tag:yaml.org,2002:")] {
            if !self.tags.iter().any(|(known, _)| known == handle.as_bytes()) {
                self.tags.push((handle.into(), prefix.into()));
            }
        }
        Ok(())
    }

    // --- nodes

    fn add(&mut self, line: usize, shape: Shape) -> usize {
        let number = self.document.nodes.len();
        self.document.nodes.push(Node { line, shape });
        let parent = self.frames.last().map(|frame| frame.node);
        match parent.and_then(|parent| self.document.nodes.get_mut(parent)).map(|node| &mut node.shape) {
            Some(Shape::Sequence(children) | Shape::Mapping(children)) => children.push(number),
            _ => self.document.root = Some(number),
        }
        number
    }

    /// A scalar that is not there.
    fn empty(&mut self, line: usize) {
        self.add(line, Shape::Scalar(Scalar { text: String::new(), tag: String::new(), implicit: true }));
    }

    fn open(&mut self, line: usize, anchor: Option<String>, shape: Shape, next: Next) {
        let node = self.add(line, shape);
        if let Some(anchor) = anchor {
            self.anchors.insert(anchor, node);
        }
        self.frames.push(Frame { node, next });
    }

    fn expect(&mut self, next: Next) {
        if let Some(frame) = self.frames.last_mut() {
            frame.next = next;
        }
    }

    fn close(&mut self) -> Result<(), Error> {
        self.scanner.take()?;
        self.frames.pop();
        Ok(())
    }

    /// Reads a scalar or an alias, or opens a collection. `block`: block collections are allowed here; `indentless`: a sequence
    /// is, too, that is no deeper than what is around it.
    fn node(&mut self, block: bool, indentless: bool) -> Result<(), Error> {
        let token = self.scanner.peek()?;
        let line = token.line;
        if let Kind::Alias(name) = &token.kind {
            let name = name.clone();
            self.scanner.take()?;
            let Some(target) = self.anchors.get(&name).copied() else {
                return Err(Error::plain(format!("unknown anchor '{name}' referenced")));
            };
            self.add(line, Shape::Alias(target, name));
            return Ok(());
        }
        let (anchor, tag) = self.properties()?;
        let token = self.scanner.peek()?;
        let at = token.line;
        match &token.kind {
            Kind::BlockEntry if indentless => {
                self.open(line, anchor, Shape::Sequence(Vec::new()), Next::IndentlessEntry);
            }
            Kind::Scalar { .. } => {
                let Kind::Scalar { text, plain } = self.scanner.take()?.kind else { return Ok(()) };
                let implicit = tag.is_empty() && plain || tag == "!";
                let node = self.add(line, Shape::Scalar(Scalar { text, tag, implicit }));
                self.name(anchor, node);
            }
            Kind::FlowSequenceStart => {
                self.scanner.take()?;
                self.open(line, anchor, Shape::Sequence(Vec::new()), Next::FlowEntry { first: true });
            }
            Kind::FlowMappingStart => {
                self.scanner.take()?;
                self.open(line, anchor, Shape::Mapping(Vec::new()), Next::FlowKey { first: true });
            }
            Kind::BlockSequenceStart if block => {
                self.scanner.take()?;
                self.open(line, anchor, Shape::Sequence(Vec::new()), Next::BlockEntry);
            }
            Kind::BlockMappingStart if block => {
                self.scanner.take()?;
                self.open(line, anchor, Shape::Mapping(Vec::new()), Next::BlockKey);
            }
            _ if anchor.is_some() || !tag.is_empty() => {
                let implicit = tag.is_empty();
                let node = self.add(line, Shape::Scalar(Scalar { text: String::new(), tag, implicit }));
                self.name(anchor, node);
            }
            _ => return Err(Error::parsing(at, "did not find expected node content")),
        }
        Ok(())
    }

    fn name(&mut self, anchor: Option<String>, node: usize) {
        if let Some(anchor) = anchor {
            self.anchors.insert(anchor, node);
        }
    }

    /// An anchor and a tag, in any order.
    fn properties(&mut self) -> Result<(Option<String>, String), Error> {
        let (mut anchor, mut tag) = (None, None);
        for _ in 0..2 {
            match &self.scanner.peek()?.kind {
                Kind::Anchor(name) if anchor.is_none() => anchor = Some(name.clone()),
                Kind::Tag { handle, suffix } if tag.is_none() => {
                    tag = Some((handle.clone(), suffix.clone(), self.scanner.peek()?.line));
                }
                _ => break,
            }
            self.scanner.take()?;
        }
        let Some((handle, suffix, line)) = tag else { return Ok((anchor, String::new())) };
        let whole = if handle.is_empty() {
            suffix
        } else {
            let prefix =
                self.tags.iter().find(|(known, _)| *known == handle).map(|(_, prefix)| prefix.as_slice());
            let whole = prefix.map(|prefix| [prefix, &suffix].concat()).unwrap_or_default();
            if whole.is_empty() {
                return Err(Error::parsing(line, "found undefined tag handle"));
            }
            whole
        };
        Ok((anchor, String::from_utf8_lossy(&whole).into_owned()))
    }

    // --- block collections

    fn block_entry(&mut self) -> Result<(), Error> {
        let token = self.scanner.peek()?;
        let line = token.line;
        match token.kind {
            Kind::BlockEntry => {
                self.scanner.take()?;
                match self.scanner.peek()?.kind {
                    Kind::BlockEntry | Kind::BlockEnd => self.empty(line),
                    _ => self.node(true, false)?,
                }
                Ok(())
            }
            Kind::BlockEnd => self.close(),
            _ => Err(Error::parsing(line, "did not find expected '-' indicator")),
        }
    }

    fn indentless_entry(&mut self) -> Result<(), Error> {
        let token = self.scanner.peek()?;
        let line = token.line;
        if token.kind != Kind::BlockEntry {
            self.frames.pop();
            return Ok(());
        }
        self.scanner.take()?;
        match self.scanner.peek()?.kind {
            Kind::BlockEntry | Kind::Key | Kind::Value | Kind::BlockEnd => self.empty(line),
            _ => self.node(true, false)?,
        }
        Ok(())
    }

    fn block_key(&mut self) -> Result<(), Error> {
        let token = self.scanner.peek()?;
        let line = token.line;
        match token.kind {
            Kind::Key => {
                self.scanner.take()?;
                self.expect(Next::BlockValue);
                match self.scanner.peek()?.kind {
                    Kind::Key | Kind::Value | Kind::BlockEnd => self.empty(line),
                    _ => self.node(true, true)?,
                }
                Ok(())
            }
            Kind::BlockEnd => self.close(),
            _ => Err(Error::parsing(line, "did not find expected key")),
        }
    }

    fn block_value(&mut self) -> Result<(), Error> {
        let token = self.scanner.peek()?;
        let line = token.line;
        let given = token.kind == Kind::Value;
        self.expect(Next::BlockKey);
        if given {
            self.scanner.take()?;
            if !matches!(self.scanner.peek()?.kind, Kind::Key | Kind::Value | Kind::BlockEnd) {
                return self.node(true, true);
            }
        }
        self.empty(line);
        Ok(())
    }

    // --- flow collections

    /// Steps over the comma before an entry that is not the first.
    fn comma(&mut self, first: bool, why: &'static str) -> Result<(), Error> {
        if first {
            return Ok(());
        }
        let token = self.scanner.peek()?;
        if token.kind != Kind::FlowEntry {
            return Err(Error::parsing(token.line, why));
        }
        self.scanner.take()?;
        Ok(())
    }

    fn flow_entry(&mut self, first: bool) -> Result<(), Error> {
        if self.scanner.peek()?.kind == Kind::FlowSequenceEnd {
            return self.close();
        }
        self.comma(first, "did not find expected ',' or ']'")?;
        let token = self.scanner.peek()?;
        let line = token.line;
        match token.kind {
            Kind::FlowSequenceEnd => self.close(),
            Kind::Key => {
                self.scanner.take()?;
                self.expect(Next::FlowEntry { first: false });
                self.open(line, None, Shape::Mapping(Vec::new()), Next::PairKey);
                Ok(())
            }
            _ => {
                self.expect(Next::FlowEntry { first: false });
                self.node(false, false)
            }
        }
    }

    fn pair_key(&mut self) -> Result<(), Error> {
        let token = self.scanner.peek()?;
        let line = token.line;
        let missing = matches!(token.kind, Kind::Value | Kind::FlowEntry | Kind::FlowSequenceEnd);
        self.expect(Next::PairValue);
        if !missing {
            return self.node(false, false);
        }
        // Upstream steps over what ends the key, whatever it is.
        self.scanner.take()?;
        self.empty(line);
        Ok(())
    }

    fn pair_value(&mut self) -> Result<(), Error> {
        let token = self.scanner.peek()?;
        let line = token.line;
        let given = token.kind == Kind::Value;
        self.expect(Next::PairEnd);
        if given {
            self.scanner.take()?;
            if !matches!(self.scanner.peek()?.kind, Kind::FlowEntry | Kind::FlowSequenceEnd) {
                return self.node(false, false);
            }
        }
        self.empty(line);
        Ok(())
    }

    fn flow_key(&mut self, first: bool) -> Result<(), Error> {
        if self.scanner.peek()?.kind == Kind::FlowMappingEnd {
            return self.close();
        }
        self.comma(first, "did not find expected ',' or '}'")?;
        match self.scanner.peek()?.kind {
            Kind::FlowMappingEnd => self.close(),
            Kind::Key => {
                self.scanner.take()?;
                self.expect(Next::FlowValue);
                let token = self.scanner.peek()?;
                let line = token.line;
                match token.kind {
                    Kind::Value | Kind::FlowEntry | Kind::FlowMappingEnd => {
                        self.empty(line);
                        Ok(())
                    }
                    _ => self.node(false, false),
                }
            }
            _ => {
                self.expect(Next::NoFlowValue);
                self.node(false, false)
            }
        }
    }

    fn flow_value(&mut self) -> Result<(), Error> {
        let token = self.scanner.peek()?;
        let mut line = token.line;
        let given = token.kind == Kind::Value;
        self.expect(Next::FlowKey { first: false });
        if given {
            self.scanner.take()?;
            let token = self.scanner.peek()?;
            line = token.line;
            if !matches!(token.kind, Kind::FlowEntry | Kind::FlowMappingEnd) {
                return self.node(false, false);
            }
        }
        self.empty(line);
        Ok(())
    }
}
