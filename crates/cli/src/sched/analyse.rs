//! `oxorb sched analyse`.

use std::fmt::Write as _;

use anstyle::Style;
use oxorb_sched::analysis::partition::Fit;
use oxorb_sched::analysis::{self, DeadlineOutcome, End, NoChain, Report, Unchained, Verdict};
use oxorb_sched::time::Show;
use oxorb_sched::{Schedule, TaskSet};
use serde_json::{Value, json};

use super::how::{Source, one_of};
use super::load::{Loaded, is_wrong};
use super::more::{self, Notes};
use super::{cores, flows, servers};
use oxorb_terminal::output::{
    BAD, Done, FAINT, Failed, Format, GOOD, STRONG, because, print, print_json,
};

/// Options of `oxorb sched analyse`.
#[derive(clap::Args)]
pub(crate) struct What {
    /// Report by how much each operation may take longer, and by how much its period may be shorter
    #[arg(long)]
    pub(super) sensitivity: bool,
    /// Spread operations over this number of processors, each analysed alone; reports how many are used
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    cores: Option<u16>,
    /// Placement of operations with --cores, heaviest first: first (processor with space), best (the fullest with
    /// space) or worst (the emptiest); default: worst, then first, then best
    #[arg(long, value_name = "NAME", requires = "cores", value_parser = one_of(Fit::ALL, Fit::name))]
    pub(super) fit: Option<Fit>,
    /// Let all processors of --cores serve one queue; the tests are then sufficient but not exact
    #[arg(long, requires = "cores", conflicts_with = "fit")]
    pub(super) global: bool,
    /// Report an upper bound on the probability of a late job, from the declared distributions of execution times
    #[arg(long)]
    pub(super) chance: bool,
    /// Analyse each file separately instead of all files together; fails if one of them is not safe
    #[arg(long)]
    each: bool,
}

impl What {
    /// Reports whether the options request an analysis that is not available for several nodes.
    fn is_about_one_processor(&self) -> bool {
        self.sensitivity || self.cores.is_some() || self.chance
    }
}

/// Findings of an analysis, as text and as JSON.
pub(super) struct Found {
    pub(super) json: Value,
    pub(super) text: String,
    pub(super) safe: bool,
}

pub(super) fn run(source: &Source, what: &What, format: Format) -> Done {
    if what.each {
        return each(source, what, format);
    }
    let found = found(&source.load()?, source, what)?;
    match format {
        Format::Json => print_json(&found.json)?,
        Format::Text => print(found.text)?,
    }
    if found.safe { Ok(()) } else { Err(Failed::Told) }
}

/// Analyses one file after the other; an error in one does not stop the others.
fn each(source: &Source, what: &What, format: Format) -> Done {
    let mut documents = Vec::new();
    let mut safe = 0;
    for file in &source.files {
        let loaded = source.how.load(std::slice::from_ref(file));
        let name = file.display().to_string();
        let (mut json, text) = match loaded.and_then(|loaded| found(&loaded, source, what)) {
            Ok(found) => {
                safe += usize::from(found.safe);
                (found.json, found.text)
            }
            Err(Failed::Because(why)) => {
                let told = format!("{BAD}error{BAD:#}: {}\n", oxorb::values::Printable(&why));
                (json!({"safe": false, "error": why}), told)
            }
            // A failure without a message comes from the IDL compiler, which has printed the message.
            Err(Failed::Told) => (json!({"safe": false, "error": "wrong IDL"}), String::new()),
        };
        match format {
            Format::Json => {
                json["file"] = name.into();
                documents.push(json);
            }
            Format::Text => print(format!("{STRONG}{name}{STRONG:#}\n{text}\n"))?,
        }
    }
    let files = source.files.len();
    match format {
        Format::Json => print_json(&documents)?,
        Format::Text => print(format!("{safe} of {files} files are safe\n"))?,
    }
    match safe == files && files > 0 {
        true => Ok(()),
        false => Err(Failed::Told),
    }
}

/// Analyses the loaded operations.
fn found(loaded: &Loaded, source: &Source, what: &What) -> Result<Found, Failed> {
    if !loaded.system.is_empty() {
        return match what.is_about_one_processor() || source.how.optimal {
            false => flows::found(loaded, &source.how),
            true => Err(because(
                "--sensitivity, --cores, --chance and --optimal apply to one processor; specify it with --node",
            )),
        };
    }
    if loaded.is_fed {
        return Err(because(
            "jobs on this node begin when steps on other nodes end; analyse all nodes, without --node",
        ));
    }
    let schedule = source.how.schedule(loaded)?;
    let findings = Findings::of(loaded, &schedule);
    if let Some(cores) = what.cores {
        return cores::found(loaded, &schedule, &findings, usize::from(cores), what);
    }
    let set = &schedule.tasks;
    let report = servers::analyse(loaded, &schedule);
    let notes = Notes::of(loaded, &schedule, what)?;
    let mixed = match analysis::mixed::is_mixed(set) {
        true => Some(analysis::mixed::analyse(set)?),
        false => None,
    };
    let servers = servers::found(loaded, &schedule);
    let kept = |one: &analysis::mixed::MixedVerdict| {
        one.meets() || !(one.is_high || set.tasks[one.task].critical)
    };
    let safe = findings.sound()
        && report.protects_critical(set)
        && mixed.iter().flatten().all(kept)
        && servers.iter().all(|one| one.is_proved());
    let mut json = as_json(&schedule, &report, &findings);
    json["safe"] = safe.into();
    notes.add_to(&mut json, &report);
    let mut text = head(&schedule, &report, &findings);
    text.push_str(&verdicts_with(set, &report.verdicts, &notes));
    text.push_str(&chains(set, &report.chains));
    text.push_str(&unchained(set, &report.unchained));
    if let Some(mixed) = &mixed {
        text.push_str(&more::mixed_text(set, mixed));
        json["mixed_criticality"] = more::mixed_json(set, mixed);
    }
    if !servers.is_empty() {
        servers.iter().for_each(|one| text.push_str(&one.as_text()));
        json["servers"] = servers.iter().map(servers::Served::as_json).collect::<Vec<_>>().into();
    }
    text.push_str(&notes.last_lines());
    text.push_str(&conclusion(&schedule, &report, &findings, safe));
    Ok(Found { json, text, safe })
}

/// Objections to a schedule that are found before any deadline is tested.
pub(super) struct Findings {
    /// Lines to print.
    pub(super) told: Vec<String>,
    /// Number of lines that are errors of the operations.
    pub(super) errors: usize,
    /// Reasons why the schedule is invalid on one processor.
    problems: Vec<String>,
}

impl Findings {
    fn of(loaded: &Loaded, schedule: &Schedule) -> Findings {
        let anomalies = schedule.anomalies.iter();
        Findings {
            told: anomalies.clone().map(|found| loaded.told(found)).collect(),
            errors: anomalies.filter(|found| is_wrong(found)).count(),
            problems: schedule.problems.iter().map(|problem| format!("error: {problem}")).collect(),
        }
    }

    /// Reports whether verdicts cover all operations, and a schedule exists.
    fn sound(&self) -> bool {
        self.errors == 0 && self.problems.is_empty()
    }
}

/// Returns the verdict on the whole set as one line.
fn conclusion(schedule: &Schedule, report: &Report, findings: &Findings, safe: bool) -> String {
    let tasks = &schedule.tasks.tasks;
    let open = |verdict: &&Verdict| verdict.outcome != DeadlineOutcome::Meets;
    let lost = report.verdicts.iter().filter(open);
    let critical = lost.clone().filter(|verdict| tasks[verdict.task].critical).count();
    let others = lost.count() - critical;
    let wrong = findings.errors + findings.problems.len();
    if wrong == 0 && critical == 0 && !safe {
        return format!("\n{BAD}not safe{BAD:#}: a server or a mode of overruns is not proved\n");
    }
    if wrong == 0 && critical == 0 {
        let rest = match others {
            0 => String::new(),
            others => format!("; {others} of other operations are not"),
        };
        return format!("\n{GOOD}safe{GOOD:#}: every critical deadline is proved{rest}\n");
    }
    let mut why = Vec::new();
    if wrong > 0 {
        why.push(format!("{wrong} error{}", if wrong == 1 { "" } else { "s" }));
    }
    if critical > 0 {
        let are = if critical == 1 { "deadline is" } else { "deadlines are" };
        why.push(format!("{critical} critical {are} not proved"));
    }
    format!("\n{BAD}not safe{BAD:#}: {}\n", why.join(", "))
}

fn head(schedule: &Schedule, report: &Report, findings: &Findings) -> String {
    let mut out = String::new();
    for told in findings.told.iter().chain(&findings.problems) {
        let _ = writeln!(out, "{told}");
    }
    let bounds = &report.bounds;
    let level = |level: Option<i32>| level.map_or("none".into(), |level| level.to_string());
    let frame = schedule.frame.map_or("over 36 years".into(), |frame| Show(frame).to_string());
    let _ = writeln!(
        out,
        "{STRONG}{}{STRONG:#}, dispatched by {}: {} in all, {} critical; frame {frame}",
        schedule.strategy, schedule.tasks.model, schedule.total, schedule.critical
    );
    let _ = writeln!(
        out,
        "bound for {} chains of periods {:.1} % {FAINT}(Liu and Layland){FAINT:#}, product {:.3} of 2 \
         {FAINT}(hyperbolic){FAINT:#}, phasing penalty {:.1} %",
        bounds.chains,
        bounds.liu_layland * 100.0,
        bounds.hyperbolic,
        bounds.phasing_penalty * 100.0
    );
    let _ = writeln!(out, "critical: {}", schedule.critical_set);
    let exact = report.guaranteed_priority(&schedule.tasks).map(|band| band as i32);
    let _ = writeln!(
        out,
        "critical down to priority {}, guaranteed down to {} {FAINT}(by the test of TAO's scheduling service: \
         {}){FAINT:#}\n",
        level(schedule.minimum_critical_priority),
        level(exact),
        level(schedule.minimum_guaranteed_priority)
    );
    out
}

/// Returns the symbol of an outcome and its style.
pub(super) fn mark(outcome: DeadlineOutcome) -> (Style, &'static str) {
    match outcome {
        DeadlineOutcome::Meets => (GOOD, "ok  "),
        DeadlineOutcome::Misses => (BAD, "miss"),
        DeadlineOutcome::Unproven => (BAD, "open"),
    }
}

pub(super) fn verdicts<'a>(
    set: &TaskSet,
    verdicts: impl IntoIterator<Item = &'a Verdict>,
) -> String {
    verdicts_with(set, verdicts, &Notes::default())
}

fn verdicts_with<'a>(
    set: &TaskSet,
    verdicts: impl IntoIterator<Item = &'a Verdict>,
    notes: &Notes,
) -> String {
    let mut out = String::new();
    for verdict in verdicts {
        let task = &set.tasks[verdict.task];
        let (style, mark) = mark(verdict.outcome);
        let critical = if task.critical { "critical" } else { "        " };
        let _ = write!(
            out,
            "{style}{mark}{style:#} {critical} {:>3}  {}",
            task.band,
            verdict.explain(set)
        );
        out.push_str(&notes.of_task(verdict.task));
        out.push('\n');
    }
    out
}

/// Returns chains of events with their end-to-end bounds, as text.
fn chains(set: &TaskSet, chains: &[End]) -> String {
    let mut out = String::new();
    for End { steps, firsts, response } in chains {
        let names: Vec<&str> = names(set, steps).collect();
        let (begin, rest) = names.split_at(*firsts);
        let path = [&[begin.join(" + ").as_str()], rest].concat().join(" -> ");
        let first = match begin {
            [first] => (*first).to_owned(),
            several => format!("the last of {}", several.join(", ")),
        };
        let _ = match response {
            Some(response) => {
                let within = Show(*response);
                writeln!(out, "chain {path}: done at most {within} after the release of {first}")
            }
            None => writeln!(out, "chain {path}: no end-to-end bound"),
        };
    }
    out
}

/// Returns receivers of events without an end-to-end bound, with the reason, as text.
fn unchained(set: &TaskSet, without: &[Unchained]) -> String {
    let mut out = String::new();
    for Unchained { task, why } in without {
        let (name, why) = (&set.tasks[*task].name, reason(set, why));
        let _ = writeln!(out, "{name}: no end-to-end bound: {why}");
    }
    out
}

/// Returns the reason in words.
fn reason(set: &TaskSet, why: &NoChain) -> String {
    match why {
        NoChain::Periods(firsts) => {
            let first = |&at: &usize| {
                let task = &set.tasks[at];
                format!("{} ({})", task.name, Show(task.period))
            };
            let firsts: Vec<String> = firsts.iter().map(first).collect();
            let firsts = firsts.join(", ");
            format!("its first senders have different periods: {firsts}")
        }
        NoChain::Step(at) => {
            let name = &set.tasks[*at].name;
            format!("{name} has an offset or jitter, or another period than its senders")
        }
        NoChain::Circle => "its events lead back to it".into(),
        _ => "its senders do not form a chain".into(),
    }
}

fn names<'s>(set: &'s TaskSet, places: &'s [usize]) -> impl Iterator<Item = &'s str> {
    places.iter().map(|&place| set.tasks[place].name.as_str())
}

/// Returns a verdict as JSON.
pub(super) fn verdict_json(set: &TaskSet, verdict: &Verdict) -> Value {
    let task = &set.tasks[verdict.task];
    let waits = verdict.waits.iter().map(
        |wait| json!({"for": set.tasks[wait.task].name, "jobs": wait.jobs, "time_ns": wait.time}),
    );
    json!({
        "operation": task.name,
        "outcome": format!("{:?}", verdict.outcome).to_lowercase(),
        "critical": task.critical,
        "criticality": task.criticality.name(),
        "preemption_priority": task.band,
        "wcet_ns": task.wcet,
        "period_ns": task.period,
        "deadline_ns": task.deadline,
        "response_ns": verdict.response,
        "blocking_ns": verdict.blocking,
        "waits": waits.collect::<Vec<_>>(),
        "because": verdict.explain(set).to_string(),
    })
}

fn as_json(schedule: &Schedule, report: &Report, findings: &Findings) -> Value {
    let set = &schedule.tasks;
    let verdicts = report.verdicts.iter().map(|it| verdict_json(set, it));
    let chains = report.chains.iter().map(|chain| {
        let steps: Vec<&str> = names(set, &chain.steps).collect();
        json!({"steps": steps, "firsts": chain.firsts, "response_ns": chain.response})
    });
    let unchained = report
        .unchained
        .iter()
        .map(|one| json!({"operation": set.tasks[one.task].name, "reason": reason(set, &one.why)}));
    let bounds = &report.bounds;
    json!({
        "strategy": schedule.strategy,
        "model": set.model.name(),
        "utilization": schedule.total.fraction(),
        "critical_utilization": schedule.critical.fraction(),
        "frame_ns": schedule.frame,
        "bounds": {
            "chains": bounds.chains,
            "liu_layland": bounds.liu_layland,
            "hyperbolic": bounds.hyperbolic,
            "phasing_penalty": bounds.phasing_penalty,
        },
        "minimum_critical_priority": schedule.minimum_critical_priority,
        "minimum_guaranteed_priority": schedule.minimum_guaranteed_priority,
        "guaranteed_priority": report.guaranteed_priority(set),
        "critical_set": schedule.critical_set.to_string(),
        "findings": findings.told.iter().chain(&findings.problems).collect::<Vec<_>>(),
        "feasible": findings.sound() && report.is_feasible(),
        "operations": verdicts.collect::<Vec<_>>(),
        "chains": chains.collect::<Vec<_>>(),
        "unchained": unchained.collect::<Vec<_>>(),
    })
}
