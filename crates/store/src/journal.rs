//! A lasting copy that outlives the process, not the machine: one file that every write is appended to, without waiting
//! for the disk. A write costs one system call, so test suites whose servers are restarted pay next to nothing for it.
//!
//! The file begins with a line that names the format. Then come records: the length of the body and a checksum of it (both
//! u32), and the body: revision (u64), what was done (u8), the lengths of resource, namespace and name (u32 each), their
//! text, and the document. All numbers are little-endian. A record that is cut off, because the process was killed in the
//! middle, ends what is read, and is cut away.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;

use crate::durable::DurableError;
use crate::snapshot::Key;
use crate::{Object, ResourceKey, Snapshot};

const MAGIC: &[u8] = b"pilothouse journal 1\n";
/// The bytes of a record before its body.
const HEAD: usize = 8;
/// The bytes of a body before its texts.
const FIXED: usize = 8 + 1 + 3 * 4;
/// A file that is smaller is written anew only when it is opened: 64 MiB.
const SMALL: u64 = 64 << 20;
/// How much larger than what lives in it a file may become before it is written anew.
const SLACK: u64 = 4;

const PUT: u8 = 1;
const REMOVED: u8 = 2;
/// No object: only says how far revisions have come.
const REACHED: u8 = 3;

pub(crate) struct Journal {
    file: File,
    path: PathBuf,
    /// The length of all records that are whole.
    length: u64,
    /// The length right after the file was last written anew.
    compact: u64,
    /// Holds the lock: it is on a file of its own, because the journal itself is replaced.
    _lock: File,
    /// The record under way, kept for its memory.
    record: Vec<u8>,
}

impl Journal {
    /// Opens the journal at `path`, or begins one, and reads what it says.
    pub(crate) fn open(path: &Path) -> Result<(Self, Snapshot), DurableError> {
        let fail = |doing| move |e: std::io::Error| DurableError::io(doing, path, e);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(fail("making the folder of"))?;
        }
        let lock =
            OpenOptions::new().write(true).create(true).truncate(false).open(path.with_extension("lock"));
        let lock = lock.map_err(fail("locking"))?;
        lock.try_lock().map_err(|e| match e {
            TryLockError::WouldBlock => DurableError::in_use(path),
            TryLockError::Error(e) => DurableError::io("locking", path, e),
        })?;
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).open(path);
        let mut file = file.map_err(fail("opening"))?;
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(fail("reading"))?;
        let mut snapshot = Snapshot { revision: 1, ..Snapshot::default() };
        let length = match text.strip_prefix(MAGIC) {
            Some(records) => MAGIC.len() + read(records, &mut snapshot),
            None if text.is_empty() => {
                file.write_all(MAGIC).map_err(fail("writing to"))?;
                MAGIC.len()
            }
            None => {
                let why = std::io::Error::new(std::io::ErrorKind::InvalidData, "it is no journal");
                return Err(DurableError::io("reading", path, why));
            }
        };
        let length = length as u64;
        file.set_len(length).map_err(fail("cutting off the end of"))?;
        file.seek(SeekFrom::Start(length)).map_err(fail("opening"))?;
        let (path, record) = (path.to_owned(), Vec::new());
        let mut journal = Self { file, path, length, compact: 0, _lock: lock, record };
        journal.shrink(&snapshot)?;
        Ok((journal, snapshot))
    }

    /// Appends a write; `None` removes the object. `before` is the state without it.
    pub(crate) fn write(
        &mut self,
        before: &Snapshot,
        resource: &ResourceKey,
        key: &Key,
        revision: u64,
        bytes: Option<&Bytes>,
    ) -> Result<(), DurableError> {
        if self.length > SMALL.max(self.compact.saturating_mul(SLACK)) {
            self.shrink(before)?;
        }
        self.record.clear();
        let (kind, document) = bytes.map_or((REMOVED, &[][..]), |bytes| (PUT, &**bytes));
        append(&mut self.record, kind, revision, [resource.as_str(), &key.0, &key.1], document);
        if let Err(error) = self.file.write_all(&self.record) {
            // Half a record must not stand before the next one. If this fails too, reading stops at the half.
            let _also_failed =
                self.file.set_len(self.length).and_then(|()| self.file.seek(SeekFrom::Start(self.length)));
            return Err(DurableError::io("writing to", &self.path, error));
        }
        self.length += self.record.len() as u64;
        Ok(())
    }

    /// Writes the file anew with what lives, if much of it is dead.
    fn shrink(&mut self, state: &Snapshot) -> Result<(), DurableError> {
        let mut text = MAGIC.to_vec();
        append(&mut text, REACHED, state.revision, ["", "", ""], &[]);
        for (resource, table) in &state.tables {
            for ((namespace, name), object) in table {
                let names = [resource.as_str(), namespace, name];
                append(&mut text, PUT, object.revision(), names, object.bytes());
            }
        }
        self.compact = text.len() as u64;
        if self.length <= self.compact.saturating_mul(SLACK) {
            return Ok(());
        }
        let partial = self.path.with_extension("partial");
        let file = std::fs::write(&partial, &text)
            .and_then(|()| OpenOptions::new().append(true).open(&partial))
            .and_then(|file| std::fs::rename(&partial, &self.path).map(|()| file));
        self.file = file.map_err(|e| DurableError::io("writing anew", &self.path, e))?;
        self.length = self.compact;
        Ok(())
    }
}

/// Adds a record to `to`.
fn append(to: &mut Vec<u8>, kind: u8, revision: u64, texts: [&str; 3], document: &[u8]) {
    let start = to.len();
    to.extend_from_slice(&[0; HEAD]);
    to.extend_from_slice(&revision.to_le_bytes());
    to.push(kind);
    for text in texts {
        to.extend_from_slice(&u32::try_from(text.len()).unwrap_or(u32::MAX).to_le_bytes());
    }
    for text in texts {
        to.extend_from_slice(text.as_bytes());
    }
    to.extend_from_slice(document);
    let body = to.get(start + HEAD..).unwrap_or_default();
    let (length, sum) = (u32::try_from(body.len()).unwrap_or(u32::MAX), checksum(body));
    if let Some(head) = to.get_mut(start..start + HEAD) {
        let (first, second) = head.split_at_mut(HEAD / 2);
        first.copy_from_slice(&length.to_le_bytes());
        second.copy_from_slice(&sum.to_le_bytes());
    }
}

/// FNV-1a over words of eight bytes: it only has to tell a record from half of one.
fn checksum(body: &[u8]) -> u32 {
    let (words, rest) = body.as_chunks::<8>();
    let words = words.iter().map(|word| u64::from_le_bytes(*word));
    let hash = words
        .chain(rest.iter().map(|byte| u64::from(*byte)))
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, word| (hash ^ word).wrapping_mul(0x100_0000_01b3));
    (hash ^ (hash >> 32)) as u32
}

/// Applies records to the state, up to the first one that is not whole; returns how many bytes that is.
fn read(records: &[u8], state: &mut Snapshot) -> usize {
    let mut done = 0;
    while let Some(length) = records.get(done..).and_then(|rest| record(rest, state)) {
        done += length;
    }
    done
}

/// Applies one record and returns its length; `None` if it is not whole.
fn record(text: &[u8], state: &mut Snapshot) -> Option<usize> {
    let mut head = text;
    let length = usize::try_from(number(&mut head)?).ok()?;
    let sum = number(&mut head)?;
    let mut body = head.get(..length)?;
    if length < FIXED || checksum(body) != sum {
        return None;
    }
    let (revision, rest) = body.split_first_chunk::<8>()?;
    let (kind, rest) = rest.split_first()?;
    body = rest;
    let revision = u64::from_le_bytes(*revision);
    let lengths = [number(&mut body)?, number(&mut body)?, number(&mut body)?];
    let mut texts = [""; 3];
    for (text, length) in texts.iter_mut().zip(lengths) {
        let (own, rest) = body.split_at_checked(usize::try_from(length).ok()?)?;
        *text = std::str::from_utf8(own).ok()?;
        body = rest;
    }
    let [resource, namespace, name] = texts;
    match *kind {
        PUT => {
            let table = state.tables.entry(ResourceKey::from_text(resource)).or_default();
            let object = Object::new(revision, Bytes::copy_from_slice(body));
            table.insert((Arc::from(namespace), Arc::from(name)), Arc::new(object));
        }
        REMOVED => {
            if let Some(table) = state.tables.get_mut(resource) {
                table.remove(&(Arc::from(namespace), Arc::from(name)));
            }
        }
        REACHED => {}
        _ => return None,
    }
    state.revision = state.revision.max(revision);
    Some(HEAD + length)
}

/// Takes a number from the beginning.
fn number(text: &mut &[u8]) -> Option<u32> {
    let (own, rest) = text.split_first_chunk::<4>()?;
    *text = rest;
    Some(u32::from_le_bytes(*own))
}
