//! Events by iceoryx2: a publisher and its subscribers in one process, controlled by `oxbench events` on standard
//! input.
//!
//! Each subscriber has a thread, which sleeps until the publisher notifies all of them.

#[path = "../../zenoh/src/run.rs"]
mod run;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::Instant;

use iceoryx2::port::listener::Listener;
use iceoryx2::port::subscriber::Subscriber;
use iceoryx2::prelude::*;

use super::{LOOK, Result};
use run::{Run, Task};

/// Number of samples that may wait for a subscriber before the publisher waits.
const BUFFERED: usize = 64;

/// Publishes until standard input closes.
pub fn drive() -> Result {
    set_log_level(LogLevel::Error);
    let node = NodeBuilder::new().create::<ipc::Service>()?;
    let mut tasks = 0;
    run::listen(|task| {
        tasks += 1;
        let name = format!("oxbench/events/{}/{tasks}", std::process::id());
        publish(&node, &name, task)
    })
}

fn publish(node: &Node<ipc::Service>, name: &str, task: Task) -> Result<String> {
    let consumers = task.consumers as usize;
    let service = node
        .service_builder(&name.try_into()?)
        .publish_subscribe::<[u8]>()
        .max_publishers(1)
        .max_subscribers(consumers)
        // Node of this process, and one for each subscriber.
        .max_nodes(consumers + 1)
        .subscriber_max_buffer_size(BUFFERED)
        .enable_safe_overflow(false)
        .create()?;
    let bells = node
        .service_builder(&format!("{name}/bell").as_str().try_into()?)
        .event()
        .max_notifiers(1)
        .max_listeners(consumers)
        .max_nodes(consumers + 1)
        .create()?;
    let publisher = service
        .publisher_builder()
        .initial_max_slice_len(task.size as usize)
        .backpressure_strategy(BackpressureStrategy::RetryUntilDelivered)
        .create()?;
    let bell = bells.notifier_builder().create()?;
    let run = Arc::new(Run::new(task));
    let over = Arc::new(AtomicBool::new(false));
    let ready = Arc::new(AtomicU32::new(0));
    let threads: Vec<_> = (0..consumers)
        .map(|_| {
            let (run, over, ready) = (Arc::clone(&run), Arc::clone(&over), Arc::clone(&ready));
            let name = name.to_owned();
            thread::spawn(move || {
                let consumed = consume(&name, &run, &over, &ready);
                consumed.map_err(|why| why.to_string())
            })
        })
        .collect();
    let end = Instant::now() + run::PATIENCE;
    while ready.load(Ordering::Acquire) < task.consumers {
        if Instant::now() > end || threads.iter().any(thread::JoinHandle::is_finished) {
            return Err("not every subscriber is there".into());
        }
        thread::yield_now();
    }
    let took = run.push_all(task, |payload| {
        let sample = publisher.loan_slice_uninit(payload.len())?;
        sample.write_from_slice(payload).send()?;
        bell.notify()?;
        Ok(())
    })?;
    over.store(true, Ordering::Release);
    bell.notify()?;
    for thread in threads {
        thread.join().map_err(|_| "a subscriber panicked")??;
    }
    Ok(run.answer(took))
}

/// Receives samples until the end.
fn consume(name: &str, run: &Run, over: &AtomicBool, ready: &AtomicU32) -> Result {
    let node = NodeBuilder::new().create::<ipc::Service>()?;
    let service = node.service_builder(&name.try_into()?).publish_subscribe::<[u8]>().open()?;
    let bells =
        node.service_builder(&format!("{name}/bell").as_str().try_into()?).event().open()?;
    let listener: Listener<ipc::Service> = bells.listener_builder().create()?;
    let subscriber: Subscriber<ipc::Service, [u8], ()> = service.subscriber_builder().create()?;
    ready.fetch_add(1, Ordering::Release);
    while !over.load(Ordering::Acquire) {
        while let Some(sample) = subscriber.receive()? {
            run.take(sample.payload());
        }
        listener.timed_wait(|_| {}, LOOK)?;
    }
    Ok(())
}
