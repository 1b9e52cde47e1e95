//! Models of budgets that several threads use: no more is granted than available, nothing is lost, each nanosecond is
//! charged once, and no thread stays demoted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use shuttle::thread;

use super::account::Account;
use super::bucket::Bucket;
use super::ledger::Bundle;
use super::rate::Rate;
use super::rule::{Budget, BudgetOf, RequestRate};
use super::slot::BudgetSlot;
use super::taking::take_requests;
use crate::sim::model::explore;

/// Fixed time, so that nothing is refilled meanwhile.
const NOW: u64 = 1_000_000;

#[test]
fn threads_take_what_there_is_and_no_more() {
    explore(|| {
        let bucket = Arc::new(Bucket::default());
        bucket.set_depth(500);
        let takers: Vec<_> = (0..3)
            .map(|_| {
                let bucket = Arc::clone(&bucket);
                thread::spawn(move || (0..3).filter(|_| bucket.take(NOW, 100)).count() as u64)
            })
            .collect();
        let taken: u64 = takers.into_iter().map(|it| it.join().unwrap()).sum();
        assert_eq!(taken, 5, "all that there was");
        assert_eq!(bucket.debt(NOW), taken * 100, "and nothing is lost");
    });
}

/// Checks requests that are taken in advance: each is used once, and none is missed by a thread that finds too few.
#[test]
fn threads_use_each_request_that_was_taken_in_advance_once() {
    explore(|| {
        // The bucket holds 32 requests of a nanosecond, and gives two in advance while half of them are left.
        let rate = Rate::default();
        rate.set(RequestRate { per_second: 1_000_000_000, burst: 32 }, NOW);
        let used = (0..12).filter(|_| rate.take(|| NOW)).count();
        assert_eq!((used, rate.debt(NOW)), (12, 12));
        let full = Arc::new(Rate::default());
        full.set(RequestRate { per_second: 1_000_000_000, burst: 32 }, NOW);
        let others: Vec<_> = (0..2)
            .map(|_| {
                let full = Arc::clone(&full);
                thread::spawn(move || assert!(full.take(|| NOW)))
            })
            .collect();
        others.into_iter().for_each(|it| it.join().unwrap());
        let paid = full.debt(NOW);
        assert!(paid == 3 || paid == 4, "{paid}: both used, and at most two in advance");
        let rate = Arc::new(rate);
        let takers: Vec<_> = (0..3)
            .map(|_| {
                let rate = Arc::clone(&rate);
                thread::spawn(move || (0..8).filter(|_| rate.take(|| NOW)).count())
            })
            .collect();
        let taken: usize = takers.into_iter().map(|it| it.join().unwrap()).sum();
        assert_eq!(taken, 20, "all that were left");
        assert!(rate.lacks(|| NOW));
        assert_eq!(rate.debt(NOW), 32, "and nothing is lost");
    });
}

/// Checks that requests of a high rate that were taken in advance are not used after the rate was lowered.
#[test]
fn what_was_taken_in_advance_does_not_outlive_its_rate() {
    explore(|| {
        let rate = Arc::new(Rate::default());
        rate.set(RequestRate { per_second: 1_000_000_000, burst: 320 }, NOW);
        let taker = {
            let rate = Arc::clone(&rate);
            thread::spawn(move || rate.take(|| NOW))
        };
        rate.set(RequestRate { per_second: 1, burst: 1 }, NOW);
        let first = usize::from(taker.join().unwrap());
        let taken = first + (0..5).filter(|_| rate.take(|| NOW)).count();
        assert!(taken <= 2, "{taken}: one of the old burst, and one of the new one");
    });
}

/// Checks that a request is given back if one budget admits it and another refuses it.
#[test]
fn what_is_put_back_is_neither_lost_nor_given_twice() {
    explore(|| {
        let (first, second) = (Arc::new(Bucket::default()), Arc::new(Bucket::default()));
        first.set_depth(1_000);
        second.set_depth(200);
        let takers: Vec<_> = (0..3)
            .map(|_| {
                let (first, second) = (Arc::clone(&first), Arc::clone(&second));
                thread::spawn(move || {
                    let mut passed = 0u64;
                    for _ in 0..2 {
                        if !first.take(NOW, 100) {
                            continue;
                        }
                        match second.take(NOW, 100) {
                            true => passed += 1,
                            false => first.put_back(NOW, 100),
                        }
                    }
                    passed
                })
            })
            .collect();
        let passed: u64 = takers.into_iter().map(|it| it.join().unwrap()).sum();
        assert_eq!(passed, 2);
        assert_eq!((first.debt(NOW), second.debt(NOW)), (200, 200));
    });
}

/// Checks that a request which another budget refuses takes nothing from its client, not even for a moment.
#[test]
fn a_refused_request_does_not_refuse_another_of_its_client() {
    explore(|| {
        let account =
            |of: &BudgetOf| Arc::new(Account::new(0, of, Budget::default().requests(1, 1)));
        let client = account(&BudgetOf::EachClient);
        let poa = account(&BudgetOf::Poa("sensors".into()));
        assert!(poa.take(|| NOW));
        let bundle = Bundle::of([Some(poa), None, None]);
        let refused = {
            let client = Arc::clone(&client);
            thread::spawn(move || take_requests(&client, Some(&bundle), || NOW))
        };
        assert!(take_requests(&client, None, || NOW), "a request to another POA");
        assert!(!refused.join().unwrap());
    });
}

/// Checks concurrent requests of a budget: each thread exceeds the budget by at most one request,
/// since none begins once the budget is exhausted.
#[test]
fn time_is_exceeded_by_no_more_than_what_runs() {
    explore(|| {
        const THREADS: u64 = 3;
        let bucket = Arc::new(Bucket::default());
        bucket.set_depth(300);
        let runners: Vec<_> = (0..THREADS)
            .map(|_| {
                let bucket = Arc::clone(&bucket);
                thread::spawn(move || {
                    for _ in 0..4 {
                        if !bucket.is_spent(NOW) {
                            bucket.charge(NOW, 100);
                        }
                    }
                })
            })
            .collect();
        runners.into_iter().for_each(|it| it.join().unwrap());
        let used = bucket.debt(NOW);
        assert!((300..300 + THREADS * 100).contains(&used), "{used}");
    });
}

/// Checks that the watcher may charge and demote while requests begin and end.
#[test]
fn each_nanosecond_is_charged_once_and_no_thread_stays_demoted() {
    explore(|| {
        let account = Account::new(0, &BudgetOf::EachClient, Budget::default());
        let account = Arc::new(account);
        let slot = Arc::new(BudgetSlot::new(1));
        // `cpu` is the processor time of the thread, and `is_low` whether the kernel has demoted it. They are atomics
        // of `std`, so that the model does not explore the orders of their accesses.
        let cpu = Arc::new(AtomicU64::new(0));
        let is_low = Arc::new(AtomicBool::new(false));
        let ended = Arc::new(AtomicBool::new(false));
        let watcher = {
            let (slot, cpu, is_low) = (Arc::clone(&slot), Arc::clone(&cpu), Arc::clone(&is_low));
            let ended = Arc::clone(&ended);
            thread::spawn(move || {
                while !ended.load(Ordering::SeqCst) {
                    if let Some(mut looked) = slot.look() {
                        let (left, run) = looked.used(cpu.load(Ordering::SeqCst));
                        looked.accounts(|account| account.charge(NOW, left));
                        if run > looked.longest() {
                            thread::yield_now();
                            is_low.store(true, Ordering::SeqCst);
                            looked.demoted = true;
                        }
                    }
                    thread::yield_now();
                }
            })
        };
        let mut charged_until = 0;
        let demotions = AtomicUsize::new(0);
        for request in 0..3 {
            assert!(slot.begin(charged_until, charged_until, 15, &account, None));
            for _ in 0..3 {
                cpu.fetch_add(10, Ordering::SeqCst);
                thread::yield_now();
            }
            let finished = slot.finish(|| cpu.load(Ordering::SeqCst));
            charged_until = finished.cpu;
            account.charge(NOW, finished.left);
            if finished.demoted {
                demotions.fetch_add(1, Ordering::SeqCst);
                is_low.store(false, Ordering::SeqCst);
            }
            assert!(!is_low.load(Ordering::SeqCst), "request {request} leaves the thread demoted");
        }
        ended.store(true, Ordering::SeqCst);
        watcher.join().unwrap();
        assert!(!is_low.load(Ordering::SeqCst));
        let charged = account.counts.cpu.load(crate::threads::sync::atomic::Ordering::Relaxed);
        assert_eq!(charged, 90, "of three requests of 30 each");
    });
}
