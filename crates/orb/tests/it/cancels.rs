//! A call that times out does not end the connection it shares with others: omniORB closes the connection on a
//! CancelRequest below GIOP 1.2, and stops reading after one in GIOP 1.2 (P1).

use std::fs;
use std::path::Path;
use std::sync::mpsc;
use std::thread;

use oxorb::settings::ClientConnections;
use oxorb::{CompletionStatus, Interface, SystemExceptionKind};
use oxorb_cdr::{ByteOrder, Dialect, Encoder};
use oxorb_giop::ReplyStatus;
use oxorb_object::components::orb_type;
use oxorb_object::{IiopProfile, Ior, TaggedComponent, Version};
use oxorb_testkit::{at_once, until, watchdog};

use crate::common::fake::{FakeConnection, Received, played};
use crate::common::{self, LONG, PINGER, SHORT, assert_raised, client, ping, port, timed_out};

/// Returns a reference of this version, made by this ORB.
fn reference(port: u16, version: Version, made_by: Option<u32>) -> String {
    let mut profile = IiopProfile::new(version, "127.0.0.1", port, b"fake");
    profile.components.extend(made_by.map(TaggedComponent::orb_type));
    let ior = Ior { type_id: PINGER.to_owned(), profiles: vec![profile.to_profile()] };
    ior.to_string()
}

fn answer(connection: &mut FakeConnection, version: Version, id: u32) {
    let mut e = Encoder::new(Vec::new(), ByteOrder::NATIVE, Dialect::new(version.minor));
    let begun = oxorb_giop::begin_reply(&mut e, version, id, ReplyStatus::NO_EXCEPTION, &[]);
    if version >= Version::V1_2 {
        e.align(8);
    }
    e.longlong(7);
    oxorb_giop::finish(&mut e, begun).unwrap();
    connection.send(&e.finish().to_vec());
}

/// Reports whether the client sends CancelRequest for a call that has timed out.
fn told(sharing: ClientConnections, version: Version, made_by: Option<u32>) -> bool {
    let client = client(sharing);
    let (first_is_there, first_came) = mpsc::channel();
    let mut told = false;
    played(
        |server| {
            let mut connection = server.accept();
            let waiting = connection.request();
            first_is_there.send(()).unwrap();
            let _late = connection.request();
            let third = match connection.receive() {
                Received::Request(id, ..) => id,
                Received::Cancel(_) => {
                    told = true;
                    connection.request()
                }
                other => panic!("a request or a cancel was expected, not {other:?}"),
            };
            answer(&mut connection, version, waiting);
            answer(&mut connection, version, third);
        },
        |server| {
            let url = reference(port(&server.address()), version, made_by);
            let object = client.string_to_object(&url).unwrap();
            let (tell_which, which) = mpsc::channel();
            thread::scope(|scope| {
                let waiting = scope.spawn(|| {
                    tell_which.send(fs::read_link("/proc/thread-self").unwrap()).unwrap();
                    ping(&object, 0)
                });
                first_came.recv().unwrap();
                // Wait until the first caller has finished writing and sleeps. Before that, a request that times out
                // would be withdrawn without having been sent.
                let status = Path::new("/proc").join(which.recv().unwrap()).join("status");
                until("the first caller sleeps", || {
                    fs::read_to_string(&status).unwrap().contains("State:\tS")
                });
                let hurried = object.with_timeout(SHORT);
                let late = timed_out(|| ping(&hurried, 0));
                assert_raised(late, SystemExceptionKind::Timeout, CompletionStatus::Maybe);
                assert_eq!(ping(&object, 0), Ok(7));
                assert_eq!(waiting.join().unwrap(), Ok(7), "others notice nothing");
            });
        },
    );
    told
}

#[test]
fn omniorb_and_unknown_orbs_are_told_of_nothing() {
    common::only_over!(IIOP, "foreign ORBs speak versions of GIOP, over TCP");
    let _guard = watchdog(LONG);
    use oxorb::ior::Version as V;
    at_once([ClientConnections::Multiplexed, ClientConnections::LeaderFollowers], |sharing| {
        let cases = [
            (V::V1_0, None, false),
            (V::V1_1, None, false),
            (V::V1_1, Some(orb_type::OMNIORB), false),
            (V::V1_1, Some(orb_type::TAO), true),
            (V::V1_2, None, false),
            (V::V1_2, Some(orb_type::OMNIORB), false),
            (V::V1_2, Some(orb_type::TAO), true),
        ];
        at_once(cases, |(version, made_by, expected)| {
            let told = told(sharing, version, made_by);
            assert_eq!(told, expected, "{version} of {made_by:?}, {sharing:?}");
        });
    });
}
