//! A connection to a server of the object: one at hand, or the first of several that answers.

use std::sync::Arc;

use oxorb_giop::SystemException;

use super::binding::Bound;
use super::exchange::Exchange;
use super::link::ClientLink;
use super::{Peer, Timing};
use crate::failure::Attempt;
use crate::policy::RebindMode;
use crate::raise;
use crate::route::Route;
use crate::sync::atomic::Ordering;

/// What leads to a server.
pub(super) enum Reached {
    /// A connection for this call alone.
    Link(Box<ClientLink>),
    /// Perhaps one that carries requests both ways, which all calls share.
    BothWays,
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
#[inline]
pub(super) fn any(
    exchange: &mut Exchange<'_, '_>,
    route: &Route,
    untried: &mut Untried,
) -> Result<Option<(usize, Reached)>, SystemException> {
    let first = untried.first;
    if untried.has(first) {
        let peer = route.profiles[first].remote();
        if peer.is_both_ways() {
            untried.strike(first);
            return Ok(Some((first, Reached::BothWays)));
        }
        if let Some(link) = peer.at_hand(exchange.timing.start) {
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
    if let Some(&index) = order
        .iter()
        .find(|&&at| route.profiles[at].remote().is_both_ways())
    {
        untried.strike(index);
        return Ok(Some((index, Reached::BothWays)));
    }
    let peers: Vec<&Arc<Peer>> = order
        .iter()
        .map(|&at| route.profiles[at].remote())
        .collect();
    may_connect(exchange, peers[0])?;
    match connect(&peers, exchange.timing, &mut exchange.attempts) {
        Ok((won, link)) => {
            let index = order[won];
            untried.strike(index);
            route.preferred.store(index, Ordering::Relaxed);
            Ok(Some((index, Reached::Link(link))))
        }
        Err(raise::CONNECT_FAILED) => Ok(None),
        Err(exception) => Err(exception),
    }
}

/// Another connection to the same server; the inner error: it cannot be reached.
pub(super) fn again(
    exchange: &mut Exchange<'_, '_>,
    peer: &Arc<Peer>,
) -> Result<Result<Box<ClientLink>, SystemException>, SystemException> {
    if let Some(link) = peer.at_hand(exchange.timing.start) {
        return Ok(Ok(link));
    }
    may_connect(exchange, peer)?;
    Ok(connect(&[peer], exchange.timing, &mut exchange.attempts).map(|(_, link)| link))
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
    timing: Timing,
    attempts: &mut Vec<Attempt>,
) -> Result<(usize, Box<ClientLink>), SystemException> {
    let (won, link, losses_seen) = Peer::connect_first(peers, timing, attempts)?;
    let link = peers[won].new_link(link, losses_seen, timing.start);
    Ok((won, link))
}
