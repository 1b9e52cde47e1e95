//! Batches of oneways: a thread sends many oneways with one write for each connection.

use std::cell::{Cell, RefCell};
use std::io;
use std::marker::PhantomData;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use oxorb_cdr::Encoder;
use oxorb_object::{CompletionStatus, SystemException};
use oxorb_transport::WriteError;

use super::link::ClientLink;
use super::waiting::{MOST_OCTETS, WaitingOneways};
use super::{Peer, call};

/// Maximum number of connections over which oneways wait at a time. Searches for one are linear.
const MOST_LINKS: usize = 8;

/// Batch of oneways of this thread: all oneways that go over the same connection are sent by one write.
///
/// Intended for senders of the same data to many objects, such as event channels. Without a batch, separate writes for
/// 100 consumers in one process take longer than all other work together. While the batch is open, a oneway of this
/// thread with [`SyncScope::WithTransport`](crate::policy::SyncScope::WithTransport) to an object elsewhere returns
/// before it is sent. At most 32 oneways, or 16 KiB of them, wait for a connection's write, over at most 8 connections;
/// [`send`](Self::send) sends the waiting oneways, and so does any other call of this thread to the same server. Calls
/// to objects of this process do not send them: make such a call [`apart`](Self::apart) if it may block.
///
/// Allocates nothing once its buffers have grown, takes no lock of its own, and makes one system call for each
/// connection. A batch that is opened within another is independent of it.
///
/// ```
/// use oxorb_core::OnewayBatch;
///
/// let mut batch = OnewayBatch::begin();
/// for consumer in 0..3 {
///     batch.mark(consumer);
///     // A oneway to that consumer.
/// }
/// batch.send(|consumer, why| eprintln!("consumer {consumer} got nothing: {why}"));
/// ```
#[derive(Debug)]
pub struct OnewayBatch {
    /// State of the enclosing batch; `None` once this one has ended.
    outer: Option<Outer>,
    /// Marker that binds the batch to its thread.
    _here: PhantomData<*const ()>,
}

/// State of a batch that is interrupted by another.
#[derive(Debug)]
struct Outer {
    /// Tag of the interrupted batch's next oneway; `None` if no batch was interrupted.
    mark: Option<u64>,
    unsent: Vec<Unsent>,
}

/// Failure to send a oneway; a part of it may have been sent.
#[derive(Debug)]
struct Unsent {
    mark: u64,
    exception: SystemException,
}

/// Connections over which oneways of this thread wait, and oneways that could not be sent.
struct HeldOneways {
    links: Vec<(Arc<Peer>, Box<ClientLink>)>,
    unsent: Vec<Unsent>,
}

crate::threads::sync::thread_local! {
    /// Tag of the next oneway, while a batch is open.
    static MARK: Cell<Option<u64>> = const { Cell::new(None) };
    static HELD: RefCell<HeldOneways> = const { RefCell::new(HeldOneways { links: Vec::new(), unsent: Vec::new() }) };
}

impl OnewayBatch {
    /// Opens a batch.
    pub fn begin() -> OnewayBatch {
        send_waiting();
        let mark = MARK.with(|mark| mark.replace(Some(0)));
        let unsent = HELD.with(|held| mem::take(&mut held.borrow_mut().unsent));
        OnewayBatch { outer: Some(Outer { mark, unsent }), _here: PhantomData }
    }

    /// Sets the tag by which [`send`](Self::send) identifies the oneways that follow.
    #[inline]
    pub fn mark(&mut self, mark: u64) {
        MARK.with(|of_next| of_next.set(Some(mark)));
    }

    /// Sends the waiting oneways, then calls `f`, whose oneways do not wait: for calls that may block.
    pub fn apart<R>(&mut self, f: impl FnOnce() -> R) -> R {
        send_waiting();
        let mark = MARK.with(Cell::take);
        let result = f();
        MARK.with(|of_next| of_next.set(mark));
        result
    }

    /// Sends the waiting oneways, and ends the batch. `failed` is called with the [tag](Self::mark) of each oneway that
    /// had returned but could not be sent, and the reason: COMPLETED_NO if the server received nothing of it,
    /// COMPLETED_MAYBE if it may have received all of it.
    pub fn send(mut self, mut failed: impl FnMut(u64, SystemException)) {
        for Unsent { mark, exception } in self.end() {
            failed(mark, exception);
        }
    }

    /// Returns to the enclosing batch. Returns the oneways that could not be sent.
    fn end(&mut self) -> Vec<Unsent> {
        let Some(outer) = self.outer.take() else {
            return Vec::new();
        };
        send_waiting();
        let _ = MARK.try_with(|mark| mark.set(outer.mark));
        let unsent =
            HELD.try_with(|held| mem::replace(&mut held.borrow_mut().unsent, outer.unsent));
        unsent.unwrap_or_default()
    }
}

/// Sends the waiting oneways of a batch that was not [sent](OnewayBatch::send), as in a panic; failures are not
/// reported.
impl Drop for OnewayBatch {
    fn drop(&mut self) {
        drop(self.end());
    }
}

/// Reports whether oneways of this thread are to wait.
#[inline(always)]
pub(super) fn is_open() -> bool {
    MARK.try_with(|mark| mark.get().is_some()).unwrap_or(false)
}

/// Takes out the connection over which oneways to a server wait, if its writes have this limit; otherwise sends them.
pub(super) fn take(peer: &Peer, limit: Option<Duration>) -> Option<Box<ClientLink>> {
    let (peer, link) = take_held(|of| of.id() == peer.id())?;
    match link.limits.bounds_writes(limit) {
        true => Some(link),
        false => {
            send_over(&peer, link);
            None
        }
    }
}

/// Keeps a connection over which oneways wait, or sends them if enough of them wait.
pub(super) fn put(peer: &Arc<Peer>, link: Box<ClientLink>) {
    let waits = |waiting: &WaitingOneways| !waiting.is_empty() && !waiting.is_enough();
    if !link.waiting.as_deref().is_some_and(waits) {
        return send_over(peer, link);
    }
    let longest = HELD.with(|held| {
        let links = &mut held.borrow_mut().links;
        links.push((Arc::clone(peer), link));
        (links.len() > MOST_LINKS).then(|| links.remove(0))
    });
    if let Some((peer, link)) = longest {
        send_over(&peer, link);
    }
}

/// Adds a message to the batch. Returns `false` if the message is large and is to be sent by itself; the waiting ones
/// were sent before it.
///
/// # Errors
/// The waiting oneways could not be sent, and neither can the message over this connection.
pub(super) fn add(
    peer: &Peer,
    link: &mut ClientLink,
    e: &Encoder<'_>,
    fragment_size: Option<usize>,
) -> Result<bool, WriteError> {
    let most = fragment_size.unwrap_or(MOST_OCTETS).min(MOST_OCTETS);
    let Some(message) = e.contiguous().filter(|message| message.len() <= most) else {
        let sent = send(link).map(|()| false);
        return sent.map_err(|failed| {
            let error = io::Error::new(failed.error.kind(), failed.error.to_string());
            note_unsent(peer, link, &failed);
            WriteError { written: 0, error }
        });
    };
    let mark = MARK.with(Cell::get).unwrap_or(0);
    let waiting = link.waiting.get_or_insert_default();
    waiting.add(mark, message);
    Ok(true)
}

/// Sends the oneways that wait for a server, if any, so that any call may use the connection.
pub(super) fn send_to(peer: &Peer) {
    if is_open()
        && let Some((peer, link)) = take_held(|of| of.id() == peer.id())
    {
        send_over(&peer, link);
    }
}

/// Sends all waiting oneways of this thread, those that have waited longest first.
fn send_waiting() {
    // `take_held` releases the list before a connection is given back, because giving it back may drop other
    // connections.
    while let Some((peer, link)) = take_held(|_| true) {
        send_over(&peer, link);
    }
}

/// Takes out the first connection over which oneways to a wanted server wait.
fn take_held(is_wanted: impl Fn(&Peer) -> bool) -> Option<(Arc<Peer>, Box<ClientLink>)> {
    let held = HELD.try_with(|held| {
        let links = &mut held.borrow_mut().links;
        let at = links.iter().position(|(peer, _)| is_wanted(peer))?;
        Some(links.remove(at))
    });
    held.ok().flatten()
}

/// Sends the oneways that wait over a connection, and gives the connection back.
fn send_over(peer: &Arc<Peer>, mut link: Box<ClientLink>) {
    match send(&mut link) {
        Ok(()) => peer.give_back_last(link),
        Err(failed) => note_unsent(peer, &mut link, &failed),
    }
}

fn send(link: &mut ClientLink) -> Result<(), WriteError> {
    match &mut link.waiting {
        Some(waiting) => waiting.send(&*link.link),
        None => Ok(()),
    }
}

/// Records the oneways that could not be sent over a connection, which is lost.
#[cold]
fn note_unsent(peer: &Peer, link: &mut ClientLink, failed: &WriteError) {
    let waiting = link.waiting.take().unwrap_or_default();
    let lost = call::unsent(peer, link, waiting.octets.len(), failed);
    let mut start = 0;
    let unsent = waiting.each.iter().filter_map(|&(mark, end)| {
        let begins = mem::replace(&mut start, end);
        let completed = match failed.written {
            // The message was written completely. As with oneways of an earlier write, it is unknown whether the server
            // read it, so no failure is reported.
            written if written >= end => return None,
            written if written > begins => CompletionStatus::Maybe,
            _ => CompletionStatus::No,
        };
        Some(Unsent { mark, exception: SystemException { completed, ..lost.exception } })
    });
    let _ = HELD.try_with(|held| held.borrow_mut().unsent.extend(unsent));
}
