//! A connection to a server of the object: one at hand, or the first of several that answers.

use std::sync::Arc;

use oxorb_object::SystemException;

use super::Peer;
use super::binding::Bound;
use super::exchange::Exchange;
use super::link::ClientLink;
use super::selection::{self, Apart, Selection};
use crate::policy::RebindMode;
use crate::raise;
use crate::route::Route;
use crate::sync::atomic::Ordering;

/// What leads to a server.
pub(super) enum Reached {
    /// A connection for this call alone.
    Link(Box<ClientLink>),
    /// One that all calls share: it carries requests both ways, or the ORB shares all that it opens.
    Shared,
}

impl Reached {
    /// Nothing is sent over it.
    pub(super) fn give_back(self, peer: &Peer) {
        if let Reached::Link(link) = self {
            peer.give_back(link);
        }
    }
}

/// The profiles of a route that a round has not tried yet.
pub(super) struct Untried {
    /// One bit for each: a route has no more than 64.
    profiles: u64,
    /// The one that answered last time, before all others.
    first: usize,
}

impl Untried {
    #[inline]
    pub(super) fn of(route: &Route, bound: Option<&Bound>) -> Untried {
        match bound {
            Some(bound) => Untried {
                profiles: 1 << bound.profile,
                first: bound.profile,
            },
            None => Untried {
                profiles: u64::MAX >> (64 - route.profiles.len()),
                first: route.preferred.load(Ordering::Relaxed),
            },
        }
    }

    /// Those that the call may use at its priority. Where a bound reference has several addresses at one server, one for
    /// each lane, it is bound to them all.
    #[inline]
    pub(super) fn restrict(&mut self, route: &Route, bound: Option<&Bound>, to: &Selection) {
        if let Some(bound) = bound {
            let server = route.profiles[bound.profile].index;
            let lanes = route.profiles.iter().enumerate();
            let lanes = lanes.filter(|(_, profile)| profile.index == server);
            self.profiles = lanes.fold(0, |all, (index, _)| all | 1 << index);
        }
        self.profiles &= to.profiles;
        if !self.has(self.first) {
            self.first = self.profiles.trailing_zeros().min(63) as usize;
        }
    }

    /// All of them, the first first.
    pub(super) fn in_order(&self) -> impl Iterator<Item = usize> + Clone + use<> {
        let (first, profiles) = (self.first, self.profiles);
        let has = move |index: &usize| profiles >> index & 1 == 1;
        let others = (0..64).filter(move |index| *index != first);
        std::iter::once(first).chain(others).filter(has)
    }

    fn has(&self, index: usize) -> bool {
        self.profiles >> index & 1 == 1
    }

    fn strike(&mut self, index: usize) {
        self.profiles &= !(1 << index);
    }
}

/// A connection to one of the untried profiles, which then counts as tried; `None` when none can be reached.
///
/// One that is at hand for the profile that answered last time costs no lock or system call more than it must. Otherwise
/// all of them are connected to, each a little later than the one before it, and the first that answers wins.
#[inline(always)]
pub(super) fn any(
    exchange: &mut Exchange<'_, '_>,
    route: &Route,
    untried: &mut Untried,
) -> Result<Option<(usize, Reached)>, SystemException> {
    let first = untried.first;
    if untried.has(first) {
        let peer = route.profiles[first].remote();
        let apart = exchange.apart();
        if peer.is_shared() && !apart.is_apart() {
            untried.strike(first);
            return Ok(Some((first, Reached::Shared)));
        }
        if let Some(link) = exchange.at_hand(peer, apart) {
            untried.strike(first);
            return Ok(Some((first, Reached::Link(link))));
        }
    }
    race(exchange, route, untried)
}

#[cold]
fn race(
    exchange: &mut Exchange<'_, '_>,
    route: &Route,
    untried: &mut Untried,
) -> Result<Option<(usize, Reached)>, SystemException> {
    let mut order: Vec<usize> = (0..route.profiles.len())
        .filter(|&at| untried.has(at))
        .collect();
    if let Some(at) = order.iter().position(|&index| index == untried.first) {
        order[..=at].rotate_right(1);
    }
    if order.is_empty() {
        return Ok(None);
    }
    // Those that may have called us are not connected to before that connection was looked at.
    let shared = |at: &&usize| route.profiles[**at].remote().is_shared();
    if let Some(&index) = order.iter().find(shared)
        && !exchange.apart().is_apart()
    {
        untried.strike(index);
        return Ok(Some((index, Reached::Shared)));
    }
    let peers: Vec<&Arc<Peer>> = order
        .iter()
        .map(|&at| route.profiles[at].remote())
        .collect();
    may_connect(exchange, peers[0])?;
    match connect(&peers, exchange) {
        Ok((won, link)) => {
            let index = order[won];
            untried.strike(index);
            route.preferred.store(index, Ordering::Relaxed);
            Ok(Some((index, Reached::Link(link))))
        }
        Err(failed) if failed == raise::CONNECT_FAILED => Ok(None),
        Err(exception) => Err(exception),
    }
}

/// Another connection to the same server; the inner error: it cannot be reached.
pub(super) fn again(
    exchange: &mut Exchange<'_, '_>,
    peer: &Arc<Peer>,
) -> Result<Result<Box<ClientLink>, SystemException>, SystemException> {
    if let Some(link) = exchange.at_hand(peer, exchange.apart()) {
        return Ok(Ok(link));
    }
    may_connect(exchange, peer)?;
    Ok(connect(&[peer], exchange).map(|(_, link)| link))
}

/// Not after the loss of a connection that was not to be lost.
fn may_connect(exchange: &Exchange<'_, '_>, peer: &Peer) -> Result<(), SystemException> {
    match &exchange.bound {
        Some(bound)
            if exchange.policies.rebind == RebindMode::NoReconnect
                && bound.losses != peer.losses() =>
        {
            Err(raise::REBIND_LOST)
        }
        _ => Ok(()),
    }
}

fn connect(
    peers: &[&Arc<Peer>],
    exchange: &mut Exchange<'_, '_>,
) -> Result<(usize, Box<ClientLink>), SystemException> {
    let timing = exchange.timing;
    let (won, link, losses_seen) = Peer::connect_first(peers, timing, &mut exchange.attempts)?;
    let selection = exchange.selection.as_ref();
    let owner = selection::owner(exchange.reference, selection);
    let mut link = peers[won].new_link(link, losses_seen, timing.start, selection, owner);
    link.mark(selection.and_then(|selection| selection.dscp));
    Ok((won, link))
}

impl Exchange<'_, '_> {
    /// Whose connections the call may use.
    #[inline]
    pub(super) fn apart(&self) -> Apart {
        match &self.selection {
            None => Apart::default(),
            Some(selection) => selection.apart,
        }
    }

    /// A connection of `peer` that is open and idle, as [`Peer::at_hand`] gives it, marked for the network.
    #[inline]
    fn at_hand(&self, peer: &Peer, apart: Apart) -> Option<Box<ClientLink>> {
        let mut link = peer.at_hand(self.timing.start, apart)?;
        if let Some(selection) = &self.selection {
            link.mark(selection.dscp);
        }
        Some(link)
    }
}
