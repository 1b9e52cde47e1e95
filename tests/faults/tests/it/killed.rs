//! A server that is killed at every step of a call: callers receive correct exceptions.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::mpsc;
use std::time::Duration;
use std::{fs, thread};

use oxorb::{CompletionStatus, SystemException, SystemExceptionKind};
use oxorb_testkit::{until, watchdog};

use crate::common::*;

#[test]
fn killed_before_the_request_is_sent() {
    let _guard = watchdog(2 * LONG);
    let mut server = Server::restartable(&[]);
    let client = client();
    let object = server.object(&client);
    assert_eq!(run_once(&object, 1), Ok(2));
    server.kill();
    // A connection that was idle for this long is checked before use.
    thread::sleep(2 * oxorb::settings::Options::default().trust_idle);
    let exception = run_once(&object, 2).unwrap_err();
    assert_eq!(exception.kind, SystemExceptionKind::Transient);
    assert_completed(exception, CompletionStatus::No);
    assert_eq!(server.journal(), [1]);
    server.restart_killed();
    assert_eq!(run_once(&object, 3), Ok(4), "the same reference");
    assert_eq!(server.journal(), [1, 3]);
}

#[test]
fn killed_when_the_request_was_sent() {
    let _guard = watchdog(2 * LONG);
    let mut server = Server::restartable(&[]);
    let client = client();
    let object = server.object(&client);
    assert_eq!(run_once(&object, 1), Ok(2));
    // The server's system accepts the request, and the server never reads it. The client cannot know this.
    server.stop();
    let sent = [2, 3].map(|number| run_async(&object, number));
    thread::scope(|scope| {
        let (tell_which, which) = mpsc::channel();
        let object = &object;
        let waiting = scope.spawn(move || {
            tell_which.send(fs::read_link("/proc/thread-self").unwrap()).unwrap();
            run_once(object, 4)
        });
        let status = Path::new("/proc").join(which.recv().unwrap()).join("status");
        until("the caller waits for the answer", || {
            fs::read_to_string(&status).unwrap().contains("State:\tS")
        });
        server.kill();
        let exceptions = sent.map(|reply| reply.wait().unwrap_err());
        for exception in exceptions.into_iter().chain([waiting.join().unwrap().unwrap_err()]) {
            assert_eq!(exception.kind, SystemExceptionKind::CommFailure);
            assert_completed(exception, CompletionStatus::Maybe);
        }
    });
    assert_eq!(server.journal(), [1]);
    server.restart_killed();
    assert_eq!(run_once(&object, 5), Ok(6));
    assert_eq!(run_async(&object, 6).wait(), Ok(7));
    assert_eq!(server.journal(), [1, 5, 6], "nothing was sent again");
}

#[test]
fn killed_while_the_servant_runs() {
    let _guard = watchdog(2 * LONG);
    let mut server = Server::restartable(&[]);
    let client = client();
    let object = server.object(&client);
    thread::scope(|scope| {
        let running = scope.spawn(|| hang(&object, 1));
        while server.journal().is_empty() {
            thread::sleep(Duration::from_millis(1));
        }
        server.kill();
        let exception = running.join().unwrap().unwrap_err();
        assert_eq!(exception.kind, SystemExceptionKind::CommFailure);
        assert_completed(exception, CompletionStatus::Maybe);
    });
    assert_eq!(server.journal(), [1], "once");
}

#[test]
fn killed_while_it_answers() {
    let _guard = watchdog(2 * LONG);
    let mut server = Server::restartable(&[]);
    let client = client();
    let object = server.object(&client);
    let answers = AtomicI64::new(0);
    thread::scope(|scope| {
        let reading = scope.spawn(|| {
            let mut number = 0;
            loop {
                number += 1;
                match big(&object, number) {
                    Ok(_) => answers.fetch_add(1, Ordering::SeqCst),
                    Err(exception) => return (number, exception),
                };
            }
        });
        while answers.load(Ordering::SeqCst) < 3 {
            thread::sleep(Duration::from_millis(1));
        }
        server.kill();
        let (number, exception) = reading.join().unwrap();
        let journal = server.journal();
        let times = journal.iter().filter(|ran| **ran == number).count();
        assert_truth(Err::<i64, _>(exception), times);
        assert_eq!(journal.len(), number as usize - 1 + times, "none twice");
    });
}

#[test]
fn killed_at_any_moment() {
    let _guard = watchdog(2 * LONG);
    kill_again_and_again(3);
}

#[test]
#[ignore = "takes its time: .ci/full faults"]
fn killed_at_any_moment_many_times() {
    let _guard = watchdog(3 * LONG);
    kill_again_and_again(40);
}

/// Several threads call continuously while the server is killed and restarted. Their results agree with the journal.
fn kill_again_and_again(times: usize) {
    let mut server = Server::restartable(&[]);
    let client = client();
    let object = within(&server.object(&client), Duration::from_secs(5));
    let (next, stop) = (AtomicI64::new(1), AtomicBool::new(false));
    let mut told: HashMap<i64, Result<i64, SystemException>> = HashMap::new();
    thread::scope(|scope| {
        let callers: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    let mut told = Vec::new();
                    while !stop.load(Ordering::Relaxed) {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        told.push((number, run_once(&object, number)));
                    }
                    told
                })
            })
            .collect();
        for round in 0..times {
            let before = server.journal().len();
            while server.journal().len() < before + 10 + round % 7 {
                thread::sleep(Duration::from_millis(1));
            }
            server.restart();
        }
        let before = server.journal().len();
        while server.journal().len() < before + 10 {
            thread::sleep(Duration::from_millis(1));
        }
        stop.store(true, Ordering::Relaxed);
        for caller in callers {
            told.extend(caller.join().unwrap());
        }
    });
    let mut ran: HashMap<i64, usize> = HashMap::new();
    for number in server.journal() {
        *ran.entry(number).or_default() += 1;
    }
    assert!(told.values().filter(|answer| answer.is_ok()).count() >= 10 * times);
    for (number, answer) in told {
        assert_truth(answer, ran.get(&number).copied().unwrap_or(0));
    }
}

/// Checks a caller's result against the number of executions.
#[track_caller]
fn assert_truth<T: std::fmt::Debug>(told: Result<T, SystemException>, ran: usize) {
    let possible = match &told {
        Ok(_) => ran == 1,
        Err(exception) => match exception.completed {
            CompletionStatus::No => ran == 0,
            CompletionStatus::Yes => ran == 1,
            CompletionStatus::Maybe => ran <= 1,
        },
    };
    assert!(possible, "it ran {ran} times, and the caller was told {told:?}");
}
