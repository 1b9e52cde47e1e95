//! Checks of asynchronous calls, and of servants that reply later: see `interop_async.idl`.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use oxorb::client::ReplyTo;
use oxorb::{CompletionStatus, Interface, Orb, SystemException, SystemExceptionKind};
use oxorb_interop::handler::Handler;
use oxorb_interop::interop::SuiteRef;
use oxorb_interop::interop_async::worker::WorkError;
use oxorb_interop::interop_async::{
    AmiWorkerHandler, AmiWorkerHandlerRef, OfficeRef, Parcel, Refused, WorkerRef,
};
use oxorb_interop::lanes;

use crate::check::{Checks, Result, eventually, fail, holds, same, some};

type To = ReplyTo<AmiWorkerHandlerRef, dyn AmiWorkerHandler>;

const DONE: &str = "work 84 crate! 3 21\n";
const REFUSED: &str = "work_excep Refused negative -3\n";
const FORBIDDEN: &str = "work_excep NO_PERMISSION 7 1\n";
const BROKEN: &str = "get_broken_excep NO_RESOURCES 5 0\n";

pub(crate) fn all(checks: &mut Checks, suite: &SuiteRef, orb: &Orb) -> Result {
    let office: OfficeRef = some(some(suite.extras("async")?)?.narrow()?)?;
    let worker = some(office.find_worker()?)?;
    later(checks, &worker);
    callbacks(checks, &worker, orb)?;
    futures(checks, &worker);
    remote(checks, &worker, &office);
    Ok(())
}

fn crate_() -> Parcel {
    Parcel { label: "crate".to_owned(), weight: 2.5 }
}

/// Checks the result of a crate.
fn is_done(value: i32, (result, what, half): &(i32, Parcel, f64)) -> Result {
    same("result", &(2 * value), result)?;
    same("label and weight", &("crate!", 3.5), &(what.label.as_str(), what.weight))?;
    same("half", &(f64::from(value) / 2.0), half)
}

fn is_refused<T: std::fmt::Debug>(got: core::result::Result<T, WorkError>) -> Result {
    match got {
        Err(WorkError::Refused(Refused { why, limit })) => {
            same("why and limit", &("negative", -3), &(why.as_str(), limit))
        }
        other => fail(format!("expected Refused, got {other:?}")),
    }
}

fn is_forbidden<T: std::fmt::Debug>(got: core::result::Result<T, WorkError>) -> Result {
    let forbidden = SystemException::no_permission(7, CompletionStatus::No);
    match got {
        Err(WorkError::System(raised)) => same("exception", &forbidden, &raised),
        other => fail(format!("expected NO_PERMISSION, got {other:?}")),
    }
}

fn is_broken(got: core::result::Result<String, SystemException>) -> Result {
    match got {
        Err(raised) => same(
            "exception",
            &(SystemExceptionKind::NoResources, 5, CompletionStatus::Yes),
            &(raised.kind, raised.minor, raised.completed),
        ),
        Ok(text) => fail(format!("expected NO_RESOURCES, got {text}")),
    }
}

/// Checks calls that wait for a servant that may reply later.
fn later(checks: &mut Checks, o: &WorkerRef) {
    let work = |milliseconds, value| {
        let mut what = crate_();
        let (result, half) = o.work(milliseconds, value, &mut what)?;
        Ok::<_, WorkError>((result, what, half))
    };
    checks.check("later_results", || is_done(42, &work(0, 42)?));
    checks.check("later_order", || {
        std::thread::scope(|scope| {
            let slow = scope.spawn(|| (work(1000, 1), Instant::now()));
            std::thread::sleep(Duration::from_millis(100));
            is_done(2, &work(0, 2)?)?;
            let quick = Instant::now();
            let (slow, ended) = slow.join().expect("does not panic");
            is_done(1, &slow?)?;
            holds(quick < ended, "the quick answer before the slow one")
        })
    });
    checks.check("later_user_exception", || is_refused(work(5, -3)));
    checks.check("later_system_exception", || is_forbidden(work(5, 0)));
    checks.check("later_attributes", || {
        o.set_level(5)?;
        same("level", &5, &o.level()?)?;
        is_broken(o.broken())
    });
}

/// Checks handlers in this process: one that is no object and one that is.
fn callbacks(checks: &mut Checks, o: &WorkerRef, orb: &Orb) -> Result {
    let handler = Arc::new(Handler::default());
    let object: AmiWorkerHandlerRef = lanes::declared(orb).activate(Arc::clone(&handler))?;
    let ways: [To; 2] = [ReplyTo::Local(Arc::clone(&handler) as _), ReplyTo::Object(object)];
    let mut told = |name: &str, calls: &[(&str, &dyn Fn(To))]| {
        checks.check(name, || {
            for way in &ways {
                for (expected, call) in calls {
                    call(way.clone());
                    same("told", *expected, handler.awaited().as_str())?;
                }
            }
            Ok(())
        });
    };
    told("async_callback", &[(DONE, &|to| o.sendc_work(to, 0, 42, &crate_()))]);
    told("async_callback_user_exception", &[(REFUSED, &|to| o.sendc_work(to, 5, -3, &crate_()))]);
    told(
        "async_callback_system_exception",
        &[(FORBIDDEN, &|to| o.sendc_work(to, 5, 0, &crate_()))],
    );
    told(
        "async_callback_attributes",
        &[
            ("set_level\n", &|to| o.sendc_set_level(to, 9)),
            ("get_level 9\n", &|to| o.sendc_get_level(to)),
            (BROKEN, &|to| o.sendc_get_broken(to)),
        ],
    );
    Ok(())
}

fn futures(checks: &mut Checks, o: &WorkerRef) {
    checks.check("async_future", || {
        let asked = [(200, 1), (100, 2), (0, 3)]
            .map(|(milliseconds, value)| (value, o.work_async(milliseconds, value, &crate_())));
        for (value, reply) in asked {
            is_done(value, &awaited(reply)?)?;
        }
        is_refused(awaited(o.work_async(5, -3, &crate_())))?;
        is_forbidden(awaited(o.work_async(5, 0, &crate_())))?;
        awaited(o.set_level_async(6))?;
        same("level", &6, &awaited(o.level_async())?)?;
        is_broken(awaited(o.broken_async()))
    });
    checks.check("async_polling", || {
        let mut slow = o.work_async(1000, 1, &crate_());
        let quick = o.work_async(0, 2, &crate_());
        is_done(2, &quick.wait()?)?;
        holds(!slow.is_ready(), "the quick answer before the slow one")?;
        let polled = std::cell::RefCell::new(&mut slow);
        eventually("the answer to be there", || Ok(polled.borrow_mut().is_ready()))?;
        is_done(1, &slow.wait()?)
    });
}

/// Checks a handler in the server's process.
fn remote(checks: &mut Checks, o: &WorkerRef, office: &OfficeRef) {
    let told = |calls: &[(&str, &dyn Fn(To))]| {
        // A peer may publish another repository id for it.
        let handler: AmiWorkerHandlerRef = some(office.make_handler()?)?.unchecked_narrow();
        office.told()?;
        for (expected, call) in calls {
            call(ReplyTo::Object(handler.clone()));
            let last = std::cell::RefCell::new(String::new());
            eventually("the handler to be told", || {
                *last.borrow_mut() = office.told()?;
                Ok(!last.borrow().is_empty())
            })?;
            same("told", *expected, last.borrow().as_str())?;
        }
        Ok(())
    };
    checks.check("async_remote_handler", || {
        told(&[
            (DONE, &|to| o.sendc_work(to, 0, 42, &crate_())),
            (REFUSED, &|to| o.sendc_work(to, 5, -3, &crate_())),
            (FORBIDDEN, &|to| o.sendc_work(to, 5, 0, &crate_())),
        ])
    });
    checks.check("async_remote_handler_attributes", || {
        told(&[
            ("set_level\n", &|to| o.sendc_set_level(to, 9)),
            ("get_level 9\n", &|to| o.sendc_get_level(to)),
            (BROKEN, &|to| o.sendc_get_broken(to)),
        ])
    });
}

/// Waits like an executor.
fn awaited<T>(reply: impl Future<Output = T>) -> T {
    let mut reply = pin!(reply);
    oxorb::client::wait_until(|context: &mut Context<'_>| -> Poll<T> {
        reply.as_mut().poll(context)
    })
}
