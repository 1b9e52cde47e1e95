//! `oxorb deploy status` and `oxorb deploy stop`.

use std::collections::HashSet;
use std::fmt::Write as _;

use oxorb::deployment::idl::ox_deployment::{InstancePhase, ProcessState, ProcessStatus};
use oxorb::deployment::{Launched, Plans};
use oxorb::values::Printable;
use serde_json::{Value, json};

use super::execution::ManagerArgs;
use super::launch::failed;
use oxorb_terminal::output::{
    BAD, Done, FAINT, Failed, Format, GOOD, STRONG, because, print, print_json,
};

/// Arguments of `oxorb deploy status`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Plans to show, by UUID or, if they have none, by label; default: all
    #[arg(value_name = "NAME")]
    plans: Vec<String>,
    #[command(flatten)]
    at: ManagerArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Arguments of `oxorb deploy stop`.
#[derive(clap::Args)]
pub(crate) struct StopArgs {
    /// Plans to stop, by UUID or, if they have none, by label
    #[arg(value_name = "NAME", required_unless_present = "all")]
    plans: Vec<String>,
    /// Stop all plans of the execution manager
    #[arg(long, conflicts_with = "plans")]
    all: bool,
    #[command(flatten)]
    at: ManagerArgs,
}

/// Shows which processes and instances run on which node.
pub(super) fn run(args: &Args) -> Done {
    let (orb, plans) = args.at.plans()?;
    let wanted = match args.plans.as_slice() {
        [] => plans.all().map_err(failed)?,
        names => named(&plans, names)?,
    };
    let mut rows = Vec::new();
    let mut text = String::new();
    for plan in &wanted {
        let status = plan.manager.status();
        let mut status = status.map_err(|why| because(format!("plan {:?}: {why}", plan.name)))?;
        status.sort_by(|one, other| {
            let key = |status: &ProcessStatus| (status.node.clone(), status.process.clone());
            key(one).cmp(&key(other))
        });
        tell(&mut text, plan, &status);
        rows.push(json!({
            "plan": plan.name,
            "processes": status.iter().map(process_json).collect::<Vec<_>>(),
        }));
    }
    match args.format {
        Format::Json => print_json(&rows)?,
        Format::Text if wanted.is_empty() => print("no plan is launched\n")?,
        Format::Text => print(text)?,
    }
    orb.shutdown(true)?;
    Ok(())
}

/// Returns the plans with these names, each once.
fn named(plans: &Plans, names: &[String]) -> Result<Vec<Launched>, Failed> {
    let mut seen = HashSet::new();
    let names = names.iter().filter(|name| seen.insert(name.as_str()));
    names.map(|name| plans.named(name).map_err(failed)).collect()
}

fn tell(text: &mut String, plan: &Launched, status: &[ProcessStatus]) {
    let _ = writeln!(text, "{STRONG}{}{STRONG:#}", Printable(&plan.name));
    let mut node = None;
    for process in status {
        if node != Some(&process.node) {
            let _ = writeln!(text, "  node {}", Printable(&process.node));
            node = Some(&process.node);
        }
        let style = match process.state {
            ProcessState::Running if process.detail.is_empty() => GOOD,
            ProcessState::Running | ProcessState::Lost => BAD,
            _ => FAINT,
        };
        let pid = match process.pid {
            0 => "-".to_owned(),
            pid => pid.to_string(),
        };
        let _ = write!(
            text,
            "    {style}{:<10}{style:#} {pid:>8}  {}",
            state(process.state),
            Printable(&process.process)
        );
        if process.restarts > 0 {
            let _ = write!(text, ", restarted {} times", process.restarts);
        }
        if !process.detail.is_empty() {
            let _ = write!(text, ": {}", Printable(&process.detail));
        }
        text.push('\n');
        for instance in &process.instances {
            let what = match process.state {
                ProcessState::Lost => "lost",
                _ => phase(instance.phase),
            };
            let _ = writeln!(text, "      {what:<10}  {}", Printable(&instance.name));
        }
        for open in process.connections.iter().filter(|one| !one.connected) {
            let _ = writeln!(
                text,
                "      {BAD}open{BAD:#}        {}.{} ({})",
                Printable(&open.instance),
                Printable(&open.port_name),
                Printable(&open.name)
            );
        }
    }
}

/// Returns a process as JSON.
pub(super) fn process_json(process: &ProcessStatus) -> Value {
    let instances = process.instances.iter().map(|instance| {
        json!({
            "name": instance.name,
            "container": instance.container,
            "phase": match process.state {
                ProcessState::Lost => "lost",
                _ => phase(instance.phase),
            },
            "ior": instance.reference.as_ref().map(oxorb::Interface::to_ior),
        })
    });
    let connections = process.connections.iter().map(|connection| {
        json!({
            "name": connection.name,
            "instance": connection.instance,
            "port": connection.port_name,
            "connected": connection.connected,
        })
    });
    json!({
        "node": process.node,
        "process": process.process,
        "state": state(process.state),
        "pid": (process.pid != 0).then_some(process.pid),
        "restarts": process.restarts,
        "detail": process.detail,
        "instances": instances.collect::<Vec<_>>(),
        "connections": connections.collect::<Vec<_>>(),
    })
}

fn state(state: ProcessState) -> &'static str {
    match state {
        ProcessState::Starting => "starting",
        ProcessState::Running => "running",
        ProcessState::Restarting => "restarting",
        ProcessState::Lost => "lost",
        ProcessState::Stopped => "stopped",
    }
}

fn phase(phase: InstancePhase) -> &'static str {
    match phase {
        InstancePhase::Installed => "installed",
        InstancePhase::Configured => "configured",
        InstancePhase::Active => "active",
        InstancePhase::Passive => "passive",
    }
}

/// Stops plans.
pub(super) fn stop(args: &StopArgs) -> Done {
    let (orb, plans) = args.at.plans()?;
    let wanted = match args.all {
        true => plans.all().map_err(failed)?,
        false => named(&plans, &args.plans)?,
    };
    let mut wrong = Vec::new();
    for plan in wanted {
        match plans.stop(&plan) {
            Ok(()) => print(format_args!("stopped {}\n", Printable(&plan.name)))?,
            Err(trouble) => wrong.push(trouble.to_string()),
        }
    }
    orb.shutdown(true)?;
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(because(wrong.join("\n"))),
    }
}
