//! Processors: their other users, and their wake-up latency.

use oxorb_sys::cgroup::processor_list;

use super::change::Change;
use super::finding::{Finding, NEEDS_START};
use super::host::Host;

const FOLDER: &str = "sys/devices/system/cpu";

/// Harmless exit latency of an idle state, in microseconds.
const SHALLOW: i64 = 10;

pub(super) fn look(host: &Host) -> Vec<Finding> {
    let isolated = host.processors(&format!("{FOLDER}/isolated")).unwrap_or_default();
    let mut findings = vec![isolation(host, &isolated)];
    findings.extend(interrupts(host, &isolated));
    findings.extend([governor(host), idleness(host, &isolated)]);
    findings.extend(siblings(host));
    findings
}

fn isolation(host: &Host, isolated: &[usize]) -> Finding {
    const NAME: &str = "isolated processors";
    const MEANS: &str =
        "Ordinary threads, timers and kernel work run on the processors of urgent lanes.";
    let online = host.processors(&format!("{FOLDER}/online")).unwrap_or_default();
    let list = host.text(&format!("{FOLDER}/isolated")).unwrap_or_default();
    match (isolated, online.len()) {
        ([], 0) => Finding::unknown(NAME, "the kernel does not report it", MEANS, &[]),
        ([], 1) => Finding::unknown(NAME, "the host has one processor", MEANS, &[]),
        ([], many) => {
            let last = online.last().copied().unwrap_or(many - 1);
            let cure = format!(
                "command line of the kernel: isolcpus=managed_irq,domain,{last} nohz_full={last} rcu_nocbs={last}"
            );
            Finding::improve(NAME, format!("none of {many}"), MEANS, &[&cure]).left(NEEDS_START)
        }
        _ => {
            let ticks = host.text(&format!("{FOLDER}/nohz_full")).unwrap_or_default();
            let ticks = processor_list(&ticks).unwrap_or_default();
            match isolated.iter().all(|it| ticks.contains(it)) {
                true => Finding::good(NAME, format!("{list}, without ticks")),
                false => Finding::improve(
                    NAME,
                    format!("{list}, with ticks"),
                    "The kernel interrupts each of them a few hundred times a second.",
                    &[&format!("command line of the kernel: nohz_full={list} rcu_nocbs={list}")],
                )
                .left(NEEDS_START),
            }
        }
    }
}

/// Returns the finding on interrupts of isolated processors.
fn interrupts(host: &Host, isolated: &[usize]) -> Option<Finding> {
    const NAME: &str = "interrupts";
    if isolated.is_empty() {
        return None;
    }
    let numbers = host.names("proc/irq");
    let comes = |number: &&String| {
        let path = format!("proc/irq/{number}/effective_affinity_list");
        let processors = host.processors(&path).unwrap_or_default();
        processors.iter().any(|it| isolated.contains(it))
    };
    let online = host.processors(&format!("{FOLDER}/online")).unwrap_or_default();
    let others = online.iter().filter(|it| !isolated.contains(it));
    let others: Vec<String> = others.map(ToString::to_string).collect();
    let others = others.join(",");
    let here: Vec<&str> = numbers.iter().filter(comes).map(String::as_str).collect();
    Some(match here.first() {
        None => Finding::good(NAME, "none is handled on an isolated processor"),
        Some(first) => Finding::improve(
            NAME,
            format!(
                "{} are handled on isolated processors: {}",
                here.len(),
                here.join(" ")
            ),
            "An interrupt handler preempts every thread.",
            &[&format!(
                "echo {others} > /proc/irq/{first}/smp_affinity_list, for each; and exclude them from irqbalance"
            )],
        )
        .by(here.iter().map(|number| {
            Change::write(format!("proc/irq/{number}/smp_affinity_list"), &*others)
        })),
    })
}

fn governor(host: &Host) -> Finding {
    const NAME: &str = "speed";
    const MEANS: &str = "A processor that was idle runs slowly at first.";
    let path = |name: &String| format!("{FOLDER}/{name}/cpufreq/scaling_governor");
    let governor = |name: &String| host.text(&path(name));
    let names = host.names(FOLDER);
    let mut found: Vec<String> = names.iter().filter_map(governor).collect();
    let governed: Vec<&String> =
        names.iter().filter(|name| governor(name).is_some_and(|it| it != "performance")).collect();
    found.dedup();
    match &found[..] {
        [] => Finding::unknown(
            NAME,
            "the host sets it, and does not report it (a virtual machine)",
            MEANS,
            &[],
        ),
        [one] if one == "performance" => Finding::good(NAME, "always the highest"),
        _ => Finding::improve(
            NAME,
            format!("governed by {}", found.join(", ")),
            MEANS,
            &["cpupower frequency-set -g performance"],
        )
        .by(governed.iter().map(|name| Change::write(path(name), "performance"))),
    }
}

/// Returns the finding on idle states of the isolated processors, or of all if none is isolated.
fn idleness(host: &Host, isolated: &[usize]) -> Finding {
    const NAME: &str = "idle states";
    let online = host.processors(&format!("{FOLDER}/online"));
    let online = online.unwrap_or_default();
    let processors = if isolated.is_empty() { &online } else { isolated };
    let folder = |processor: usize| format!("{FOLDER}/cpu{processor}/cpuidle");
    let deepest = |processor: &usize| {
        let folder = folder(*processor);
        let latency = |state: &String| {
            let of = |what: &str| host.number(&format!("{folder}/{state}/{what}"));
            (of("disable") != Some(1)).then(|| of("latency")).flatten()
        };
        let most = host.names(&folder).iter().filter_map(latency).max();
        most.map(|most| (most, *processor))
    };
    match processors.iter().filter_map(deepest).max() {
        None if processors.iter().any(|it| host.has(&folder(*it))) => {
            Finding::good(NAME, "all are off")
        }
        None => Finding::good(NAME, "the kernel has none"),
        Some((most, _)) if most <= SHALLOW => {
            Finding::good(NAME, format!("wake up within {most} us"))
        }
        Some((most, processor)) => Finding::improve(
            NAME,
            format!("processor {processor} wakes up within {most} us"),
            "The first call after a pause waits for the processor to wake up.",
            &[&format!("cpupower idle-set -D {SHALLOW}")],
        )
        .by(deep(host, processors)),
    }
}

/// Returns the changes that disable idle states with long exit latencies.
fn deep(host: &Host, processors: &[usize]) -> Vec<Change> {
    let states = |processor: &usize| {
        let folder = format!("{FOLDER}/cpu{processor}/cpuidle");
        let late = |state: &String| {
            let of = |what: &str| host.number(&format!("{folder}/{state}/{what}"));
            of("latency").is_some_and(|it| it > SHALLOW) && of("disable") != Some(1)
        };
        let names = host.names(&folder).into_iter().filter(|name| late(name));
        let off = |name| Change::write(format!("{folder}/{name}/disable"), "1");
        names.map(off).collect::<Vec<_>>()
    };
    processors.iter().flat_map(states).collect()
}

/// Returns the finding on sibling threads of one core.
fn siblings(host: &Host) -> Option<Finding> {
    const NAME: &str = "shared cores";
    match host.number(&format!("{FOLDER}/smt/active"))? {
        0 => Some(Finding::good(NAME, "each processor has its own core")),
        _ => Some(
            Finding::improve(
                NAME,
                "two processors share a core",
                "A busy processor reduces the speed of the other one by up to half.",
                &["echo off > /sys/devices/system/cpu/smt/control"],
            )
            .left("must be changed by hand: it removes half of the processors, and moves everything that runs there"),
        ),
    }
}
