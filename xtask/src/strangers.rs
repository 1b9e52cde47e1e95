//! `cargo xtask strangers`: runs the tests under conditions of other people's machines.

mod condition;
mod folder;
mod inet6;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::nextest::{self, Busy};
use condition::{CONDITIONS, Condition};
use folder::Folder;

/// Hidden subcommand that runs a command on a kernel which appears to lack IPv6.
pub(crate) const WITHOUT_INET6: &str = "without-inet6";

pub(crate) use inet6::main as without_inet6;

const USAGE: &str = "Usage: cargo xtask strangers [CONDITION...] [-- FILTER...]\n\n\
    Runs the tests of the workspace once in each CONDITION (all of them), by cargo-nextest and without retries, and\n\
    prints which failed and what was not tested. FILTER as cargo-nextest takes it.";

/// Runs the tests in each condition; fails if any test has failed at least once.
pub(crate) fn main(args: &[String]) -> Result<(), String> {
    let (conditions, filter) = parse(args)?;
    nextest::build()?;
    let mut rows = Vec::new();
    for condition in conditions {
        println!("{}: {}", condition.name, condition.what);
        let row = Row::of(condition, &filter)?;
        println!("    {}", row.verdict);
        for name in &row.failed {
            println!("    failed: {name}");
        }
        for line in &row.not_tested {
            println!("    {line}");
        }
        rows.push(row);
    }
    println!();
    for row in &rows {
        println!("{:16}{}", row.name, row.verdict);
    }
    match rows.iter().filter(|row| !row.is_good).count() {
        0 => Ok(()),
        bad => Err(format!("conditions in which tests failed: {bad}")),
    }
}

/// Returns the chosen conditions and the filter.
fn parse(args: &[String]) -> Result<(Vec<&'static Condition>, Vec<String>), String> {
    let names = args.iter().take_while(|arg| *arg != "--");
    let filter = args.iter().skip_while(|arg| *arg != "--").skip(1);
    let chosen = names.map(|name| {
        let found = CONDITIONS.iter().find(|condition| condition.name == name);
        found.ok_or_else(usage)
    });
    let mut chosen: Vec<_> = chosen.collect::<Result<_, _>>()?;
    if chosen.is_empty() {
        chosen.extend(&CONDITIONS);
    }
    Ok((chosen, filter.cloned().collect()))
}

fn usage() -> String {
    let known = CONDITIONS.iter();
    let known = known.map(|condition| format!("\n  {:16}{}", condition.name, condition.what));
    format!("{USAGE}\n\nConditions:{}", known.collect::<String>())
}

/// Results of the tests in one condition.
struct Row {
    name: &'static str,
    is_good: bool,
    verdict: String,
    failed: BTreeSet<String>,
    not_tested: BTreeSet<String>,
}

impl Row {
    fn of(condition: &Condition, filter: &[String]) -> Result<Row, String> {
        let mut row = Row {
            name: condition.name,
            is_good: true,
            verdict: String::new(),
            failed: BTreeSet::new(),
            not_tested: BTreeSet::new(),
        };
        let folder = Folder::new()?;
        let setting = condition.setting(&folder)?;
        if let Some(why) = setting.obstacle() {
            row.verdict = format!("cannot be made here: {why}");
            return Ok(row);
        }
        let busy = (0..setting.busy).map(|_| Busy::start());
        let _busy: Vec<Busy> = busy.collect::<Result<_, _>>()?;
        let not_tested = folder.not_tested()?;
        let began = Instant::now();
        let all: Vec<String> = setting.more.iter().chain(filter).cloned().collect();
        let mut run = setting.around(&nextest::run_by("full", &all));
        let output = run
            .env("OXORB_NOT_TESTED", &not_tested)
            .output()
            .map_err(|error| format!("{run:?}: {error}"))?;
        let log = String::from_utf8_lossy(&output.stderr);
        let Some(summary) = nextest::summary(&log) else {
            return Err(format!("{log}\n{run:?}: {}", output.status));
        };
        row.failed = nextest::failures(&log);
        if !row.failed.is_empty() {
            // Includes the output of the failed tests.
            eprintln!("{log}");
        }
        row.is_good = output.status.success();
        let lines = fs::read_to_string(&not_tested).unwrap_or_default();
        row.not_tested = lines.lines().map(str::to_owned).collect();
        let (left_out, seconds) = (lines.lines().count(), began.elapsed().as_secs());
        row.verdict = format!("{summary}; {left_out} not tested ({seconds} s)");
        Ok(row)
    }
}

/// Setup of a condition.
#[derive(Default)]
struct Setting {
    /// Command that wraps the test command; empty for none.
    wrapper: Vec<String>,
    /// Command that wraps each test. Cargo-nextest itself, whose files are in this user's home, runs without it.
    runner: Vec<String>,
    /// Folder of the sources, if it is not the workspace.
    folder: Option<PathBuf>,
    /// Additional arguments of cargo-nextest.
    more: Vec<String>,
    /// Environment variables to set or remove.
    variables: Vec<(&'static str, Option<String>)>,
    /// Number of additional processes that each keep a processor busy.
    busy: u32,
}

impl Setting {
    /// Returns why the condition cannot be set up; tests it with a command that does nothing.
    fn obstacle(&self) -> Option<String> {
        for words in [&self.wrapper, &self.runner] {
            let Some(program) = words.first() else {
                continue;
            };
            let mut command = Command::new(program);
            command.args(&words[1..]).arg("true").stdin(Stdio::null());
            match command.output() {
                Ok(tried) if tried.status.success() => {}
                Ok(tried) => return Some(String::from_utf8_lossy(&tried.stderr).trim().to_owned()),
                Err(error) => return Some(format!("{program}: {error}")),
            }
        }
        None
    }

    /// Returns a command that runs `tests` in the condition.
    fn around(&self, tests: &Command) -> Command {
        let mut command = match self.wrapper.split_first() {
            Some((wrapper, words)) => {
                let mut command = Command::new(wrapper);
                command.args(words).arg(tests.get_program());
                command
            }
            None => Command::new(tests.get_program()),
        };
        command.args(tests.get_args()).stdin(Stdio::null());
        if let Some(folder) = self.folder.as_deref().or(tests.get_current_dir()) {
            command.current_dir(folder);
        }
        let own = tests.get_envs();
        let more = self.variables.iter();
        let more = more.map(|(name, value)| (OsStr::new(name), value.as_ref().map(OsStr::new)));
        for (name, value) in own.chain(more) {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        if !self.runner.is_empty() {
            command.env(nextest::runner_variable(), self.runner.join(" "));
        }
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn conditions_are_chosen_by_name() {
        let (chosen, filter) = parse(&words("no-ipv6 nice -- -E all()")).unwrap();
        let names: Vec<_> = chosen.iter().map(|it| it.name).collect();
        assert_eq!(names, ["no-ipv6", "nice"]);
        assert_eq!(filter, ["-E", "all()"]);
        let (all, _) = parse(&[]).unwrap();
        assert_eq!(all.len(), CONDITIONS.len());
        let unknown = parse(&words("no-luck")).err().unwrap();
        assert!(unknown.contains("no-ipv6"), "{unknown}");
    }

    #[test]
    fn a_wrapper_runs_the_command_behind_it() {
        let setting = Setting {
            wrapper: words("nice -n 19"),
            variables: vec![("HOME", None), ("CI", Some("true".to_owned()))],
            ..Setting::default()
        };
        let mut tests = Command::new("cargo");
        tests.arg("nextest").env("CI", "false");
        let command = setting.around(&tests);
        assert_eq!(command.get_program(), "nice");
        let args: Vec<_> = command.get_args().collect();
        assert_eq!(args, ["-n", "19", "cargo", "nextest"]);
        let variables: Vec<_> = command.get_envs().collect();
        let expected = [("CI".as_ref(), Some("true".as_ref())), ("HOME".as_ref(), None)];
        assert_eq!(variables, expected);
    }

    #[test]
    fn what_cannot_be_made_is_said() {
        let setting = Setting { wrapper: words("sh -c false"), ..Setting::default() };
        assert!(setting.obstacle().is_some());
        assert_eq!(Setting::default().obstacle(), None);
    }
}
