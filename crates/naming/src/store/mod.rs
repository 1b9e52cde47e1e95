//! Contexts and bindings in a file.
//!
//! | table | key | value |
//! |---|---|---|
//! | meta | which number | number of the store, number of the next context, or version of this format |
//! | contexts | context | number of its bindings |
//! | bindings | context, id, kind | object, own context or foreign context; number of the own context; reference |
//!
//! A context of this store is stored by number, not by reference, since a server may return at another address.
//! Numbers are never reused. Readers see only data on disk, which a crash cannot undo.

mod change;
mod writer;

use std::hash::{BuildHasher as _, RandomState};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use oxorb::{CompletionStatus, Orb};
use oxorb_store::{Access, CACHE, Database};
use redb::{
    ReadOnlyTable, ReadTransaction, ReadableDatabase as _, ReadableTable as _, TableDefinition,
};

use crate::cos_naming::{BindingType, NameComponent};
use crate::limits::ANSWER_OCTETS;
use crate::{Error, Limits};

pub(crate) use change::{Change, Mode, Refusal};
pub(crate) use writer::Unwritten;
use writer::Writer;

const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
const CONTEXTS: TableDefinition<'_, u64, u64> = TableDefinition::new("contexts");
const BINDINGS: TableDefinition<'_, Key, Row> = TableDefinition::new("bindings");

type Key = (u64, &'static str, &'static str);
type Row = (u8, u64, &'static [u8]);

const FORMAT: u64 = 1;

/// Number of a context in a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ContextId(pub(crate) u64);

impl ContextId {
    pub(crate) const ROOT: ContextId = ContextId(0);
}

/// Target of a binding. References are octets of `Ior::to_octets`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Bound {
    Object(Vec<u8>),
    /// A context of this store.
    Context(ContextId),
    /// A context of another server.
    Foreign(Vec<u8>),
}

impl Bound {
    pub(crate) fn binding_type(&self) -> BindingType {
        match self {
            Bound::Object(_) => BindingType::Nobject,
            Bound::Context(_) | Bound::Foreign(_) => BindingType::Ncontext,
        }
    }

    /// Returns the target as a row of the table.
    fn as_row(&self) -> (u8, u64, &[u8]) {
        match self {
            Bound::Object(reference) => (OBJECT, 0, reference),
            Bound::Context(context) => (CONTEXT, context.0, &[]),
            Bound::Foreign(reference) => (FOREIGN, 0, reference),
        }
    }

    fn from_row((kind, context, reference): (u8, u64, &[u8])) -> Bound {
        match kind {
            OBJECT => Bound::Object(reference.to_vec()),
            CONTEXT => Bound::Context(ContextId(context)),
            _ => Bound::Foreign(reference.to_vec()),
        }
    }
}

const OBJECT: u8 = 0;
const CONTEXT: u8 = 1;
const FOREIGN: u8 = 2;

/// Names in a file. Each change is on disk before it is acknowledged. If the process or the machine crashes, a change
/// has happened completely or not at all.
///
/// Only one process at a time can have it open.
///
/// ```
/// use oxorb_naming::Store;
///
/// let folder = std::env::temp_dir().join(format!("oxorb-names-{}", std::process::id()));
/// std::fs::create_dir_all(&folder)?;
/// let store = Store::open(folder.join("names.redb"))?;
/// assert_eq!(store.contexts()?, 1); // the root
/// # drop(store);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    /// Number that differs from that of every other store.
    number: u64,
    database: Arc<Database>,
    /// `None` until the store is served.
    writer: Option<Writer>,
    /// Latest failure of the database.
    failure: Mutex<Option<Arc<redb::Error>>>,
}

impl Store {
    /// Opens a store, or creates one with an empty root.
    ///
    /// # Errors
    /// [`Error::Store`], including if another process has the file open, or a later version wrote it.
    pub fn open(path: impl Into<PathBuf>) -> Result<Store, Error> {
        let path = path.into();
        let database = Database::open(&path, CACHE).map_err(|error| match error {
            redb::Error::DatabaseAlreadyOpen => {
                failed(&path, "another process, or this one, already serves names from it")
            }
            other => failed(&path, other),
        })?;
        Store::with(path, database)
    }

    /// Creates a store in memory, which is lost when the process ends: for tests, and for systems whose servers bind
    /// their names at each start. References to its contexts become invalid with it.
    ///
    /// # Errors
    /// [`Error::Store`]
    pub fn in_memory() -> Result<Store, Error> {
        let path = PathBuf::new();
        let database = Database::in_memory(CACHE).map_err(|error| failed(&path, error))?;
        Store::with(path, database)
    }

    fn with(path: PathBuf, database: Database) -> Result<Store, Error> {
        let prepared = database.write(prepare);
        let (number, format) = prepared.map_err(|error| failed(&path, error))?;
        if format != FORMAT {
            let why = format!("it has format {format}, but this version supports format {FORMAT}");
            return Err(failed(&path, why));
        }
        let database = Arc::new(database);
        Ok(Store { path, number, database, writer: None, failure: Mutex::default() })
    }

    /// Starts the writing thread, as a thread of `orb`.
    pub(crate) fn serve(&mut self, orb: &Orb) -> Result<(), Error> {
        let started = Writer::start(orb, Arc::clone(&self.database));
        self.writer = Some(started.map_err(|error| failed(&self.path, error))?);
        Ok(())
    }

    /// Returns the number of contexts, the root included.
    ///
    /// # Errors
    /// [`Error::Store`]
    pub fn contexts(&self) -> Result<u64, Error> {
        use redb::ReadableTableMetadata as _;
        self.attempt(|read| Ok(read.open_table(CONTEXTS)?.len()?))
    }

    /// Returns the number of bindings.
    ///
    /// # Errors
    /// [`Error::Store`]
    pub fn bindings(&self) -> Result<u64, Error> {
        use redb::ReadableTableMetadata as _;
        self.attempt(|read| Ok(read.open_table(BINDINGS)?.len()?))
    }

    /// Returns the path of the store's file; empty for a store in memory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn is_in_memory(&self) -> bool {
        self.path.as_os_str().is_empty()
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Returns a snapshot of the store, which does not show later changes.
    pub(crate) fn snapshot(&self) -> Result<Snapshot<'_>, redb::Error> {
        let access = self.database.access()?;
        let read = access.begin_read()?;
        let bindings = read.open_table(BINDINGS)?;
        Ok(Snapshot { bindings, read, _access: access })
    }

    /// Makes a change and returns when it is on disk. Changes that wait for the disk at the same time are written
    /// together.
    pub(crate) fn change(
        &self,
        change: Change,
        limits: &Arc<Limits>,
        patience: Duration,
    ) -> Result<Result<ContextId, Refusal>, Unwritten> {
        let no_thread = Unwritten::Ended(CompletionStatus::No);
        let writer = self.writer.as_ref().ok_or(no_thread)?;
        writer.change(change, limits, patience)
    }

    /// Reports an error of a [snapshot](Self::snapshot) to the database, and records the error.
    pub(crate) fn note(&self, error: Arc<redb::Error>) {
        self.database.note(&error);
        self.remember(error);
    }

    /// Records an error for [`take_failure`](Self::take_failure).
    pub(crate) fn remember(&self, error: Arc<redb::Error>) {
        if let Ok(mut failure) = self.failure.lock() {
            *failure = Some(error);
        }
    }

    pub(crate) fn take_failure(&self) -> Option<String> {
        let error = self.failure.lock().ok()?.take()?;
        Some(failed(&self.path, error).to_string())
    }

    fn attempt<R>(
        &self,
        work: impl FnOnce(&ReadTransaction) -> Result<R, redb::Error>,
    ) -> Result<R, Error> {
        let done = self.database.read(|open| work(&open.begin_read()?));
        done.map_err(|error| failed(&self.path, error))
    }
}

/// Creates the tables of a new store; returns its number and format.
fn prepare(database: &redb::Database) -> Result<(u64, u64), redb::Error> {
    let write = database.begin_write()?;
    let found = {
        let mut meta = write.open_table(META)?;
        let mut contexts = write.open_table(CONTEXTS)?;
        write.open_table(BINDINGS)?;
        let stored = meta.get("number")?.map(|number| number.value());
        match stored {
            Some(number) => {
                let format = meta.get("format")?.map_or(0, |format| format.value());
                (number, format)
            }
            None => {
                let number = RandomState::new().hash_one(std::process::id());
                meta.insert("number", number)?;
                meta.insert("format", FORMAT)?;
                meta.insert("next", ContextId::ROOT.0 + 1)?;
                contexts.insert(ContextId::ROOT.0, 0)?;
                (number, FORMAT)
            }
        }
    };
    write.commit()?;
    Ok(found)
}

/// Snapshot of the store. The file cannot be reopened while a snapshot exists. A thread that holds a snapshot must
/// therefore not request another one, which could wait for a reopening that waits for the first.
pub(crate) struct Snapshot<'store> {
    bindings: ReadOnlyTable<Key, Row>,
    read: ReadTransaction,
    _access: Access<'store>,
}

/// Some bindings of a context.
pub(crate) struct Page {
    pub(crate) bindings: Vec<(NameComponent, BindingType)>,
    /// Whether further bindings follow.
    pub(crate) more: bool,
}

impl Snapshot<'_> {
    pub(crate) fn has(&self, context: ContextId) -> Result<bool, redb::Error> {
        let contexts = self.read.open_table(CONTEXTS)?;
        Ok(contexts.get(context.0)?.is_some())
    }

    pub(crate) fn find(
        &self,
        context: ContextId,
        name: &NameComponent,
    ) -> Result<Option<Bound>, redb::Error> {
        let key = (context.0, name.id.as_str(), name.kind.as_str());
        let found = self.bindings.get(key)?;
        Ok(found.map(|row| Bound::from_row(row.value())))
    }

    /// Reads at most `count` bindings in the order of their names, from the first or after `after`. Reads one further
    /// binding to find out whether more follow.
    pub(crate) fn page(
        &self,
        context: ContextId,
        after: Option<&NameComponent>,
        count: usize,
    ) -> Result<Page, redb::Error> {
        use std::ops::Bound::{Excluded, Included};
        let first = match after {
            Some(name) => Excluded((context.0, name.id.as_str(), name.kind.as_str())),
            None => Included((context.0, "", "")),
        };
        let rows = match context.0.checked_add(1) {
            Some(next) => self.bindings.range((first, Excluded((next, "", ""))))?,
            None => return Ok(Page::END),
        };
        let (mut bindings, mut octets) = (Vec::new(), 0);
        for row in rows {
            let (key, value) = row?;
            let (_, id, kind) = key.value();
            octets += id.len() + kind.len();
            if bindings.len() == count || (octets > ANSWER_OCTETS && !bindings.is_empty()) {
                return Ok(Page { bindings, more: true });
            }
            let binding_type = match value.value().0 {
                OBJECT => BindingType::Nobject,
                _ => BindingType::Ncontext,
            };
            let name = NameComponent { id: id.to_owned(), kind: kind.to_owned() };
            bindings.push((name, binding_type));
        }
        Ok(Page { bindings, more: false })
    }
}

impl Page {
    const END: Page = Page { bindings: Vec::new(), more: false };
}

fn failed(path: &Path, why: impl ToString) -> Error {
    Error::Store { path: path.to_owned(), why: why.to_string() }
}
