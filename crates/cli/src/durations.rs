//! Tests that all options which are durations accept the same forms, and that their help texts say so alike.

use std::fmt::Debug;
use std::time::Duration;

use clap::{Arg, ArgMatches, Command, CommandFactory as _};
use oxorb_terminal::duration::VALUE_NAME;

use crate::Cli;
use crate::examples::walk;

/// Ends of the help texts, each with the unit of a number without a unit.
const UNITS: [(&str, &str); 3] = [
    ("For example 300ms; a bare number is milliseconds", "ms"),
    ("For example 5s; a bare number is seconds", "s"),
    ("For example 30d; a bare number is days", "d"),
];

/// Returns all options with their commands, such as `oxorb ping --timeout`.
fn options() -> Vec<(String, Arg)> {
    let mut all = Vec::new();
    walk(&Cli::command(), "oxorb", &mut |path, command| {
        // The arguments of processes that a demonstration starts are not for people.
        if path.starts_with("oxorb demo-") {
            return;
        }
        let options = command.get_arguments().filter_map(|it| Some((it.get_long()?, it)));
        all.extend(options.map(|(long, option)| (format!("{path} --{long}"), option.clone())));
    });
    all
}

fn is_duration(option: &Arg) -> bool {
    option.get_value_names().is_some_and(|names| names.iter().any(|name| *name == VALUE_NAME))
}

fn help(option: &Arg) -> String {
    option.get_help().map(ToString::to_string).unwrap_or_default()
}

/// Parses a value by the parser of an option.
fn parse(option: &Arg, value: &str) -> Result<ArgMatches, clap::Error> {
    let alone = Arg::new("alone").long("alone").value_parser(option.get_value_parser().clone());
    Command::new("test")
        .arg(alone)
        .try_get_matches_from(["test".to_owned(), format!("--alone={value}")])
}

/// Returns the value of an option that is a duration, or a number of its units.
fn value(option: &Arg, text: &str) -> Option<String> {
    fn shown<T: Clone + Debug + Send + Sync + 'static>(found: &ArgMatches) -> Option<String> {
        let value = found.try_get_one::<T>("alone").ok().flatten();
        value.map(|value| format!("{value:?}"))
    }
    let found = parse(option, text).ok()?;
    let time = shown::<Duration>(&found);
    time.or_else(|| shown::<u64>(&found)).or_else(|| shown::<u32>(&found))
}

#[test]
fn every_duration_accepts_a_unit_and_says_the_unit_of_a_bare_number() {
    let options = options();
    let durations = options.iter().filter(|(_, option)| is_duration(option));
    let mut count = 0;
    for (of, option) in durations {
        count += 1;
        let help = help(option);
        let unit = UNITS.iter().find(|(end, _)| help.ends_with(end));
        // A number that every option accepts which has limits.
        for number in ["1", "2", "30"] {
            let bare = value(option, number);
            match unit {
                Some((_, unit)) => {
                    let same = value(option, &format!("{number}{unit}"));
                    assert_eq!(bare, same, "{of} {number}: {help}");
                    assert!(same.is_some(), "{of} refuses {number}{unit}");
                }
                None => {
                    assert!(help.contains("For example "), "{of}: {help}");
                    assert!(bare.is_none(), "{of} accepts {number}, and its help says no unit");
                    assert!(value(option, &format!("{number}ms")).is_some(), "{of} refuses ms");
                }
            }
        }
        for wrong in ["x", "5 parsecs", "-1s", "1e3"] {
            let error = parse(option, wrong).unwrap_err().to_string();
            assert!(error.contains(&format!("'{wrong}'")), "{of}: {error}");
            assert!(error.contains("300ms, 1.5s or 2m"), "{of}: {error}");
        }
        for default in option.get_default_values() {
            let default = default.to_str().unwrap();
            assert!(default.ends_with(|c: char| c.is_ascii_alphabetic()), "{of}: {default}");
        }
    }
    assert!(count >= 40, "{count} durations are left");
}

#[test]
fn no_other_option_is_a_duration() {
    let units = ["millisecond", "microsecond", "nanosecond", "second", "minute", "hour", "day"];
    let names = ["timeout", "interval", "duration", "lifetime", "period", "ping", "idle", "wait"];
    let mut wrong = Vec::new();
    for (of, option) in options() {
        let takes_value = option.get_action().takes_values();
        if !takes_value || is_duration(&option) || OTHERS.contains(&of.as_str()) {
            continue;
        }
        let help = help(&option).to_lowercase();
        let words: Vec<&str> = help.split(|c: char| !c.is_ascii_alphabetic()).collect();
        let has_unit = words.iter().any(|word| units.contains(&word.trim_end_matches('s')));
        let last = of.rsplit('-').next().unwrap_or_default();
        let value_names = option.get_value_names().unwrap_or_default();
        let has_unit_value =
            value_names.iter().any(|name| ["MS", "S", "TIME"].contains(&name.as_str()));
        if has_unit || has_unit_value || names.contains(&last) {
            wrong.push(format!("{of}: {help}"));
        }
    }
    assert!(wrong.is_empty(), "these look like durations of another form:\n{}", wrong.join("\n"));
}

/// Options that have a unit of time in their help texts, and are no durations.
const OTHERS: [&str; 8] = [
    "oxorb demo sched --rounds",
    // A rate, or a duration.
    "oxorb sched admit --period",
    // Events per second.
    "oxorb event pub --rate",
    // Octets per second.
    "oxorb gateway http --min-rate",
    // The text says how often the server is queried.
    "oxorb event gateway udp --addresses",
    // The policies contain a number of milliseconds.
    "oxorb deploy serve --restart",
    "oxorb deploy launch --restart",
    "oxorb deploy redeploy --restart",
];
