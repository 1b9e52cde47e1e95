//! Model, without a clock, of callers that take turns to read. Each caller may give up at any check, as one whose time
//! is over does.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::threads::sync::{Condvar, Mutex};
use oxorb_giop::{Inbox, MessageLimits, RequestIds, Told, Wire};
use oxorb_object::Version;
use shuttle::rand::{Rng as _, thread_rng};
use shuttle::thread;

use super::replies::{CallerTurn, Outstanding, Replies, Waiter};
use super::writer::Writers;
use crate::error::raise;
use crate::sim::model::explore;

const CALL: Outstanding = Outstanding {
    deadline: None,
    wire: Wire::Giop(Version::V1_2),
    untold: false,
    told: Told::NOTHING,
};

/// Stand-in for the server: it answers requests in any order.
#[derive(Default)]
struct StandInServer {
    asked: Mutex<VecDeque<u32>>,
    changed: Condvar,
}

impl StandInServer {
    fn ask(&self, id: u32) {
        self.asked.lock().push_back(id);
        self.changed.notify_all();
    }

    /// Reads some answers, and returns their number; waits for the first.
    fn read(&self, into: &mut Inbox) -> usize {
        let mut asked = self.asked.lock();
        while asked.is_empty() {
            asked = self.changed.wait(asked);
        }
        let several = thread_rng().gen_range(1..=asked.len());
        let (buffer, _) = into.room();
        for _ in 0..several {
            let at = thread_rng().gen_range(0..asked.len());
            let id = asked.remove(at).expect("one of them");
            buffer.extend_from_slice(&reply_to(id));
        }
        several
    }
}

fn reply_to(id: u32) -> Vec<u8> {
    let mut reply = b"GIOP\x01\x02\x01\x01\x0c\0\0\0".to_vec();
    for word in [id, 0, 0] {
        reply.extend_from_slice(&word.to_le_bytes());
    }
    reply
}

/// Models a caller between its request and its answer. Returns the id of the answer, or `None` if the caller gave up or
/// its call failed. `sent` is called with the id of the request.
fn call(
    replies: &Replies,
    network: &StandInServer,
    gives_up: bool,
    sent: impl FnOnce(u32),
) -> Option<u32> {
    let id = replies.enter(CALL, Waiter::Awake, Vec::new()).unwrap();
    network.ask(id);
    sent(id);
    let mut answer = None;
    loop {
        match replies.turn(id) {
            CallerTurn::Answered(outcome) => answer = Some(outcome),
            CallerTurn::Follow if gives_up && thread_rng().r#gen() => break,
            CallerTurn::Follow => thread::park(),
            CallerTurn::Lead(inbox) => {
                let mut inbox = Some(inbox);
                while let Some(reading) = &mut inbox {
                    if gives_up && thread_rng().r#gen() {
                        break;
                    }
                    network.read(reading);
                    answer = replies.deliver_as_leader(None, &mut inbox, id).unwrap();
                }
                if answer.is_none() {
                    replies.put_back(inbox);
                    break;
                }
            }
        }
        if let Some(outcome) = answer {
            let message = outcome.ok()?.message;
            return Some(u32::from_le_bytes(message[12..16].try_into().unwrap()));
        }
    }
    replies.forget(id);
    None
}

/// Checks that some caller reads while any caller waits, whichever of them leaves and when.
#[test]
fn the_lead_is_handed_on() {
    explore(|| {
        let limits = MessageLimits::default();
        let replies =
            Arc::new(Replies::new(RequestIds::OF_OPENER, Some(Box::new(Inbox::new(&limits)))));
        let network = Arc::new(StandInServer::default());
        let callers: Vec<_> = [false, false, true, true]
            .into_iter()
            .map(|gives_up| {
                let (replies, network) = (Arc::clone(&replies), Arc::clone(&network));
                thread::spawn(move || {
                    for _ in 0..2 {
                        let answer = call(&replies, &network, gives_up, |_| {});
                        assert!(gives_up || answer.is_some());
                    }
                })
            })
            .collect();
        for caller in callers {
            caller.join().unwrap();
        }
        assert!(!replies.is_awaited() && replies.is_unread());
    });
}

/// Checks that some caller reads while any caller waits, whichever calls other threads cancel and when.
#[test]
fn the_lead_is_handed_on_when_calls_are_cancelled() {
    explore(|| {
        let limits = MessageLimits::default();
        let replies =
            Arc::new(Replies::new(RequestIds::OF_OPENER, Some(Box::new(Inbox::new(&limits)))));
        let network = Arc::new(StandInServer::default());
        let callers: Vec<_> = [false, false, true, true]
            .into_iter()
            .map(|is_cancelled| {
                let (replies, network) = (Arc::clone(&replies), Arc::clone(&network));
                thread::spawn(move || {
                    let mut cancels = Vec::new();
                    for _ in 0..2 {
                        let answer = call(&replies, &network, false, |id| {
                            let replies = Arc::clone(&replies);
                            let cancel = move || {
                                replies.fail_one(id, raise::CONNECTION_LOST);
                            };
                            cancels.extend(is_cancelled.then(|| thread::spawn(cancel)));
                        });
                        assert!(is_cancelled || answer.is_some());
                    }
                    for cancel in cancels {
                        cancel.join().unwrap();
                    }
                })
            })
            .collect();
        for caller in callers {
            caller.join().unwrap();
        }
        assert!(!replies.is_awaited() && replies.is_unread());
    });
}

/// Checks that every caller is notified of the end, whether asleep, awake, or about to sleep; and that no call is
/// entered after the end.
#[test]
fn the_end_reaches_everybody() {
    explore(|| {
        let limits = MessageLimits::default();
        let replies =
            Arc::new(Replies::new(RequestIds::OF_OPENER, Some(Box::new(Inbox::new(&limits)))));
        let reading = match replies.turn(u32::MAX - 1) {
            CallerTurn::Lead(inbox) => inbox,
            _ => unreachable!("nobody else is there"),
        };
        let callers: Vec<_> = (0..3)
            .map(|_| {
                let replies = Arc::clone(&replies);
                thread::spawn(move || {
                    let Ok(id) = replies.enter(CALL, Waiter::Awake, Vec::new()) else {
                        return;
                    };
                    loop {
                        match replies.turn(id) {
                            CallerTurn::Answered(outcome) => {
                                assert_eq!(outcome.err(), Some(raise::CONNECTION_LOST));
                                return;
                            }
                            CallerTurn::Follow => thread::park(),
                            CallerTurn::Lead(_) => unreachable!("the connection has ended"),
                        }
                    }
                })
            })
            .collect();
        drop(reading);
        replies.fail_all(raise::CONNECTION_LOST);
        for caller in callers {
            caller.join().unwrap();
        }
        assert!(replies.is_closed() && !replies.is_awaited());
    });
}

/// Checks that a thread which registered before its request was sent is woken by the answer, even if the answer has
/// arrived before.
#[test]
fn a_thread_is_woken_by_its_answer() {
    explore(|| {
        let replies = Arc::new(Replies::new(RequestIds::OF_OPENER, None));
        let network = Arc::new(StandInServer::default());
        let callers: Vec<_> = (0..3)
            .map(|_| {
                let (replies, network) = (Arc::clone(&replies), Arc::clone(&network));
                thread::spawn(move || {
                    let waiter = Waiter::Thread(thread::current());
                    let id = replies.enter(CALL, waiter, Vec::new()).unwrap();
                    network.ask(id);
                    loop {
                        thread::park();
                        if let Some(outcome) = replies.take(id) {
                            assert!(outcome.is_ok());
                            return;
                        }
                    }
                })
            })
            .collect();
        let mut inbox = Inbox::new(&MessageLimits::default());
        let mut read = 0;
        while read < callers.len() {
            read += network.read(&mut inbox);
            replies.deliver(None, &mut inbox).unwrap();
        }
        for caller in callers {
            caller.join().unwrap();
        }
        assert!(replies.retire());
    });
}

/// Checks that each message is sent once, by its own thread or by another that is writing; that no two threads write at
/// once; and that no message is left unsent.
#[test]
fn each_message_is_sent_once_and_nobody_waits_for_ever() {
    explore(|| {
        let writers = Arc::new(Writers::default());
        let sent = Arc::new(Mutex::new((false, Vec::new())));
        let write = |sent: &Mutex<(bool, Vec<u32>)>, ids: &[u32]| {
            assert!(!std::mem::replace(&mut sent.lock().0, true));
            thread::yield_now();
            let mut sent = sent.lock();
            sent.1.extend_from_slice(ids);
            sent.0 = false;
        };
        let callers: Vec<_> = (0..4)
            .map(|caller| {
                let (writers, sent) = (Arc::clone(&writers), Arc::clone(&sent));
                thread::spawn(move || {
                    for id in [2 * caller, 2 * caller + 1] {
                        let mut shared = writers.shared();
                        // Caller 0 never leaves its message to another thread, and so always waits for its turn to
                        // write.
                        if caller > 0 && writers.leave_message(&mut shared, b"octets", id) {
                            continue;
                        }
                        drop(writers.take(shared, None));
                        write(&sent, &[id]);
                        writers.leave(|left| write(&sent, &left.ids));
                    }
                    writers.if_free(|| write(&sent, &[]));
                })
            })
            .collect();
        for caller in callers {
            caller.join().unwrap();
        }
        let mut sent = std::mem::take(&mut sent.lock().1);
        sent.sort_unstable();
        assert_eq!(sent, (0..8).collect::<Vec<_>>());
    });
}
