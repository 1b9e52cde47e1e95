//! Side of a pair of processes that exchange queries and replies by zenoh in shared memory, controlled by `oxbench` on
//! standard input.
//!
//! A query and its reply carry as many octets as the call's body, in a memory pool that zenoh shares; the descriptors
//! are sent over a UNIX socket. Each side copies octets into such memory, and reads them where the other side wrote
//! them. With `placed`, the client allocates memory of the full size and writes only its first octet.

use std::error::Error;
use std::io::{BufRead, Write};
use std::time::{Duration, Instant};

use zenoh::bytes::ZBytes;
use zenoh::qos::CongestionControl;
use zenoh::query::{ConsolidationMode, Query};
use zenoh::shm::{
    BlockOn, GarbageCollect, PosixShmProviderBackend, ShmProvider, ShmProviderBuilder, ZShmMut,
};
use zenoh::{Config, Session, Wait};

type Failed = Box<dyn Error + Send + Sync>;
type Result<T = ()> = std::result::Result<T, Failed>;

fn main() -> Result {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["server", path] => serve(path),
        ["client", path] => call(path, false),
        ["client", path, "placed"] => call(path, true),
        _ => Err("oxbench-zenoh-shm server PATH, oxbench-zenoh-shm client PATH [placed]".into()),
    }
}

/// Key of the queries.
const KEY: &str = "oxbench/cubit";

/// First octet of a query for a reply of one octet; others are returned unchanged.
const SENT: u8 = 0xff;

/// Size in octets of a pool: several of the largest messages.
const POOL: usize = 80 << 20;

/// Longest time until the client discovers the server.
const PATIENCE: Duration = Duration::from_secs(10);

/// Threshold from which zenoh moves a message from ordinary memory into shared memory by itself. No message reaches it,
/// so that only the memory of the pool is shared.
const NEVER: usize = 1 << 30;

/// Opens a session over one UNIX socket, without discovery of other peers.
fn open(path: &str, listens: bool) -> Result<Session> {
    let mut config = Config::default();
    let role = if listens { "listen" } else { "connect" };
    let other = if listens { "connect" } else { "listen" };
    for (key, value) in [
        ("mode", r#""peer""#.to_owned()),
        (&format!("{role}/endpoints"), format!(r#"["unixsock-stream/{path}"]"#)),
        (&format!("{other}/endpoints"), "[]".to_owned()),
        ("scouting/multicast/enabled", "false".to_owned()),
        ("scouting/gossip/enabled", "false".to_owned()),
        ("transport/shared_memory/enabled", "true".to_owned()),
        (
            "transport/shared_memory/transport_optimization/message_size_threshold",
            NEVER.to_string(),
        ),
    ] {
        config.insert_json5(key, &value)?;
    }
    zenoh::open(config).wait()
}

struct Pool(ShmProvider<PosixShmProviderBackend>);

impl Pool {
    fn new() -> Result<Pool> {
        Ok(Pool(ShmProviderBuilder::default_backend(POOL).wait()?))
    }

    /// Allocates memory for a message; it contains octets of earlier ones.
    fn take(&self, octets: usize) -> Result<ZShmMut> {
        let taking = self.0.alloc(octets);
        Ok(taking.with_policy::<BlockOn<GarbageCollect>>().wait()?)
    }

    fn copy(&self, octets: &[u8]) -> Result<ZShmMut> {
        let mut memory = self.take(octets.len())?;
        memory.copy_from_slice(octets);
        Ok(memory)
    }
}

/// Answers queries until standard input closes, when its parent ends it.
fn serve(path: &str) -> Result {
    let session = open(path, true)?;
    let pool = Pool::new()?;
    let queryable = session
        .declare_queryable(KEY)
        .callback(move |query| {
            if let Err(error) = answer(&pool, &query) {
                eprintln!("a reply failed: {error}");
            }
        })
        .wait()?;
    println!("{path}");
    for _ in std::io::stdin().lock().lines() {}
    queryable.undeclare().wait()?;
    session.close().wait()
}

fn answer(pool: &Pool, query: &Query) -> Result {
    let payload = query.payload().ok_or("a query came without octets")?;
    let reply = payload_of(payload, |octets| match octets.first() {
        Some(&SENT) => pool.copy(&[SENT]),
        _ => pool.copy(octets),
    })??;
    query.reply(KEY, reply).express(true).wait()
}

/// Reads octets only where they were written.
fn payload_of<T>(payload: &ZBytes, read: impl FnOnce(&[u8]) -> T) -> Result<T> {
    let shared = payload.as_shm();
    Ok(read(shared.ok_or("octets came over the socket, not in shared memory")?))
}

fn call(path: &str, placed: bool) -> Result {
    let session = open(path, false)?;
    let pool = Pool::new()?;
    let querier = session
        .declare_querier(KEY)
        .consolidation(ConsolidationMode::None)
        .congestion_control(CongestionControl::Block)
        .express(true)
        .wait()?;
    let begun = Instant::now();
    while !querier.matching_status().wait()?.matching() {
        if begun.elapsed() > PATIENCE {
            return Err("no server was found".into());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let mut samples = Vec::new();
    let mut lines = std::io::stdin().lock().lines();
    let mut answer = "ready".to_owned();
    loop {
        println!("{answer}");
        std::io::stdout().flush()?;
        let Some(line) = lines.next().transpose()? else {
            return session.close().wait();
        };
        let words: Vec<&str> = line.split_whitespace().collect();
        answer = match words[..] {
            ["run", operation, size, calls] => {
                let octets = octets(operation, size.parse()?);
                let calls: usize = calls.parse()?;
                samples = Vec::with_capacity(calls);
                let wanted = match octets[0] {
                    SENT => 1,
                    _ => octets.len(),
                };
                let mut before = Instant::now();
                for _ in 0..calls {
                    let query = match placed {
                        true => {
                            let mut memory = pool.take(octets.len())?;
                            memory[0] = octets[0];
                            memory
                        }
                        false => pool.copy(&octets)?,
                    };
                    let replies = querier.get().payload(query).wait()?;
                    let reply = replies.recv()?;
                    let sample = reply.result().map_err(|_| "the server failed")?;
                    let length = payload_of(sample.payload(), <[u8]>::len)?;
                    if length != wanted {
                        return Err("another length came back".into());
                    }
                    let after = Instant::now();
                    samples.push((after - before).as_nanos());
                    before = after;
                }
                "done".to_owned()
            }
            ["samples"] => samples.iter().map(|it| format!("{it} ")).collect(),
            _ => {
                return Err(format!(
                    "standard input has the line {line:?}, which is no command of this process; its commands are run OPERATION \
                     SIZE CALLS and samples"
                )
                .into());
            }
        };
    }
}

/// Returns the body of a call of the cubit, which always has an octet.
fn octets(operation: &str, size: usize) -> Vec<u8> {
    let (first, length) = match operation {
        "void" | "octet" => (0, 1),
        "short" => (0, 2),
        "long" => (0, 4),
        "struct" => (0, 10),
        "sent" => (SENT, 4 + size),
        _ => (0, 4 + size),
    };
    let mut octets: Vec<u8> = (0..length).map(|at| at as u8).collect();
    octets[0] = first;
    octets
}
