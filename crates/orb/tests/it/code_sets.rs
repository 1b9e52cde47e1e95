//! Code sets of transmitted strings (P4).

use oxorb::__gen::Op;
use oxorb::rt::{ArrivingRequest, PoolThread, RequestBuffering, Threadpool, ThreadpoolId};
use oxorb::settings::ClientConnections;
use oxorb::{
    Interface as _, ObjectRef, Outcome, Servant, SystemException, SystemExceptionKind, Upcall,
};
use oxorb_cdr::CharSet;
use oxorb_object::minor::transient::{NO_THREAD, REQUESTS_BUFFERED};
use oxorb_testkit::watchdog;
use std::sync::Arc;

use crate::common;
use crate::common::LONG;
use crate::common::worker::{WAIT, Worker, activate, in_the_background, lane, lane_poa};

static ECHO: Op = Op::twoway("echo");
static COUNT: Op = Op::twoway("count");
static REFUSED: Op = Op::twoway("refused");

struct Echo;

impl Servant for Echo {
    fn repository_id(&self) -> &str {
        "IDL:test/Echo:1.0"
    }

    fn dispatch(&self, mut upcall: Upcall<'_>) -> Outcome {
        match upcall.args(|d| d.string().map(|text| text.into_owned())) {
            // Send octets that are not valid UTF-8, which no server should do.
            Ok(text) if text == "broken" => upcall.reply(|e| {
                e.ulong(5);
                e.copy_octets(b"caf\xE9\0");
                Ok(())
            }),
            Ok(text) if upcall.operation() == "count" => upcall.reply(|e| {
                e.ulong(text.chars().count() as u32);
                Ok(())
            }),
            Ok(text) => upcall.reply(|e| e.string(&text)),
            Err(rejected) => upcall.reject(rejected),
        }
    }
}

#[test]
fn utf_8_is_chosen_where_the_server_lists_it_and_the_client_prefers_it() {
    common::only_over!(CONTEXTS, "code sets are agreed on in a service context");
    let _guard = watchdog(LONG);
    let server = common::transport::listening().native_chars(CharSet::Iso8859_1).build().unwrap();
    let local = server.root_poa().activate_servant(Arc::new(Echo)).unwrap();
    for prefer in [false, true] {
        // The client has the same native code set as the server, ISO 8859-1, so that UTF-8 is selected only if it is
        // preferred.
        let client = common::transport::builder()
            .native_chars(CharSet::Iso8859_1)
            .prefer_utf8(prefer)
            .build()
            .unwrap();
        let object = client.string_to_object(&local.to_string()).unwrap();
        let echoed: Result<String, SystemException> = object.reference().invoke(
            &ECHO,
            |e| e.string("10 €"),
            |d| Ok(d.string()?.into_owned()),
        );
        match prefer {
            true => assert_eq!(echoed.as_deref(), Ok("10 €")),
            false => {
                let refused = echoed.unwrap_err();
                assert_eq!(refused.kind, SystemExceptionKind::DataConversion);
                let text = refused.to_string();
                assert!(
                    text.ends_with(
                        "ISO 8859-1, the code set in use, lacks U+20AC (character 4 of the text)"
                    ),
                    "{text}"
                );
            }
        }
        client.shutdown(true).unwrap();
    }
    server.shutdown(true).unwrap();
}

/// Invalid octets of a reply are described in the text of the exception, in every thread (P4).
#[test]
fn octets_of_a_reply_that_are_no_text_are_named() {
    common::only_over!(CONTEXTS, "code sets are agreed on in a service context");
    let _guard = watchdog(LONG);
    let server = common::transport::listening().build().unwrap();
    let local = server.root_poa().activate_servant(Arc::new(Echo)).unwrap();
    let client = common::transport::builder().build().unwrap();
    let object = client.string_to_object(&local.to_string()).unwrap();
    let echoed: Result<String, SystemException> =
        object.reference().invoke(&ECHO, |e| e.string("broken"), |d| Ok(d.string()?.into_owned()));
    let refused = echoed.unwrap_err();
    assert_eq!(refused.kind, SystemExceptionKind::DataConversion);
    let text = std::thread::spawn(move || refused.to_string()).join().unwrap();
    assert!(
        text.ends_with(
            "octet 0xe9 (octet 4 of the text) is not a character of UTF-8, the code set in use"
        ),
        "{text}"
    );
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

/// Servant that returns wide text.
struct WideEcho;

impl Servant for WideEcho {
    fn repository_id(&self) -> &str {
        "IDL:test/WideEcho:1.0"
    }

    fn dispatch(&self, mut upcall: Upcall<'_>) -> Outcome {
        match upcall.args(|d| d.wstring()) {
            Ok(text) => upcall.reply(|e| e.wstring(&text)),
            Err(rejected) => upcall.reject(rejected),
        }
    }
}

/// A URL declares no code sets, so that the client cannot negotiate any, but sends wide text all the same.
#[test]
fn wide_text_needs_no_code_sets_in_the_reference() {
    common::only_over!(CONTEXTS, "code sets are agreed on in a service context");
    let _guard = watchdog(LONG);
    let server = common::transport::listening().build().unwrap();
    let local = server.root_poa().activate_servant(Arc::new(WideEcho)).unwrap();
    let object: ObjectRef = server.string_to_object(&local.to_string()).unwrap();
    server.bind("echo", &object);
    let url = common::transport::url(&[&common::address(&object)], "echo");
    let client = common::client(ClientConnections::Cached);
    for reference in [url, local.to_string()] {
        let object = client.string_to_object(&reference).unwrap();
        let echoed: Result<String, SystemException> =
            object.reference().invoke(&ECHO, |e| e.wstring("10 €, 😀"), |d| d.wstring());
        assert_eq!(echoed.as_deref(), Ok("10 €, 😀"), "{reference}");
    }
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

/// References with and without code sets share no connection, so that text is the same whichever is called first.
#[test]
fn references_with_other_code_sets_have_connections_of_their_own() {
    common::only_over!(CONTEXTS, "code sets are agreed on in a service context");
    let _guard = watchdog(LONG);
    let server = common::transport::listening().build().unwrap();
    let local = server.root_poa().activate_servant(Arc::new(Echo)).unwrap();
    let object: ObjectRef = server.string_to_object(&local.to_string()).unwrap();
    server.bind("echo", &object);
    let url = common::transport::url(&[&common::address(&object)], "echo");
    for connections in [
        ClientConnections::Private,
        ClientConnections::Cached,
        ClientConnections::Multiplexed,
        ClientConnections::LeaderFollowers,
    ] {
        let client = common::transport::builder().client_connections(connections).build().unwrap();
        // The URL declares no code sets, so ISO 8859-1 applies; with the other reference, UTF-8 is negotiated.
        let [plain, agreed] =
            [&url, &local.to_string()].map(|it| client.string_to_object(it).unwrap());
        let echo = |object: &ObjectRef, text: &str| -> Result<String, SystemException> {
            object.reference().invoke(&ECHO, |e| e.string(text), |d| Ok(d.string()?.into_owned()))
        };
        for _ in 0..2 {
            assert_eq!(echo(&plain, "caf\u{e9}").as_deref(), Ok("caf\u{e9}"));
            let refused = echo(&plain, "10 €").unwrap_err();
            assert_eq!(refused.kind, SystemExceptionKind::DataConversion, "{connections:?}");
            assert_eq!(echo(&agreed, "10 €").as_deref(), Ok("10 €"));
        }
        client.shutdown(true).unwrap();
    }
    server.shutdown(true).unwrap();
}

/// Returns the number of characters that the server has read.
fn count(object: &ObjectRef, op: &'static Op, text: &str) -> Result<u32, SystemException> {
    object.reference().invoke(op, |e| e.string(text), |d| d.ulong())
}

/// Clients send their code sets once, with the first request over a connection.
#[test]
fn code_sets_of_a_request_that_is_refused_apply_to_the_next_ones() {
    common::only_over!(CONTEXTS, "code sets are agreed on in a service context");
    let _guard = watchdog(LONG);
    let nowhere = |request: &ArrivingRequest<'_>| {
        let is_refused = request.operation() == "refused";
        is_refused.then(|| PoolThread::of(ThreadpoolId(77)))
    };
    for concurrency in common::ARCHITECTURES {
        let server = common::transport::listening().concurrency(concurrency);
        let server = server.thread_filter(nowhere).build().unwrap();
        let local = server.root_poa().activate_servant(Arc::new(Echo)).unwrap();
        let client = common::client(ClientConnections::Cached);
        let object = common::elsewhere(&client, &local);
        assert_eq!(count(&object, &REFUSED, "10 €").unwrap_err().minor, NO_THREAD);
        assert_eq!(count(&object, &COUNT, "10 €"), Ok(4), "{concurrency:?}");
        client.shutdown(true).unwrap();
        server.shutdown(true).unwrap();
    }
}

#[test]
fn code_sets_of_a_request_beyond_the_buffer_of_a_lane_apply_to_the_next_ones() {
    common::only_over!(CONTEXTS, "code sets are agreed on in a service context");
    let _guard = watchdog(LONG);
    let server = common::transport::listening().build().unwrap();
    let limits = RequestBuffering { max_octets: 1000, ..RequestBuffering::default() };
    let plan = Threadpool::with_lanes([lane(10, 1)]).buffering(limits);
    let pool = server.create_threadpool(plan).unwrap();
    let [first, client] = [(); 2].map(|()| common::client(ClientConnections::Cached));
    let (worker, poa) = (Arc::new(Worker::default()), lane_poa(&server, pool, 10));
    let busy = activate(&poa, &first, &worker);
    let object = common::elsewhere(&client, &poa.activate_servant(Arc::new(Echo)).unwrap());
    let stuck = in_the_background(&busy, &WAIT);
    worker.until_waiting(1);
    let refused = count(&object, &COUNT, &"x".repeat(2000)).unwrap_err();
    assert_eq!(refused.minor, REQUESTS_BUFFERED);
    worker.open();
    assert_eq!(stuck.join().unwrap(), Ok(()));
    assert_eq!(count(&object, &COUNT, "10 €"), Ok(4));
    for orb in [first, client, server] {
        orb.shutdown(true).unwrap();
    }
}
