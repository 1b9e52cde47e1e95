//! Calls of all kinds in all weathers and orders: each ends once, in time and with a true result, and leaves nothing
//! behind.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use oxorb_object::{CompletionStatus, SystemException, Version};
use oxorb_sys::sync::Mutex;

use crate::policy::{RelativeRoundtripTimeout, Retry, SyncScope};
use crate::sim::simulation::network::{
    Connect, ConnectionFaults, SimulatedNetwork, Trouble, Weather, network,
};
use crate::sim::simulation::pair::{
    NOTE, ServantWork, SimulatedServer, assert_true, elapsed, ms, run, run_async, secs,
};
use crate::sim::simulation::random::Random;
use crate::sim::simulation::{self, simulate, thread};
use crate::{AsyncReply, ClientConnections, Concurrency, LogLevel, Options, Orb, Ref};

/// Default number of runs (`OXORB_SIMULATION_SEEDS`).
const SEEDS: u64 = 12;

/// Number of actions of one caller.
const ACTIONS: usize = 80;

/// Tolerance of a time-out: for ticks of periodic checks, a write to the server, the steps of all threads, and a 64th
/// of the longest limit.
const LATE: Duration = ms(1000);

#[test]
fn whatever_happens_every_call_ends_once_in_time_and_with_the_truth() {
    simulate(SEEDS, || {
        let mut random = simulation::random();
        let net = network();
        let server_options = server_options(&mut random);
        let client_options = client_options(&net, &mut random);
        println!("{:?} {:?}", client_options.client_connections, server_options.concurrency);
        let alone = matches!(
            client_options.client_connections,
            ClientConnections::Private | ClientConnections::Cached
        );
        let server = SimulatedServer::start(&net, "server", server_options.clone());
        let worker = Arc::clone(&server.worker);
        let client = Orb::new(client_options);
        let object = server.object(&client);
        let record = Arc::new(Record::default());
        let over = Arc::new(AtomicBool::new(false));
        let weather = {
            let (net, over, random) = (net.clone(), Arc::clone(&over), simulation::random());
            thread::spawn(move || bad_weather(&net, server, server_options, &over, random))
        };
        let callers: Vec<_> = (0..1 + random.below(4))
            .map(|_| {
                let (object, record) = (object.clone(), Arc::clone(&record));
                let random = simulation::random();
                thread::spawn(move || call(&object, alone, &record, random))
            })
            .collect();
        for caller in callers {
            caller.join().expect("a caller");
        }
        over.store(true, Ordering::SeqCst);
        let server = weather.join().expect("the weather");
        // The weather becomes fair again, and all servants have time to end.
        net.set(|weather| *weather = Weather::default());
        net.reset_all();
        thread::sleep(secs(100));
        let told = run(&object.with(Retry::times(3)), &ServantWork::number(-1));
        assert_eq!(told, Ok(0), "fair weather again");
        for (number, told) in record.all() {
            assert_true(told, number, worker.ran(number));
        }
        let held = server.orb.connection_statistics().octets_held;
        assert_eq!(held, 0, "octets are counted that nobody holds");
        client.shutdown(true).expect("not within a request");
        server.orb.shutdown(true).expect("not within a request");
        thread::sleep(secs(100));
        assert!(server.orb.registry().has_ended(), "connections are left");
        assert_eq!(server.orb.connection_statistics().open, 0);
    });
}

fn pick<T: Copy>(random: &mut Random, among: &[T]) -> T {
    among[random.below(among.len() as u64) as usize]
}

fn server_options(random: &mut Random) -> Options {
    let serving = [
        Concurrency::ThreadPerConnection,
        Concurrency::LeaderFollowers { threads: 1 },
        Concurrency::LeaderFollowers { threads: 3 },
        Concurrency::Reactive,
        Concurrency::ThreadPerRequest { threads: 8 },
    ];
    Options {
        concurrency: pick(random, &serving),
        stall_timeout: secs(5),
        idle_timeout: pick(random, &[None, Some(ms(500)), Some(secs(5))]),
        max_requests_per_connection: pick(random, &[1, 2, 64]),
        fragment_size: pick(random, &[None, Some(1024)]),
        log_level: LogLevel::Off,
        ..Options::default()
    }
}

fn client_options(net: &SimulatedNetwork, random: &mut Random) -> Options {
    let sharing = [
        ClientConnections::Private,
        ClientConnections::Cached,
        ClientConnections::Multiplexed,
        ClientConnections::LeaderFollowers,
    ];
    Options {
        protocols: net.protocols(),
        client_connections: pick(random, &sharing),
        client_idle_timeout: pick(random, &[None, Some(ms(300)), Some(secs(3))]),
        max_giop: pick(random, &[Version::V1_0, Version::V1_1, Version::V1_2, Version::V1_2]),
        fragment_size: pick(random, &[None, Some(1024)]),
        stall_timeout: secs(5),
        log_level: LogLevel::Off,
        ..Options::default()
    }
}

/// Outcomes of all calls.
#[derive(Default)]
struct Record {
    next: AtomicI64,
    told: Mutex<Vec<(i64, Result<i64, SystemException>)>>,
}

impl Record {
    fn number(&self) -> i64 {
        self.next.fetch_add(1, Ordering::SeqCst)
    }

    fn note(&self, number: i64, told: Result<i64, SystemException>) {
        let mut all = self.told.lock();
        all.push((number, told));
    }

    fn all(&self) -> Vec<(i64, Result<i64, SystemException>)> {
        let all = self.told.lock();
        all.clone()
    }
}

/// An outstanding asynchronous call, and the time by which it has to end.
struct UnderWay {
    number: i64,
    answer: AsyncReply<i64, SystemException>,
    until: Option<Duration>,
}

impl UnderWay {
    fn end(self, record: &Record) {
        // The caller may ask for the answer only after the limit, so the time of this query counts if it is later.
        let until = self.until.map(|until| until.max(elapsed()));
        let told = self.answer.wait();
        in_time(until, self.number, &told);
        record.note(self.number, told);
    }
}

#[track_caller]
fn in_time(until: Option<Duration>, number: i64, told: &Result<i64, SystemException>) {
    let now = elapsed();
    if let Some(until) = until {
        let late = now.saturating_sub(until);
        assert!(late <= LATE, "call {number} ended {late:?} late, at {now:?}: {told:?}");
    }
}

fn call(object: &Ref, alone: bool, record: &Record, mut random: Random) {
    let mut under_way = VecDeque::new();
    for _ in 0..ACTIONS {
        let number = record.number();
        let takes = match random.below(4) {
            0 => ms(random.below(3_000)),
            1 => ms(random.below(20)),
            _ => ms(0),
        };
        let mut work = ServantWork::number(number).taking(takes);
        if random.once_in(5) {
            work = work.octets(random.below(20_000) as usize, random.below(20_000) as usize);
        }
        if random.once_in(6) {
            work = work.later();
        } else if random.once_in(6) {
            work = work.stopping();
        }
        let limit = match random.below(4) {
            0 => Some(ms(1 + random.below(100))),
            1 => Some(ms(1 + random.below(4_000))),
            2 => Some(secs(20)),
            _ => None,
        };
        let mut object = object.with(RelativeRoundtripTimeout(limit.unwrap_or(secs(30))));
        if random.once_in(3) {
            object = object.with(Retry::times(random.below(4) as u32));
        }
        let until = Some(elapsed() + limit.unwrap_or(secs(30)));
        if std::env::var_os("OXORB_SIMULATION_TRACE").is_some() {
            println!("{:?}: {work:?} within {limit:?}", elapsed());
        }
        match random.below(10) {
            0..4 => {
                let told = run(&object, &work);
                // A small request is assumed to be written without blocking: if its write blocks, the caller then waits
                // for the reply for the whole limit again.
                let more = match alone {
                    true => limit.unwrap_or(secs(30)),
                    false => ms(0),
                };
                in_time(until.map(|until| until + more), number, &told);
                record.note(number, told);
            }
            4..7 => {
                let answer = run_async(&object, &work);
                let call = UnderWay { number, answer, until };
                match random.below(4) {
                    0 => call.end(record),
                    1 => {
                        // The caller abandons the call.
                        drop(call);
                        record.note(number, Err(unknown()));
                    }
                    _ => under_way.push_back(call),
                }
            }
            7 => {
                let scopes = [
                    SyncScope::None,
                    SyncScope::WithTransport,
                    SyncScope::WithServer,
                    SyncScope::WithTarget,
                ];
                let object = object.with(pick(&mut random, &scopes));
                let told = object.send(&NOTE, |e| work.write(e));
                in_time(until, number, &told.map(|()| 0));
                record.note(number, Err(told.err().unwrap_or(unknown())));
            }
            8 => thread::sleep(ms(random.below(2_000))),
            _ => {
                for call in under_way.drain(..) {
                    call.end(record);
                }
            }
        }
    }
    for call in under_way {
        call.end(record);
    }
}

/// Returns a placeholder for an unknown outcome.
fn unknown() -> SystemException {
    SystemException::comm_failure(0, CompletionStatus::Maybe)
}

/// Changes the weather until `over`; the server may also be shut down and restarted.
fn bad_weather(
    net: &SimulatedNetwork,
    mut server: SimulatedServer,
    options: Options,
    over: &AtomicBool,
    mut random: Random,
) -> SimulatedServer {
    while !over.load(Ordering::SeqCst) {
        thread::sleep(ms(random.below(1_500)));
        let delay = ms(random.below(30));
        if std::env::var_os("OXORB_SIMULATION_TRACE").is_some() {
            println!("{:?}: the weather changes", elapsed());
        }
        match random.below(10) {
            0 => net.reset_all(),
            1 => net.stall_all(),
            2 => net.set(|weather| {
                weather.connect = match random.below(3) {
                    0 => Connect::Silent,
                    _ => Connect::Refused(random.below(4) as u32),
                };
            }),
            3 | 4 => net.set(|weather| weather.connect = Connect::Made),
            5 => net.set(|weather| {
                weather.latency = delay;
                weather.jitter = delay;
            }),
            6 => net.set(|weather| {
                let pieces = [usize::MAX, 1, 7, 500];
                weather.piece = pick(&mut random, &pieces);
                weather.pace = Duration::from_micros(random.below(50));
                weather.window = pick(&mut random, &[64 << 10, 4 << 10, 500]);
            }),
            7 => {
                let place = random.below(3_000);
                let troubles = [Trouble::None, Trouble::Cut(place), Trouble::Stall(place)];
                let fault = ConnectionFaults {
                    to_server: pick(&mut random, &troubles),
                    to_client: pick(&mut random, &troubles),
                };
                net.set(|weather| {
                    weather.faults = VecDeque::from([fault, ConnectionFaults::default()])
                });
            }
            8 if random.once_in(3) => {
                server.orb.shutdown(true).expect("not within a request");
                let worker = Arc::clone(&server.worker);
                server = SimulatedServer::start_with(net, "server", options.clone(), worker);
            }
            _ => net.set(|weather| *weather = Weather::default()),
        }
    }
    server
}
