//! The durable copy: a table of documents in redb, one transaction for each acknowledged write.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};

use crate::snapshot::Key;
use crate::{Object, ResourceKey, Snapshot};

/// `(GROUP/PLURAL, namespace, name)` to `(revision, bytes)`.
const OBJECTS: TableDefinition<'_, (&str, &str, &str), (u64, &[u8])> = TableDefinition::new("objects");
/// The single row `revision`: the newest one, which removals move too.
const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");

/// The durable copy could not be opened, read or written.
#[derive(Debug, thiserror::Error)]
#[error("{doing} {}: {source}\nhint: check that the folder is writable, has space left and is not used by another process", path.display())]
pub struct DurableError {
    doing: &'static str,
    path: PathBuf,
    #[source]
    source: Box<redb::Error>,
}

impl DurableError {
    pub(crate) fn io(doing: &'static str, path: &Path, source: std::io::Error) -> Self {
        Self { doing, path: path.to_owned(), source: Box::new(redb::Error::Io(source)) }
    }

    pub(crate) fn in_use(path: &Path) -> Self {
        Self { doing: "opening", path: path.to_owned(), source: Box::new(redb::Error::DatabaseAlreadyOpen) }
    }

    /// Whether it is only that another process has it open.
    pub fn is_in_use(&self) -> bool {
        matches!(*self.source, redb::Error::DatabaseAlreadyOpen)
    }
}

pub(crate) struct Durable {
    database: Database,
    path: PathBuf,
}

impl Durable {
    pub(crate) fn open(folder: &Path) -> Result<(Self, Snapshot), DurableError> {
        let path = folder.join("objects.redb");
        let fail = |doing| {
            let path = path.clone();
            move |source: redb::Error| DurableError { doing, path, source: Box::new(source) }
        };
        std::fs::create_dir_all(folder).map_err(|e| fail("making the folder of")(redb::Error::Io(e)))?;
        let database = Database::create(&path).map_err(|e| fail("opening")(e.into()))?;
        let snapshot = load(&database).map_err(fail("reading"))?;
        Ok((Self { database, path }, snapshot))
    }

    /// Returns when the write is on disk; `None` removes the object.
    pub(crate) fn write(
        &mut self,
        resource: &ResourceKey,
        key: &Key,
        revision: u64,
        bytes: Option<&Bytes>,
    ) -> Result<(), DurableError> {
        self.try_write(resource, key, revision, bytes).map_err(|source| DurableError {
            doing: "writing to",
            path: self.path.clone(),
            source: Box::new(source),
        })
    }

    fn try_write(
        &self,
        resource: &ResourceKey,
        key: &Key,
        revision: u64,
        bytes: Option<&Bytes>,
    ) -> Result<(), redb::Error> {
        let transaction = self.database.begin_write()?;
        {
            let mut objects = transaction.open_table(OBJECTS)?;
            let row = (resource.as_str(), &*key.0, &*key.1);
            match bytes {
                Some(bytes) => objects.insert(row, (revision, &**bytes))?,
                None => objects.remove(row)?,
            };
            transaction.open_table(META)?.insert("revision", revision)?;
        }
        Ok(transaction.commit()?)
    }
}

fn load(database: &Database) -> Result<Snapshot, redb::Error> {
    let mut snapshot = Snapshot { revision: 1, ..Snapshot::default() };
    // The first start has no tables yet; a write transaction makes them.
    let transaction = database.begin_write()?;
    transaction.open_table(OBJECTS)?;
    transaction.open_table(META)?;
    transaction.commit()?;
    let read = database.begin_read()?;
    if let Some(revision) = read.open_table(META)?.get("revision")? {
        snapshot.revision = revision.value();
    }
    for row in read.open_table(OBJECTS)?.iter()? {
        let (key, value) = row?;
        let (resource, namespace, name) = key.value();
        let (revision, bytes) = value.value();
        let object = Arc::new(Object::new(revision, Bytes::copy_from_slice(bytes)));
        let table = snapshot.tables.entry(ResourceKey::from_text(resource)).or_default();
        table.insert((Arc::from(namespace), Arc::from(name)), object);
    }
    Ok(snapshot)
}
