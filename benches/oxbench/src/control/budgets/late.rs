//! (c) Clients that arrive when the server can no longer guarantee their work are refused, or share the remaining time.
//! The servers are a video server and a stock quote service.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use oxorb::Interface as _;
use oxorb::admission::{AdmissionRequest, BudgetOf};
use oxorb::sched::admission::Answer;

use super::report::{Client, Late};
use super::station::Server;
use crate::Result;

/// Number of clients of each service.
const CLIENTS: usize = 8;

/// Processor time and period of a frame.
const FRAME: (u32, Duration) = (6_000, Duration::from_millis(40));

/// Processor time of a quotation.
const QUOTE: u32 = 500;

/// Measures both policies, for both services.
pub(super) fn measure(quick: bool) -> Result<Vec<Late>> {
    let time = Duration::from_millis(if quick { 400 } else { 4_000 });
    let mut all = Vec::new();
    for service in ["video", "quotes"] {
        for policy in ["refuse", "share"] {
            eprintln!("(c) {service}, late comers {policy} ...");
            all.push(one(service, policy, time)?);
        }
    }
    Ok(all)
}

fn one(service: &'static str, policy: &'static str, time: Duration) -> Result<Late> {
    let how = format!("late={policy} beyond=refuse guarantee=90%");
    let server = Server::start(&[("Admission", &how)])?;
    let stations = (0..CLIENTS).map(|_| server.station()).collect::<Result<Vec<_>>>()?;
    let mut admitted = Vec::new();
    for (local, ..) in &stations {
        let of = BudgetOf::object(local.reference()).ok_or("a reference of this server")?;
        let (worst, period) = (Duration::from_micros(FRAME.0.into()) + SLACK, FRAME.1);
        // Quotations have no deadline: under `share`, all get equal shares; under `refuse`, each requests as much as a
        // film.
        let request = match (service, policy) {
            ("quotes", "share") => AdmissionRequest::share(of),
            _ => AdmissionRequest::new(of, worst, period),
        };
        admitted.push(server.orb.admit(request)?);
    }
    // Clients that were admitted later have reduced the shares of earlier clients.
    let share = admitted.iter().rev().find_map(|answer| match answer {
        Answer::BestEffort { share, .. } => Some(share),
        _ => None,
    });
    let paid = share.map_or(0.0, |share| {
        let periods = time.as_nanos() as f64 / share.period as f64;
        periods * (share.time as f64 / 1e3) / f64::from(FRAME.0)
    });
    let over = AtomicBool::new(false);
    let clients = thread::scope(|scope| {
        let calls: Vec<_> = stations
            .iter()
            .zip(&admitted)
            .map(|((_, _, station), answer)| {
                let over = &over;
                scope.spawn(move || {
                    let mut client = Client {
                        verdict: match answer {
                            Answer::Guaranteed { .. } => "guaranteed",
                            Answer::BestEffort { .. } => "best effort",
                            Answer::Refused(_) => "refused",
                        },
                        paid: match answer {
                            Answer::BestEffort { .. } if service == "video" => paid,
                            _ => 0.0,
                        },
                        ..Client::default()
                    };
                    // A refused client makes no calls.
                    while client.verdict != "refused" && !over.load(Ordering::Relaxed) {
                        let began = Instant::now();
                        let micros = if service == "video" { FRAME.0 } else { QUOTE };
                        match station.serve(micros) {
                            Ok(()) => client.served += 1,
                            Err(_) => client.refused += 1,
                        }
                        let took = began.elapsed();
                        if service == "video" {
                            client.late += u64::from(took > FRAME.1);
                            thread::sleep(FRAME.1.saturating_sub(took));
                        } else {
                            thread::sleep(Duration::from_micros(200));
                        }
                    }
                    client
                })
            })
            .collect();
        thread::sleep(time);
        over.store(true, Ordering::Relaxed);
        let clients = calls.into_iter().map(|call| call.join());
        clients.collect::<Result<Vec<Client>, _>>().map_err(|_| "a client panicked")
    })?;
    for (_, client, _) in &stations {
        client.shutdown(true)?;
    }
    server.orb.shutdown(true)?;
    Ok(Late { service, policy, seconds: time.as_secs_f64(), clients })
}

/// Processor time of reading and answering a request, in addition to its work.
const SLACK: Duration = Duration::from_micros(400);
