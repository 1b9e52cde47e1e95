//! Options by their names in arguments, environment and files.

use std::fmt;

use super::{Options, SETTINGS, Setting, peers};

impl Options {
    /// Takes the `-ORB...` arguments out of a command line, as `ORB_init` does, and returns the others.
    ///
    /// Accepts both `-ORBName value` and `-ORBName=value`, with the name in any case. An unknown name is an error, so
    /// that no misspelling goes unnoticed.
    pub fn take_args(
        &mut self,
        args: impl IntoIterator<Item = String>,
    ) -> Result<Vec<String>, SettingError> {
        let mut rest = Vec::new();
        let mut args = args.into_iter();
        while let Some(arg) = args.next() {
            let Some(body) = arg.strip_prefix("-ORB") else {
                rest.push(arg);
                continue;
            };
            // Java ORBs accept `-ORBInitRef.NameService=URL`.
            if let Some(pair) = body.strip_prefix("InitRef.").filter(|pair| pair.contains('=')) {
                self.set("InitRef", pair)?;
                continue;
            }
            let (name, value) = match body.split_once('=') {
                Some((name, value)) if find(name).is_some() || peers::find(name).is_some() => {
                    (name, Some(value.to_owned()))
                }
                _ => (body, None),
            };
            let missing = |what: &str| SettingError {
                setting: arg.clone(),
                problem: format!("needs a value: {what}"),
            };
            let Some(setting) = find(name) else {
                let option = peers::find(name)
                    .ok_or_else(|| SettingError { setting: arg.clone(), problem: unknown(name) })?;
                let value = match (option.takes_value, value) {
                    (true, None) => args.next().ok_or_else(|| missing("VALUE"))?,
                    (_, value) => value.unwrap_or_default(),
                };
                self.take_peer(option, &value)?;
                continue;
            };
            let missing = || missing(setting.value);
            let mut value = value.or_else(|| args.next()).ok_or_else(missing)?;
            // TAO gives the lane and its endpoints in two arguments, such as `1:0 iiop://...`.
            if setting.name == "LaneListenEndpoints" && !value.contains(['=', ' ']) {
                value = format!("{value}={}", args.next().ok_or_else(missing)?);
            }
            (setting.apply)(self, &value).map_err(|problem| SettingError {
                setting: format!("-ORB{} {value}", setting.name),
                problem,
            })?;
        }
        Ok(rest)
    }

    /// Sets one option by its name, as `-ORBname value` does.
    ///
    /// # Errors
    /// An unknown name, or a value that the option cannot have.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), SettingError> {
        let error = |problem| SettingError { setting: format!("-ORB{name} {value}"), problem };
        if let Some(setting) = find(name) {
            return (setting.apply)(self, value).map_err(error);
        }
        let option = peers::find(name).ok_or_else(|| error(unknown(name)))?;
        self.take_peer(option, value)
    }

    /// Applies `OXORB_INITREF`, `OXORB_LISTENENDPOINTS`, ... from the environment.
    pub fn take_env(&mut self) -> Result<(), SettingError> {
        for setting in SETTINGS {
            let variable = format!("OXORB_{}", setting.name.to_uppercase());
            if let Ok(value) = std::env::var(&variable) {
                (setting.apply)(self, &value).map_err(|problem| SettingError {
                    setting: format!("{variable}={value}"),
                    problem,
                })?;
            }
        }
        Ok(())
    }
}

/// Error of an unknown setting, or of a value that the setting cannot have.
///
/// `Debug` prints the same text as `Display`, so that the error of a `main` that returns it is readable.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{setting}: {problem}")]
pub struct SettingError {
    /// Setting as it was given.
    pub setting: String,
    /// Description of the mistake and of its correction.
    pub problem: String,
}

impl fmt::Debug for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Options that name a file with further options. No table has them: only the builder of an ORB reads files.
pub const FILE_SETTINGS: [&str; 4] = ["Personality", "ConfigFile", "Schedule", "AccessRules"];

/// Returns the setting of a name, in any case.
pub(super) fn find(name: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|setting| setting.name.eq_ignore_ascii_case(name))
}

fn unknown(name: &str) -> String {
    if FILE_SETTINGS.iter().any(|known| known.eq_ignore_ascii_case(name)) {
        return "names a file, which is possible only in the arguments and the environment of an ORB's builder"
            .to_owned();
    }
    match nearest(name) {
        Some(near) => format!("there is no such option; did you mean -ORB{near}?"),
        None => {
            "there is no such option; docs/config.md lists the options of OxORB, docs/peer-options.md those of other \
                 ORBs"
                .to_owned()
        }
    }
}

/// Returns the setting that a misspelt name probably means: the most similar of those that differ in at most two
/// letters, or that begin with the name or are its beginning.
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    let lower = name.to_lowercase();
    let names = SETTINGS.iter().map(|setting| setting.name).chain(FILE_SETTINGS);
    let near = names.filter_map(|known| {
        let lower_known = known.to_lowercase();
        let distance = distance(&lower_known, &lower);
        let begins = !lower.is_empty()
            && (lower_known.starts_with(&lower) || lower.starts_with(&lower_known));
        (begins || distance <= 2).then_some((distance, known))
    });
    near.min_by_key(|(distance, _)| *distance).map(|(_, known)| known)
}

/// Returns the edit distance of two short words (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use oxorb_giop::Violation;

    fn take(args: &[&str]) -> Result<(Options, Vec<String>), SettingError> {
        let mut options = Options::default();
        let rest = options.take_args(args.iter().map(|arg| (*arg).to_owned()))?;
        Ok((options, rest))
    }

    #[test]
    fn orb_arguments_are_taken_and_others_left() {
        let (options, rest) =
            take(&["prog", "-ORBInitRef", "A=corbaloc::h/A", "-x", "-ORBRoundTripTimeout=250"])
                .unwrap();
        assert_eq!(rest, ["prog", "-x"]);
        assert_eq!(options.init_refs, [("A".to_owned(), "corbaloc::h/A".to_owned())]);
        assert_eq!(options.round_trip_timeout, Some(Duration::from_millis(250)));
    }

    #[test]
    fn an_unknown_argument_is_an_error_that_helps() {
        let error = take(&["-ORBInitReff", "x"]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "-ORBInitReff: there is no such option; did you mean -ORBInitRef?"
        );
        let error = take(&["-ORBConfig", "x"]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "-ORBConfig: there is no such option; did you mean -ORBConfigFile?"
        );
    }

    #[test]
    fn an_option_that_names_a_file_is_not_taken_for_a_similar_one() {
        let error = take(&["-ORBAccessRules", "rules.toml"]).unwrap_err();
        assert!(error.to_string().starts_with("-ORBAccessRules: names a file"), "{error}");
    }

    #[test]
    fn a_bad_value_names_setting_and_value() {
        let error = take(&["-ORBConcurrency", "pool"]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "-ORBConcurrency pool: expected thread-per-connection, reactive, leader-followers:N, thread-per-request:N or \
             worker-pool:N:QUEUE"
        );
    }

    #[test]
    fn a_missing_value_is_an_error() {
        assert!(take(&["-ORBListenEndpoints"]).unwrap_err().to_string().contains("needs a value"));
    }

    #[test]
    fn limits_are_set_by_the_names_that_errors_give() {
        let (options, _) = take(&[
            "-ORBMaxMessage=100",
            "-ORBMaxPartialMessages=3",
            "-ORBMaxPartialOctets=400",
            "-ORBMaxDepth=9",
            "-ORBKeptCapacity=0",
            "-ORBMaxIdleConnections=1",
        ])
        .unwrap();
        let limits = &options.limits;
        let Err(Violation::Limit { limit, setting, .. }) = limits.check_outgoing(101) else {
            panic!("101 octets are more than 100");
        };
        assert_eq!((limit, find(setting).is_some()), (100, true));
        assert_eq!(limits.max_partial_messages, 3);
        assert_eq!(limits.max_partial_octets, 400);
        assert_eq!(limits.cdr.max_depth, 9);
        assert_eq!(limits.kept_capacity, 0);
        assert_eq!(options.max_idle_connections, 1);
    }

    #[test]
    fn the_spellings_of_other_orbs_work() {
        let (options, _) = take(&["-ORBendPoint", "giop:tcp:127.0.0.1:2809"]).unwrap();
        assert_eq!(options.listen[0].place, "127.0.0.1:2809");
    }
}
