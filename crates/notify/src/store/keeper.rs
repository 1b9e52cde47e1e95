//! The store of a running service.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Weak};
use std::time::Duration;

use oxorb::rt::ThreadPurpose;
use oxorb::values::Codec;
use oxorb::{Any, CompletionStatus, Orb, SystemException, minor};
use oxorb_store::Database;
use oxorb_sys::sync::Mutex;
use redb::{ReadableDatabase as _, ReadableTable as _};

use super::slip::Kept;
use super::writer::{Unwritten, Writer};
use super::{Change, EVENTS, META, OBJECTS, SLIPS, Store};
use crate::problem::too_many;

/// Number of ids that one write reserves. Because of the reservation, no id is used twice even if the service is
/// killed.
const IDS: i32 = 1024;

/// Space in octets that an event takes in the store in addition to its own size, for two keys and unused space in
/// pages.
const OVERHEAD: u64 = 104;

/// Space in octets that one slip takes in the store.
const SLIP: u64 = 24;

/// Store of a running service.
pub(crate) struct Keeper {
    /// Database, until its contents have been read. After that only the writing thread uses the file, and closes it
    /// when it ends.
    database: Mutex<Option<Arc<Database>>>,
    writer: Arc<Writer>,
    /// Receiver that is disconnected when the writing thread has ended.
    ended: Mutex<Option<Receiver<()>>>,
    me: Weak<Keeper>,
    patience: Duration,
    /// Maximum size in octets of the stored events. `octets` is their current size.
    most: u64,
    octets: Arc<AtomicU64>,
    next: AtomicU64,
    /// Last reserved ids of objects and of filters. The lock is held while a reservation is written, so that
    /// reservations are written in order.
    reserved: Mutex<[i32; 2]>,
    /// Whether stored objects are being restored. During this time nothing is written.
    restoring: AtomicBool,
    /// Whether the service is ending. Undelivered events remain in the store for the next start.
    closing: AtomicBool,
    failure: Arc<Mutex<Option<Arc<redb::Error>>>>,
}

/// A stored event that has not been delivered to all consumers.
pub(crate) struct Left {
    pub(crate) kept: Arc<Kept>,
    /// Time at which the event arrived, in 100 ns since 15 October 1582.
    pub(crate) arrival: i64,
    pub(crate) any: Any,
}

/// Contents of a store at the start of a service.
pub(crate) struct Contents {
    pub(crate) objects: Vec<((u8, i32), Vec<u8>)>,
    pub(crate) events: BTreeMap<u64, Left>,
    /// Numbers of the events that each proxy must deliver, in order.
    pub(crate) slips: Vec<(i32, u64)>,
    /// Highest ids that may have been used for objects and for filters.
    pub(crate) last: (i32, i32),
}

impl Keeper {
    /// Starts the keeper, with a thread of the ORB that writes to the store.
    pub(crate) fn start(
        orb: &Orb,
        store: Store,
        most: u64,
        patience: Duration,
    ) -> std::io::Result<Arc<Keeper>> {
        let database = Arc::new(store.database);
        let writer = Arc::new(Writer::default());
        let failure = Arc::new(Mutex::default());
        let (running, ended) = sync_channel(0);
        let (writes, to, noted) =
            (Arc::clone(&writer), Arc::clone(&database), Arc::clone(&failure));
        orb.start_thread(ThreadPurpose::Storage, "oxorb-event-store", move || {
            let _running: SyncSender<()> = running;
            writes.run(&to, |error| note(&noted, error));
            drop(to);
        })?;
        Ok(Arc::new_cyclic(|me| Keeper {
            database: Mutex::new(Some(database)),
            writer,
            ended: Mutex::new(Some(ended)),
            me: Weak::clone(me),
            patience,
            most,
            octets: Arc::new(AtomicU64::new(0)),
            next: AtomicU64::new(0),
            reserved: Mutex::default(),
            restoring: AtomicBool::new(true),
            closing: AtomicBool::new(false),
            failure,
        }))
    }

    /// Reads the contents of the store. May be called only once.
    pub(crate) fn contents(&self, orb: &Orb) -> Result<Contents, redb::Error> {
        let database = self.database.lock().take();
        let Some(database) = database else {
            return Err(redb::Error::DatabaseClosed);
        };
        database.read(|open| {
            let read = open.begin_read()?;
            let meta = read.open_table(META)?;
            let last = |what| -> Result<i32, redb::Error> {
                let number = meta.get(what)?.map_or(0, |number| number.value());
                Ok(i32::try_from(number).unwrap_or(i32::MAX))
            };
            let mut objects = Vec::new();
            for row in read.open_table(OBJECTS)?.iter()? {
                let (key, octets) = row?;
                objects.push((key.value(), octets.value().to_vec()));
            }
            let mut slips = Vec::new();
            let mut owed: BTreeMap<u64, usize> = BTreeMap::new();
            for row in read.open_table(SLIPS)?.iter()? {
                slips.push(row?.0.value());
            }
            for (_, number) in &slips {
                *owed.entry(*number).or_insert(0) += 1;
            }
            let mut events = BTreeMap::new();
            for row in read.open_table(EVENTS)?.iter()? {
                let (number, event) = row?;
                let (arrival, octets) = event.value();
                let number = number.value();
                self.next.fetch_max(number + 1, Ordering::Relaxed);
                // Remove an event that cannot be read, or that no consumer needs any more.
                let any = Codec::default().decode_in(octets, &**orb).ok();
                let left = owed.get(&number).copied().unwrap_or(0);
                let (Some(any), true) = (any, left > 0) else {
                    self.writer.later(Change::NoEvent(number));
                    continue;
                };
                let octets = octets_with(octets.len(), left);
                self.octets.fetch_add(octets, Ordering::Relaxed);
                let kept = self.kept(number, octets, left);
                events.insert(number, Left { kept, arrival, any });
            }
            Ok(Contents {
                objects,
                events,
                slips,
                last: (last(Ids::Objects.key())?, last(Ids::Filters.key())?),
            })
        })
    }

    /// Permits changes, after stored objects have been restored.
    pub(crate) fn restored(&self) {
        self.restoring.store(false, Ordering::Release);
    }

    /// Refuses further changes, except for those that delivered events cause.
    pub(crate) fn close(&self) {
        self.closing.store(true, Ordering::Release);
    }

    /// Ends the writing thread when it has written the waiting changes.
    pub(crate) fn end(&self) {
        self.close();
        self.writer.end();
        let ended = self.ended.lock().take();
        if let Some(ended) = ended {
            // No message is ever sent on this channel, so `recv` returns when the thread has ended and dropped the
            // sender.
            let _ = ended.recv();
        }
    }

    /// Reports whether stored objects are being restored. They were accepted before, so current limits do not apply.
    pub(crate) fn is_restoring(&self) -> bool {
        self.restoring.load(Ordering::Acquire)
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Acquire)
    }

    fn is_quiet(&self) -> bool {
        self.is_restoring() || self.is_closing()
    }

    /// Reserves an id, together with the ids that follow it. Does nothing if the id is already reserved.
    pub(crate) fn reserve(&self, ids: Ids, id: i32) -> Result<(), SystemException> {
        let mut reserved = self.reserved.lock();
        let last = &mut reserved[ids as usize];
        if id > *last {
            let until = id.saturating_add(IDS - 1);
            self.make(vec![Change::Meta(ids.key(), until as u64)])?;
            *last = until;
        }
        Ok(())
    }

    /// Writes an object. Returns when it is on disk.
    pub(crate) fn put(&self, kind: u8, id: i32, row: &Any) -> Result<(), SystemException> {
        if self.is_restoring() {
            return Ok(());
        }
        let octets = super::octets_of(row)?;
        self.make(vec![Change::Object(kind, id, octets)])
    }

    /// Removes an object. Does not wait until the removal is on disk.
    pub(crate) fn remove(&self, kind: u8, id: i32) {
        if !self.is_quiet() {
            self.writer.later(Change::NoObject(kind, id));
        }
    }

    /// Removes the remains of an object that could not be restored. Does not wait until the removal is on disk.
    pub(crate) fn discard(&self, change: Change) {
        self.writer.later(change);
    }

    /// Waits until all previous changes are on disk.
    pub(crate) fn flush(&self) -> Result<(), SystemException> {
        self.make(Vec::new())
    }

    /// Writes events, with the proxies that must deliver them. Returns when all events are on disk.
    pub(crate) fn keep(
        &self,
        events: Vec<(Any, Vec<i32>)>,
        arrival: i64,
    ) -> Result<Vec<Arc<Kept>>, SystemException> {
        let mut changes = Vec::with_capacity(events.len());
        let mut kept = Vec::with_capacity(events.len());
        let mut owing = Vec::with_capacity(events.len());
        let mut sum = 0;
        for (any, proxies) in events {
            let encoded = super::octets_of(&any)?;
            let octets = octets_with(encoded.len(), proxies.len());
            sum += octets;
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            kept.push(self.kept(number, octets, proxies.len()));
            owing.push(proxies.clone());
            changes.push(Change::Event { number, arrival, octets: encoded, proxies });
        }
        let most = self.most;
        let more = |octets: u64| Some(octets + sum).filter(|&octets| octets <= most);
        let (order, counted) = (Ordering::Relaxed, &self.octets);
        if counted.fetch_update(order, order, more).is_err() {
            return Err(too_many(minor::imp_limit::EVENT_STORE));
        }
        match self.make(changes) {
            Ok(()) => Ok(kept),
            Err(exception) => {
                let reserved = Reserved { octets: sum, of: Arc::clone(&self.octets) };
                if exception.completed == CompletionStatus::Maybe {
                    self.undo(&kept, &owing, reserved);
                }
                Err(exception)
            }
        }
    }

    /// Reports whether an event for this number of proxies does not fit even into an empty store. In this case also
    /// records a failure for the log.
    pub(crate) fn is_outgrown_by(&self, event: &Any, proxies: usize) -> bool {
        let Ok(encoded) = super::octets_of(event) else {
            return false;
        };
        let (octets, most) = (octets_with(encoded.len(), proxies), self.most);
        if octets > most {
            let why = format!(
                "an event of {octets} octets was pulled, but the limit stored_octets is {most}: consumers receive it, \
                 but not after a restart; raise the limit"
            );
            let error = redb::Error::Io(std::io::Error::other(why));
            note(&self.failure, &Arc::new(error));
        }
        octets > most
    }

    /// Removes events that may still be written although their supplier received an exception. Changes are made in
    /// order, so this removal follows the write. Until then, the octets count as in use.
    fn undo(&self, kept: &[Arc<Kept>], owing: &[Vec<i32>], reserved: Reserved) {
        for (kept, proxies) in kept.iter().zip(owing) {
            for proxy in proxies {
                self.writer.later(Change::NoSlip(*proxy, kept.number));
            }
            self.writer.later(Change::NoEvent(kept.number));
        }
        self.writer.later(Change::Release { _reserved: reserved });
    }

    pub(super) fn settle(&self, proxy: i32, kept: &Kept, last: bool) {
        self.writer.later(Change::NoSlip(proxy, kept.number));
        if last {
            self.octets.fetch_sub(kept.octets, Ordering::Relaxed);
            self.writer.later(Change::NoEvent(kept.number));
        }
    }

    /// Returns and clears the last failure of the file.
    pub(crate) fn take_failure(&self) -> Option<String> {
        let mut failure = self.failure.lock();
        failure.take().map(|error| error.to_string())
    }

    fn kept(&self, number: u64, octets: u64, left: usize) -> Arc<Kept> {
        Arc::new(Kept {
            keeper: Weak::clone(&self.me),
            number,
            octets,
            left: AtomicUsize::new(left),
        })
    }

    fn make(&self, changes: Vec<Change>) -> Result<(), SystemException> {
        if self.is_closing() {
            // Refuse the change, because the writing thread may have ended.
            let minor = minor::persist_store::NOT_WRITTEN;
            return Err(SystemException::persist_store(minor, CompletionStatus::No));
        }
        match self.writer.now(changes, self.patience) {
            Some(Ok(())) => Ok(()),
            Some(Err(Unwritten::Failed)) => Err(SystemException::persist_store(
                minor::persist_store::NOT_WRITTEN,
                CompletionStatus::No,
            )),
            Some(Err(Unwritten::Unsure)) => Err(SystemException::persist_store(
                minor::persist_store::NOT_SYNCED,
                CompletionStatus::Maybe,
            )),
            None => Err(SystemException::timeout(minor::timeout::WRITING, CompletionStatus::Maybe)),
        }
    }
}

impl Drop for Keeper {
    /// Ends the writing thread, which closes the file. This also happens after a failed start.
    fn drop(&mut self) {
        self.end();
    }
}

/// Ids that are reserved in advance, many with one write.
#[derive(Clone, Copy)]
pub(crate) enum Ids {
    /// Ids of channels, admins and proxies.
    Objects,
    Filters,
}

impl Ids {
    /// Returns the key of the row that contains the highest id that may have been used.
    fn key(self) -> &'static str {
        match self {
            Ids::Objects => "last",
            Ids::Filters => "last filter",
        }
    }
}

/// Octets that count against the limit of the store until this value is dropped.
pub(crate) struct Reserved {
    octets: u64,
    of: Arc<AtomicU64>,
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.of.fetch_sub(self.octets, Ordering::Relaxed);
    }
}

/// Returns the size in octets, in the store, of an event that this number of proxies must deliver.
fn octets_with(own: usize, proxies: usize) -> u64 {
    own as u64 + OVERHEAD + proxies as u64 * SLIP
}

fn note(failure: &Mutex<Option<Arc<redb::Error>>>, error: &Arc<redb::Error>) {
    *failure.lock() = Some(Arc::clone(error));
}
