//! Events by zenoh: a router, or supplier and consumers in one process, controlled by `oxbench events` on standard
//! input.
//!
//! Each consumer has its own session, and thus a TCP connection: to the router, or to the supplier's session.

mod run;

use std::error::Error;
use std::io::BufRead;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

use run::{Run, Task};
use zenoh::qos::{CongestionControl, Priority};
use zenoh::{Config, Session, Wait};

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

const TOPIC: &str = "oxbench/17/1";
/// Number of an event that only tests whether a consumer receives events.
const PROBE: u64 = u64::MAX;

fn main() -> Result {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["router"] => route(),
        ["driver", router] => drive(Some(router)),
        ["peers"] => drive(None),
        _ => Err("oxbench-zenoh router | driver ENDPOINT | peers".into()),
    }
}

fn session(mode: &str, listen: Option<&str>, connect: Option<&str>) -> Result<Session> {
    let mut config = Config::default();
    let mut set =
        |key: &str, value: String| config.insert_json5(key, &value).map_err(|why| why.to_string());
    set("mode", format!("{mode:?}"))?;
    set("scouting/multicast/enabled", "false".into())?;
    set("listen/endpoints", format!("{:?}", listen.into_iter().collect::<Vec<_>>()))?;
    set("connect/endpoints", format!("{:?}", connect.into_iter().collect::<Vec<_>>()))?;
    zenoh::open(config).wait().map_err(|why| why.to_string().into())
}

fn endpoint() -> Result<String> {
    let free = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    Ok(format!("tcp/{free}"))
}

/// Routes until standard input closes.
fn route() -> Result {
    let endpoint = endpoint()?;
    let _router = session("router", Some(&endpoint), None)?;
    println!("{endpoint}");
    for _ in std::io::stdin().lock().lines() {}
    Ok(())
}

fn drive(router: Option<&str>) -> Result {
    let own = endpoint()?;
    let supplier = match router {
        Some(router) => session("client", None, Some(router))?,
        None => session("peer", Some(&own), None)?,
    };
    let said = |why: zenoh::Error| why.to_string();
    let publisher = supplier
        .declare_publisher(TOPIC)
        .congestion_control(CongestionControl::Block)
        .priority(Priority::RealTime)
        .express(true)
        .wait()
        .map_err(said)?;
    run::listen(|task: Task| {
        let run = Arc::new(Run::new(task));
        let heard = Arc::new(std::sync::Mutex::new(vec![false; task.consumers as usize]));
        let mut consumers = Vec::new();
        for at in 0..task.consumers as usize {
            let consumer = session(
                if router.is_some() { "client" } else { "peer" },
                None,
                router.or(Some(&own)),
            )?;
            let (run, heard) = (Arc::clone(&run), Arc::clone(&heard));
            let subscriber = consumer
                .declare_subscriber(TOPIC)
                .callback(move |sample| {
                    let payload = sample.payload().to_bytes();
                    match payload.first_chunk().map(|one| u64::from_ne_bytes(*one)) {
                        Some(PROBE) => heard.lock().expect("nothing panics")[at] = true,
                        _ => run.take(&payload),
                    }
                })
                .wait()
                .map_err(said)?;
            consumers.push((subscriber, consumer));
        }
        // Subscriptions propagate asynchronously.
        let end = Instant::now() + run::PATIENCE;
        while !heard.lock().expect("nothing panics").iter().all(|one| *one) {
            if Instant::now() > end {
                return Err("not every consumer hears the supplier".into());
            }
            publisher.put(&PROBE.to_ne_bytes()[..]).wait().map_err(said)?;
            std::thread::sleep(Duration::from_millis(20));
        }
        let took =
            run.push_all(task, |payload| Ok(publisher.put(payload).wait().map_err(said)?))?;
        for (subscriber, consumer) in consumers {
            subscriber.undeclare().wait().map_err(said)?;
            consumer.close().wait().map_err(said)?;
        }
        Ok(run.answer(took))
    })
}
