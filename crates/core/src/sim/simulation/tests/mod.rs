//! Tests in simulated worlds.

mod calls;
mod ends;
mod idle;
mod random;
mod stalls;
mod timeouts;

use super::pair::SimulatedPair;
use super::simulate;
use crate::{ClientConnections, Concurrency, Options};

const ALL_SHARING: [ClientConnections; 4] = [
    ClientConnections::Private,
    ClientConnections::Cached,
    ClientConnections::Multiplexed,
    ClientConnections::LeaderFollowers,
];

const ALL_SERVING: [Concurrency; 2] =
    [Concurrency::ThreadPerConnection, Concurrency::LeaderFollowers { threads: 3 }];

/// Runs `test` with a client that shares connections in this way.
#[track_caller]
fn with_sharing(
    seeds: u64,
    client_connections: ClientConnections,
    test: impl Fn(&SimulatedPair) + Copy + Send + 'static,
) {
    with(seeds, client_connections, Concurrency::ThreadPerConnection, test);
}

#[track_caller]
fn with(
    seeds: u64,
    client_connections: ClientConnections,
    concurrency: Concurrency,
    test: impl Fn(&SimulatedPair) + Copy + Send + 'static,
) {
    let client = Options { client_connections, ..Options::default() };
    let server = Options { concurrency, ..Options::default() };
    with_options(seeds, client, server, test);
}

/// Runs `test` with all combinations of sharing connections and serving threads.
#[track_caller]
fn everywhere(seeds: u64, test: impl Fn(&SimulatedPair) + Copy + Send + 'static) {
    for sharing in ALL_SHARING {
        for serving in ALL_SERVING {
            with(seeds, sharing, serving, test);
        }
    }
}

/// Runs `test` with these options of client and server.
#[track_caller]
fn with_options(
    seeds: u64,
    client: Options,
    server: Options,
    test: impl Fn(&SimulatedPair) + Copy + Send + 'static,
) {
    simulate(seeds, move || {
        let pair = SimulatedPair::with(client.clone(), server.clone());
        test(&pair);
        pair.end();
    });
}
