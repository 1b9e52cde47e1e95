//! Effects of policies on calls: levels, time limits and deadlines, sync scopes, buffering, rebinding, retries,
//! forwards, and several endpoints.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use oxorb::__gen::Op;
use oxorb::policy::{
    BufferingConstraint, ConnectionTimeout, LocateFirst, PolicyCurrent, PolicySet, PolicyType,
    RebindMode, RelativeReplyTimeout, RelativeRequestTimeout, RelativeRoundtripTimeout,
    ReplyEndTime, ReplyStartTime, RequestEndTime, RequestPriority, RequestStartTime, Retry,
    SetOverrideType, SyncScope,
};
use oxorb::rt::current_deadline;
use oxorb::settings::{ClientConnections, Concurrency};
use oxorb::transport::Address;
use oxorb::{
    CompletionStatus, Interface, ObjectRef, Orb, Outcome, Servant, SystemException,
    SystemExceptionKind, Upcall, minor,
};
use oxorb_cdr::{ByteOrder, Decode as _, Encode as _, Encoder};
use oxorb_giop::{LocateStatus, ReplyStatus, RequestHeader, Response, TargetAddress};
use oxorb_object::components::tag;
use oxorb_object::{
    IiopProfile, PolicyValueWriter, ServiceContext, TaggedComponent, Version, context_id,
    policy_type,
};
use oxorb_testkit::watchdog;

use crate::common;
use crate::common::fake::{
    BlackHole, FakeServer, Received, ior_at, ior_of, ior_with, past_a_hole, played,
};
use crate::common::peer::{self, Peer};
use crate::common::transport::{Place, free_place, protocol, url, wire};
use crate::common::*;

/// Oneway that waits at the gate.
static WAIT_ONEWAY: Op = Op::oneway("wait");

fn send(object: &ObjectRef, op: &'static Op) -> Result<(), SystemException> {
    object.reference().send(op, |_| Ok(()))
}

fn timeout(object: &ObjectRef) -> Option<Duration> {
    object.reference().timeout()
}

static NOT_YOU: SystemException = SystemException::no_permission(9, CompletionStatus::No);

const MS: Duration = Duration::from_millis(1);

#[test]
fn the_narrower_level_wins_and_a_scope_undoes_itself() {
    let orb = client(ClientConnections::Cached);
    let other = client(ClientConnections::Cached);
    let object = orb.string_to_object(&nowhere("x")).unwrap();
    let elsewhere = other.string_to_object(&nowhere("x")).unwrap();
    assert_eq!(timeout(&object), Some(Duration::from_secs(60)));
    orb.policies().set(RelativeRoundtripTimeout(7 * MS)).unwrap();
    assert_eq!(timeout(&object), Some(7 * MS));
    {
        let outer = PolicyCurrent::scope(&orb, RelativeRoundtripTimeout(6 * MS));
        let inner = PolicyCurrent::scope(&orb, RelativeRoundtripTimeout(5 * MS));
        assert_eq!(timeout(&object), Some(5 * MS));
        assert_eq!(timeout(&object.with_timeout(4 * MS)), Some(4 * MS));
        assert_eq!(timeout(&elsewhere), Some(Duration::from_secs(60)), "another ORB");
        thread::scope(|scope| {
            let there = scope.spawn(|| timeout(&object));
            assert_eq!(there.join().unwrap(), Some(7 * MS), "another thread");
        });
        // The scopes may end in any order.
        drop(outer);
        assert_eq!(timeout(&object), Some(5 * MS));
        drop(inner);
    }
    assert_eq!(timeout(&object), Some(7 * MS));
    orb.policies().set_policy_overrides(&[], SetOverrideType::Set).unwrap();
    assert_eq!(timeout(&object), Some(Duration::from_secs(60)));

    PolicyCurrent::set_policy_overrides(&orb, &[Retry::times(2).into()], SetOverrideType::Add)
        .unwrap();
    let current = PolicyCurrent::policy_overrides(&orb, &[]);
    assert_eq!(current, PolicySet::from(Retry::times(2)));
    assert_eq!(object.reference().client_policy(), Some(Retry::times(2)));
    PolicyCurrent::set_policy_overrides(&orb, &[], SetOverrideType::Set).unwrap();
    assert_eq!(object.reference().client_policy(), Some(Retry::NONE));
}

#[test]
fn a_reference_keeps_its_policies_and_gives_them_back() {
    let orb = client(ClientConnections::Cached);
    let object = orb.string_to_object(&nowhere("x")).unwrap();
    let changed = object
        .with(SyncScope::WithTarget)
        .with(RebindMode::NoRebind)
        .with(RelativeRoundtripTimeout(MS))
        .with(SyncScope::WithServer);
    let overrides = changed.reference().policy_overrides(&[]);
    assert_eq!(overrides.as_slice().len(), 3);
    assert_eq!(overrides.find(), Some(SyncScope::WithServer));
    let one = changed.reference().policy_overrides(&[PolicyType(32)]);
    assert_eq!(one.as_slice(), [RelativeRoundtripTimeout(MS).into()]);
    assert!(object.reference().policy_overrides(&[]).as_slice().is_empty());

    let bare = changed.set_policy_overrides(&[], SetOverrideType::Set).unwrap();
    assert_eq!(timeout(&bare), Some(Duration::from_secs(60)));
    let more = [ConnectionTimeout(MS).into()];
    let more = changed.set_policy_overrides(&more, SetOverrideType::Add).unwrap();
    assert_eq!(timeout(&more), Some(MS));
    assert_eq!(more.reference().client_policy(), Some(ConnectionTimeout(MS)));
}

#[test]
fn contradictions_are_refused_with_their_place() {
    let orb = client(ClientConnections::Cached);
    let now = SystemTime::now();
    let invalid = |policies: &[oxorb::policy::AnyPolicy]| {
        let refused = orb.policies().set_policy_overrides(policies, SetOverrideType::Set);
        refused.unwrap_err().indices
    };
    assert_eq!(invalid(&[SyncScope::None.into(), SyncScope::WithServer.into()]), [1]);
    assert_eq!(invalid(&[RequestStartTime(now + MS).into(), RequestEndTime(now).into()]), [0]);
    assert_eq!(invalid(&[Retry::NONE.into(), RequestPriority { min: 2, max: 1 }.into()]), [1]);
    assert_eq!(invalid(&[ConnectionTimeout(Duration::ZERO).into()]), [0]);
    assert!(orb.policies().overrides(&[]).as_slice().is_empty());
}

/// Servant that records the deadlines of its requests.
#[derive(Default)]
struct Hurried {
    seen: Mutex<Vec<Option<Instant>>>,
}

impl Servant for Hurried {
    fn repository_id(&self) -> &str {
        PINGER
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        assert_eq!(upcall.deadline(), current_deadline());
        self.seen.lock().unwrap().push(upcall.deadline());
        upcall.done()
    }

    fn identity(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }
}

#[test]
fn what_is_left_of_the_time_comes_to_the_servant() {
    only_over!(CONTEXTS, "deadlines travel in messages that have room for them");
    let _guard = watchdog(LONG);
    for remote in [true, false] {
        let server = server(Concurrency::ThreadPerConnection);
        let client = client(ClientConnections::Private);
        let servant = Arc::new(Hurried::default());
        let local = server.root_poa().activate_servant(servant.clone()).unwrap();
        let object = match remote {
            true => elsewhere(&client, &local),
            false => ObjectRef::from_ref(local),
        };
        let hour = Duration::from_secs(3600);
        call(&object, &PING).unwrap();
        let before = Instant::now();
        call(&object.with_timeout(hour), &PING).unwrap();
        call(&object.with(ReplyEndTime(SystemTime::now() + 2 * hour)), &PING).unwrap();
        // Asynchronous calls carry their deadline, too.
        let hurried = object.with_timeout(3 * hour);
        let later = hurried.reference();
        let later = later.invoke_async::<(), SystemException>(&PING, |_| Ok(()), |_| Ok(()));
        later.wait().unwrap();
        call(&object, &PING).unwrap();
        let seen = servant.seen.lock().unwrap().clone();
        let hours: Vec<_> = seen
            .iter()
            .map(|deadline| deadline.map(|at| (at - before).as_secs_f64() / 3600.0))
            .map(|hours| hours.map(|hours| hours.round()))
            .collect();
        assert_eq!(hours, [None, Some(1.0), Some(2.0), Some(3.0), None], "remote: {remote}");
        assert_eq!(current_deadline(), None);
        client.shutdown(true).unwrap();
        server.shutdown(true).unwrap();
    }
}

/// Returns a request with policies that a client would not send, such as a deadline in the past.
fn request_with(object: &ObjectRef, response: Response, policies: &PolicyValueWriter) -> Vec<u8> {
    let key = object_key(object);
    let mut e = Encoder::new(Vec::new(), ByteOrder::NATIVE, wire().dialect());
    let header = RequestHeader {
        id: 8,
        response,
        key: TargetAddress::Key(&key),
        operation: "note",
        contexts: &[ServiceContext {
            id: context_id::INVOCATION_POLICIES,
            data: policies.octets(),
        }],
        terms: None,
        alias: None,
    };
    let begun = wire().begin_request(&mut e, &header);
    wire().finish(&mut e, begun).unwrap();
    e.finish().to_vec()
}

#[test]
fn a_request_that_comes_too_late_is_not_served() {
    only_over!(CONTEXTS, "the deadline is in a service context that is written by hand");
    let _guard = watchdog(LONG);
    let server = server(Concurrency::ThreadPerConnection);
    let servant = Arc::new(Pinger::default());
    let local = server.root_poa().activate_servant(servant.clone()).unwrap();
    let object = ObjectRef::from_ref(local);
    let mut stream = Peer::connect(&address(&object));
    for kind in [policy_type::REQUEST_END_TIME, policy_type::REPLY_END_TIME] {
        let mut late = PolicyValueWriter::new();
        late.utc(kind, 1); // 1582
        // A late oneway is dropped without an answer.
        stream.write_all(&request_with(&object, Response::None, &late)).unwrap();
        for response in [Response::WithTarget, Response::WithServer] {
            stream.write_all(&request_with(&object, response, &late)).unwrap();
            let message = stream.message();
            let frame = peer::frame(&message);
            let reply = oxorb_giop::Reply::parse(&frame).unwrap();
            assert_eq!(reply.status, ReplyStatus::SYSTEM_EXCEPTION);
            let mut body = frame.decoder(wire().dialect()).at(reply.body);
            let raised = SystemException::decode(&mut body).unwrap();
            assert_raised(raised, SystemExceptionKind::Timeout, CompletionStatus::No);
            assert_eq!(raised.minor, minor::timeout::DEADLINE_PASSED);
        }
    }
    assert_eq!(servant.notes.load(Ordering::SeqCst), 0);
    server.shutdown(true).unwrap();
}

#[test]
fn times_that_are_over_or_cannot_be_awaited_are_timeout_before_anything_is_sent() {
    let _guard = watchdog(LONG);
    let client = client(ClientConnections::Private);
    // There is no listener, so that the call would raise TRANSIENT if the client tried to connect.
    let object = client.string_to_object(&nowhere("x")).unwrap();
    let now = SystemTime::now();
    let hour = Duration::from_secs(3600);
    for (object, number) in [
        (object.with(ReplyEndTime(now)), minor::timeout::BEFORE_SENDING),
        (object.with(RequestEndTime(now)), minor::timeout::BEFORE_SENDING),
        (object.with(RelativeRequestTimeout(Duration::ZERO)), minor::timeout::BEFORE_SENDING),
        (object.with(RequestStartTime(now + hour)), minor::timeout::TOO_EARLY),
        (object.with(ReplyStartTime(now + hour)), minor::timeout::TOO_EARLY),
    ] {
        let late = ping(&object, 1).unwrap_err();
        assert_raised(late, SystemExceptionKind::Timeout, CompletionStatus::No);
        assert_eq!(late.minor, number, "{late}");
        let late = ping_async(&object, 1).wait().unwrap_err();
        assert_eq!(late.minor, number, "{late}");
    }
}

#[test]
fn start_times_hold_request_and_reply_back() {
    let _guard = watchdog(LONG);
    let server = server(Concurrency::ThreadPerConnection);
    let client = client(ClientConnections::Private);
    let object = pinger(&server, &client);
    let request = SystemTime::now() + 30 * MS;
    let reply = request + 30 * MS;
    let held = object.with(RequestStartTime(request)).with(ReplyStartTime(reply));
    assert_eq!(ping(&held, 1), Ok(2));
    assert!(SystemTime::now() >= reply);
    server.shutdown(true).unwrap();
}

#[test]
fn a_reply_has_a_time_of_its_own() {
    let _guard = watchdog(LONG);
    let client = client(ClientConnections::Private);
    let late = played(
        |server| {
            let mut connection = server.accept();
            connection.answer_next(1);
            connection.request();
            assert!(matches!(connection.receive(), Received::Cancel(_)));
        },
        |server| {
            let object = server.object(&client);
            assert_eq!(ping(&object, 0), Ok(1));
            let hurried = object.with(RelativeReplyTimeout(SHORT));
            timed_out(|| ping(&hurried, 0))
        },
    );
    assert_raised(late, SystemExceptionKind::Timeout, CompletionStatus::Maybe);
    assert_eq!(late.minor, minor::timeout::AWAITING_REPLY);
}

#[test]
fn a_sync_scope_says_what_a_oneway_waits_for() {
    let _guard = watchdog(LONG);
    at_once([Version::V1_2, Version::V1_0], |version| {
        let server = server(Concurrency::ThreadPerConnection);
        let client = common::transport::builder().max_giop(version).build().unwrap();
        let servant = Arc::new(Pinger::default());
        let local = server.root_poa().activate_servant(servant.clone()).unwrap();
        let object = elsewhere(&client, &local);
        let closed = servant.gate.lock().unwrap();
        if version == Version::V1_2 {
            // With this scope, `send` returns although the servant is blocked.
            send(&object.with(SyncScope::WithServer), &WAIT_ONEWAY).unwrap();
        }
        send(&object.with(SyncScope::WithTransport), &WAIT_ONEWAY).unwrap();
        send(&object.with(SyncScope::None), &WAIT_ONEWAY).unwrap();
        let hurried = object.with(SyncScope::WithTarget).with_timeout(SHORT);
        let late = timed_out(|| send(&hurried, &WAIT_ONEWAY));
        assert_raised(late, SystemExceptionKind::Timeout, CompletionStatus::Maybe);
        drop(closed);
        let with_target = object.with(SyncScope::WithTarget);
        let before = servant.notes.load(Ordering::SeqCst);
        send(&with_target, &NOTE).unwrap();
        assert_eq!(servant.notes.load(Ordering::SeqCst), before + 1);
        // Only with `SyncScope::WithTarget` is the servant's exception returned.
        static FAIL: Op = Op::oneway("fail");
        let raised = send(&with_target, &FAIL).unwrap_err();
        assert_eq!(raised.kind, SystemExceptionKind::NoPermission);
        if version == Version::V1_2 {
            send(&object.with(SyncScope::WithServer), &FAIL).unwrap();
        }
        send(&object, &FAIL).unwrap();
        client.shutdown(true).unwrap();
        server.shutdown(true).unwrap();
    });
}

#[test]
fn with_server_notices_that_the_object_is_not_there() {
    let _guard = watchdog(LONG);
    let server = server(Concurrency::ThreadPerConnection);
    let client = client(ClientConnections::Private);
    let object = pinger(&server, &client);
    let at = address(&object);
    let gone = client.string_to_object(&url(&[&at], "gone")).unwrap();
    let scope = SyncScope::WithServer;
    let raised = send(&gone.with(scope), &NOTE).unwrap_err();
    assert_raised(raised, SystemExceptionKind::ObjectNotExist, CompletionStatus::No);
    send(&gone, &NOTE).unwrap();
    server.shutdown(true).unwrap();
}

/// Buffered oneways are sent to the next address once the connection to the first fails.
#[test]
fn buffered_oneways_go_where_somebody_answers() {
    let _guard = watchdog(LONG);
    let nobody = free_place().address;
    let server = server(Concurrency::ThreadPerConnection);
    let servant = Arc::new(Pinger::default());
    let local = server.root_poa().activate_servant(servant.clone()).unwrap();
    let client = client(ClientConnections::Private);
    let known = elsewhere(&client, &local);
    let known = known.reference().to_corbaloc().unwrap();
    let rest = known.strip_prefix("corbaloc:").unwrap();
    let nowhere = protocol().profile().print(Version::V1_2, &nobody);
    let both = format!("corbaloc:{nowhere},{rest}");
    let object = client.string_to_object(&both).unwrap();
    let object = object.with(SyncScope::None);
    for count in 1..4 {
        send(&object, &NOTE).unwrap();
        object.reference().flush().unwrap();
        while servant.notes.load(Ordering::SeqCst) < count {
            thread::sleep(MS);
        }
    }
    let buffered = object.reference().buffered();
    assert_eq!((buffered.sent, buffered.lost), (3, 0));
    // A oneway to a reference with only the first address is not sent to the second one.
    let alone = client.string_to_object(&url(&[&nobody], "other"));
    let alone = alone.unwrap().with(SyncScope::None);
    send(&alone, &NOTE).unwrap();
    // The message counts as lost when `flush` returns, and possibly earlier.
    let _ = alone.reference().flush();
    let buffered = alone.reference().buffered();
    assert_eq!((buffered.sent, buffered.lost), (3, 1));
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

#[test]
fn buffered_oneways_wait_for_their_constraint_a_flush_or_the_end() {
    let _guard = watchdog(LONG);
    let server = server(Concurrency::ThreadPerConnection);
    let servant = Arc::new(Pinger::default());
    let local = server.root_poa().activate_servant(servant.clone()).unwrap();
    let client = client(ClientConnections::Private);
    let object = elsewhere(&client, &local).with(SyncScope::None);
    let arrived = |count| {
        while servant.notes.load(Ordering::SeqCst) < count {
            thread::sleep(MS);
        }
    };
    let reference = object.reference();
    let many = object.with(BufferingConstraint { count: Some(3), ..BufferingConstraint::FLUSH });
    send(&many, &NOTE).unwrap();
    send(&many, &NOTE).unwrap();
    assert_eq!((reference.buffered().waiting, reference.buffered().sent), (2, 0));
    send(&many, &NOTE).unwrap();
    arrived(3);

    let octets =
        object.with(BufferingConstraint { octets: Some(10_000), ..BufferingConstraint::FLUSH });
    send(&octets, &NOTE).unwrap();
    // Wait until only this message counts as waiting: the earlier ones do so until the sending thread has returned from
    // its write.
    while reference.buffered().waiting != 1 {
        thread::sleep(MS);
    }
    reference.flush().unwrap();
    arrived(4);

    let soon =
        object.with(BufferingConstraint { time: Some(20 * MS), ..BufferingConstraint::FLUSH });
    send(&soon, &NOTE).unwrap();
    arrived(5);
    send(&object, &NOTE).unwrap();
    arrived(6);

    // A shutdown sends the buffered messages.
    send(&octets, &NOTE).unwrap();
    client.shutdown(true).unwrap();
    arrived(7);
    assert_eq!(reference.buffered().lost, 0);
    server.shutdown(true).unwrap();
}

#[test]
fn a_full_buffer_is_transient_and_what_cannot_be_sent_is_counted() {
    let _guard = watchdog(LONG);
    let client = common::transport::builder().setting("BufferedOneways", "4096").build().unwrap();
    let object = client.string_to_object(&nowhere("x")).unwrap().with(SyncScope::None).with(
        BufferingConstraint { time: Some(Duration::from_secs(3600)), ..BufferingConstraint::FLUSH },
    );
    let reference = object.reference();
    let big = reference.send(&NOTE, |e| {
        e.copy_octets(&[0; 5000]);
        Ok(())
    });
    let full = big.unwrap_err();
    assert_raised(full, SystemExceptionKind::Transient, CompletionStatus::No);
    assert_eq!(full.minor, minor::transient::BUFFER_FULL);
    send(&object, &NOTE).unwrap();
    assert!(reference.flush().is_err());
    assert_eq!((reference.buffered().lost, reference.buffered().waiting), (1, 0));
    client.shutdown(true).unwrap();
}

/// Answers a request with a forward.
fn forward(
    connection: &mut common::fake::FakeConnection,
    id: u32,
    status: ReplyStatus,
    to: &Address,
) {
    let to = ior_at(to);
    connection.reply(id, status, |e| to.encode(e));
}

#[test]
fn no_rebind_refuses_to_follow_once_bound_until_validated_anew() {
    let _guard = watchdog(LONG);
    let other = FakeServer::start();
    let elsewhere = other.address();
    let elsewhere_ior = ior_at(&elsewhere);
    let client = client(ClientConnections::Private);
    let results = played(
        |server| {
            let mut connection = server.accept();
            connection.answer_next(1);
            let id = connection.request();
            forward(&mut connection, id, ReplyStatus::LOCATION_FORWARD, &elsewhere);
            // `validate_connection` sends a LocateRequest, and gets the same forward.
            let id = connection.locate();
            connection.locate_reply(id, LocateStatus::OBJECT_FORWARD, |e| elsewhere_ior.encode(e));
            let mut there = other.accept();
            let id = there.locate();
            there.locate_reply(id, LocateStatus::OBJECT_HERE, |_| Ok(()));
            let id = there.request();
            there.answer(id, 2);
        },
        |server| {
            let object = server.object(&client).with(RebindMode::NoRebind);
            let first = ping(&object, 0);
            let moved = ping(&object, 0);
            object.validate_connection().unwrap();
            (first, moved, ping(&object, 0))
        },
    );
    assert_eq!((results.0, results.2), (Ok(1), Ok(2)));
    let moved = results.1.unwrap_err();
    assert_raised(moved, SystemExceptionKind::Rebind, CompletionStatus::No);
    assert_eq!(moved.minor, minor::rebind::MOVED);
}

#[test]
fn no_reconnect_notices_a_lost_connection_and_no_rebind_does_not() {
    let _guard = watchdog(LONG);
    for mode in [RebindMode::NoReconnect, RebindMode::NoRebind] {
        let client = wary_client(ClientConnections::Cached);
        let closed = Barrier::new(2);
        let (first, second) = played(
            |server| {
                let mut connection = server.accept();
                connection.answer_next(1);
                drop(connection);
                closed.wait();
                let mut again = server.accept();
                if mode == RebindMode::NoReconnect {
                    let id = again.locate();
                    again.locate_reply(id, LocateStatus::OBJECT_HERE, |_| Ok(()));
                }
                let id = again.request();
                again.answer(id, 2);
            },
            |server| {
                let object = server.object(&client).with(mode);
                assert_eq!(ping(&object, 0), Ok(1));
                closed.wait();
                let first = ping(&object, 0);
                if mode == RebindMode::NoReconnect {
                    object.validate_connection().unwrap();
                    return (first, ping(&object, 0));
                }
                (first, first)
            },
        );
        match mode {
            RebindMode::NoReconnect => {
                let lost = first.unwrap_err();
                assert_raised(lost, SystemExceptionKind::Rebind, CompletionStatus::No);
                assert_eq!(lost.minor, minor::rebind::CONNECTION_LOST);
            }
            _ => assert_eq!(first, Ok(2)),
        }
        assert_eq!(second, Ok(2));
        client.shutdown(true).unwrap();
    }
}

#[test]
fn a_permanent_forward_becomes_the_reference() {
    let _guard = watchdog(LONG);
    let other = FakeServer::start();
    let elsewhere = other.address();
    for status in [ReplyStatus::LOCATION_FORWARD, ReplyStatus::LOCATION_FORWARD_PERM] {
        let client = client(ClientConnections::Private);
        let (before, after) = played(
            |server| {
                let mut connection = server.accept();
                let id = connection.request();
                forward(&mut connection, id, status, &elsewhere);
                let mut there = other.accept();
                let id = there.request();
                there.answer(id, 2);
            },
            |server| {
                let object = server.object(&client).with(ConnectionTimeout(LONG));
                let clone = object.clone();
                let before = clone.to_ior();
                assert_eq!(ping(&object, 0), Ok(2));
                (before, clone.to_ior())
            },
        );
        // GIOPlite has no status for a permanent forward.
        if status == ReplyStatus::LOCATION_FORWARD || wire().name() == "giop-lite" {
            assert_eq!(before, after);
        } else {
            assert_eq!(after, ior_at(&elsewhere).to_string());
        }
    }
}

#[test]
fn where_an_object_is_can_be_asked_before_the_request() {
    let _guard = watchdog(LONG);
    let other = FakeServer::start();
    let elsewhere = other.address();
    let elsewhere_ior = ior_at(&elsewhere);
    let client = client(ClientConnections::Private);
    let answers = played(
        |server| {
            let mut connection = server.accept();
            // Ask for another addressing mode first, and then reply with a forward.
            let id = connection.locate();
            connection.locate_reply(id, LocateStatus::LOC_NEEDS_ADDRESSING_MODE, |e| {
                e.short(1);
                Ok(())
            });
            let id = connection.locate();
            connection
                .locate_reply(id, LocateStatus::OBJECT_FORWARD_PERM, |e| elsewhere_ior.encode(e));
            let mut there = other.accept();
            let id = there.locate();
            there.locate_reply(id, LocateStatus::OBJECT_HERE, |_| Ok(()));
            for number in [1, 2] {
                let id = there.request();
                there.answer(id, number);
            }
        },
        |server| {
            let object = server.object(&client).with(LocateFirst::Always);
            (ping(&object, 0), ping(&object, 0))
        },
    );
    assert_eq!(answers, (Ok(1), Ok(2)), "asked once");

    let refused = played(
        |server| {
            let mut connection = server.accept();
            // The first request is short enough to be sent without a LocateRequest.
            connection.answer_next(1);
            let id = connection.locate();
            connection.locate_reply(id, LocateStatus::LOC_SYSTEM_EXCEPTION, |e| NOT_YOU.encode(e));
            let id = connection.locate();
            connection.locate_reply(id, LocateStatus::UNKNOWN_OBJECT, |_| Ok(()));
        },
        |server| {
            let object = server.object(&client).with(LocateFirst::Above(1000));
            assert_eq!(ping(&object, 0), Ok(1));
            let big = || {
                let args = |e: &mut Encoder<'_>| {
                    e.copy_octets(&[0; 2000]);
                    Ok(())
                };
                let reference = object.reference();
                reference.invoke::<(), SystemException>(&BIG, args, |_| Ok(()))
            };
            (big().unwrap_err(), big().unwrap_err())
        },
    );
    assert_eq!((refused.0.kind, refused.0.minor), (SystemExceptionKind::NoPermission, 9));
    assert_eq!(refused.1.kind, SystemExceptionKind::ObjectNotExist);
}

/// The LocateRequest has its own connection: on the shared one, replies to other calls may precede
/// its answer.
#[test]
fn so_it_is_before_a_request_over_a_shared_connection() {
    let _guard = watchdog(LONG);
    for connections in [ClientConnections::Multiplexed, ClientConnections::LeaderFollowers] {
        let other = FakeServer::start();
        let elsewhere = ior_at(&other.address());
        let client = client(connections);
        let answers = played(
            |server| {
                let (_requests, mut questions) = (server.accept(), server.accept());
                let id = questions.locate();
                questions.locate_reply(id, LocateStatus::OBJECT_FORWARD, |e| elsewhere.encode(e));
                let (mut requests, mut questions) = (other.accept(), other.accept());
                let id = questions.locate();
                questions.locate_reply(id, LocateStatus::OBJECT_HERE, |_| Ok(()));
                for number in [1, 2] {
                    let id = requests.request();
                    requests.answer(id, number);
                }
            },
            |server| {
                let object = server.object(&client).with(LocateFirst::Always);
                (ping(&object, 0), ping(&object, 0))
            },
        );
        assert_eq!(answers, (Ok(1), Ok(2)), "{connections:?}");
        client.shutdown(true).unwrap();
    }
}

#[test]
fn validating_asks_the_server_for_the_object() {
    let _guard = watchdog(LONG);
    let server = server(Concurrency::ThreadPerConnection);
    let client = client(ClientConnections::Private);
    let object = pinger(&server, &client);
    object.validate_connection().unwrap();
    let gone = url(&[&address(&object)], "gone");
    let gone = client.string_to_object(&gone).unwrap();
    let failure = gone.validate_connection().unwrap_err();
    assert_eq!(failure.exception.kind, SystemExceptionKind::ObjectNotExist);
    assert_eq!(ping(&object, 1), Ok(2));
    server.shutdown(true).unwrap();
}

/// Returns a reference whose server published the priorities 10 to 20.
fn prioritized(orb: &Orb, at: &Address) -> ObjectRef {
    let mut published = PolicyValueWriter::new();
    published.range(policy_type::REQUEST_PRIORITY, (10, 20));
    let policies = TaggedComponent { tag: tag::POLICIES, data: published.octets().to_vec() };
    let ior = ior_with(at, vec![policies]);
    orb.string_to_object(&ior.to_string()).unwrap()
}

#[test]
fn policies_are_reconciled_with_what_the_server_published() {
    let _guard = watchdog(LONG);
    let client = client(ClientConnections::Private);
    played(
        |server| {
            let mut connection = server.accept();
            connection.answer_next(1);
        },
        |server| {
            let object = prioritized(&client, &server.address());
            let fitting = object.with(RequestPriority { min: 15, max: 30 });
            let both = fitting.reference().policy::<RequestPriority>();
            assert_eq!(both, Ok(Some(RequestPriority { min: 15, max: 20 })));
            assert_eq!(ping(&fitting, 0), Ok(1));

            let contrary = object.with(RequestPriority { min: 21, max: 30 });
            let refused = ping(&contrary, 0).unwrap_err();
            assert_raised(refused, SystemExceptionKind::InvPolicy, CompletionStatus::No);
            assert_eq!(ping_async(&contrary, 0).wait(), Err(refused));
            let failure = contrary.validate_connection().unwrap_err();
            assert_eq!(failure.exception, refused);
            assert_eq!(failure.inconsistent_policies, [PolicyType(25)]);
            assert!(failure.to_string().contains("RequestPriorityPolicy (25)"), "{failure}");
        },
    );
}

#[test]
fn a_call_that_did_not_run_is_repeated_as_often_as_policy_says() {
    let _guard = watchdog(LONG);
    let client = client(ClientConnections::Private);
    let quickly = |times| Retry { times, delay: MS, max_delay: 4 * MS };
    let refuse = |connection: &mut common::fake::FakeConnection, completed| {
        let id = connection.request();
        let refusal = SystemException::transient(1, completed);
        connection.reply(id, ReplyStatus::SYSTEM_EXCEPTION, |e| refusal.encode(e));
    };
    let results = played(
        |server| {
            let mut connection = server.accept();
            refuse(&mut connection, CompletionStatus::No); // the first call: not repeated
            for _ in 0..3 {
                refuse(&mut connection, CompletionStatus::No);
            }
            connection.answer_next(7);
            for _ in 0..3 {
                refuse(&mut connection, CompletionStatus::No); // the third: bounded
            }
            refuse(&mut connection, CompletionStatus::Maybe); // the fourth: may have run
            assert_eq!(connection.receive(), Received::End);
        },
        |server| {
            let object = server.object(&client);
            let results = [
                ping(&object, 0),
                ping(&object.with(quickly(3)), 0),
                ping(&object.with(quickly(2)), 0),
                ping(&object.with(quickly(2)), 0),
            ];
            client.shutdown(true).unwrap();
            results
        },
    );
    assert_eq!(results[1], Ok(7));
    for (index, status) in
        [(0, CompletionStatus::No), (2, CompletionStatus::No), (3, CompletionStatus::Maybe)]
    {
        let raised = results[index].unwrap_err();
        assert_raised(raised, SystemExceptionKind::Transient, status);
    }
}

#[test]
fn a_server_that_starts_late_is_reached_by_repeating() {
    let _guard = watchdog(LONG);
    let client = client(ClientConnections::Private);
    let Place { endpoint, address } = free_place();
    let object = client.string_to_object(&url(&[&address], "x")).unwrap();
    let patient = Retry { times: u32::MAX, delay: MS, max_delay: 20 * MS };
    thread::scope(|scope| {
        let calling = scope.spawn(|| object.with(patient).non_existent());
        thread::sleep(50 * MS);
        let server = common::transport::builder().listen(&endpoint).build().unwrap();
        assert_eq!(calling.join().unwrap(), Ok(true));
        server.shutdown(true).unwrap();
    });
}

#[test]
fn an_endpoint_that_swallows_packets_does_not_cost_the_others_their_time() {
    only_over!(SOCKETS, "nobody waits to be queued in memory");
    let answers = past_a_hole(|object| (ping(object, 0), ping(object, 0)));
    assert_eq!(answers, (Ok(1), Ok(2)));
}

#[test]
fn a_failure_names_every_endpoint_and_what_happened_there() {
    only_over!(SOCKETS, "nobody waits to be queued in memory");
    let _guard = watchdog(LONG);
    let hole = BlackHole::new();
    let client = client(ClientConnections::Private);
    let refusing = free_place().address;
    let mut ior = ior_of(&[hole.address(), refusing.clone()]);
    let unknown = IiopProfile::new(Version::V1_2, "no-such-host.invalid", 7, b"fake");
    ior.profiles.push(unknown.to_profile());
    let object = client.string_to_object(&ior.to_string()).unwrap();
    let object = object.with(ConnectionTimeout(4 * SHORT));
    let failure = object.validate_connection().unwrap_err();
    assert_raised(failure.exception, SystemExceptionKind::Transient, CompletionStatus::No);
    let endpoints: Vec<_> = failure.attempts.iter().map(|tried| &*tried.endpoint).collect();
    assert_eq!(
        endpoints,
        [
            hole.address().for_people().to_owned(),
            refusing.for_people().to_owned(),
            "no-such-host.invalid:7".to_owned()
        ]
    );
    let what = |index: usize| failure.attempts[index].what.as_str();
    assert!(what(0).contains("timed out"), "{failure}");
    assert!(nobody_listens(what(1)), "{failure}");
    assert!(what(2).contains("no-such-host.invalid"), "{failure}");
}

#[test]
fn a_local_call_has_a_time_limit_in_the_end() {
    let _guard = watchdog(LONG);
    let server = server(Concurrency::ThreadPerConnection);
    let local = server.root_poa().activate_servant(Arc::new(Pinger::default()));
    let object = ObjectRef::from_ref(local.unwrap());
    assert_eq!(ping(&object, 1), Ok(2));
    // The servant sleeps for longer than the limit, so the request has run when the call raises TIMEOUT.
    let hurried = object.with_timeout(50 * MS);
    let late = timed_out(|| call(&hurried, &SLEEP));
    assert_raised(late, SystemExceptionKind::Timeout, CompletionStatus::Yes);
    server.shutdown(true).unwrap();
    let ended = ping(&object, 1).unwrap_err();
    assert_eq!(ended.minor, minor::bad_inv_order::SHUT_DOWN);
}

#[test]
fn the_end_waits_for_local_calls() {
    let _guard = watchdog(LONG);
    let server = server(Concurrency::ThreadPerConnection);
    let servant = Arc::new(Pinger::default());
    let local = server.root_poa().activate_servant(servant.clone()).unwrap();
    let object = ObjectRef::from_ref(local);
    let closed = servant.gate.lock().unwrap();
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        let running = scope.spawn(|| call(&object, &WAIT));
        while servant.at_gate.load(Ordering::SeqCst) == 0 {
            thread::sleep(MS);
        }
        let ending = scope.spawn(|| {
            server.shutdown(true).unwrap();
            ended.store(true, Ordering::SeqCst);
        });
        while !server.is_closing() {
            thread::sleep(MS);
        }
        thread::sleep(20 * MS);
        assert!(!ended.load(Ordering::SeqCst), "it has left a call alone");
        drop(closed);
        assert_eq!(running.join().unwrap(), Ok(()));
        ending.join().unwrap();
    });
    // Within a request, the shutdown would wait for that request.
    let server = common::server(Concurrency::ThreadPerConnection);
    let local = server.root_poa().activate_servant(Arc::new(Pinger::default()));
    let raised = call(&ObjectRef::from_ref(local.unwrap()), &STOP).unwrap_err();
    assert_eq!(raised.minor, minor::bad_inv_order::WOULD_DEADLOCK);
    server.shutdown(true).unwrap();
}

#[test]
fn a_server_is_told_that_nobody_waits_for_an_asynchronous_call() {
    let _guard = watchdog(LONG);
    let client = client(ClientConnections::Private);
    let told = Barrier::new(2);
    played(
        |server| {
            let mut connection = server.accept();
            let dropped = connection.request();
            assert_eq!(connection.receive(), Received::Cancel(dropped));
            let late = connection.request();
            assert_eq!(connection.receive(), Received::Cancel(late));
            told.wait();
            let answered = connection.request();
            connection.answer(answered, 3);
        },
        |server| {
            let object = server.object(&client);
            drop(ping_async(&object, 0));
            let hurried = object.with_timeout(SHORT);
            let late = timed_out(|| ping_async(&hurried, 0).wait());
            assert_eq!(late.completed, CompletionStatus::Maybe);
            // Wait for CancelRequest, which may be sent only after the caller has received its exception.
            told.wait();
            assert_eq!(ping_async(&object, 0).wait(), Ok(3));
        },
    );
    client.shutdown(true).unwrap();
}
