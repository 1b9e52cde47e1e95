//! A request while it is written, and after it was sent.

use std::io;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use oxorb_cdr::Encoder;
use oxorb_giop::{MessageType, TargetAddress, Told, Wire};
use oxorb_object::{
    CompletionStatus, ServiceContext, SystemException, Version, minor, priority_range_context,
};
use oxorb_transport::WriteError;

use super::draft::{Draft, First};
use super::link::ClientLink;
use super::reply::Answer;
use super::{Args, Peer, Reply, Timing};
use crate::conn::{Ended, Read, Wait, send_encoded, wait_beside, write_message};
use crate::probe::{self, Stage};
use crate::{Orb, raise};

/// A longer message may wait for the server to read, so time has passed.
const SENT_AT_ONCE: usize = 64 << 10;

/// How long a CancelRequest may wait to be sent.
pub(super) const CANCEL_LIMIT: Duration = Duration::from_millis(1);

/// A request that is to be sent over a connection. Whatever fails now is COMPLETED_NO.
pub(crate) struct Call<'c, 'r> {
    pub(crate) peer: &'c Arc<Peer>,
    pub(crate) link: Box<ClientLink>,
    pub(crate) draft: &'r Draft<'r>,
}

/// What became of a request.
pub(crate) enum Sent<'c> {
    Gone(Pending<'c>),
    /// It was not to go yet: the connection, nothing sent.
    Withheld(Box<ClientLink>),
    Lost(Lost),
}

/// A request that was sent and not answered. Whatever fails now is
/// COMPLETED_MAYBE, unless the server says that it did not run it.
pub(crate) struct Pending<'c> {
    peer: &'c Arc<Peer>,
    link: Box<ClientLink>,
    id: u32,
    wire: Wire,
    /// Of the request.
    octets: usize,
    /// Connecting or sending may have used up some of the time.
    waited: bool,
    /// It was a LocateRequest.
    locating: bool,
}

/// A call that failed after it was begun; its connection is closed.
pub(crate) struct Lost {
    pub(crate) exception: SystemException,
    pub(crate) cause: String,
    /// The connection had served before, so the server may have closed it while
    /// it was idle: reason to try once more if the request certainly did not run.
    pub(crate) reused: bool,
}

impl<'c> Call<'c, '_> {
    /// Writes header and arguments in place and hands them to the transport: one write. `withhold` is asked when the
    /// size of the whole message is known.
    ///
    /// # Errors
    /// What is wrong with the arguments; the connection goes back untouched.
    // One function, and in its caller: what is written is large, and would be moved from hand to hand.
    #[inline(always)]
    pub(crate) fn send<'a>(
        self,
        args: Args<'_, 'a>,
        timing: Timing,
        withhold: impl FnOnce(usize) -> bool,
    ) -> Result<Sent<'c>, SystemException> {
        let Call {
            peer,
            mut link,
            draft,
        } = self;
        let wire = draft.wire;
        let tell = link.session.told.yet_to_tell(draft.code_sets);
        if tell.is_some() {
            link.session.told = Told::of(tell);
        }
        let id = link.session.ids.next_id();
        let dialect = link.session.told.dialect(wire.version().minor);
        let mut e = peer.options().encoder(mem::take(&mut link.out), dialect);
        // The first request of a connection for a band says so (implicit binding).
        let band = link
            .band
            .map(|band| priority_range_context(band.low, band.high));
        let band = band.as_ref().map(|data| ServiceContext {
            id: oxorb_object::context_id::RT_CORBA_PRIORITY_RANGE,
            data,
        });
        let limits = &peer.options().limits;
        let alias = match &mut link.aliases {
            None => None,
            Some(aliases) => draft.alias(aliases),
        };
        let first = First {
            code_sets: tell,
            context: band,
            alias,
        };
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
        let (sent, buffer) = send_encoded(&*link.link, e, wire, draft.fragment_size);
        probe::stamp(Stage::RequestSent);
        link.band = None;
        link.out = peer.options().keep(buffer);
        Ok(match sent {
            Ok(()) => Sent::Gone(Pending {
                peer,
                link,
                id,
                wire,
                octets,
                waited,
                locating: false,
            }),
            Err(failed) => Sent::Lost(unsent(peer, &mut link, octets, &failed)),
        })
    }

    /// Asks the server where an object is: one write. Allocates.
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
            Ok(()) => Ok(Pending {
                peer,
                link,
                id,
                wire,
                octets: 0,
                waited: true,
                locating: true,
            }),
            Err(failed) => Err(lose(
                peer,
                &link,
                exception_of(
                    &failed.error,
                    minor::comm_failure::SEND_FAILED,
                    CompletionStatus::No,
                ),
                format!("asking for the object failed: {}", failed.error),
            )),
        }
    }
}

impl<'c> Pending<'c> {
    /// Reads until the reply is there: one read in the usual case.
    pub(crate) fn wait(mut self, orb: &Orb, timing: &Timing) -> Result<Reply, Lost> {
        if self.waited {
            self.shorten_timeout(timing)?;
        } else if let Err(error) = self.link.limit_reads(timing.limit) {
            return Err(self.lost_by(error));
        }
        let mut reads = 0;
        loop {
            match self.link.receiver().announced() {
                Ok(None) => {}
                Ok(Some(header)) => match self.sort(header.kind)? {
                    Some(answer) => {
                        probe::stamp(Stage::ReplyParsed);
                        return Ok(self.reply(orb, answer, header.version.minor));
                    }
                    None => continue,
                },
                Err(ended) => return Err(self.over(&ended)),
            }
            if reads > 0
                && let Err(timeout) = self.shorten_timeout(timing)
            {
                return Err(timeout);
            }
            // Inside an upcall: the client may first have to be served.
            if wait_beside(&*self.link.link, timing.limit) {
                self.shorten_timeout(timing)?;
            }
            match self.link.receiver().read(Wait::Limited) {
                Ok(Read::Octets { .. }) => {
                    probe::stamp(Stage::ReplyArrived);
                    reads += 1;
                }
                Ok(Read::Interrupted) => {}
                Ok(Read::TimedOut) => return Err(self.timed_out()),
                Err(ended) => return Err(self.over(&ended)),
            }
        }
    }

    /// Gives the connection back without waiting: a oneway request.
    pub(crate) fn abandon(mut self) {
        self.link.reused = true;
        self.peer.give_back(self.link);
    }

    /// What the message just received answers, if it is our reply.
    fn sort(&self, kind: MessageType) -> Result<Option<Answer>, Lost> {
        match kind {
            MessageType::LOCATE_REPLY if self.locating => {
                let frame = self.link.inbox.frame();
                match oxorb_giop::LocateReply::parse(&frame) {
                    Ok(reply) => Ok((reply.id == self.id).then_some(Answer {
                        status: Reply::status_of(reply.status),
                        body: reply.body,
                    })),
                    Err(violation) => Err(self.over(&Ended::Malformed(violation))),
                }
            }
            // A late answer to a question that nobody asks any more.
            MessageType::LOCATE_REPLY => Ok(None),
            MessageType::REPLY => {
                // A late answer to a call that timed out long ago is passed over.
                let frame = self.link.inbox.frame();
                match oxorb_giop::Reply::parse(&frame) {
                    Ok(reply) => Ok((reply.id == self.id).then_some(Answer {
                        status: reply.status,
                        body: reply.body,
                    })),
                    Err(violation) => Err(self.over(&Ended::Malformed(violation))),
                }
            }
            other => Err(self.over(&Ended::by(other))),
        }
    }

    fn reply(self, orb: &Orb, answer: Answer, giop_minor: u8) -> Reply {
        let Pending { peer, mut link, .. } = self;
        link.reused = true;
        Reply::from_link(orb, peer, link, answer, giop_minor)
    }

    /// A reply that trickles in must not stretch the time limit.
    fn shorten_timeout(&mut self, timing: &Timing) -> Result<(), Lost> {
        if timing.limit.is_none() {
            return Ok(());
        }
        match timing.left(CompletionStatus::Maybe) {
            Ok(left) => match self.link.limit_reads(left) {
                Ok(()) => Ok(()),
                Err(error) => Err(self.lost_by(error)),
            },
            Err(timeout) => {
                let _ = self.cancel();
                Err(self.lost(timeout, "no complete reply in time".to_owned()))
            }
        }
    }

    fn lost_by(&self, error: io::Error) -> Lost {
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => self.timed_out(),
            _ => self.over(&Ended::Unreadable(error)),
        }
    }

    #[cold]
    fn timed_out(&self) -> Lost {
        // The server may still be at it: tell it that nobody waits.
        let _ = self.cancel();
        self.lost(
            raise::timeout(CompletionStatus::Maybe),
            "no reply in time".to_owned(),
        )
    }

    /// Returns what the end of the connection means for the call.
    #[cold]
    fn over(&self, ended: &Ended) -> Lost {
        let mut cause = ended.cause();
        if matches!(ended, Ended::Vanished | Ended::Refused) {
            cause += &too_large_there(self.octets, self.peer.options().fragment_size);
        }
        self.lost(ended.exception(), cause)
    }

    /// Tells the server that nobody waits any more, if it takes that at once. Below GIOP 1.2, where omniORB takes it for an
    /// error, the end of the connection says so, which follows in any case.
    fn cancel(&self) -> io::Result<()> {
        let order = self.peer.options().byte_order;
        let message = match self.wire.cancel(order, self.id) {
            Some(message) if self.wire.version() >= Version::V1_2 => message,
            _ => return Ok(()),
        };
        self.link.link.set_write_timeout(Some(CANCEL_LIMIT))?;
        self.link
            .link
            .write(&mut [io::IoSlice::new(&message)])
            .map_err(|failed| failed.error)
    }

    fn lost(&self, exception: SystemException, cause: String) -> Lost {
        lose(self.peer, &self.link, exception, cause)
    }
}

/// Requests up to this size in octets are hardly above a limit of any server.
const USUAL: usize = 64 << 10;

/// The hint of a request of so many octets that the other side may not have accepted.
pub(super) fn too_large_there(octets: usize, fragment_size: Option<usize>) -> String {
    if octets <= USUAL {
        return String::new();
    }
    let pieces = match fragment_size {
        None => "; -ORBFragmentSize N on this side sends it in pieces of N octets".to_owned(),
        Some(size) => format!("; -ORBFragmentSize has it sent in pieces of {size} octets already"),
    };
    format!(
        ". The request has {octets} octets, which may be above the limit of that server (omniORB's giopMaxMsgSize, OxORB's \
         -ORBMaxMessage): raise it there, or send less at a time{pieces}"
    )
}

#[cold]
fn unsent(peer: &Peer, link: &mut ClientLink, octets: usize, failed: &WriteError) -> Lost {
    let hint = too_large_there(octets, peer.options().fragment_size);
    if let Some(kind) = link.last_word() {
        let ended = Ended::by(kind);
        let mut cause = ended.cause();
        if matches!(ended, Ended::Refused) {
            cause += &hint;
        }
        return lose(peer, link, ended.exception(), cause);
    }
    let completed = if failed.written == 0 {
        CompletionStatus::No
    } else {
        CompletionStatus::Maybe
    };
    lose(
        peer,
        link,
        exception_of(&failed.error, minor::comm_failure::SEND_FAILED, completed),
        format!("sending the request failed: {}{hint}", failed.error),
    )
}

fn lose(peer: &Peer, link: &ClientLink, exception: SystemException, cause: String) -> Lost {
    link.link.close();
    peer.lost();
    Lost {
        exception,
        cause,
        reused: link.reused,
    }
}

/// A time-out, or a failure of communication with the given minor code.
pub(crate) fn exception_of(
    error: &io::Error,
    minor: u32,
    completed: CompletionStatus,
) -> SystemException {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => raise::timeout(completed),
        _ => SystemException::comm_failure(minor, completed),
    }
}
