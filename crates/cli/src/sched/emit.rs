//! `oxorb sched emit`: the table of static priorities as source code.

use std::fmt::Write as _;
use std::path::Path;

use oxorb_sched::analysis::Outcome;
use oxorb_sched::{DispatchTable, Dispatching, Schedule};
use serde_json::json;

use super::how::Source;
use super::load::{Loaded, is_wrong};
use super::servers;
use oxorb_terminal::output::{Done, Failed, because, print};

/// Languages of tables.
#[derive(Clone, Copy, Default, clap::ValueEnum)]
pub(crate) enum Language {
    /// A module without dependencies
    #[default]
    Rust,
    /// A header for C++17
    Cpp,
    /// JSON for programs that load it at start
    Json,
}

pub(super) fn run(source: &Source, language: Language, unproved: bool, out: Option<&Path>) -> Done {
    let loaded = source.load()?;
    let schedule = source.how.schedule(&loaded)?;
    if let Some(found) = schedule.anomalies.iter().find(|found| is_wrong(found)) {
        return Err(because(loaded.told(found)));
    }
    // Refuse an invalid schedule, and one that leaves out an operation: programs look up every handle in the table.
    schedule.check()?;
    let infos = loaded.repository.infos().iter();
    if let Some(left_out) =
        infos.into_iter().find(|info| schedule.assignment(info.handle).is_none())
    {
        return Err(oxorb_sched::Error::LeftOut(left_out.entry_point.clone()).into());
    }
    let enforceable = DispatchTable::from(&schedule).enforceable();
    enforceable.map_err(|error| because(error.to_string()))?;
    // If steps on other nodes release jobs, deadlines cannot be proved here, but only by an analysis of all nodes.
    if !unproved && !loaded.is_fed {
        prove(&loaded, &schedule)?;
    }
    let table = match language {
        Language::Rust => rust(&schedule),
        Language::Cpp => cpp(&schedule),
        Language::Json => document(&schedule, false)?,
    };
    match out {
        None => print(table),
        Some(file) => std::fs::write(file, table)
            .map_err(|error| because(format!("{}: {error}", file.display()))),
    }
}

/// Refuses a schedule with critical deadlines that are not proved.
fn prove(loaded: &Loaded, schedule: &Schedule) -> Done {
    let report = servers::analyse(loaded, schedule);
    let set = &schedule.tasks;
    let lost = report
        .verdicts
        .iter()
        .find(|verdict| verdict.outcome != Outcome::Meets && set.tasks[verdict.task].critical);
    match lost {
        None => Ok(()),
        Some(lost) => Err(because(format!(
            "not every critical deadline is proved, so there is no table; {} (--unproved emits it all the same)",
            lost.explain(set)
        ))),
    }
}

const WARNING: &str = "Made by `oxorb sched emit`; do not edit, make it again.";

fn rust(schedule: &Schedule) -> String {
    let mut out = format!(
        "// {WARNING}\n//! Static priorities of operations under {}: handles count from 1.\n\n\
         /// The dispatching model that was analysed: `urgency`, `band` or `non-preemptive`.\npub const MODEL: &str = {:?};\n\n",
        schedule.strategy,
        schedule.tasks.model.name()
    );
    out.push_str(
        "/// How a queue orders its requests.\n#[derive(Debug, Clone, Copy, PartialEq, Eq)]\npub enum Dispatching {\n    \
         /// By subpriority.\n    Static,\n    /// By deadline.\n    Deadline,\n    /// By laxity.\n    Laxity,\n}\n\n\
         /// One operation.\n#[derive(Debug, Clone, Copy, PartialEq, Eq)]\npub struct Operation {\n    \
         /// Its name.\n    pub name: &'static str,\n    /// Of its thread.\n    pub os_priority: i32,\n    \
         /// Of its queue: 0 is the most urgent one.\n    pub preemption_priority: i32,\n    \
         /// Within its queue: larger is more urgent.\n    pub subpriority: i32,\n    \
         /// The longest it takes, in nanoseconds.\n    pub worst_case_ns: u64,\n    \
         /// Its period, in nanoseconds.\n    pub period_ns: u64,\n    \
         /// From release to completion, in nanoseconds.\n    pub deadline_ns: u64,\n    \
         /// Cost of being late: 0 (very low) to 4 (very high).\n    pub criticality: u8,\n    \
         /// Decides between equals: 0 to 4.\n    pub importance: u8,\n    \
         /// Whether it must not miss a deadline.\n    pub critical: bool,\n}\n\n\
         /// One queue.\n#[derive(Debug, Clone, Copy, PartialEq, Eq)]\npub struct Queue {\n    \
         /// Of its thread.\n    pub os_priority: i32,\n    /// Its order.\n    pub dispatching: Dispatching,\n}\n\n",
    );
    let many = schedule.assignments.len();
    let _ = writeln!(
        out,
        "/// Operations by handle, less one.\npub static OPERATIONS: [Operation; {many}] = ["
    );
    for row in &schedule.assignments {
        let _ = writeln!(
            out,
            "    Operation {{\n        name: {:?},\n        os_priority: {},\n        preemption_priority: {},\n        \
             subpriority: {},\n        worst_case_ns: {},\n        period_ns: {},\n        deadline_ns: {},\n        criticality: {},\n        \
             importance: {},\n        critical: {},\n    }},",
            row.entry_point,
            row.assigned.os_priority,
            row.assigned.preemption_priority,
            row.assigned.subpriority,
            row.worst_case,
            row.period,
            row.deadline,
            row.criticality as u8,
            row.importance as u8,
            row.critical
        );
    }
    let _ = writeln!(
        out,
        "];\n\n/// Queues by preemption priority.\npub static QUEUES: [Queue; {}] = [",
        schedule.levels.len()
    );
    for level in &schedule.levels {
        let _ = writeln!(
            out,
            "    Queue {{\n        os_priority: {},\n        dispatching: Dispatching::{:?},\n    }},",
            level.os_priority, level.dispatching
        );
    }
    out.push_str("];\n");
    out
}

fn cpp(schedule: &Schedule) -> String {
    let mut out = format!(
        "// {WARNING}\n// Static priorities of operations under {}: handles count from 1.\n#pragma once\n\n\
         #include <cstdint>\n\nnamespace oxorb_schedule {{\n\n\
         // The dispatching model that was analysed: urgency, band or non-preemptive.\n\
         inline constexpr const char* model = \"{}\";\n\n\
         // The numbers of RtecScheduler::Dispatching_Type_t.\n\
         enum class Dispatching : std::int32_t {{ Static = 0, Deadline = 1, Laxity = 2 }};\n\n\
         // Times in nanoseconds; preemption priority 0 is the most urgent one.\nstruct Operation {{\n    const char* name;\n    \
         std::int32_t os_priority;\n    std::int32_t preemption_priority;\n    std::int32_t subpriority;\n    \
         std::uint64_t worst_case_ns;\n    std::uint64_t period_ns;\n    std::uint64_t deadline_ns;\n    \
         std::uint8_t criticality;\n    std::uint8_t importance;\n    bool critical;\n}};\n\n\
         struct Queue {{\n    std::int32_t os_priority;\n    Dispatching dispatching;\n}};\n\n",
        schedule.strategy,
        schedule.tasks.model.name()
    );
    out.push_str("// By handle, less one.\ninline constexpr Operation operations[] = {\n");
    for row in &schedule.assignments {
        let _ = writeln!(
            out,
            "    {{{}, {}, {}, {}, {}u, {}u, {}u, {}, {}, {}}},",
            cpp_text(&row.entry_point),
            row.assigned.os_priority,
            row.assigned.preemption_priority,
            row.assigned.subpriority,
            row.worst_case,
            row.period,
            row.deadline,
            row.criticality as u8,
            row.importance as u8,
            row.critical
        );
    }
    out.push_str("};\n\n// By preemption priority.\ninline constexpr Queue queues[] = {\n");
    for level in &schedule.levels {
        let _ =
            writeln!(out, "    {{{}, Dispatching::{:?}}},", level.os_priority, level.dispatching);
    }
    out.push_str("};\n\n}  // namespace oxorb_schedule\n");
    out
}

/// Returns a text as a C++ literal. Non-ASCII characters are written as UTF-8.
fn cpp_text(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_ascii_control() => {
                let _ = write!(out, "\\{:03o}", c as u32);
            }
            c => out.push(c),
        }
    }
    out + "\""
}

/// Returns the table as JSON. If `measure` is set, a server that loads the table also measures its operations.
pub(super) fn document(schedule: &Schedule, measure: bool) -> Result<String, Failed> {
    let operations = schedule.assignments.iter().map(|row| {
        json!({
            "name": row.entry_point,
            "handle": row.handle.0,
            "os_priority": row.assigned.os_priority,
            "preemption_priority": row.assigned.preemption_priority,
            "subpriority": row.assigned.subpriority,
            "worst_case_ns": row.worst_case,
            "period_ns": row.period,
            "deadline_ns": row.deadline,
            "criticality": row.criticality.name(),
            "importance": row.importance.name(),
            "critical": row.critical,
        })
    });
    let queues = schedule.levels.iter().map(|level| {
        json!({
            "preemption_priority": level.preemption_priority,
            "os_priority": level.os_priority,
            "dispatching": name(level.dispatching),
        })
    });
    let mut table = json!({
        "strategy": schedule.strategy,
        "model": schedule.tasks.model.name(),
        "operations": operations.collect::<Vec<_>>(),
        "queues": queues.collect::<Vec<_>>(),
    });
    if measure {
        table["measure"] = true.into();
    }
    Ok(serde_json::to_string_pretty(&table)? + "\n")
}

fn name(dispatching: Dispatching) -> String {
    dispatching.to_string().to_lowercase()
}
