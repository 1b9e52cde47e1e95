//! Time limits of calls: each call ends in time, with a true result.

use oxorb_object::CompletionStatus::{Maybe, No};
use oxorb_object::SystemExceptionKind::{Timeout, Transient};
use oxorb_object::minor;

use super::{ALL_SHARING, everywhere, with_sharing};
use crate::policy::{
    ConnectionTimeout, RelativeReplyTimeout, RelativeRequestTimeout, RelativeRoundtripTimeout,
    ReplyEndTime, ReplyStartTime, RequestEndTime, RequestStartTime, SyncScope,
};
use crate::sim::simulation::network::Connect;
use crate::sim::simulation::pair::{
    ServantWork, SimulatedPair, assert_about, elapsed, failed, ms, note, run, run_async, secs,
    timed,
};
use crate::sim::simulation::{simulate, thread};
use crate::threads::clock;

#[test]
fn a_reply_that_is_late_is_a_timeout_and_nobody_elses_answer() {
    everywhere(2, |pair| {
        let hurried = pair.object.with(RelativeRoundtripTimeout(secs(5)));
        let (told, took) = timed(|| run(&hurried, &ServantWork::number(1).taking(secs(12))));
        assert_eq!(failed(told), (Timeout, Maybe, minor::timeout::AWAITING_REPLY));
        assert_about(took, secs(5));
        // The late answer is dropped, and none of these calls receives it.
        for number in 2..5 {
            assert_eq!(run(&pair.object, &ServantWork::number(number)), Ok(number + 1));
        }
        thread::sleep(secs(20));
        assert_eq!(run(&hurried, &ServantWork::number(5)), Ok(6));
        assert_eq!(pair.server.worker.ran(1), 1);
    });
}

#[test]
fn asynchronous_calls_have_the_same_limits() {
    everywhere(2, |pair| {
        let hurried = pair.object.with(RelativeRoundtripTimeout(secs(5)));
        let (late, took) = timed(|| {
            let late = run_async(&hurried, &ServantWork::number(1).taking(secs(12)));
            late.wait()
        });
        assert_eq!(failed(late), (Timeout, Maybe, minor::timeout::AWAITING_REPLY));
        assert_about(took, secs(5));
        let answer = run_async(&pair.object, &ServantWork::number(2));
        assert_eq!(answer.wait(), Ok(3));
    });
}

#[test]
fn a_server_that_does_not_answer_connecting_costs_the_connect_timeout() {
    for sharing in ALL_SHARING {
        with_sharing(1, sharing, |pair| {
            pair.net.set(|weather| weather.connect = Connect::Silent);
            let (told, took) = timed(|| run(&pair.object, &ServantWork::number(1)));
            assert_eq!(failed(told), (Transient, No, minor::transient::CONNECT_FAILED));
            assert_about(took, secs(5));
            let patient = pair.object.with(ConnectionTimeout(secs(50)));
            let (told, took) = timed(|| run(&patient, &ServantWork::number(2)));
            assert_eq!(failed(told), (Transient, No, minor::transient::CONNECT_FAILED));
            assert_about(took, secs(50));
            let hurried = patient.with(RelativeRoundtripTimeout(secs(7)));
            let (told, took) = timed(|| run(&hurried, &ServantWork::number(3)));
            let (kind, completed, _) = failed(told);
            assert!(matches!(kind, Timeout | Transient), "{kind:?}");
            assert_eq!(completed, No);
            assert_about(took, secs(7));
            let hurried = patient.with(RelativeRequestTimeout(secs(8)));
            let (told, took) = timed(|| run(&hurried, &ServantWork::number(4)));
            assert_eq!(failed(told).1, No);
            assert_about(took, secs(8));
            for number in 1..5 {
                assert_eq!(pair.server.worker.ran(number), 0);
            }
        });
    }
}

#[test]
fn a_limit_on_the_reply_counts_from_sending() {
    everywhere(1, |pair| {
        pair.net.set(|weather| weather.latency = ms(500));
        // Connecting takes one second, which does not count against the limit.
        let object = pair.object.with(RelativeReplyTimeout(secs(3)));
        assert_eq!(run(&object, &ServantWork::number(1).taking(ms(1900))), Ok(2));
        let (told, took) = timed(|| run(&object, &ServantWork::number(2).taking(secs(30))));
        assert_eq!(failed(told), (Timeout, Maybe, minor::timeout::AWAITING_REPLY));
        assert!(took <= secs(5), "{took:?}");
    });
}

#[test]
fn a_request_is_not_sent_before_its_time_nor_after() {
    everywhere(1, |pair| {
        let day = clock::time_of_day();
        let began = elapsed();
        let later = pair.object.with(RequestStartTime(day + secs(1800)));
        let later = later.with(RelativeRoundtripTimeout::NEVER);
        assert_eq!(run(&later, &ServantWork::number(1)), Ok(2));
        assert_about(pair.server.worker.began(1) - began, secs(1800));
        // The limit of the call expires before the start time, so the call fails at once.
        let never = later
            .with(RequestStartTime(clock::time_of_day() + secs(60)))
            .with(RelativeRoundtripTimeout(secs(50)));
        let (told, took) = timed(|| run(&never, &ServantWork::number(2)));
        assert_eq!(failed(told), (Timeout, No, minor::timeout::TOO_EARLY));
        assert_about(took, ms(0));
        let yesterday = pair.object.with(RequestEndTime(day));
        let told = run(&yesterday, &ServantWork::number(3));
        assert_eq!(failed(told), (Timeout, No, minor::timeout::BEFORE_SENDING));
        for number in [2, 3] {
            assert_eq!(pair.server.worker.ran(number), 0);
        }
    });
}

#[test]
fn a_reply_is_given_between_its_times() {
    everywhere(1, |pair| {
        let object = pair.object.with(RelativeRoundtripTimeout::NEVER);
        let day = clock::time_of_day();
        let held = object.with(ReplyStartTime(day + secs(3600)));
        let (told, took) = timed(|| run(&held, &ServantWork::number(1).taking(secs(1))));
        assert_eq!(told, Ok(2));
        assert_about(took, secs(3600));
        let day = clock::time_of_day();
        let held = object.with(ReplyStartTime(day + secs(3600)));
        let (told, took) = timed(|| run_async(&held, &ServantWork::number(2)).wait());
        assert_eq!(told, Ok(3));
        assert_about(took, secs(3600));
        let day = clock::time_of_day();
        let ends = object.with(ReplyEndTime(day + secs(20)));
        let (told, took) = timed(|| run(&ends, &ServantWork::number(3).taking(secs(60))));
        assert_eq!(failed(told), (Timeout, Maybe, minor::timeout::AWAITING_REPLY));
        assert_about(took, secs(20));
        let (told, _) = timed(|| run(&ends, &ServantWork::number(4)));
        assert_eq!(failed(told), (Timeout, No, minor::timeout::BEFORE_SENDING));
        assert_eq!(pair.server.worker.ran(4), 0);
    });
}

#[test]
fn a_server_does_not_begin_what_nobody_waits_for() {
    everywhere(2, |pair| {
        assert_eq!(run(&pair.object, &ServantWork::number(0)), Ok(1));
        // The request is in transit for longer than its caller waits: a limit that counts from its arrival has not
        // expired, but an absolute deadline has.
        pair.net.set(|weather| weather.latency = secs(10));
        let ends = pair.object.with(RequestEndTime(clock::time_of_day() + secs(5)));
        let (told, took) = timed(|| run(&ends, &ServantWork::number(1)));
        assert_eq!(failed(told), (Timeout, No, minor::timeout::DEADLINE_PASSED));
        assert_about(took, secs(20));
        let ends = pair.object.with(ReplyEndTime(clock::time_of_day() + secs(5)));
        let (told, took) = timed(|| run(&ends, &ServantWork::number(2)));
        assert_eq!(failed(told), (Timeout, Maybe, minor::timeout::AWAITING_REPLY));
        assert_about(took, secs(5));
        thread::sleep(secs(60));
        for number in [1, 2] {
            assert_eq!(pair.server.worker.ran(number), 0, "{number}");
        }
    });
}

#[test]
fn a_oneway_is_bounded_by_its_transport() {
    for sharing in ALL_SHARING {
        with_sharing(1, sharing, |pair| {
            pair.net.set(|weather| weather.connect = Connect::Silent);
            let hurried = pair.object.with(RelativeRoundtripTimeout(secs(2)));
            let (told, took) = timed(|| note(&hurried, 1));
            assert_eq!(failed(told).1, No);
            assert_about(took, secs(2));
            let buffered = hurried.with(SyncScope::None);
            let (told, took) = timed(|| note(&buffered, 2));
            told.unwrap();
            assert_about(took, ms(0));
            pair.net.set(|weather| weather.connect = Connect::Made);
        });
    }
}

#[test]
fn many_asynchronous_calls_are_late_in_the_order_of_their_limits() {
    simulate(3, || {
        let pair = SimulatedPair::new();
        let calls: Vec<_> = (0..200_i64)
            .map(|number| {
                let limit = secs(1 + (number as u64 * 37) % 200);
                let object = pair.object.with(RelativeRoundtripTimeout(limit));
                let call =
                    run_async(&object, &ServantWork::number(number).taking(secs(500)).later());
                let waiter = move || {
                    let told = call.wait();
                    (told, elapsed())
                };
                (limit, elapsed(), thread::spawn(waiter))
            })
            .collect();
        for (limit, began, call) in calls {
            let (told, ended) = call.join().unwrap();
            assert_eq!(failed(told), (Timeout, Maybe, minor::timeout::AWAITING_REPLY));
            assert_about(ended - began, limit);
        }
        pair.end();
    });
}
