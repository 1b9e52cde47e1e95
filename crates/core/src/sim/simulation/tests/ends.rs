//! Shutdowns while servants hang, abandoned calls, and circular forwards.

use oxorb_object::CompletionStatus::{Maybe, No};
use oxorb_object::SystemExceptionKind::{CommFailure, Transient};
use oxorb_object::minor;

use super::{everywhere, with_options};
use crate::policy::{BufferingConstraint, RelativeRoundtripTimeout, RequestStartTime, SyncScope};
use crate::sim::simulation::network::network;
use crate::sim::simulation::pair::{
    ServantWork, SimulatedPair, SimulatedServer, assert_about, elapsed, failed, ms, note, run,
    run_async, secs, timed,
};
use crate::sim::simulation::{course, simulate, thread};
use crate::threads::clock;
use crate::{ClientConnections, Concurrency, Options};

#[test]
fn a_server_ends_in_time_though_a_servant_hangs() {
    everywhere(2, |pair| {
        let patient = pair.object.with(RelativeRoundtripTimeout::NEVER);
        let call = thread::spawn(move || run(&patient, &ServantWork::number(1).taking(secs(300))));
        let patient = pair.object.with(RelativeRoundtripTimeout::NEVER);
        let short = thread::spawn(move || run(&patient, &ServantWork::number(2).taking(secs(10))));
        thread::sleep(secs(1));
        let ((), took) = timed(|| pair.server.orb.shutdown(true).unwrap());
        assert_about(took, secs(30));
        assert_eq!(failed(call.join().unwrap()).1, Maybe);
        assert_eq!(short.join().unwrap(), Ok(3), "it ended in time");
        let (told, took) = timed(|| run(&pair.object, &ServantWork::number(3)));
        assert_eq!(failed(told), (Transient, No, minor::transient::CONNECT_FAILED));
        assert!(took < secs(1), "{took:?}");
    });
}

#[test]
fn a_client_ends_though_calls_are_under_way() {
    everywhere(2, |pair| {
        let patient = pair.object.with(RelativeRoundtripTimeout::NEVER);
        let call = thread::spawn(move || run(&patient, &ServantWork::number(1).taking(secs(20))));
        let patient = pair.object.with(RelativeRoundtripTimeout::NEVER);
        let other = run_async(&patient, &ServantWork::number(2).taking(secs(20)));
        thread::sleep(secs(1));
        let ((), took) = timed(|| pair.client.shutdown(true).unwrap());
        assert!(took <= secs(31), "{took:?}");
        for told in [call.join().unwrap(), other.wait()] {
            assert!(told.is_ok() || failed(told).1 == Maybe, "{told:?}");
        }
        let told = run(&pair.object, &ServantWork::number(3));
        assert_eq!(failed(told).1, No);
        thread::sleep(secs(30));
    });
}

#[test]
fn a_servant_learns_that_nobody_waits_for_it() {
    everywhere(2, |pair| {
        let hurried = pair.object.with(RelativeRoundtripTimeout(secs(5)));
        let began = elapsed();
        let told = run(&hurried, &ServantWork::number(1).taking(secs(40)).stopping());
        assert_eq!(failed(told).1, Maybe);
        let call = run_async(&pair.object, &ServantWork::number(2).taking(secs(40)).stopping());
        thread::sleep(secs(5));
        drop(call);
        thread::sleep(secs(50));
        for (number, given_up) in [(1, secs(5)), (2, secs(10))] {
            let stopped = pair.server.worker.stopped(number);
            let stopped = stopped.unwrap_or_else(|| panic!("{number} ran to its end"));
            let late = (stopped - began).saturating_sub(given_up);
            assert!(late <= ms(400), "{number}: {late:?}");
        }
        assert_eq!(run(&pair.object, &ServantWork::number(3)), Ok(4));
    });
}

/// A servant that believed that no client waits would answer with half of its work.
#[test]
fn a_shutdown_cancels_no_request() {
    everywhere(2, |pair| {
        let patient = pair.object.with(RelativeRoundtripTimeout::NEVER);
        let work = ServantWork::number(1).taking(secs(10)).stopping();
        let call = thread::spawn(move || run(&patient, &work));
        let patient = pair.object.with(RelativeRoundtripTimeout::NEVER);
        let other = run_async(&patient, &ServantWork::number(2).taking(secs(10)).stopping());
        thread::sleep(secs(1));
        pair.server.orb.shutdown(true).unwrap();
        assert_eq!((call.join().unwrap(), other.wait()), (Ok(2), Ok(3)));
        for number in [1, 2] {
            assert_eq!(pair.server.worker.stopped(number), None);
        }
    });
}

#[test]
fn a_servant_learns_that_a_shutdown_has_cut_its_connection() {
    everywhere(2, |pair| {
        let patient = pair.object.with(RelativeRoundtripTimeout::NEVER);
        let work = ServantWork::number(1).taking(secs(300)).stopping();
        let call = thread::spawn(move || run(&patient, &work));
        thread::sleep(secs(1));
        let began = elapsed();
        let ((), took) = timed(|| pair.server.orb.shutdown(true).unwrap());
        assert_about(took, secs(30));
        assert_eq!(failed(call.join().unwrap()).1, Maybe);
        thread::sleep(secs(1));
        let stopped = pair.server.worker.stopped(1).expect("it ran to its end");
        assert!(stopped - began >= secs(30) && stopped - began <= secs(31), "{stopped:?}");
    });
}

#[test]
fn forwards_in_a_circle_end() {
    everywhere(1, |pair| {
        let other = SimulatedServer::start(&pair.net, "other", Options::default());
        let there = other.object(&pair.client);
        pair.server.worker.forward_to(Some(there.clone()));
        other.worker.forward_to(Some(pair.server.object(&pair.client)));
        for told in [
            run(&pair.object, &ServantWork::number(1)),
            run_async(&pair.object, &ServantWork::number(2)).wait(),
            run(&there, &ServantWork::number(3)),
        ] {
            assert_eq!(failed(told), (Transient, No, minor::transient::FORWARD_LOOP));
        }
        // Each forward takes 4 s, so the call reaches its limit of 60 s before the limit of 16 forwards.
        pair.net.set(|weather| weather.latency = secs(2));
        let (told, took) = timed(|| run(&pair.object, &ServantWork::number(4)));
        println!("{told:?} {took:?}");
        assert_eq!(failed(told).0, oxorb_object::SystemExceptionKind::Timeout);
        assert_about(took, secs(60));
        pair.net.set(|weather| weather.latency = ms(1));
        thread::sleep(secs(60));
        other.worker.forward_to(None);
        assert_eq!(run(&pair.object, &ServantWork::number(5)), Ok(6));
        assert_eq!(other.worker.ran(5), 1);
        other.orb.shutdown(true).unwrap();
    });
}

#[test]
fn oneways_wait_for_company_as_long_as_they_may() {
    super::with_sharing(2, ClientConnections::Cached, |pair| {
        let object = pair.object.with(SyncScope::None);
        let timed =
            object.with(BufferingConstraint { time: Some(secs(30)), ..BufferingConstraint::FLUSH });
        note(&timed, 1).unwrap();
        thread::sleep(secs(29));
        assert_eq!(pair.server.worker.ran(1), 0);
        note(&timed, 2).unwrap();
        thread::sleep(secs(2));
        assert_eq!((pair.server.worker.ran(1), pair.server.worker.ran(2)), (1, 1));
        let counted =
            object.with(BufferingConstraint { count: Some(3), ..BufferingConstraint::FLUSH });
        note(&counted, 3).unwrap();
        note(&counted, 4).unwrap();
        // Oneways that wait for a count do not depend on the time, so no thread polls meanwhile.
        let (before, _) = course();
        thread::sleep(secs(600));
        let (after, _) = course();
        assert!(after - before < 20_000, "{} steps", after - before);
        assert_eq!(pair.server.worker.ran(3), 0);
        note(&counted, 5).unwrap();
        thread::sleep(secs(1));
        assert_eq!((pair.server.worker.ran(3), pair.server.worker.ran(5)), (1, 1));
        note(&counted, 6).unwrap();
        object.flush().unwrap();
        thread::sleep(secs(1));
        assert_eq!(pair.server.worker.ran(6), 1);
    });
}

#[test]
fn oneways_under_way_go_out_before_the_end() {
    simulate(3, || {
        let pair = SimulatedPair::new();
        let object = pair
            .object
            .with(SyncScope::None)
            .with(BufferingConstraint { time: Some(secs(1000)), ..BufferingConstraint::FLUSH });
        for number in 0..10 {
            note(&object, number).unwrap();
        }
        drop(object);
        pair.client.shutdown(true).unwrap();
        thread::sleep(secs(1));
        let worker = std::sync::Arc::clone(&pair.server.worker);
        pair.end();
        for number in 0..10 {
            assert_eq!(worker.ran(number), 1, "{number}");
        }
    });
}

#[test]
fn a_request_that_comes_too_early_is_held_for_a_while() {
    everywhere(1, |pair| {
        let day = clock::time_of_day();
        let soon = pair.object.with(RequestStartTime(day + secs(20)));
        let began = elapsed();
        assert_eq!(run_async(&soon, &ServantWork::number(1)).wait(), Ok(2));
        assert_about(pair.server.worker.began(1) - began, secs(20));
        let day = clock::time_of_day();
        let patient = pair.object.with(RelativeRoundtripTimeout::NEVER);
        let late = patient.with(RequestStartTime(day + secs(40)));
        let (told, took) = timed(|| run_async(&late, &ServantWork::number(2)).wait());
        assert_eq!(failed(told), (Transient, No, minor::transient::HELD_TOO_LONG));
        assert!(took < secs(1), "{took:?}");
    });
}

#[test]
fn a_short_request_overtakes_a_long_one_of_its_connection() {
    for concurrency in
        [Concurrency::ThreadPerConnection, Concurrency::LeaderFollowers { threads: 3 }]
    {
        let client =
            Options { client_connections: ClientConnections::Multiplexed, ..Options::default() };
        let server = Options { concurrency, ..Options::default() };
        with_options(3, client, server, |pair| {
            let long = run_async(&pair.object, &ServantWork::number(1).taking(secs(10)));
            thread::sleep(secs(1));
            let (told, took) = timed(|| run(&pair.object, &ServantWork::number(2)));
            assert_eq!(told, Ok(3));
            assert!(took < ms(100), "{took:?}");
            assert_eq!(long.wait(), Ok(2));
        });
    }
}

#[test]
fn the_end_of_a_connection_ends_its_calls() {
    everywhere(2, |pair| {
        let calls: Vec<_> = (0..5)
            .map(|number| {
                let object = pair.object.clone();
                let work = ServantWork::number(number).taking(secs(5));
                thread::spawn(move || run(&object, &work))
            })
            .collect();
        thread::sleep(secs(1));
        let before = elapsed();
        pair.net.reset_all();
        for call in calls {
            let told = call.join().unwrap();
            let (kind, completed, _) = failed(told);
            assert_eq!((kind, completed), (CommFailure, Maybe));
        }
        assert!(elapsed() - before < secs(1));
        assert_eq!(network().pipes(), pair.net.pipes());
    });
}
