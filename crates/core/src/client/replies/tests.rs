use super::*;
use oxorb_object::Version;

const CALL: Outstanding = Outstanding {
    deadline: None,
    wire: Wire::Giop(Version::V1_2),
    untold: false,
    told: Told::NOTHING,
};

fn enter(replies: &Replies) -> Result<u32, SystemException> {
    replies.enter(CALL, Waiter::Awake, Vec::new())
}

/// Returns an inbox with a reply without results to each of these requests.
fn inbox_with(ids: &[u32]) -> Inbox {
    let mut inbox = Inbox::new(&oxorb_giop::MessageLimits::default());
    let (buffer, _) = inbox.room();
    for id in ids {
        buffer.extend_from_slice(b"GIOP\x01\x02\x01\x01\x0c\0\0\0");
        for word in [*id, 0, 0] {
            buffer.extend_from_slice(&word.to_le_bytes());
        }
    }
    inbox
}

#[test]
fn a_connection_with_a_call_outstanding_does_not_retire() {
    let replies = Replies::new(RequestIds::OF_OPENER, None);
    let id = enter(&replies).unwrap();
    assert!(!replies.retire());
    replies.forget(id);
    assert!(replies.retire());
    // A call that comes after the retirement has certainly sent nothing, so it may use a new connection.
    assert_eq!(enter(&replies), Err(raise::CONNECTION_CLOSED));
    assert_eq!(replies.pass(), Err(raise::CONNECTION_CLOSED));
}

#[test]
fn each_reply_reaches_its_call_while_the_ring_grows() {
    let replies = Replies::new(RequestIds::OF_ACCEPTOR, None);
    // One call stays outstanding while many come and go, so their ids must skip its entry.
    let first = enter(&replies).unwrap();
    for _ in 0..3 * PLACES {
        let id = enter(&replies).unwrap();
        assert_eq!(id % 2, 1);
        replies.deliver(None, &mut inbox_with(&[id])).unwrap();
        assert!(replies.take(id).is_some_and(|outcome| outcome.is_ok()));
    }
    let many: Vec<u32> = (1..MAX_OUTSTANDING).map(|_| enter(&replies).unwrap()).collect();
    assert_eq!(enter(&replies), Err(raise::TOO_MANY_OUTSTANDING));
    replies.deliver(None, &mut inbox_with(&many)).unwrap();
    assert!(replies.take(first).is_none());
    replies.deliver(None, &mut inbox_with(&[first])).unwrap();
    assert!([first].iter().chain(&many).all(|&id| replies.take(id).is_some()));
    assert!(!replies.is_awaited());
}

#[test]
fn an_answer_to_a_call_that_was_given_up_reaches_nobody() {
    let replies = Replies::new(RequestIds::OF_OPENER, None);
    let given_up = enter(&replies).unwrap();
    assert!(replies.forget(given_up).is_some());
    let slot = CallSlot::new();
    let waits = Waiter::Slot(Arc::clone(&slot));
    let id = replies.enter(CALL, waits, Vec::new()).unwrap();
    slot.keep(id, Vec::new());
    replies.deliver(None, &mut inbox_with(&[given_up, id ^ 1, id + 2])).unwrap();
    assert!(slot.is_waiting() && replies.forget_slot(&slot).is_some());
    assert!(replies.forget_slot(&slot).is_none(), "it is not there any more");
}

#[test]
#[cfg(not(any(feature = "model", feature = "simulation")))]
fn a_caller_whose_call_fails_does_not_keep_the_lead_that_it_was_given() {
    use oxorb_testkit::until;

    type Fail = fn(&Replies, u32);
    let one: Fail = |replies, id| {
        assert!(replies.fail_one(id, raise::CONNECTION_LOST).is_some());
        assert!(replies.fail_one(id, raise::CONNECTION_LOST).is_none());
    };
    let each: Fail = |replies, id| replies.fail_each(&[id], raise::CONNECTION_LOST);
    for fail in [one, each] {
        let inbox = Box::new(Inbox::new(&oxorb_giop::MessageLimits::default()));
        let replies = Arc::new(Replies::new(RequestIds::OF_OPENER, Some(inbox)));
        let leader = enter(&replies).unwrap();
        let CallerTurn::Lead(inbox) = replies.turn(leader) else {
            panic!("another caller leads");
        };
        let given = enter(&replies).unwrap();
        assert!(matches!(replies.turn(given), CallerTurn::Follow));
        let other = enter(&replies).unwrap();
        let follower = {
            let replies = Arc::clone(&replies);
            thread::spawn(move || {
                while !matches!(replies.turn(other), CallerTurn::Lead(_)) {
                    thread::park();
                }
            })
        };
        until("the other caller follows", || {
            let ring = &mut *replies.ring.lock();
            ring.waiting(other).is_some_and(|call| matches!(call.waiter, Waiter::Thread(_)))
        });
        // The leader stops, and wakes the caller of the call that fails before that caller has run.
        replies.put_back(Some(inbox));
        replies.forget(leader);
        fail(&replies, given);
        until("the other caller leads", || follower.is_finished());
        assert_eq!(replies.take(given).and_then(Result::err), Some(raise::CONNECTION_LOST));
        follower.join().unwrap();
    }
}
