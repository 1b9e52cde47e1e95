//! Idle connections, and connections that were lost meanwhile.

use super::{ALL_SERVING, ALL_SHARING, everywhere, with_options};
use crate::sim::simulation::network::Connect;
use crate::sim::simulation::pair::{
    ServantWork, assert_about, failed, ms, note, run, run_async, secs, timed,
};
use crate::sim::simulation::thread;
use crate::{ClientConnections, Incident, Options};

#[test]
fn a_server_closes_connections_at_its_limit() {
    for sharing in ALL_SHARING {
        if sharing == ClientConnections::Multiplexed {
            // The reader of a multiplexed connection closes it before the server's limit is reached.
            continue;
        }
        for serving in ALL_SERVING {
            let client = Options { client_connections: sharing, ..Options::default() };
            let server = Options {
                concurrency: serving,
                idle_timeout: Some(secs(100)),
                ..Options::default()
            };
            with_options(2, client, server, |pair| {
                for number in 0..3 {
                    assert_eq!(run(&pair.object, &ServantWork::number(number)), Ok(number + 1));
                    let open = || pair.server.orb.connection_statistics().open;
                    thread::sleep(secs(97));
                    assert_eq!(open(), 1);
                    // By now the connection has been idle for longer than the limit, and a check has taken place.
                    thread::sleep(secs(8));
                    assert_eq!(open(), 0);
                }
                let closed = pair.server.orb.connection_statistics();
                assert_eq!(closed.count(Incident::IdleClosed), 3);
                assert_eq!(pair.net.attempts(), 3);
            });
        }
    }
}

#[test]
fn the_reader_of_a_shared_connection_gives_up_when_nobody_calls() {
    super::with_sharing(3, ClientConnections::Multiplexed, |pair| {
        for number in 0..3 {
            assert_eq!(run(&pair.object, &ServantWork::number(number)), Ok(number + 1));
            thread::sleep(secs(10));
            assert_eq!(pair.net.pipes(), 2);
            thread::sleep(secs(7));
            assert_eq!(pair.net.pipes(), 0);
        }
        // A call that waits for its answer keeps the connection.
        let long = ServantWork::number(3).taking(secs(50));
        assert_eq!(run(&pair.object, &long), Ok(4));
        assert_eq!(pair.net.attempts(), 4);
    });
}

#[test]
fn a_client_closes_connections_at_its_limit() {
    let client = Options { client_idle_timeout: Some(secs(100)), ..Options::default() };
    with_options(2, client, Options::default(), |pair| {
        for number in 0..3 {
            assert_eq!(run(&pair.object, &ServantWork::number(number)), Ok(number + 1));
            thread::sleep(secs(97));
            assert_eq!(pair.net.pipes(), 2);
            // The next check follows after at most a quarter of the limit.
            thread::sleep(secs(32));
            assert_eq!(pair.net.pipes(), 0);
        }
    });
}

#[test]
fn a_client_drops_connections_that_its_server_has_closed() {
    for sharing in ALL_SHARING {
        if sharing == ClientConnections::Private {
            // A private connection is dropped only when its thread opens another connection.
            continue;
        }
        super::with_sharing(2, sharing, |pair| {
            for number in 0..3 {
                assert_eq!(run(&pair.object, &ServantWork::number(number)), Ok(number + 1));
                assert_eq!(pair.net.pipes(), 2);
                pair.net.reset_all();
                thread::sleep(secs(5));
                assert_eq!(pair.net.pipes(), 0);
            }
        });
    }
}

#[test]
fn no_call_fails_because_its_connection_was_about_to_be_closed() {
    for sharing in ALL_SHARING {
        for serving in ALL_SERVING {
            let client = Options { client_connections: sharing, ..Options::default() };
            let server =
                Options { concurrency: serving, idle_timeout: Some(secs(1)), ..Options::default() };
            with_options(4, client, server, |pair| {
                pair.net.set(|weather| weather.latency = ms(5));
                let mut random = crate::sim::simulation::random();
                for number in 0..60 {
                    let told = match number % 3 {
                        2 => run_async(&pair.object, &ServantWork::number(number)).wait(),
                        _ => run(&pair.object, &ServantWork::number(number)),
                    };
                    assert_eq!(told, Ok(number + 1));
                    assert_eq!(pair.server.worker.ran(number), 1);
                    // The next call comes at about the time of the server's check, whose tick is as long as the limit.
                    thread::sleep(ms(980) + ms(random.below(60)));
                    if number % 7 == 0 {
                        thread::sleep(secs(1));
                    }
                }
            });
        }
    }
}

#[test]
fn connections_that_died_in_silence_cost_no_call() {
    everywhere(2, |pair| {
        for number in 0..10 {
            assert_eq!(run(&pair.object, &ServantWork::number(number)), Ok(number + 1));
            pair.net.reset_all();
            thread::sleep(ms(number as u64 * 3));
        }
        for number in 10..20 {
            let told = run_async(&pair.object, &ServantWork::number(number)).wait();
            assert_eq!(told, Ok(number + 1));
            pair.net.reset_all();
            thread::sleep(ms(number as u64));
        }
        note(&pair.object, 20).unwrap();
        assert_eq!(run(&pair.object, &ServantWork::number(21)), Ok(22));
        assert_eq!(pair.server.worker.ran(20), 1);
    });
}

#[test]
fn retries_wait_longer_each_time() {
    use crate::policy::{RelativeRoundtripTimeout, Retry};
    use oxorb_object::CompletionStatus::No;
    use oxorb_object::SystemExceptionKind::Transient;
    for sharing in ALL_SHARING {
        super::with_sharing(2, sharing, |pair| {
            let object = pair.object.with(Retry::times(8));
            pair.net.set(|weather| weather.connect = Connect::Refused(6));
            // The delays are 20 + 40 + 80 + 160 + 320 + 640 ms; in addition, each attempt to connect takes two
            // milliseconds, or up to a tick.
            let (told, took) = timed(|| run(&object, &ServantWork::number(1)));
            assert_eq!(told, Ok(2));
            assert_about(took, ms(1260 + 7 * 5));
            assert_eq!(pair.net.attempts(), 7);
            pair.net.reset_all();
            pair.net.set(|weather| weather.connect = Connect::Refused(100));
            // The two further delays are limited to 1 s each.
            let (told, took) = timed(|| run(&object, &ServantWork::number(2)));
            assert_eq!(
                failed(told),
                (Transient, No, oxorb_object::minor::transient::CONNECT_FAILED)
            );
            assert_about(took, ms(1260 + 2 * 1000 + 9 * 5));
            let hurried = object.with(RelativeRoundtripTimeout(ms(200)));
            let (told, took) = timed(|| run(&hurried, &ServantWork::number(3)));
            // The failure is more specific than TIMEOUT, and so is reported in its place.
            assert_eq!(failed(told).0, Transient);
            assert!(took < ms(200), "{took:?}");
            let (told, took) = timed(|| run_async(&object, &ServantWork::number(4)).wait());
            assert_eq!(failed(told).0, Transient);
            assert_about(took, ms(1260 + 2 * 1000 + 9 * 5));
            for number in 2..5 {
                assert_eq!(pair.server.worker.ran(number), 0);
            }
            pair.net.set(|weather| weather.connect = Connect::Made);
            assert_eq!(run(&object, &ServantWork::number(5)), Ok(6));
        });
    }
}
