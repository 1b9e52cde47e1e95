//! Way of a request to its object: an object of this process, or a connection to a server of the object, which is an
//! idle one or the first that can be opened to one of several addresses.

use std::sync::Arc;

use oxorb_object::SystemException;

use super::Peer;
use super::batch;
use super::binding::Bound;
use super::exchange::Exchange;
use super::link::ClientLink;
use super::selecting;
use super::selection::{Ranks, Selection, SharingKey};
use crate::Orb;
use crate::error::raise;
use crate::options::Collocation;
use crate::policy::RebindMode;
use crate::reference::{LaneOf, Route, RouteProfile};
use crate::threads::sync::atomic::Ordering;

/// Connection to a server.
pub(super) enum Reached {
    /// Connection for this call alone.
    Link(Box<ClientLink>),
    /// Connection that all calls share: it carries requests both ways, or the ORB shares all connections that it opens.
    Shared,
}

impl Reached {
    /// Gives the connection back without sending anything over it.
    pub(super) fn give_back(self, peer: &Peer) {
        if let Reached::Link(link) = self {
            peer.give_back(link);
        }
    }
}

/// Profiles of a route that a round has not tried yet.
pub(super) struct Untried {
    /// Bit set of the profiles, of which a route has at most 64.
    profiles: u64,
    /// Profile that answered last time, which is tried before all others.
    first: usize,
    /// Order of the other profiles, if policies prefer some.
    ranks: Ranks,
}

impl Untried {
    #[inline]
    pub(super) fn of(route: &Route, bound: Option<&Bound>) -> Untried {
        match bound {
            Some(bound) => Untried {
                profiles: 1 << bound.profile,
                first: bound.profile,
                ranks: Ranks::default(),
            },
            None => Untried {
                profiles: u64::MAX >> (64 - route.profiles.len()),
                first: route.preferred.load(Ordering::Relaxed),
                ranks: Ranks::default(),
            },
        }
    }

    /// Restricts the profiles to those that the call may use at its priority. A bound reference with several addresses
    /// at one server, one for each lane, is bound to all of them.
    #[inline]
    pub(super) fn restrict(&mut self, route: &Route, bound: Option<&Bound>, to: &Selection) {
        if let Some(bound) = bound {
            let server = route.profiles[bound.profile].index;
            let lanes = route.profiles.iter().enumerate();
            let lanes = lanes.filter(|(_, profile)| profile.index == server);
            self.profiles = lanes.fold(0, |all, (index, _)| all | 1 << index);
        }
        self.profiles &= to.profiles;
        self.ranks = to.ranks;
        // Profiles that did not answer last time come later here, even if their protocols are preferred. They are tried
        // again when the connection that answered instead is lost.
        let silent = route.silent.load(Ordering::Relaxed);
        let best = match self.profiles & !silent {
            0 => self.ranks.best(self.profiles),
            answering => self.ranks.best(answering),
        };
        if best >> self.first & 1 == 0 {
            self.first = best.trailing_zeros().min(63) as usize;
        }
    }

    /// Iterates over the untried profiles: the first, then the others by preference.
    pub(super) fn in_order(&self) -> impl Iterator<Item = usize> + Clone + use<> {
        let (first, profiles, ranks) = (self.first, self.profiles, self.ranks);
        let has = move |index: &usize| profiles >> index & 1 == 1;
        let others = (0..ranks.count()).flat_map(move |rank| {
            (0..64).filter(move |index| *index != first && ranks.of(*index) == rank)
        });
        std::iter::once(first).chain(others).filter(has)
    }

    /// Returns the untried profiles in the order of connecting: by preference, then the one that answered last time.
    fn to_race(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..64).filter(|&at| self.has(at)).collect();
        order.sort_by_key(|&at| (self.ranks.of(at), at != self.first));
        order
    }

    fn has(&self, index: usize) -> bool {
        self.profiles >> index & 1 == 1
    }

    /// Returns the order of preference.
    pub(super) fn ranks(&self) -> Ranks {
        self.ranks
    }

    pub(super) fn strike(&mut self, index: usize) {
        self.profiles &= !(1 << index);
    }
}

/// Returns a connection to one of the untried profiles, which then counts as tried; `None` if none can be reached.
///
/// Taking an idle connection to the profile that answered last time costs no unnecessary lock or system call. Otherwise
/// all profiles are connected to, each a little later than the one before it, and the first that answers wins.
#[inline(always)]
pub(super) fn any(
    exchange: &mut Exchange<'_, '_>,
    route: &Route,
    untried: &mut Untried,
) -> Result<Option<(usize, Reached)>, SystemException> {
    let first = untried.first;
    if untried.has(first) {
        let peer = route.profiles[first].remote();
        let sharing_key = exchange.sharing_key();
        if peer.is_shared() && !sharing_key.is_exclusive() {
            untried.strike(first);
            return Ok(Some((first, Reached::Shared)));
        }
        if let Some(link) = exchange.at_hand(peer, sharing_key) {
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
    let order = untried.to_race();
    if order.is_empty() {
        return Ok(None);
    }
    // If calls to a peer share a connection, that connection must be checked before another is opened: it may be one
    // that the peer opened to call this ORB.
    let shared = |at: &&usize| route.profiles[**at].remote().is_shared();
    if let Some(&index) = order.iter().find(shared)
        && !exchange.sharing_key().is_exclusive()
    {
        untried.strike(index);
        return Ok(Some((index, Reached::Shared)));
    }
    may_connect(exchange, route.profiles[order[0]].remote())?;
    // Connecting over datagrams succeeds even if there is no server, so datagrams would win each race.
    let may_lose = |at: &usize| route.profiles[*at].remote().may_lose();
    for order in order.chunk_by(|one, next| may_lose(one) == may_lose(next)) {
        let profiles: Vec<&RouteProfile> = order.iter().map(|&at| &route.profiles[at]).collect();
        match connect(&profiles, exchange) {
            Ok((won, link)) => {
                let index = order[won];
                untried.strike(index);
                route.answered(index, &order[..won]);
                return Ok(Some((index, Reached::Link(link))));
            }
            Err(failed) if failed == raise::CONNECT_FAILED => {}
            Err(exception) => return Err(exception),
        }
    }
    Ok(None)
}

/// Opens a further connection to the same server. The inner error means that the server cannot be reached.
pub(super) fn again(
    exchange: &mut Exchange<'_, '_>,
    profile: &RouteProfile,
) -> Result<Result<Box<ClientLink>, SystemException>, SystemException> {
    let peer = profile.remote();
    if let Some(link) = exchange.at_hand(peer, exchange.sharing_key()) {
        return Ok(Ok(link));
    }
    may_connect(exchange, peer)?;
    Ok(connect(&[profile], exchange).map(|(_, link)| link))
}

/// Refuses a connection to replace a lost one, if policy forbids that.
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
    profiles: &[&RouteProfile],
    exchange: &mut Exchange<'_, '_>,
) -> Result<(usize, Box<ClientLink>), SystemException> {
    let timing = exchange.timing;
    exchange.again = true;
    let peers: Vec<&Arc<Peer>> = profiles.iter().map(|profile| profile.remote()).collect();
    let selection = exchange.selection.as_ref();
    let mark = selection.and_then(|selection| selection.dscp);
    let (won, link, losses_seen) =
        Peer::connect_first(&peers, timing, &mut exchange.attempts, mark)?;
    if let Some(selection) = selection {
        selection.shape(profiles[won], &*link);
    }
    let owner = selecting::owner(exchange.reference, selection);
    let mut link = peers[won].new_link(link, losses_seen, timing.start, selection, owner);
    link.mark(mark);
    Ok((won, link))
}

impl Route {
    /// Returns a profile of this process whose requests may run in the calling thread, with its index. Requests of a
    /// lane run in the lane's threads only, as in TAO: a call from any other thread goes through the lane.
    #[inline]
    pub(crate) fn local(
        &self,
        orb: &Orb,
        selection: Option<&Selection>,
    ) -> Option<(usize, &RouteProfile)> {
        let mut profiles = self.profiles.iter().enumerate();
        profiles.find(|(index, profile)| match (&profile.peer, profile.lane) {
            (None, _) => true,
            (_, None) => false,
            (_, Some(lane)) => {
                orb.options().collocation != Collocation::None
                    && orb.is_in_lane(lane, &profile.key, selection)
                    && selection.is_none_or(|selection| selection.admits(*index))
            }
        })
    }
}

impl Orb {
    /// Reports whether the calling thread belongs to the lane that serves calls to the object of `key`: to `lane`, or
    /// to the lane of the call's priority if lanes share an address.
    #[inline]
    fn is_in_lane(&self, lane: LaneOf, key: &[u8], selection: Option<&Selection>) -> bool {
        let Some(here) = self.serving_lane() else {
            return false;
        };
        match self.options().realtime.lanes_on_one_port {
            false => here == lane,
            true => {
                let priority = selection.and_then(Selection::priority);
                here.pool == lane.pool && self.lane_of(key, priority) == Some(here)
            }
        }
    }
}

impl Exchange<'_, '_> {
    /// Returns the key of the connections that the call may use.
    #[inline]
    pub(super) fn sharing_key(&self) -> SharingKey {
        match &self.selection {
            None => SharingKey::default(),
            Some(selection) => selection.sharing_key,
        }
    }

    /// Returns an open and idle connection of `peer`, as [`Peer::at_hand`] does, with the DSCP of the call.
    #[inline]
    fn at_hand(&self, peer: &Peer, sharing_key: SharingKey) -> Option<Box<ClientLink>> {
        batch::send_to(peer);
        let mut link = peer.at_hand(self.timing.start, sharing_key)?;
        if let Some(selection) = &self.selection {
            link.mark(selection.dscp);
        }
        Some(link)
    }
}
