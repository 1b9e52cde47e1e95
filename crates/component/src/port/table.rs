//! Connections of one port.

use std::any::Any;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::rate::BEYOND_RATE;
use crate::life::NOT_NOW;
use arc_swap::{ArcSwap, Guard};
use oxorb_cdr::ValueLink;
use oxorb_core::lock::Mutex;
use oxorb_core::{Interface, ObjectRef};
use oxorb_object::{SystemException, SystemExceptionKind};

use super::carrier::Attach;
use super::cookie::Token;
use crate::{
    AlreadyConnected, Cookie, CookieRequired, ExceededConnectionLimit, InvalidConnection,
    NoConnection,
};

/// Table of connections. Readers use a snapshot without taking a lock; connecting and disconnecting replace the
/// snapshot.
pub(crate) struct Table<R> {
    pub(crate) name: &'static str,
    /// Repository id of the interface or event type.
    type_id: &'static str,
    /// Whether connections have cookies.
    pub(crate) multiple: bool,
    limit: usize,
    /// Time limit of each call, if the port sets one.
    timeout: Option<Duration>,
    /// Function that creates the path of each connection, if a carrier carries the events.
    attach: OnceLock<Attach<R>>,
    list: ArcSwap<Vec<Connection<R>>>,
    first: First<R>,
    changing: Mutex<()>,
}

/// The object that was connected first to a single receptacle. It is usually the only one, and reading it writes no
/// memory. The reference is kept until the component is dropped.
struct First<R> {
    object: OnceLock<R>,
    is_connected: AtomicBool,
}

/// Connection of a port.
#[derive(Clone)]
pub(crate) struct Connection<R> {
    token: Token,
    pub(crate) reference: R,
    /// Number of failed calls since the last successful one.
    failures: Arc<AtomicU32>,
    /// Path of the connection, if a carrier carries the events. Dropped with the last snapshot that contains the
    /// connection.
    _way: Option<Arc<dyn Any + Send + Sync>>,
}

/// Reason why an object was not connected.
pub(crate) enum Refusal {
    Already,
    Limit,
    Invalid,
    System(SystemException),
}

/// Reason why a connection was not ended.
pub(crate) enum Missing {
    Cookie,
    Connection,
    Invalid,
}

/// A table independent of its reference type.
pub(crate) trait Connections: Send + Sync {
    fn type_id(&self) -> &'static str;
    fn is_multiple(&self) -> bool;
    fn connect_object(&self, object: Option<&ObjectRef>) -> Result<ValueLink<Cookie>, Refusal>;
    fn disconnect_object(&self, cookie: &ValueLink<Cookie>) -> Result<ObjectRef, Missing>;
    fn objects(&self) -> Vec<(ValueLink<Cookie>, ObjectRef)>;
    fn clear(&self);
}

impl<R: Interface> Table<R> {
    pub(crate) fn new(
        name: &'static str,
        type_id: &'static str,
        multiple: bool,
        limit: usize,
        timeout: Option<Duration>,
    ) -> Arc<Self> {
        Arc::new(Table {
            name,
            type_id,
            multiple,
            limit: if multiple { limit } else { 1 },
            timeout,
            attach: OnceLock::new(),
            list: ArcSwap::default(),
            first: First { object: OnceLock::new(), is_connected: AtomicBool::new(false) },
            changing: Mutex::new(()),
        })
    }

    /// Creates a separate path for each later connection.
    pub(crate) fn attach_by(&self, attach: Attach<R>) {
        // Ignore the result: this function is called only once, before the first connection.
        let _ = self.attach.set(attach);
    }

    pub(crate) fn load(&self) -> Guard<Arc<Vec<Connection<R>>>> {
        self.list.load()
    }

    /// Returns the object connected to a single receptacle, if it is the one that was connected first.
    pub(crate) fn first(&self) -> Option<&R> {
        match self.first.is_connected.load(Ordering::Acquire) {
            true => self.first.object.get(),
            false => None,
        }
    }

    pub(crate) fn snapshot(&self) -> Arc<Vec<Connection<R>>> {
        self.list.load_full()
    }

    pub(crate) fn add(&self, reference: R) -> Result<ValueLink<Cookie>, Refusal> {
        let reference = match self.timeout {
            Some(timeout) => reference.with_timeout(timeout),
            None => reference,
        };
        let token = Token::draw().map_err(Refusal::System)?;
        let mut connection = Connection { token, reference, failures: Arc::default(), _way: None };
        if let Some(attach) = self.attach.get() {
            if self.list.load().len() >= self.limit {
                return Err(self.full());
            }
            connection._way = Some(attach(&connection).map_err(Refusal::System)?);
        }
        let _changing = self.changing.lock();
        let mut list = Vec::clone(&self.list.load());
        if list.len() >= self.limit {
            return Err(self.full());
        }
        // Only single receptacles use `first`. Event sources, whose calls have a time limit, need the whole connection.
        if !self.multiple && self.timeout.is_none() {
            let object = connection.reference.clone();
            let is_first = self.first.object.set(object).is_ok();
            self.first.is_connected.store(is_first, Ordering::Release);
        }
        list.push(connection);
        self.list.store(Arc::new(list));
        Ok(match self.multiple {
            true => token.cookie(),
            false => ValueLink::null(),
        })
    }

    fn full(&self) -> Refusal {
        match self.multiple {
            true => Refusal::Limit,
            false => Refusal::Already,
        }
    }

    /// Ends the connection of a port that has at most one connection and no cookies.
    pub(crate) fn take(&self) -> Option<R> {
        let _changing = self.changing.lock();
        self.first.is_connected.store(false, Ordering::Release);
        let list = self.list.swap(Arc::default());
        list.first().map(|one| one.reference.clone())
    }

    /// Ends the connection with this cookie.
    pub(crate) fn remove(&self, cookie: &ValueLink<Cookie>) -> Option<R> {
        let token = Token::of(cookie)?;
        self.remove_token(token)
    }

    fn remove_token(&self, token: Token) -> Option<R> {
        let _changing = self.changing.lock();
        let mut list = Vec::clone(&self.list.load());
        let at = list.iter().position(|one| one.token == token)?;
        let gone = list.remove(at);
        self.list.store(Arc::new(list));
        Some(gone.reference)
    }

    /// Counts the result of pushing an event.
    pub(crate) fn note_push(
        &self,
        of: &Connection<R>,
        pushed: &Result<(), SystemException>,
        most: u32,
    ) {
        let (failed, gone) = match pushed {
            Ok(()) => (false, false),
            Err(error) => (
                // These exceptions show that the component exists: it is not active, or the event exceeds the rate of
                // its port.
                ![NOT_NOW, BEYOND_RATE]
                    .iter()
                    .any(|refusal| (error.kind, error.minor) == (refusal.kind, refusal.minor)),
                error.kind == SystemExceptionKind::ObjectNotExist,
            ),
        };
        self.note(of, failed, gone, most);
    }

    /// Counts the result of a call; ends the connection after `most` consecutive failures, or at once if the object is
    /// `gone`.
    fn note(&self, of: &Connection<R>, failed: bool, gone: bool, most: u32) {
        if !failed {
            // Write only if the value changes, so that publishing threads on several processors can share the cache
            // line.
            if of.failures.load(Ordering::Relaxed) != 0 {
                of.failures.store(0, Ordering::Relaxed);
            }
            return;
        }
        let failures = of.failures.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        if gone || failures >= most {
            self.remove_token(of.token);
        }
    }
}

impl<R> Connection<R> {
    pub(crate) fn cookie(&self) -> ValueLink<Cookie> {
        self.token.cookie()
    }
}

impl<R: Interface> Connections for Table<R> {
    fn type_id(&self) -> &'static str {
        self.type_id
    }

    fn is_multiple(&self) -> bool {
        self.multiple
    }

    fn connect_object(&self, object: Option<&ObjectRef>) -> Result<ValueLink<Cookie>, Refusal> {
        let object = object.ok_or(Refusal::Invalid)?;
        // Check for space before `narrow`, which may call the object.
        if self.list.load().len() >= self.limit && !self.multiple {
            return Err(Refusal::Already);
        }
        match object.narrow::<R>() {
            Ok(Some(reference)) => self.add(reference),
            Ok(None) => Err(Refusal::Invalid),
            Err(exception) => Err(Refusal::System(exception)),
        }
    }

    fn disconnect_object(&self, cookie: &ValueLink<Cookie>) -> Result<ObjectRef, Missing> {
        let gone = match self.multiple {
            true if cookie.is_null() => return Err(Missing::Cookie),
            true => self.remove(cookie).ok_or(Missing::Invalid)?,
            // A single receptacle has one connection, so the cookie is not needed.
            false => self.take().ok_or(Missing::Connection)?,
        };
        Ok(gone.unchecked_narrow())
    }

    fn objects(&self) -> Vec<(ValueLink<Cookie>, ObjectRef)> {
        let list = self.list.load();
        let objects = list.iter().map(|one| {
            let cookie = match self.multiple {
                true => one.cookie(),
                false => ValueLink::null(),
            };
            (cookie, one.reference.unchecked_narrow())
        });
        objects.collect()
    }

    fn clear(&self) {
        let _changing = self.changing.lock();
        self.first.is_connected.store(false, Ordering::Release);
        self.list.store(Arc::default());
    }
}

impl Refusal {
    /// Converts the refusal to the corresponding exception of an operation that raises all of them.
    pub(crate) fn raise<E>(self) -> E
    where
        E: From<AlreadyConnected>
            + From<ExceededConnectionLimit>
            + From<InvalidConnection>
            + From<SystemException>,
    {
        match self {
            Refusal::Already => AlreadyConnected {}.into(),
            Refusal::Limit => ExceededConnectionLimit {}.into(),
            Refusal::Invalid => InvalidConnection {}.into(),
            Refusal::System(exception) => exception.into(),
        }
    }
}

impl Missing {
    /// Converts the reason to the corresponding exception of an operation that raises all of them.
    pub(crate) fn raise<E>(self) -> E
    where
        E: From<CookieRequired> + From<NoConnection> + From<InvalidConnection>,
    {
        match self {
            Missing::Cookie => CookieRequired {}.into(),
            Missing::Connection => NoConnection {}.into(),
            Missing::Invalid => InvalidConnection {}.into(),
        }
    }
}
