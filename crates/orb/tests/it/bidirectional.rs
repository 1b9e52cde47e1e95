//! Callbacks over the connection that the client opened (bidirectional GIOP).

mod ends;

use std::io::Write as _;
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::Duration;

use oxorb::__gen::{Op, decode_ref, encode_ref};
use oxorb::incident::Incident;
use oxorb::poa::{Bidirectional, Policies, ThreadPolicy};
use oxorb::settings::{ClientConnections, Concurrency};
use oxorb::transport::{Address, tcp};
use oxorb::{
    CompletionStatus, Interface, ObjectRef, Orb, Outcome, Servant, SystemException,
    SystemExceptionKind, Upcall,
};
use oxorb_giop::{MessageType, Reply};
use oxorb_object::ServiceContext;
use oxorb_rt::Priority;
use oxorb_testkit::watchdog;

use crate::common;
use crate::common::child::Child;
use crate::common::fake::{FakeServer, Received};
use crate::common::peer::{Peer, frame, from_another_address, kind};
use crate::common::transport::{
    anywhere, anywhere_with, free_place, has_ports, is_memory, listening, url, wire,
};
use crate::common::worker::{WAIT, Worker, activate, in_the_background};
use crate::common::*;

static BOUNCE: Op = Op::twoway("bounce");
static KEEP: Op = Op::twoway("keep");
static SLOW_BOUNCE: Op = Op::twoway("slow_bounce");
static REST_KEPT: Op = Op::twoway("rest_kept");
static CALL_KEPT: Op = Op::twoway("call_kept");
static WAIT_KEPT: Op = Op::twoway("wait_kept");
static TELL_KEPT: Op = Op::twoway("tell_kept");

/// Longer than a thread of a lane stays with a silent connection.
const REST: Duration = Duration::from_millis(20);

/// An endpoint to which other ORBs cannot connect: its host name does not exist, as for a client behind NAT, or its
/// socket file is removed. Over memory, they can connect.
struct Hidden {
    endpoint: String,
    file: Option<String>,
}

impl Hidden {
    fn new() -> Hidden {
        if has_ports() {
            let endpoint = anywhere_with("hostname_in_ior=behind-nat.invalid");
            return Hidden { endpoint, file: None };
        }
        let place = free_place();
        let file = (!is_memory()).then(|| place.address.name().to_owned());
        Hidden { endpoint: place.endpoint, file }
    }

    /// Returns a client that listens at the endpoint.
    fn client(&self, offer: &str) -> Orb {
        let builder = common::transport::builder()
            .listen(&self.endpoint)
            .setting("OfferBiDirectionalGIOP", offer)
            .round_trip_timeout(LONG);
        let client = builder.build().unwrap();
        Player::start(&client);
        if let Some(file) = &self.file {
            std::fs::remove_file(file).unwrap();
        }
        client
    }

    /// Fixes the port that the system has chosen, for the next client at this endpoint.
    fn again(mut self, object: &ObjectRef) -> Hidden {
        if has_ports() {
            let port = format!(":{}/", port(&address(object)));
            self.endpoint = self.endpoint.replace(":0/", &port);
        }
        self
    }
}

/// Servant that makes callbacks.
#[derive(Default)]
struct Player {
    this: OnceLock<ObjectRef>,
    kept: Mutex<Option<ObjectRef>>,
    notes: Mutex<u32>,
}

impl Player {
    fn start(orb: &Orb) -> (Arc<Player>, ObjectRef) {
        let player = Arc::new(Player::default());
        let reference = orb.root_poa().activate_servant(player.clone()).unwrap();
        let this = ObjectRef::from_ref(reference);
        player.this.set(this.clone()).unwrap();
        (player, this)
    }

    fn kept(&self) -> ObjectRef {
        self.kept.lock().unwrap().clone().expect("kept before")
    }
}

impl Servant for Player {
    fn repository_id(&self) -> &str {
        PINGER
    }

    fn dispatch(&self, mut upcall: Upcall<'_>) -> Outcome {
        let done = |upcall: Upcall<'_>, result: Result<i64, SystemException>| match result {
            Ok(n) => upcall.reply(|e| {
                e.longlong(n);
                Ok(())
            }),
            Err(exception) => upcall.fail(exception),
        };
        match upcall.operation() {
            "ping" => {
                let n = upcall.args(|d| d.longlong()).unwrap();
                done(upcall, Ok(n + 1))
            }
            "note" => {
                *self.notes.lock().unwrap() += 1;
                upcall.done()
            }
            "sleep" => {
                thread::sleep(Duration::from_millis(300));
                upcall.done()
            }
            "keep" => {
                let other = upcall.args(decode_ref::<ObjectRef>).unwrap();
                *self.kept.lock().unwrap() = other;
                upcall.done()
            }
            "call_kept" => done(upcall, ping(&self.kept(), 1)),
            "rest_kept" => done(upcall, call(&self.kept(), &SLEEP).map(|()| 0)),
            "wait_kept" => done(upcall, call(&self.kept(), &WAIT).map(|()| 0)),
            "wait_kept_twice" => {
                let once = || call(&self.kept(), &WAIT);
                done(upcall, once().and_then(|()| once()).map(|()| 0))
            }
            "tell_kept" => {
                let told = Interface::reference(&self.kept()).send(&NOTE, |_| Ok(()));
                done(upcall, told.map(|()| 0))
            }
            operation @ ("bounce" | "slow_bounce") => {
                let op = match operation {
                    "bounce" => &BOUNCE,
                    _ => {
                        thread::sleep(REST);
                        &SLOW_BOUNCE
                    }
                };
                let (other, depth) =
                    upcall.args(|d| Ok((decode_ref::<ObjectRef>(d)?, d.longlong()?))).unwrap();
                let result = match depth {
                    0 => Ok(0),
                    _ => bounce_by(op, &other.unwrap(), self.this.get().unwrap(), depth - 1),
                };
                done(upcall, result.map(|n| n + 1))
            }
            _ => upcall.unknown_operation(),
        }
    }

    fn identity(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }
}

fn bounce(to: &ObjectRef, back: &ObjectRef, depth: i64) -> Result<i64, SystemException> {
    bounce_by(&BOUNCE, to, back, depth)
}

fn bounce_by(
    op: &'static Op,
    to: &ObjectRef,
    back: &ObjectRef,
    depth: i64,
) -> Result<i64, SystemException> {
    to.reference().invoke(
        op,
        |e| {
            encode_ref(e, Some(back))?;
            e.longlong(depth);
            Ok(())
        },
        |d| d.longlong(),
    )
}

fn keep(at: &ObjectRef, other: &ObjectRef) -> Result<(), SystemException> {
    at.reference().invoke(&KEEP, |e| encode_ref(e, Some(other)), |_| Ok(()))
}

fn number(at: &ObjectRef, op: &'static Op) -> Result<i64, SystemException> {
    at.reference().invoke(op, |_| Ok(()), |d| d.longlong())
}

fn hidden_client(offer: &str) -> Orb {
    Hidden::new().client(offer)
}

fn accepting(concurrency: Concurrency, accept: &str) -> Orb {
    listening().concurrency(concurrency).setting("AcceptBiDirectionalGIOP", accept).build().unwrap()
}

/// Returns the server's object as the client sees it, and the client's own object with its servant.
fn both(server: &Orb, client: &Orb) -> (ObjectRef, ObjectRef, Arc<Player>) {
    let (_, at_server) = Player::start(server);
    let (player, here) = Player::start(client);
    (elsewhere(client, at_server.reference()), here, player)
}

#[test]
fn a_client_that_cannot_be_reached_is_called_back() {
    only_over!(GIOP, "what is offered are addresses of GIOP");
    let _guard = watchdog(2 * LONG);
    for concurrency in EVERY_CONCURRENCY {
        let server = accepting(concurrency, "1");
        let client = hidden_client("1");
        let (object, here, player) = both(&server, &client);
        keep(&object, &here).unwrap();
        assert_eq!(number(&object, &CALL_KEPT), Ok(2), "within a request");
        number(&object, &TELL_KEPT).unwrap();
        while *player.notes.lock().unwrap() == 0 {
            thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(server.connection_statistics().open, 1, "one connection");
        assert_eq!(client.connection_statistics().accepted, 0, "the client's");
        let counted = server.connection_statistics().count(Incident::BidirectionalAccepted);
        assert_eq!(counted, 1);
    }
}

/// The server's own calls share connections in different ways; each must find the one that the client opened.
#[test]
fn servers_of_every_sharing_call_back() {
    only_over!(GIOP, "what is offered are addresses of GIOP");
    let _guard = watchdog(2 * LONG);
    for sharing in EVERY_SHARING {
        let server = listening()
            .client_connections(sharing)
            .setting("AcceptBiDirectionalGIOP", "1")
            .build()
            .unwrap();
        let client = hidden_client("1");
        let (object, here, _) = both(&server, &client);
        keep(&object, &here).unwrap();
        assert_eq!(number(&object, &CALL_KEPT), Ok(2), "{sharing:?}");
        assert_eq!(client.connection_statistics().accepted, 0, "{sharing:?}: the client's");
    }
}

/// Calls that moved to the offered connection could overtake earlier oneways, and calls of all priorities would share
/// it.
#[test]
fn an_offer_does_not_move_calls_to_a_client_that_was_connected_to_before() {
    only_over!(IIOP, "names addresses that clients of TCP could have");
    let _guard = watchdog(2 * LONG);
    let server = listening()
        .client_connections(ClientConnections::LeaderFollowers)
        .setting("AcceptBiDirectionalGIOP", "1")
        .round_trip_timeout(LONG)
        .build()
        .unwrap();
    let (_, object) = Player::start(&server);
    let client = FakeServer::start();
    let at_client = client.object(&server);
    let address_of_client = client.address();
    let (host, port) = tcp::host_and_port(&address_of_client).unwrap();
    let point = oxorb_object::IiopEndpoint { host: host.to_owned(), port };
    let data = oxorb_object::listen_points(&[point]);
    thread::scope(|scope| {
        let call = scope.spawn(|| ping(&at_client, 1));
        let mut connection = client.accept();
        connection.answer_next(2);
        assert_eq!(call.join().unwrap(), Ok(2));
        let _offered = stranger(Peer::connect(&address(&object)), &object, bi_dir(&data));
        let counted = server.connection_statistics().count(Incident::BidirectionalAccepted);
        assert_eq!(counted, 1);
        let call = scope.spawn(|| ping(&at_client, 2));
        connection.answer_next(3);
        assert_eq!(call.join().unwrap(), Ok(3));
    });
}

#[test]
fn a_callback_comes_while_the_client_does_nothing() {
    only_over!(GIOP, "what is offered are addresses of GIOP");
    let _guard = watchdog(2 * LONG);
    for concurrency in EVERY_CONCURRENCY {
        let server = accepting(concurrency, "1");
        let client = hidden_client("1");
        let (at_server, here) = (Player::start(&server), Player::start(&client).1);
        let object = elsewhere(&client, at_server.1.reference());
        keep(&object, &here).unwrap();
        let kept = at_server.0.kept();
        for n in 0..20 {
            assert_eq!(ping(&kept, n), Ok(n + 1));
        }
        let later: Vec<_> = (0..20).map(|n| ping_async(&kept, n)).collect();
        for (n, later) in (0..).zip(later) {
            assert_eq!(later.wait(), Ok(n + 1));
        }
    }
}

/// The client sends no requests meanwhile.
#[test]
fn a_connection_is_not_idle_while_a_callback_is_outstanding() {
    only_over!(GIOP, "what is offered are addresses of GIOP");
    let _guard = watchdog(2 * LONG);
    for concurrency in EVERY_CONCURRENCY {
        let server = listening()
            .concurrency(concurrency)
            .setting("AcceptBiDirectionalGIOP", "1")
            .setting("IdleTimeout", "3000")
            .round_trip_timeout(LONG)
            .build()
            .unwrap();
        let client = hidden_client("1");
        let (player, at_server) = Player::start(&server);
        let worker = Arc::new(Worker::default());
        let here = client.root_poa().activate_servant(worker.clone()).unwrap();
        let object = elsewhere(&client, at_server.reference());
        keep(&object, &ObjectRef::from_ref(here)).unwrap();
        let callback = in_the_background(&player.kept(), &WAIT);
        worker.until_waiting(1);
        // A connection that begins now and carries nothing is closed as idle.
        let closed = Peer::connect(&address(&object)).rest();
        assert_eq!(kind(&closed), MessageType::CLOSE_CONNECTION, "{concurrency:?}");
        worker.open();
        assert_eq!(callback.join().unwrap(), Ok(()), "{concurrency:?}");
        let closed = || server.connection_statistics().open == 0;
        until("the connection is closed once the callback has ended", closed);
    }
}

#[test]
fn callbacks_within_callbacks() {
    only_over!(GIOP, "what is offered are addresses of GIOP");
    let _guard = watchdog(2 * LONG);
    for concurrency in EVERY_CONCURRENCY {
        let server = accepting(concurrency, "1");
        let client = hidden_client("1");
        let (object, here, _) = both(&server, &client);
        assert_eq!(bounce(&object, &here, 9), Ok(10));
        assert_eq!(server.connection_statistics().open, 1);
    }
}

/// If all threads of a lane waited for replies, none would read the connection.
#[test]
fn slow_callbacks_come_back_while_all_threads_of_the_server_wait_for_them() {
    only_over!(GIOP, "what is offered are addresses of GIOP");
    let _guard = watchdog(2 * LONG);
    let architectures = [
        Concurrency::ThreadPerConnection,
        Concurrency::LeaderFollowers { threads: 1 },
        Concurrency::LeaderFollowers { threads: 3 },
        Concurrency::Reactive,
        Concurrency::ThreadPerRequest { threads: 64 },
    ];
    at_once(architectures, |concurrency| {
        let server = accepting(concurrency, "1");
        let client = hidden_client("1");
        let (object, here, _) = both(&server, &client);
        keep(&object, &here).unwrap();
        assert_eq!(number(&object, &REST_KEPT), Ok(0), "{concurrency}");
        let bounced = bounce_by(&SLOW_BOUNCE, &object, &here, 9);
        assert_eq!(bounced, Ok(10), "{concurrency}");
        assert_eq!(ping(&object, 1), Ok(2), "{concurrency}");
        assert_eq!(server.connection_statistics().open, 1);
    });
}

/// All threads of the server are occupied, so none would read the silent client's answer.
#[test]
fn a_silent_client_is_called_while_all_threads_of_the_server_are_in_requests() {
    only_over!(GIOP, "what is offered are addresses of GIOP");
    let _guard = watchdog(2 * LONG);
    let cases = [
        (Concurrency::ThreadPerConnection, 1),
        (Concurrency::LeaderFollowers { threads: 3 }, 6),
        (Concurrency::Reactive, 1),
        (Concurrency::Reactive, 3),
        (Concurrency::ThreadPerRequest { threads: 64 }, 3),
    ];
    at_once(cases, |(concurrency, callers)| {
        let server = accepting(concurrency, "1");
        let (silent, busy) = (hidden_client("1"), client(ClientConnections::Cached));
        let (object, here, _) = both(&server, &silent);
        keep(&object, &here).unwrap();
        let called = elsewhere(&busy, object.reference());
        thread::scope(|scope| {
            for _ in 0..callers {
                scope.spawn(|| assert_eq!(number(&called, &REST_KEPT), Ok(0), "{concurrency}"));
            }
        });
        assert_eq!(ping(&object, 1), Ok(2), "{concurrency}");
    });
}

/// A thread of the server still waits for requests when the silent client is called, but runs one when the client
/// answers.
#[test]
fn a_silent_client_answers_while_all_threads_of_the_server_are_in_requests() {
    only_over!(GIOP, "what is offered are addresses of GIOP");
    let _guard = watchdog(2 * LONG);
    let server = accepting(Concurrency::LeaderFollowers { threads: 2 }, "1");
    let (silent, busy) = (hidden_client("1"), client(ClientConnections::Cached));
    let (object, _, _) = both(&server, &silent);
    let [called, occupying] = [(); 2].map(|()| Arc::new(Worker::default()));
    let here = silent.root_poa().activate_servant(called.clone()).unwrap();
    keep(&object, &ObjectRef::from_ref(here)).unwrap();
    let calling = elsewhere(&busy, object.reference());
    let occupied = activate(server.root_poa(), &busy, &occupying);
    let caller = thread::spawn(move || number(&calling, &WAIT_KEPT));
    called.until_waiting(1);
    let stuck = in_the_background(&occupied, &WAIT);
    occupying.until_waiting(1);
    called.open();
    until("the answer of the silent client is read", || caller.is_finished());
    assert_eq!(caller.join().unwrap(), Ok(0));
    occupying.open();
    assert_eq!(stuck.join().unwrap(), Ok(()));
}

/// The only thread of the server that reads the connection waits for the main thread, which waits for the client's
/// answer.
#[test]
fn a_servant_of_the_main_thread_calls_back_over_the_connection_of_its_request() {
    only_over!(GIOP, "what is offered are addresses of GIOP");
    let _guard = watchdog(2 * LONG);
    let server = accepting(Concurrency::Reactive, "1");
    let policies = Policies { thread: ThreadPolicy::MainThread, ..Policies::default() };
    let poa = server.root_poa().create_poa("main", policies).unwrap();
    let at_server = poa.activate_servant(Arc::new(Player::default())).unwrap();
    let client = hidden_client("1");
    let object = elsewhere(&client, &at_server);
    let (_, here) = Player::start(&client);
    thread::scope(|scope| {
        let main = scope.spawn(|| server.run());
        keep(&object, &here).unwrap();
        let told = number(&object, &REST_KEPT);
        server.shutdown(true).unwrap();
        main.join().unwrap();
        assert_eq!(told, Ok(0));
    });
}

/// The thread that reads the connection waits for the main thread, which makes no call.
#[test]
fn a_request_for_the_main_thread_is_not_overtaken_where_requests_run_in_order() {
    only_over!(GIOP_SOCKETS, "requests are written as octets");
    let _guard = watchdog(2 * LONG);
    for (concurrency, most) in
        [(Concurrency::Reactive, "64"), (Concurrency::ThreadPerConnection, "1")]
    {
        let server = listening().concurrency(concurrency);
        let server = server.setting("MaxRequestsPerConnection", most).build().unwrap();
        let policies = Policies { thread: ThreadPolicy::MainThread, ..Policies::default() };
        let poa = server.root_poa().create_poa("main", policies).unwrap();
        let slow = ObjectRef::from_ref(poa.activate_servant(Arc::new(Player::default())).unwrap());
        let quick = pinger(&server, &server);
        thread::scope(|scope| {
            let main = scope.spawn(|| server.run());
            let mut client = Peer::connect(&address(&slow));
            client.write_all(&request(&slow, &SLEEP, 2, |_| ())).unwrap();
            client.write_all(&request(&quick, &PING, 4, |e| e.longlong(1))).unwrap();
            let replies = [client.message(), client.message()];
            server.shutdown(true).unwrap();
            main.join().unwrap();
            let ids = replies.map(|reply| Reply::parse(&frame(&reply)).unwrap().id);
            assert_eq!(ids, [2, 4], "{concurrency}");
        });
    }
}

/// Threads that keep connections they have taken over do not count against the limit of takeover
/// threads.
#[test]
fn connections_that_were_taken_over_before_take_no_room_from_callbacks() {
    only_over!(GIOP, "what is offered are addresses of GIOP");
    /// More than the limit of takeover threads.
    const CLIENTS: usize = 260;
    let _guard = watchdog(2 * LONG);
    let server = listening()
        .client_connections(ClientConnections::Multiplexed)
        .setting("AcceptBiDirectionalGIOP", "1")
        .build()
        .unwrap();
    let behind = accepting(Concurrency::ThreadPerConnection, "0");
    let client = hidden_client("1");
    let (object, here, _) = both(&server, &client);
    let (_, target) = Player::start(&behind);
    keep(&object, &elsewhere(&client, target.reference())).unwrap();
    let call_kept = request(&object, &CALL_KEPT, 0, |_| ());
    let _open: Vec<Peer> = (0..CLIENTS)
        .map(|_| {
            let mut stream = Peer::connect(&address(&object));
            stream.write_all(&call_kept).unwrap();
            stream.message();
            stream
        })
        .collect();
    keep(&object, &here).unwrap();
    assert_eq!(number(&object, &CALL_KEPT), Ok(2));
}

#[test]
fn many_threads_share_the_connection() {
    only_over!(GIOP, "what is offered are addresses of GIOP");
    let _guard = watchdog(2 * LONG);
    let server = accepting(Concurrency::ThreadPerConnection, "1");
    let client = hidden_client("1");
    let (object, here, _) = both(&server, &client);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..25 {
                    assert_eq!(bounce(&object, &here, 1), Ok(2));
                }
            });
        }
    });
    assert_eq!(server.connection_statistics().open, 1);
}

#[test]
fn both_sides_have_to_agree() {
    only_over!(GIOP_SOCKETS, "the client must not be reached otherwise");
    let _guard = watchdog(2 * LONG);
    for (offer, accept, refused) in [("0", "1", 0), ("1", "0", 1), ("0", "0", 0)] {
        let server = accepting(Concurrency::ThreadPerConnection, accept);
        let client = hidden_client(offer);
        let (object, here, _) = both(&server, &client);
        keep(&object, &here).unwrap();
        let exception = number(&object, &CALL_KEPT).unwrap_err();
        assert_raised(exception, SystemExceptionKind::Transient, CompletionStatus::No);
        let statistics = server.connection_statistics();
        assert_eq!(statistics.count(Incident::BidirectionalRefused), refused);
        assert_eq!(statistics.count(Incident::BidirectionalAccepted), 0);
    }
}

#[test]
fn a_callback_that_takes_too_long_is_a_time_out_and_harms_nobody() {
    only_over!(GIOP, "what is offered are addresses of GIOP");
    let _guard = watchdog(2 * LONG);
    let server = accepting(Concurrency::ThreadPerConnection, "1");
    let client = hidden_client("1");
    let (at_server, here) = (Player::start(&server), Player::start(&client).1);
    let object = elsewhere(&client, at_server.1.reference());
    keep(&object, &here).unwrap();
    let kept = at_server.0.kept();
    let hurried = kept.reference().with_timeout(Duration::from_millis(20));
    let hurried = ObjectRef::from_ref(hurried);
    let exception = timed_out(|| call(&hurried, &SLEEP));
    assert_raised(exception, SystemExceptionKind::Timeout, CompletionStatus::Maybe);
    assert_eq!(ping(&kept, 1), Ok(2), "its late answer is passed over");
}

#[test]
fn a_client_that_is_gone_is_gone_and_one_that_comes_back_is_found() {
    only_over!(GIOP, "what is offered are addresses of GIOP");
    let _guard = watchdog(2 * LONG);
    for concurrency in EVERY_CONCURRENCY {
        let server = accepting(concurrency, "1");
        let place = Hidden::new();
        let client = place.client("1");
        let (at_server, here) = (Player::start(&server), Player::start(&client).1);
        let object = elsewhere(&client, at_server.1.reference());
        keep(&object, &here).unwrap();
        let kept = at_server.0.kept();
        assert_eq!(ping(&kept, 1), Ok(2));
        let place = place.again(&here);
        client.shutdown(true).unwrap();
        let exception = ping(&kept, 1).unwrap_err();
        assert_raised(exception, SystemExceptionKind::Transient, CompletionStatus::No);
        let again = place.client("1");
        let (_, here) = Player::start(&again);
        let object = elsewhere(&again, at_server.1.reference());
        keep(&object, &here).unwrap();
        assert_eq!(ping(&at_server.0.kept(), 1), Ok(2));
    }
}

#[test]
fn an_address_in_use_by_another_client_and_our_own_cannot_be_had() {
    only_over!(IIOP, "names addresses that clients of TCP could have");
    let _guard = watchdog(2 * LONG);
    let server = accepting(Concurrency::ThreadPerConnection, "1");
    server.observe_connections(|event| eprintln!("{event}"));
    let client = hidden_client("1");
    let (object, here, _) = both(&server, &client);
    keep(&object, &here).unwrap();
    // Let a client at another address offer the addresses of the first client and of the server.
    let points = [&here, &object].map(|object| {
        let address = address(object);
        let (host, port) = tcp::host_and_port(&address).unwrap();
        oxorb_object::IiopEndpoint { host: host.to_owned(), port }
    });
    let context = ServiceContext {
        id: oxorb_object::context_id::BI_DIR_IIOP,
        data: &oxorb_object::listen_points(&points),
    };
    let _stranger = stranger(from_another_address(&address(&object)), &object, context);
    assert_eq!(number(&object, &CALL_KEPT), Ok(2), "still the client's");
    assert_eq!(ping(&object, 5), Ok(6), "still the server's");
}

/// Offers of sockets and shared memory on this host are verified, because the kernel identifies the owner of the
/// address and the client.
#[test]
fn an_address_of_another_process_is_not_believed_to_be_the_clients() {
    only_over!(GIOP_SOCKETS, "addresses within a process are its own");
    let _guard = watchdog(2 * LONG);
    let server = listening()
        .setting("AcceptBiDirectionalGIOP", "1")
        .round_trip_timeout(LONG)
        .build()
        .unwrap();
    let told = Arc::new(Mutex::new(Vec::new()));
    let tell = Arc::clone(&told);
    server.observe_connections(move |event| tell.lock().unwrap().push(event.to_string()));
    let client = hidden_client("1");
    let (object, here, _) = both(&server, &client);
    let victim = Child::start(&anywhere(), Concurrency::ThreadPerConnection);
    let victim = victim.object(&client);
    let named = |address: &Address| address.to_string();
    let another_user = || {
        let text = named(&address(&victim));
        let uid = format!(",uid={},", oxorb_sys::unix::own_credentials().uid);
        text.replacen(&uid, ",uid=4294967294,", 1)
    };
    let hostile = [
        named(&address(&victim)),
        named(&address(&victim).bare()),
        named(&address(&object)),
        named(&address(&object).bare()),
        another_user(),
        "unix:".to_owned(),
        "shm:9:/x".to_owned(),
        "nowhere".to_owned(),
        "tcp:127.0.0.1:1".to_owned(),
        String::new(),
    ];
    for data in
        [oxorb_object::listen_addresses(&hostile), vec![1, 0, 0, 0, 255, 255, 255, 255], vec![]]
    {
        let context = ServiceContext { id: oxorb_object::context_id::OXORB_LISTEN, data: &data };
        let peer = Peer::connect(&address(&object));
        let _stranger = stranger(peer, &object, context);
        keep(&object, &victim).unwrap();
        assert_eq!(number(&object, &CALL_KEPT), Ok(2), "by the victim");
        assert_eq!(ping(&object, 5), Ok(6), "by the server");
    }
    keep(&object, &here).unwrap();
    assert_eq!(number(&object, &CALL_KEPT), Ok(2), "by the client");
    let told = told.lock().unwrap();
    let refused = |event: &&String| event.contains("for none of its addresses");
    let refused = told.iter().find(refused).expect("an event");
    eprintln!("{refused}");
}

/// A client may offer new addresses again and again, or too many at a time: the server accepts a few offers, and serves
/// all requests.
#[test]
fn a_client_that_changes_its_offer_a_thousand_times_is_believed_a_few_times() {
    only_over!(IIOP, "names addresses that clients of TCP could have");
    let _guard = watchdog(2 * LONG);
    let server = accepting(Concurrency::ThreadPerConnection, "1");
    let client = hidden_client("0");
    let (object, ..) = both(&server, &client);
    let counted = || {
        let statistics = server.connection_statistics();
        [Incident::BidirectionalAccepted, Incident::BidirectionalRefused]
            .map(|incident| statistics.count(incident))
    };
    let mut stream = Peer::connect(&address(&object));
    for offer in 0..1000 {
        let point = |at: u16| oxorb_object::IiopEndpoint {
            host: format!("client-{offer}.invalid"),
            port: at,
        };
        let points: Vec<_> = (1..=64).map(point).collect();
        let data = oxorb_object::listen_points(&points);
        // A repeated offer is counted once.
        for _ in 0..2 {
            stream = stranger(stream, &object, bi_dir(&data));
        }
        assert_eq!(counted(), [(offer + 1).min(8), u64::from(offer >= 8)]);
    }
    // Another connection has its own count of offers; an offer that is too large is still refused.
    let data = vec![0; (32 << 10) + 1];
    let stream = Peer::connect(&address(&object));
    let stream = stranger(stream, &object, bi_dir(&data));
    assert_eq!(counted(), [8, 2]);
    let data = oxorb_object::listen_points(&[oxorb_object::IiopEndpoint {
        host: "client.invalid".to_owned(),
        port: 1,
    }]);
    let _stream = stranger(stream, &object, bi_dir(&data));
    assert_eq!(counted(), [9, 2]);
}

fn bi_dir(data: &[u8]) -> ServiceContext<'_> {
    ServiceContext { id: oxorb_object::context_id::BI_DIR_IIOP, data }
}

/// Sends one request with an offer over the connection.
fn stranger(mut stream: Peer, object: &ObjectRef, context: ServiceContext<'_>) -> Peer {
    use oxorb_cdr::{ByteOrder, Encoder};
    use oxorb_giop::{RequestHeader, TargetAddress};
    let key = object_key(object);
    let mut e = Encoder::new(Vec::new(), ByteOrder::NATIVE, wire().dialect());
    let header = RequestHeader {
        id: 0,
        response: PING.response,
        key: TargetAddress::Key(&key),
        operation: PING.name,
        contexts: std::slice::from_ref(&context),
        terms: None,
        alias: None,
    };
    let begun = wire().begin_request(&mut e, &header);
    e.longlong(1);
    wire().finish(&mut e, begun).unwrap();
    stream.write_all(&e.finish().to_vec()).unwrap();
    let reply = stream.message();
    assert_eq!(kind(&reply), MessageType::REPLY, "it is served all the same");
    stream
}

#[test]
fn the_policy_of_a_poa_decides_for_its_objects() {
    only_over!(GIOP_SOCKETS, "the client must not be reached otherwise");
    let _guard = watchdog(2 * LONG);
    let server = accepting(Concurrency::ThreadPerConnection, "0");
    let client = hidden_client("0");
    let both = Policies { bidirectional: Bidirectional::Both, ..Policies::default() };
    let activate = |orb: &Orb, policies: Policies| {
        let name = format!("{:?}", policies.bidirectional);
        let poa = orb.root_poa().create_poa(&name, policies).unwrap();
        let player = Arc::new(Player::default());
        let reference = poa.activate_servant(player).unwrap();
        ObjectRef::from_ref(reference)
    };
    let open = elsewhere(&client, Interface::reference(&activate(&server, both)));
    let (_, closed) = Player::start(&server);
    let closed = elsewhere(&client, closed.reference());
    let (called, not_called) = (activate(&client, both), Player::start(&client).1);
    keep(&closed, &called).unwrap();
    assert!(number(&closed, &CALL_KEPT).is_err(), "did not take the offer");
    keep(&open, &called).unwrap();
    assert_eq!(number(&open, &CALL_KEPT), Ok(2));
    keep(&open, &not_called).unwrap();
    let exception = number(&open, &CALL_KEPT).unwrap_err();
    assert_eq!(exception.kind, SystemExceptionKind::NoPermission);
}

/// Over a protocol without bidirectional connections, an offer does not affect calls.
#[test]
fn an_offer_does_no_harm_to_protocols_that_have_none() {
    let _guard = watchdog(LONG);
    let server = listening().setting("AcceptBiDirectionalGIOP", "1");
    let server = server.build().unwrap();
    // Skip private connections, which are not offered for callbacks.
    for sharing in &EVERY_SHARING[1..] {
        let client = listening()
            .client_connections(*sharing)
            .setting("OfferBiDirectionalGIOP", "1")
            .build()
            .unwrap();
        let object = pinger(&server, &client);
        for _ in 0..2 {
            assert_eq!(ping(&object, 1), Ok(2), "{sharing:?}");
            assert_eq!(ping_async(&object, 1).wait(), Ok(2), "{sharing:?}");
        }
        client.shutdown(true).unwrap();
    }
    server.shutdown(true).unwrap();
}

/// A connection offered for callbacks carries calls of one priority, so that a more urgent call does not wait behind
/// others.
#[test]
fn an_urgent_call_does_not_wait_behind_others_on_an_offered_connection() {
    only_over!(GIOP, "what is offered are addresses of GIOP");
    /// More than socket buffers hold.
    const LARGE: usize = 64 << 20;
    // Skip private connections, which are not offered for callbacks.
    for sharing in &EVERY_SHARING[1..] {
        let _guard = watchdog(LONG);
        let server = FakeServer::start();
        let url = url(&[&server.address()], "x");
        let client = listening()
            .client_connections(*sharing)
            .configure(|options| options.offer_bidirectional = true)
            .build()
            .unwrap();
        let object = client.string_to_object(&url).unwrap();
        let send = |at: i16, octets: usize| {
            client.set_thread_priority(Priority::new(at).unwrap()).unwrap();
            let body = vec![0; octets];
            object.reference().send(&NOTE, |e| {
                e.copy_octets(&body);
                Ok(())
            })
        };
        thread::scope(|scope| {
            let stuck = scope.spawn(|| send(10, LARGE));
            let unread = server.accept();
            send(20, 0).unwrap();
            let received = server.accept().receive();
            assert!(matches!(received, Received::Request(..)), "{sharing:?}");
            drop(unread);
            assert!(stuck.join().unwrap().is_err(), "nobody has read it");
        });
        client.shutdown(true).unwrap();
    }
}
