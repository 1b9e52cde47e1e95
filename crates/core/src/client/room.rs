//! Memory for a payload to be sent, which belongs to the connection that a call would take.

use std::sync::Arc;

use oxorb_cdr::Room;
use oxorb_object::SystemException;
use oxorb_transport::Link;

use super::Peer;
use super::exchange::Exchange;
use super::link::ClientLink;
use super::reach::{self, Reached, Untried};
use super::reply_meaning::one_more;
use super::selection::Selection;
use super::{Round, Timing, shared};
use crate::Ref;
use crate::error::raise;
use crate::policy::{Effective, LargePayloads};
use crate::reference::{Op, Route, RouteProfile};

impl Ref {
    /// Returns memory for a large payload, to be passed as a parameter that the IDL marks `@in_place`
    /// (`Octets::from(room)`). If the connection that a call would take now shares memory with the server, the room is
    /// part of that memory, and its octets are sent without a copy; otherwise the room is ordinary memory, and its
    /// octets are copied when they are sent: [`Room::is_in_place`] reports which. Blocks of shared memory are lent from
    /// 16 KiB on. A room that was not sent is returned when it is dropped.
    ///
    /// The initial octets are arbitrary: those of an earlier payload, or 0.
    ///
    /// Opens a connection if there is none. The policy [`LargePayloads`] decides whether memory is shared, and what
    /// happens if none is.
    ///
    /// # Errors
    /// NO_RESOURCES under [`LargePayloads::InPlaceOnly`], if no block is free (`NO_ROOM`) or no memory is shared
    /// (`NO_SHARED_MEMORY`). The errors of a call, if no connection can be opened.
    ///
    /// # Real-time cost
    /// Over a connection that has carried calls: no allocation, no system call, and the locks of the connections that a
    /// call takes; no lock if threads have their own (`-ORBClientConnections private`). Ordinary memory is allocated.
    pub fn room(&self, octets: usize) -> Result<Room, SystemException> {
        let policies = self.policies();
        let room = match policies.payloads {
            LargePayloads::Copied | LargePayloads::SingleCopy => return Ok(Room::new(octets)),
            LargePayloads::InPlace | LargePayloads::InPlaceOnly => match fast_room(self, octets) {
                Some(room) => room,
                None => general_room(self, &policies, octets)?,
            },
        };
        match room {
            RoomSearch::Room(room) => Ok(room),
            RoomSearch::Local => Ok(Room::new(octets)),
            _ if policies.payloads == LargePayloads::InPlace => Ok(Room::new(octets)),
            RoomSearch::Full => Err(raise::NO_ROOM),
            RoomSearch::NotShared => Err(raise::NO_SHARED_MEMORY),
        }
    }
}

/// Result of a request for memory of a connection.
enum RoomSearch {
    Room(Room),
    /// The connection's memory is all in use.
    Full,
    /// The connection has no memory for payloads.
    NotShared,
    /// The object is in this process, where nothing is sent.
    Local,
}

impl RoomSearch {
    fn on(link: &dyn Link, octets: usize) -> RoomSearch {
        match link.rooms() {
            None => RoomSearch::NotShared,
            Some(rooms) => rooms.room(octets).map_or(RoomSearch::Full, RoomSearch::Room),
        }
    }
}

/// Tries the connection that a fast call would take. Returns `None` if a call would not take the fast path.
#[inline]
fn fast_room(reference: &Ref, octets: usize) -> Option<RoomSearch> {
    let (route, _) = reference.fast_route().or_else(|| reference.counted())?;
    let (_, profile) = route.fast_profile()?;
    let peer = profile.peer.as_ref().filter(|peer| !peer.is_shared())?;
    let link = peer.take_last()?;
    let found = RoomSearch::on(&*link.link, octets);
    peer.give_back_last(link);
    Some(found)
}

#[cold]
fn general_room(
    reference: &Ref,
    policies: &Effective,
    octets: usize,
) -> Result<RoomSearch, SystemException> {
    /// Operation that names the call where a name is needed.
    static OP: Op = Op::twoway("_room");
    let timing = Timing::start(policies)?;
    let mut exchange = Exchange::begin(reference, policies, (&OP).into(), &|_| Ok(()), timing);
    let mut rounds = 0;
    loop {
        let route = exchange.route()?;
        exchange.selection = match Selection::is_needed(&route, policies) {
            false => None,
            true => Selection::of(reference, &route, policies, (&OP).into())?,
        };
        let selection = exchange.selection.as_ref();
        if route.local(reference.orb(), selection).is_some() {
            return Ok(RoomSearch::Local);
        }
        let unreachable = match exchange.room(&route, octets)? {
            Ok(found) => return Ok(found),
            Err(unreachable) => unreachable,
        };
        // If the object was forwarded to an address that does not answer, its original address is tried; otherwise the
        // search ends.
        let Round::FellBack = exchange.unreached(&route, unreachable)? else {
            return Err(unreachable);
        };
        rounds = one_more(rounds)?;
    }
}

impl Exchange<'_, '_> {
    /// Tries the connection that the call would take, and opens it if there is none. The inner error means that no
    /// server answers; it is the exception that the call would raise.
    fn room(
        &mut self,
        route: &Arc<Route>,
        octets: usize,
    ) -> Result<Result<RoomSearch, SystemException>, SystemException> {
        let mut untried = Untried::of(route, self.bound.as_deref());
        if let Some(selection) = &self.selection {
            untried.restrict(route, self.bound.as_deref(), selection);
        }
        let mut unreachable = raise::CONNECT_FAILED;
        while let Some((index, reached)) = reach::any(self, route, &mut untried)? {
            let profile = &route.profiles[index];
            let found = match reached {
                Reached::Link(link) => Ok(on_idle(profile.remote(), link, octets)),
                Reached::Shared => self.room_of_shared(profile, octets)?,
            };
            match found {
                Ok(found) => return Ok(Ok(found)),
                Err(exception) => unreachable = exception,
            }
        }
        Ok(Err(unreachable))
    }

    /// Tries the connection that calls share or, if there is none and this side opens none, one for the call alone. The
    /// inner error means that there is no connection.
    fn room_of_shared(
        &mut self,
        profile: &RouteProfile,
        octets: usize,
    ) -> Result<Result<RoomSearch, SystemException>, SystemException> {
        let timing = match self.again {
            false => self.timing,
            true => self.timing.resumed()?,
        };
        let (reference, selection) = (self.reference, self.selection.as_ref());
        match shared::connection(reference, profile, selection, timing, &mut self.attempts)? {
            Ok(Some((shared, _))) => Ok(Ok(RoomSearch::on(&*shared.link, octets))),
            Ok(None) => {
                let link = reach::again(self, profile)?;
                Ok(link.map(|link| on_idle(profile.remote(), link, octets)))
            }
            Err(exception) => Ok(Err(exception)),
        }
    }
}

/// Tries a connection for a call alone, and gives it back. The next call may find it closed, although nothing was sent.
fn on_idle(peer: &Peer, mut link: Box<ClientLink>, octets: usize) -> RoomSearch {
    let found = RoomSearch::on(&*link.link, octets);
    link.idled = true;
    peer.give_back(link);
    found
}
