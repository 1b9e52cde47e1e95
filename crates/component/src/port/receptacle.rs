//! Receptacles: references that other code connects.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use arc_swap::Guard;
use oxorb_cdr::ValueLink;
use oxorb_core::Interface;
use oxorb_object::{CompletionStatus, SystemException, minor};

use super::table::{Connection, Refusal, Table};
use crate::{AlreadyConnected, Cookie, ExceededConnectionLimit, InvalidConnection, NoConnection};

/// Error of reading an unconnected receptacle. It can be converted to the [`SystemException`] BAD_INV_ORDER.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "receptacle `{port}` is not connected: call connect_{port} of the component, or connect it in the plan"
)]
pub struct NotConnected {
    /// Name of the receptacle.
    pub port: &'static str,
}

impl fmt::Debug for NotConnected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<NotConnected> for SystemException {
    fn from(_: NotConnected) -> Self {
        let minor = minor::bad_inv_order::RECEPTACLE_EMPTY;
        SystemException::bad_inv_order(minor, CompletionStatus::No)
    }
}

/// A receptacle for one object: `uses R name`. Clones share the port.
pub struct Receptacle<R>(pub(crate) Arc<Table<R>>);

impl<R: Interface> Receptacle<R> {
    /// Returns the connected object. Takes no lock and allocates nothing. Until the object that was connected first is
    /// disconnected, the call writes no shared memory.
    ///
    /// # Errors
    /// [`NotConnected`].
    #[inline]
    pub fn get(&self) -> Result<Used<'_, R>, NotConnected> {
        match self.0.first() {
            Some(first) => Ok(Used(Held::First(first))),
            None => self.get_later(),
        }
    }

    /// Returns the connected object if it is not the one that was connected first.
    fn get_later(&self) -> Result<Used<'_, R>, NotConnected> {
        let list = self.0.load();
        let port = self.0.name;
        match list.is_empty() {
            true => Err(NotConnected { port }),
            false => Ok(Used(Held::Later(list))),
        }
    }

    /// Connects an object.
    ///
    /// # Errors
    /// AlreadyConnected; InvalidConnection for a nil reference.
    pub fn connect<E>(&self, object: Option<&R>) -> Result<(), E>
    where
        E: From<AlreadyConnected> + From<InvalidConnection> + From<SystemException>,
    {
        let object = object.ok_or(InvalidConnection {})?;
        match self.0.add(object.clone()) {
            Ok(_) => Ok(()),
            Err(Refusal::System(exception)) => Err(exception.into()),
            Err(_) => Err(AlreadyConnected {}.into()),
        }
    }

    /// Ends the connection and returns the object.
    ///
    /// # Errors
    /// NoConnection.
    pub fn disconnect<E: From<NoConnection>>(&self) -> Result<Option<R>, E> {
        self.0.take().map(Some).ok_or(NoConnection {}.into())
    }

    /// Returns the connected object; nil if there is none.
    pub fn connection(&self) -> Option<R> {
        self.get().ok().map(|used| R::clone(&used))
    }
}

/// Object that was connected to a [`Receptacle`] when it was read. Cloning it returns its reference:
/// `let kept: PositionRef = context.source()?.clone();`
pub struct Used<'p, R>(Held<'p, R>);

enum Held<'p, R> {
    First(&'p R),
    /// A connection that was made after the first one ended.
    Later(Guard<Arc<Vec<Connection<R>>>>),
}

impl<R: fmt::Debug> fmt::Debug for Used<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        R::fmt(self, f)
    }
}

impl<R> Deref for Used<'_, R> {
    type Target = R;

    #[inline]
    fn deref(&self) -> &R {
        match &self.0 {
            Held::First(first) => first,
            Held::Later(list) => &list[0].reference,
        }
    }
}

/// A receptacle for several objects: `uses multiple R name`. Clones share the port.
pub struct MultipleReceptacle<R>(pub(crate) Arc<Table<R>>);

impl<R: Interface> MultipleReceptacle<R> {
    /// Returns the objects that are connected now. Takes no lock and allocates nothing.
    pub fn get(&self) -> Connected<R> {
        Connected(self.0.snapshot())
    }

    /// Connects an object.
    ///
    /// # Errors
    /// ExceededConnectionLimit above the container's `max_connections`; InvalidConnection for a nil reference.
    pub fn connect<E>(&self, object: Option<&R>) -> Result<ValueLink<Cookie>, E>
    where
        E: From<ExceededConnectionLimit> + From<InvalidConnection> + From<SystemException>,
    {
        let object = object.ok_or(InvalidConnection {})?;
        match self.0.add(object.clone()) {
            Ok(cookie) => Ok(cookie),
            Err(Refusal::System(exception)) => Err(exception.into()),
            Err(_) => Err(ExceededConnectionLimit {}.into()),
        }
    }

    /// Ends the connection with this cookie and returns the object.
    ///
    /// # Errors
    /// InvalidConnection for a cookie without a connection of this port.
    pub fn disconnect<E: From<InvalidConnection>>(
        &self,
        cookie: &ValueLink<Cookie>,
    ) -> Result<Option<R>, E> {
        self.0.remove(cookie).map(Some).ok_or(InvalidConnection {}.into())
    }

    /// Returns the result of `make` for each object and its cookie. Allocates memory.
    pub fn connections<C>(&self, make: impl Fn(Option<R>, ValueLink<Cookie>) -> C) -> Vec<C> {
        let list = self.0.load();
        let pairs = list.iter().map(|one| make(Some(one.reference.clone()), one.cookie()));
        pairs.collect()
    }
}

/// Objects that were connected to a [`MultipleReceptacle`] when it was read, in the order of connection.
pub struct Connected<R>(Arc<Vec<Connection<R>>>);

impl<R> Connected<R> {
    /// Returns the objects.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &R> {
        self.0.iter().map(|one| &one.reference)
    }

    /// Returns the number of objects.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Reports whether there are no objects.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
