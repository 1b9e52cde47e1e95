//! Callbacks over a connection that ends, or whose other side reads nothing.

use super::*;

/// Returns a connection whose other end is the test, and an object that `server` calls back over it.
fn offered(server: &Orb, object: &ObjectRef) -> (Peer, ObjectRef) {
    let point = oxorb_object::IiopEndpoint { host: "client.invalid".to_owned(), port: 1 };
    let data = oxorb_object::listen_points(&[point]);
    let client = stranger(Peer::connect(&address(object)), object, bi_dir(&data));
    let here = server.string_to_object("corbaloc:iiop:1.2@client.invalid:1/x").unwrap();
    (client, ObjectRef::from_ref(here.reference().with_timeout(SHORT)))
}

/// Nothing interrupts the reads of the connection, in whose silences time limits are usually checked.
#[test]
fn a_callback_expires_while_its_client_sends_on_and_on() {
    only_over!(IIOP, "names an address that a client of TCP could have");
    let _guard = watchdog(2 * LONG);
    for concurrency in EVERY_CONCURRENCY {
        let server = accepting(concurrency, "1");
        let object = pinger(&server, &server);
        let (mut client, here) = offered(&server, &object);
        let mut callback = ping_async(&here, 1);
        let mut id = 2;
        while !callback.is_ready() {
            client.write_all(&request(&object, &PING, id, |e| e.longlong(1))).unwrap();
            client.message();
            id += 2;
        }
        let late = callback.wait().unwrap_err();
        assert_eq!(late.kind, SystemExceptionKind::Timeout, "{late}");
        drop(client);
        server.shutdown(true).unwrap();
    }
}

/// The client asks for a large reply, and reads nothing of it.
#[test]
fn a_callback_waits_no_longer_than_it_may_for_a_reply_that_is_being_written() {
    only_over!(IIOP, "names an address that a client of TCP could have");
    let _guard = watchdog(2 * LONG);
    let server = listening()
        .setting("AcceptBiDirectionalGIOP", "1")
        .setting("StallTimeout", "600000")
        .build()
        .unwrap();
    let object = pinger(&server, &server);
    let (mut client, here) = offered(&server, &object);
    client.write_all(&request(&object, &BIG, 2, |_| ())).unwrap();
    client.await_input();
    let late = call(&here, &SLEEP).unwrap_err();
    assert_raised(late, SystemExceptionKind::Timeout, CompletionStatus::No);
    let late = here.reference().send(&NOTE, |_| Ok(())).unwrap_err();
    assert_raised(late, SystemExceptionKind::Timeout, CompletionStatus::No);
    drop(client);
    server.shutdown(true).unwrap();
}
