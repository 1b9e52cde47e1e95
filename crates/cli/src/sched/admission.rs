//! `oxorb sched admit`, `release`, `admitted`, and `load --server`: admission to a server that runs.

use std::fmt::Write as _;
use std::time::Duration;

use oxorb::{Admission as Served, Orb, Printable};
use oxorb_sched::time::{Nanos, Show};
use oxorb_sched::{DispatchModel, OsPriorities, Repository, Schedule, Strategy};
use serde_json::{Value, json};

use idl::{AdmissionAnswer, AdmissionRequest, AdmissionVerdict};
use oxorb_terminal::orb::with_args;
use oxorb_terminal::output::{Done, Failed, Format, because, print, print_json};
use stubs::ox_orb as idl;

// The Rust that build.rs made of idl/oxorb/admission.idl.
mod stubs {
    #![allow(missing_docs, dead_code, unreachable_pub)]
    oxorb::include_idl!("admission");
}

/// Most time that an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Server to ask.
#[derive(clap::Args)]
pub(crate) struct At {
    /// Address that the server listens at: corbaloc::HOST:PORT, or any reference to its object OxorbAdmission
    #[arg(long, value_name = "URL")]
    server: String,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Arguments of `oxorb sched admit`.
#[derive(clap::Args)]
pub(crate) struct AdmitArgs {
    /// Work to admit: `operation Radar::Track::update`, `object KEY`, `poa PATH` or `client ADDRESS`
    #[arg(required = true, value_name = "WHOSE")]
    whose: Vec<String>,
    /// Longest processor time of one request, as in 2ms
    #[arg(long, value_name = "TIME", value_parser = oxorb_sched::time::parse, required_unless_present = "share")]
    worst_case: Option<Nanos>,
    /// Shortest time between two requests, as in 50ms or 20Hz
    #[arg(long, value_name = "TIME", value_parser = oxorb_sched::time::parse_period, required_unless_present = "share")]
    period: Option<Nanos>,
    /// Time from a request to its answer; the period unless it is said
    #[arg(long, value_name = "TIME", value_parser = oxorb_sched::time::parse)]
    deadline: Option<Nanos>,
    /// CORBA priority at which its requests run, where the server goes by priorities
    #[arg(long, value_name = "N", default_value_t = 0)]
    priority: i16,
    /// Ask for an equal share of what is left instead of a guarantee
    #[arg(long, conflicts_with_all = ["worst_case", "period", "deadline"])]
    share: bool,
    #[command(flatten)]
    at: At,
}

/// Arguments of `oxorb sched release`.
#[derive(clap::Args)]
pub(crate) struct ReleaseArgs {
    /// Work, as it was admitted
    #[arg(required = true, value_name = "WHOSE")]
    whose: Vec<String>,
    #[command(flatten)]
    at: At,
}

/// Arguments of `oxorb sched admitted`.
#[derive(clap::Args)]
pub(crate) struct AdmittedArgs {
    #[command(flatten)]
    at: At,
}

pub(super) fn admit(args: &AdmitArgs) -> Done {
    let request = AdmissionRequest {
        whose: args.whose.join(" "),
        worst_case: args.worst_case.unwrap_or(0),
        period: args.period.unwrap_or(0),
        deadline: args.deadline.unwrap_or(0),
        priority: args.priority,
        shares: args.share,
    };
    ask(&Server::new(&args.at.server)?, &[request], args.at.format)
}

/// Admits operations to a server, all or none.
pub(super) fn admit_all(operations: &Repository, server: &str, format: Format) -> Done {
    let priorities = OsPriorities::range(1, 99)?;
    let (dm, urgency) = (Strategy::RMS, DispatchModel::Urgency);
    let schedule = Schedule::compute(operations, &dm, &urgency, &priorities)?;
    let request = |task: &oxorb_sched::Task| AdmissionRequest {
        whose: format!("operation {}", task.name),
        worst_case: task.wcet,
        period: task.period,
        deadline: task.deadline,
        priority: 0,
        shares: false,
    };
    let requests: Vec<AdmissionRequest> = schedule.tasks.tasks.iter().map(request).collect();
    ask(&Server::new(server)?, &requests, format)
}

fn ask(server: &Server, requests: &[AdmissionRequest], format: Format) -> Done {
    let answers = server.object.admit(requests);
    let answers = answers.map_err(|why| server.failed(why))?;
    let pairs = || requests.iter().zip(&answers);
    match format {
        Format::Json => {
            let all = pairs().map(|(request, answer)| told(&request.whose, answer));
            print_json(&json!({ "answers": all.collect::<Vec<Value>>() }))?;
        }
        Format::Text => {
            let mut out = String::new();
            for (request, answer) in pairs() {
                let _ = writeln!(out, "{}: {}", Printable(&request.whose), sentence(answer));
            }
            print(out)?;
        }
    }
    let admitted = |answer: &AdmissionAnswer| {
        matches!(answer.verdict, AdmissionVerdict::Guaranteed | AdmissionVerdict::BestEffort)
    };
    match answers.iter().all(admitted) {
        true => Ok(()),
        false => Err(Failed::Told),
    }
}

pub(super) fn release(args: &ReleaseArgs) -> Done {
    let server = Server::new(&args.at.server)?;
    let whose = args.whose.join(" ");
    let released = server.object.release(&whose);
    match (released.map_err(|why| server.failed(why))?, args.at.format) {
        (released, Format::Json) => print_json(&json!({ "released": released })),
        (true, Format::Text) => print(format!("{} is let go\n", Printable(&whose))),
        (false, Format::Text) => Err(because(format!(
            "{} is not admitted; `oxorb sched admitted` lists who is",
            Printable(&whose)
        ))),
    }
}

pub(super) fn admitted(args: &AdmittedArgs) -> Done {
    let server = Server::new(&args.at.server)?;
    let load = server.object.load().map_err(|why| server.failed(why))?;
    if args.at.format == Format::Json {
        let members = load.members.iter().map(|member| {
            let mut all = told(&member.wanted.whose, &member.has);
            all["worst_case_ns"] = member.wanted.worst_case.into();
            all["period_ns"] = member.wanted.period.into();
            all["deadline_ns"] = member.wanted.deadline.into();
            all["priority"] = member.wanted.priority.into();
            all
        });
        let uses = load.uses.iter().map(|used| {
            json!({
                "whose": used.whose,
                "budget": used.budget,
                "served": used.served,
                "refused": used.refused,
                "demoted": used.demoted,
                "overruns": used.overruns,
                "processor_time_ns": used.processor_time,
                "spent": used.spent,
            })
        });
        return print_json(&json!({
            "late_comers": if load.shares { "share" } else { "refuse" },
            "guaranteed_ppb": load.guaranteed,
            "members": members.collect::<Vec<Value>>(),
            "budgets": uses.collect::<Vec<Value>>(),
        }));
    }
    let mut out = format!(
        "guarantees take {} of the processor; late comers {}\n",
        oxorb_sched::Utilization(load.guaranteed),
        match load.shares {
            true => "share what is left",
            false => "are refused",
        },
    );
    for member in &load.members {
        let wanted = &member.wanted;
        let _ = write!(out, "{}: {}", Printable(&wanted.whose), sentence(&member.has));
        let _ = match wanted.shares {
            true => writeln!(out),
            false => writeln!(
                out,
                " (takes {} of each {}, deadline {})",
                Show(wanted.worst_case),
                Show(wanted.period),
                Show(wanted.deadline)
            ),
        };
    }
    for used in &load.uses {
        let _ = writeln!(
            out,
            "{}: {}: {} served, {} refused, {} demoted, {} overruns, {} used{}",
            Printable(&used.whose),
            used.budget,
            used.served,
            used.refused,
            used.demoted,
            used.overruns,
            Show(used.processor_time),
            if used.spent { ", spent" } else { "" },
        );
    }
    print(out)
}

/// Returns an answer as JSON.
fn told(whose: &str, answer: &AdmissionAnswer) -> Value {
    let verdict = match answer.verdict {
        AdmissionVerdict::Guaranteed => "guaranteed",
        AdmissionVerdict::BestEffort => "best effort",
        AdmissionVerdict::Refused => "refused",
        AdmissionVerdict::Unacceptable => "unacceptable",
    };
    json!({
        "whose": whose,
        "verdict": verdict,
        "response_ns": answer.response,
        "share_ns": answer.share,
        "share_period_ns": answer.share_period,
        "late": answer.late,
        "short_by_ns": answer.short_by,
        "because": answer.because,
    })
}

/// Returns an answer as a sentence.
fn sentence(answer: &AdmissionAnswer) -> String {
    let because = Printable(&answer.because);
    match answer.verdict {
        AdmissionVerdict::Guaranteed => {
            format!("guaranteed, answered within {}", Show(answer.response))
        }
        AdmissionVerdict::BestEffort => {
            let (share, period) = (Show(answer.share), Show(answer.share_period));
            let late = if answer.because.is_empty() { "" } else { ": " };
            format!("best effort, {share} of each {period}{late}{because}")
        }
        AdmissionVerdict::Refused => format!("refused: {because}"),
        AdmissionVerdict::Unacceptable => format!("not considered: {because}"),
    }
}

/// A server that admits.
struct Server {
    object: idl::AdmissionRef,
    url: String,
}

impl Server {
    /// Asks nobody yet.
    fn new(url: &str) -> Result<Server, Failed> {
        let named = url.contains('/') || !url.starts_with("corbaloc:");
        let url = match named {
            true => url.to_owned(),
            false => format!("{url}/{}", Served::NAME),
        };
        let orb = with_args(Orb::builder().connect_timeout(PATIENCE).round_trip_timeout(PATIENCE))
            .build()?;
        let object =
            orb.string_to_object(&url).map_err(|error| because(format!("{url}: {error}")))?;
        Ok(Server {
            object: oxorb::Interface::from_ref(oxorb::Interface::reference(&object).clone()),
            url,
        })
    }

    fn failed(&self, why: oxorb::SystemException) -> Failed {
        because(format!(
            "{} admits nobody: {why}\nthe server is to listen there and admit: -ORBAdmission late=refuse or late=share",
            self.url
        ))
    }
}
