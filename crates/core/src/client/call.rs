//! Requests while they are written, and after they were sent.

use std::io;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use oxorb_cdr::Encoder;
use oxorb_giop::{Frame, MessageType, Short, TargetAddress, Told, Wire};
use oxorb_object::{
    CompletionStatus, ServiceContext, SystemException, Version, minor, priority_range_context,
};
use oxorb_transport::{Link, Oversized, Unanswered, WriteError};

use super::cancelling::{CANCEL_LIMIT, Cancellation, UNWATCHED};
use super::draft::{Draft, First};
use super::link::{ClientLink, LinkTimeouts, exception_of};
use super::replies::Head;
use super::{Args, Peer, Reply, Timing};
use crate::Orb;
use crate::conn::{ConnectionEnd, Event, Wait, send_encoded, wait_beside, write_message};
use crate::error::raise;
use crate::probe::{self, Stage};

/// Size in octets of the longest request that is assumed to be sent at once. Sending a longer request may have to wait
/// for the server to read, which uses up some of the call's time.
pub(super) const SENT_AT_ONCE: usize = 64 << 10;

/// Request that is to be sent over a connection. A failure at this stage is COMPLETED_NO.
pub(crate) struct Call<'c, 'r> {
    pub(crate) peer: &'c Arc<Peer>,
    pub(crate) link: Box<ClientLink>,
    pub(crate) draft: &'r Draft<'r>,
}

/// Outcome of sending a request.
pub(crate) enum Sent<'c> {
    Gone(Pending<'c>),
    /// The request was withheld: this is its connection, over which nothing was sent.
    Withheld(Box<ClientLink>),
    Lost(Lost),
}

/// Request that was sent and not answered. A failure at this stage is COMPLETED_MAYBE, unless the server reports that
/// it did not run the request.
pub(crate) struct Pending<'c> {
    pub(super) peer: &'c Arc<Peer>,
    pub(super) link: Box<ClientLink>,
    pub(super) id: u32,
    pub(super) wire: Wire,
    /// Size of the request, in octets.
    pub(super) octets: usize,
    /// Whether connecting or sending may have used up some of the call's time.
    pub(super) waited: bool,
    /// Whether the request was a LocateRequest.
    pub(super) locating: bool,
}

/// Call that failed after it was begun; its connection is closed.
pub(crate) struct Lost {
    pub(crate) exception: SystemException,
    pub(crate) cause: String,
    /// Whether the connection had carried a call or been idle before. The server may then have closed it as idle, which
    /// is a reason to retry the request if it certainly did not run.
    pub(crate) reused: bool,
}

impl<'c> Call<'c, '_> {
    /// Writes header and arguments in place and passes them to the transport in one write. `withhold` is called once
    /// the size of the complete message is known; if it returns true, nothing is sent.
    ///
    /// # Errors
    /// The arguments cannot be sent; the connection is given back unused.
    // This is one inlined function, because the written values are large and would otherwise be moved from function to
    // function.
    #[inline(always)]
    pub(crate) fn send<'a>(
        self,
        args: Args<'_, 'a>,
        timing: Timing,
        withhold: impl FnOnce(usize) -> bool,
    ) -> Result<Sent<'c>, SystemException> {
        let Call { peer, mut link, draft } = self;
        let wire = draft.wire;
        let tell = link.session.told.yet_to_tell(draft.code_sets);
        if tell.is_some() {
            link.session.told = Told::of(tell);
        }
        let id = link.session.ids.next_id();
        let dialect = link.session.told.dialect(wire.version().minor);
        let mut e = peer.options().encoder(mem::take(&mut link.out), dialect);
        // The first request over a connection for a priority band announces the band to the server (implicit binding).
        let band = link.band.map(|band| priority_range_context(band.low, band.high));
        let band = band.as_ref().map(|data| ServiceContext {
            id: oxorb_object::context_id::RT_CORBA_PRIORITY_RANGE,
            data,
        });
        let limits = &peer.options().limits;
        let alias = match &mut link.aliases {
            None => None,
            Some(aliases) => draft.alias(aliases),
        };
        let first = First { code_sets: tell, contexts: [band, None], alias };
        let written = draft.write(&mut e, id, &first, args, limits);
        let octets = e.position();
        if written.is_err() || withhold(octets) {
            link.out = peer.options().keep(e.into_buffer());
            if let (Some(alias), Some(aliases)) = (alias, &mut link.aliases) {
                aliases.take_back(alias);
            }
            if tell.is_some() {
                link.session.told = Told::NOTHING;
            }
            return match written {
                Ok(()) => Ok(Sent::Withheld(link)),
                Err(exception) => {
                    peer.give_back(link);
                    Err(exception)
                }
            };
        }
        let waited = !link.reused || octets > SENT_AT_ONCE;
        link.limit_writes(timing.write_limit());
        let left = || timing.time_to_send();
        let (sent, buffer) = send_encoded(&*link.link, e, wire, draft.fragment_size, left);
        if draft.fragment_size.is_some() {
            link.forget_write_limit();
        }
        probe::stamp(Stage::RequestSent);
        link.band = None;
        link.out = peer.options().keep(buffer);
        Ok(match sent {
            Ok(()) => Sent::Gone(Pending { peer, link, id, wire, octets, waited, locating: false }),
            Err(failed) => Sent::Lost(unsent(peer, &mut link, octets, &failed)),
        })
    }

    /// Queries the server for an object (LocateRequest), with one write. Allocates.
    pub(crate) fn locate(
        peer: &'c Arc<Peer>,
        mut link: Box<ClientLink>,
        wire: Wire,
        target: TargetAddress<'_>,
        timing: Timing,
    ) -> Result<Pending<'c>, Lost> {
        let id = link.session.ids.next_id();
        let order = peer.options().byte_order;
        let mut e = Encoder::new(Vec::new(), order, wire.dialect());
        if let Err(violation) = wire.locate_request(&mut e, id, target) {
            let exception = violation.to_exception(CompletionStatus::No);
            return Err(lose(peer, &link, exception, violation.to_string()));
        }
        link.limit_writes(timing.write_limit());
        let sent = write_message(&*link.link, &e.finish(), wire, None);
        match sent {
            Ok(()) => Ok(Pending { peer, link, id, wire, octets: 0, waited: true, locating: true }),
            Err(failed) => Err(lose(
                peer,
                &link,
                exception_of(&failed.error, minor::comm_failure::SEND_FAILED, CompletionStatus::No),
                format!("locating the object failed: {}", failed.error),
            )),
        }
    }
}

impl<'c> Pending<'c> {
    /// Reads until the reply has arrived, usually with one read. If the call is `forwarding` the request that this
    /// thread serves, it ends when that request is cancelled.
    pub(crate) fn wait(
        mut self,
        orb: &Orb,
        timing: &Timing,
        forwarding: bool,
    ) -> Result<Reply, Lost> {
        let mut passed = self.waited;
        let mut cancellation = Cancellation::of(forwarding);
        loop {
            let mut looked = false;
            let (mut receiver, limits) = self.link.receiving();
            let link = receiver.link;
            let event = receiver.next(|_| {
                if cancellation.is_unwatched() {
                    return wait_unwatched(link, limits, timing, passed);
                }
                // A reply that arrives in small pieces must not extend the time limit, so each read is limited to the
                // time that is left.
                let is_rest = passed && timing.limit.is_some();
                let limit = if is_rest { timing.left_for_reply()? } else { timing.limit };
                // If this thread serves a connection, it waits for the reply and for requests on that connection at the
                // same time. The read then does not wait, so that its time limit need not be set.
                looked = wait_beside(link, limit);
                match (looked, is_rest) {
                    (true, _) => return Ok(Wait::Now),
                    (false, true) => limits.shorten_reads(link, limit)?,
                    (false, false) => limits.reads(link, limit)?,
                }
                Ok(Wait::Limited)
            });
            match event {
                Ok(Event::Message) => {
                    let frame = self.link.inbox.frame();
                    if let Some(answer) = self.sort(&frame)? {
                        if !cancellation.end() {
                            return Err(self.over(&ConnectionEnd::Cancelled));
                        }
                        probe::stamp(Stage::ReplyParsed);
                        let giop_minor = frame.header.version.minor;
                        return Ok(self.reply(orb, answer, giop_minor));
                    }
                }
                Ok(Event::Octets { .. }) => {
                    probe::stamp(Stage::ReplyArrived);
                    passed = true;
                }
                Ok(Event::Interrupted) => passed = true,
                Ok(Event::Silence) if looked => passed = true,
                Ok(Event::Silence) if cancellation.is_unwatched() => {
                    passed = true;
                    cancellation = Cancellation::watch(&self.link.link, self.cancel_message());
                }
                Ok(Event::Silence) => {
                    return Err(self.over(cancellation.seen(&ConnectionEnd::Late)));
                }
                Err(ended) => return Err(self.over(cancellation.seen(&ended))),
            }
        }
    }

    /// Limits the wait for the reply to the remaining time of the call.
    #[inline]
    pub(super) fn has_waited(&mut self) {
        self.waited = true;
    }

    /// Continues to read after a first read that did not bring the reply.
    #[cold]
    pub(super) fn wait_after(
        mut self,
        first: Result<Event, ConnectionEnd>,
        orb: &Orb,
        timing: &Timing,
        forwarding: bool,
    ) -> Result<Reply, Lost> {
        match first {
            Ok(Event::Silence) => Err(self.over(&ConnectionEnd::Late)),
            Ok(_) => {
                self.has_waited();
                self.wait(orb, timing, forwarding)
            }
            Err(ended) => Err(self.over(&ended)),
        }
    }

    /// Gives the connection back without waiting, after a oneway request.
    pub(crate) fn abandon(mut self) {
        self.link.reused = true;
        self.peer.give_back(self.link);
    }

    /// Returns the head of the message just received, if it is the reply to this call.
    fn sort(&self, frame: &Frame<'_>) -> Result<Option<Head>, Lost> {
        match frame.header.kind {
            MessageType::LOCATE_REPLY if self.locating => {
                match oxorb_giop::LocateReply::parse(frame) {
                    Ok(reply) => Ok((reply.id == self.id).then_some(Head {
                        status: Reply::status_of(reply.status),
                        body: reply.body,
                    })),
                    Err(violation) => Err(self.over(&ConnectionEnd::Malformed(violation))),
                }
            }
            // A late answer to a query that has timed out is skipped.
            MessageType::LOCATE_REPLY => Ok(None),
            MessageType::REPLY => {
                // A late answer to a call that has timed out has another request id, and is skipped.
                match oxorb_giop::Reply::parse(frame) {
                    Ok(reply) => Ok((reply.id == self.id)
                        .then_some(Head { status: reply.status, body: reply.body })),
                    Err(violation) => Err(self.over(&ConnectionEnd::Malformed(violation))),
                }
            }
            other => Err(self.over(&ConnectionEnd::by(other))),
        }
    }

    fn reply(self, orb: &Orb, answer: Head, giop_minor: u8) -> Reply {
        let Pending { peer, mut link, .. } = self;
        link.reused = true;
        Reply::from_link(orb, peer, link, answer, giop_minor)
    }

    /// Returns the result of the call when its connection has ended.
    #[cold]
    fn over(&self, ended: &ConnectionEnd) -> Lost {
        let ended = ended.seen_by_the_last(&*self.link.link);
        let mut cause = ended.cause();
        if matches!(ended, ConnectionEnd::Late) {
            // The server may still run the request, so it is notified that the caller no longer waits.
            let _ = self.cancel();
        }
        if matches!(ended, ConnectionEnd::Vanished | ConnectionEnd::Refused) {
            cause += &too_large_there(self.octets, self.peer.options().fragment_size);
        }
        if matches!(ended, ConnectionEnd::Cancelled) {
            // A client has ended the call, so there is no reason to suspect the server's other connections.
            return closed(&self.link, ended.exception(), cause);
        }
        lose(self.peer, &self.link, ended.exception(), cause)
    }

    /// Notifies the server that the caller no longer waits, if the connection accepts that at once. Sends nothing below
    /// GIOP 1.2, where omniORB treats CancelRequest as an error; the close of the connection, which follows in any
    /// case, suffices there.
    fn cancel(&self) -> io::Result<()> {
        let Some(message) = self.cancel_message() else {
            return Ok(());
        };
        self.link.link.set_write_timeout(Some(CANCEL_LIMIT))?;
        self.link.link.write(&mut [io::IoSlice::new(&message)]).map_err(|failed| failed.error)
    }

    /// Returns the message that notifies the server; `None` if it is not notified.
    #[cold]
    fn cancel_message(&self) -> Option<Short> {
        let order = self.peer.options().byte_order;
        self.wire.cancel(order, self.id).filter(|_| self.wire.version() >= Version::V1_2)
    }
}

/// Waits for a reply before the call is registered to be cancelled with the request that this thread serves. Nearly all
/// reads have the same time limit, so that it seldom has to be set.
#[inline(never)]
fn wait_unwatched(
    link: &dyn Link,
    limits: &mut LinkTimeouts,
    timing: &Timing,
    passed: bool,
) -> Result<Wait, ConnectionEnd> {
    let left = match timing.limit {
        Some(_) if passed => timing.left_for_reply()?,
        limit => limit,
    };
    let within = |left: Option<Duration>| Some(left.map_or(UNWATCHED, |left| left.min(UNWATCHED)));
    let limit = within(left);
    if wait_beside(link, limit) {
        return Ok(Wait::Now);
    }
    limits.reads(link, limit)?;
    Ok(Wait::Limited)
}

/// Size in octets up to which a request is unlikely to exceed the limit of any server.
const USUAL: usize = 64 << 10;

/// Returns the hint for a request of `octets` octets that the other side may have refused; empty if the request is
/// small.
pub(super) fn too_large_there(octets: usize, fragment_size: Option<usize>) -> String {
    if octets <= USUAL {
        return String::new();
    }
    let pieces = match fragment_size {
        None => "; -ORBFragmentSize N on this side sends it in pieces of N octets".to_owned(),
        Some(size) => format!("; -ORBFragmentSize already splits it into pieces of {size} octets"),
    };
    format!(
        ". The request has {octets} octets, which may be above the limit of that server (omniORB's giopMaxMsgSize, \
         OxORB's -ORBMaxMessage): raise that limit, or send less data per request{pieces}"
    )
}

/// Returns the result of a request that could not be written, or was written only in part.
#[cold]
pub(super) fn unsent(
    peer: &Peer,
    link: &mut ClientLink,
    octets: usize,
    failed: &WriteError,
) -> Lost {
    if let Some(oversized) = Oversized::of(&failed.error) {
        return Lost {
            exception: raise::oversized(CompletionStatus::No),
            cause: oversized.to_string(),
            // A retry is useless, because another connection would not accept the message either.
            reused: false,
        };
    }
    if Unanswered::is(&failed.error) {
        return Lost {
            exception: raise::ONEWAYS_ONLY,
            cause: failed.error.to_string(),
            reused: false,
        };
    }
    let hint = too_large_there(octets, peer.options().fragment_size);
    if let Some(kind) = link.last_word() {
        let ended = ConnectionEnd::by(kind);
        let mut cause = ended.cause();
        if matches!(ended, ConnectionEnd::Refused) {
            cause += &hint;
        }
        return lose(peer, link, ended.exception(), cause);
    }
    if failed.written != 0 && link.link.is_dead() && link.link.took_nothing() {
        let ended = ConnectionEnd::Untaken;
        return lose(peer, link, ended.exception(), ended.cause());
    }
    let completed =
        if failed.written == 0 { CompletionStatus::No } else { CompletionStatus::Maybe };
    lose(
        peer,
        link,
        exception_of(&failed.error, minor::comm_failure::SEND_FAILED, completed),
        format!("sending the request failed: {}{hint}", failed.error),
    )
}

fn lose(peer: &Peer, link: &ClientLink, exception: SystemException, cause: String) -> Lost {
    let lost = closed(link, exception, cause);
    peer.lost();
    lost
}

fn closed(link: &ClientLink, exception: SystemException, cause: String) -> Lost {
    link.link.close();
    Lost { exception, cause, reused: link.reused || link.idled }
}
