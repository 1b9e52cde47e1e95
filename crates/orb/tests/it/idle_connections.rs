//! Idle connections to servers that have gone: their descriptors are released.
//!
//! Independent of `OXORB_TEST_TRANSPORT`: the tests count sockets of both kinds.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use oxorb::Orb;
use oxorb::settings::ClientConnections;
use oxorb_testkit::watchdog;

use crate::common::fake::FakeServer;
use crate::common::{
    self, LONG, Pinger, alone, client, elsewhere, only_over, ping, ping_async, until,
};

/// Number of servers that a client calls, one after another.
const SERVERS: i64 = 8;

#[test]
fn a_client_keeps_nothing_of_servers_that_went_away() {
    only_over!(SOCKETS, "sockets of the process are counted");
    let _guard = watchdog(LONG);
    if !alone(a_client_keeps_nothing_of_servers_that_went_away) {
        return;
    }
    let clients = [
        ClientConnections::Cached,
        ClientConnections::LeaderFollowers,
        ClientConnections::Multiplexed,
    ]
    .map(client);
    let before = sockets();
    let mut most = before;
    for endpoint in ["iiop://127.0.0.1:0", "uiop://"] {
        for number in 0..SERVERS {
            let server = server_at(endpoint);
            let pinger = server.root_poa().activate_servant(Arc::new(Pinger::default())).unwrap();
            for client in &clients {
                let pinger = elsewhere(client, &pinger);
                assert_eq!(ping(&pinger, number), Ok(number + 1));
                assert_eq!(ping_async(&pinger, number).wait(), Ok(number + 1));
            }
            most = most.max(sockets());
            server.shutdown(true).unwrap();
        }
    }
    assert!(most >= before + 4, "each client has had a connection: {before}, {most}");
    until("no socket is left", || sockets() <= before);
    for client in clients {
        client.shutdown(true).unwrap();
    }
}

#[test]
fn a_server_that_goes_without_a_word_leaves_nothing_either() {
    only_over!(SOCKETS, "sockets of the process are counted");
    let _guard = watchdog(LONG);
    if !alone(a_server_that_goes_without_a_word_leaves_nothing_either) {
        return;
    }
    let clients = [ClientConnections::Cached, ClientConnections::LeaderFollowers].map(client);
    let before = sockets();
    for client in &clients {
        for _ in 0..SERVERS {
            call_and_end(client);
        }
    }
    until("no socket is left", || sockets() <= before);
    for client in clients {
        client.shutdown(true).unwrap();
    }
}

/// A thread's stale private connections are closed when it opens another.
#[test]
fn private_connections_to_servers_that_went_away_do_not_pile_up() {
    only_over!(SOCKETS, "sockets of the process are counted");
    let _guard = watchdog(LONG);
    if !alone(private_connections_to_servers_that_went_away_do_not_pile_up) {
        return;
    }
    let client = client(ClientConnections::Private);
    let before = sockets();
    for _ in 0..SERVERS {
        call_and_end(&client);
    }
    let left = sockets();
    until("those before the last few are gone", || {
        thread::sleep(Duration::from_millis(20));
        call_and_end(&client);
        sockets() < left
    });
    assert!(left <= before + SERVERS as usize, "{before}, {left}");
    client.shutdown(true).unwrap();
}

/// Calls a server that closes its connection after the reply, without CloseConnection.
fn call_and_end(client: &Orb) {
    let server = FakeServer::start();
    let object = server.object(client);
    thread::scope(|scope| {
        scope.spawn(|| server.accept().answer_next(2));
        assert_eq!(ping(&object, 1), Ok(2));
    });
}

fn server_at(endpoint: &str) -> Orb {
    common::transport::builder().listen(endpoint).build().unwrap()
}

/// Returns the number of open sockets of this process.
fn sockets() -> usize {
    let open = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let named = open.filter_map(|entry| std::fs::read_link(entry.path()).ok());
    named.filter(|link| link.to_string_lossy().starts_with("socket:")).count()
}
