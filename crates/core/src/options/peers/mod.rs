//! Options of other ORBs in start scripts: mapped, ignored with a log line, or refused.
//!
//! A program that replaces one of TAO or omniORB keeps its start script. An option that OxORB has under another name or
//! in another unit is mapped; an option that requests what OxORB does anyway, or only tunes the internals of the other
//! ORB, is ignored and logged; an option without which the program would not work as intended is refused with the
//! reason.

mod files;
mod omniorb;
mod tao;

use super::Options;
use crate::options::SettingError;

/// Option of another ORB.
#[derive(Debug)]
pub struct PeerOption {
    /// Name of the option, without `-ORB`.
    pub name: &'static str,
    /// Whether a value follows the option.
    pub takes_value: bool,
    /// Meaning to OxORB.
    pub meaning: PeerOptionMeaning,
}

/// Meaning of another ORB's option to OxORB.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum PeerOptionMeaning {
    /// A setting of OxORB.
    Setting {
        /// Name of the setting.
        name: &'static str,
        /// Value of the setting; `None` if the option requests the default.
        value: fn(&str) -> Result<Option<String>, String>,
        /// Difference that the table of options mentions; may be empty.
        note: &'static str,
    },
    /// Accepted without effect for the values that request what OxORB does anyway; an error for all others.
    Checked {
        /// Accepts a value, or returns what to do instead.
        check: fn(&str) -> Result<(), String>,
        /// Values that are accepted.
        note: &'static str,
    },
    /// Accepted without effect, for this reason.
    Ignored(&'static str),
    /// Refused with this alternative, unless the value switches the option off (`0`, `no`).
    Refused(&'static str),
    /// A file with directives of TAO's Service Configurator.
    ServiceFile,
    /// A directive of TAO's Service Configurator.
    ServiceDirective,
}

/// Options of other ORBs, by ORB: TAO's on the command line, TAO's in `svc.conf`, omniORB's on the command line and in
/// `omniORB.cfg`. Names are spelled as the ORBs document them.
pub static PEER_OPTIONS: [(&str, &[PeerOption]); 3] = [
    ("TAO, command line", tao::COMMAND_LINE),
    ("TAO, svc.conf", tao::SERVICE_CONFIGURATOR),
    ("omniORB, command line and omniORB.cfg", omniorb::OPTIONS),
];

/// Returns the option of a command line by its name, in any case.
pub(super) fn find(name: &str) -> Option<&'static PeerOption> {
    let mut all = tao::COMMAND_LINE.iter().chain(omniorb::OPTIONS);
    all.find(|option| option.name.eq_ignore_ascii_case(name))
}

impl Options {
    /// Applies an option of another ORB; ignored options are logged when the ORB starts.
    pub(super) fn take_peer(
        &mut self,
        option: &PeerOption,
        value: &str,
    ) -> Result<(), SettingError> {
        let shown = match value {
            "" => format!("-ORB{}", option.name),
            value => format!("-ORB{} {value}", option.name),
        };
        let refused = |problem: String| SettingError { setting: shown.clone(), problem };
        match option.meaning {
            PeerOptionMeaning::Setting { name, value: map, .. } => {
                match map(value).map_err(refused)? {
                    Some(value) => self.set(name, &value).map_err(|error| SettingError {
                        setting: shown,
                        problem: format!("use -ORB{name} instead: {}", error.problem),
                    }),
                    None => Ok(()),
                }
            }
            PeerOptionMeaning::Checked { check, .. } => check(value).map_err(refused),
            PeerOptionMeaning::Ignored(reason) => {
                self.ignored.push(format!("{shown} is ignored: {reason}"));
                Ok(())
            }
            PeerOptionMeaning::Refused(_) if matches!(value, "0" | "no" | "false") => Ok(()),
            PeerOptionMeaning::Refused(reason) => Err(refused(reason.to_owned())),
            PeerOptionMeaning::ServiceFile => files::service_file(self, value).map_err(refused),
            PeerOptionMeaning::ServiceDirective => files::directive(self, value).map_err(refused),
        }
    }
}

/// Creates a mapped option whose value stays as it is.
const fn same(name: &'static str, setting: &'static str) -> PeerOption {
    mapped(name, setting, |value| Ok(Some(value.to_owned())), "")
}

const fn mapped(
    name: &'static str,
    setting: &'static str,
    value: fn(&str) -> Result<Option<String>, String>,
    note: &'static str,
) -> PeerOption {
    PeerOption {
        name,
        takes_value: true,
        meaning: PeerOptionMeaning::Setting { name: setting, value, note },
    }
}

const fn checked(
    name: &'static str,
    check: fn(&str) -> Result<(), String>,
    note: &'static str,
) -> PeerOption {
    PeerOption { name, takes_value: true, meaning: PeerOptionMeaning::Checked { check, note } }
}

const fn ignored(name: &'static str, reason: &'static str) -> PeerOption {
    PeerOption { name, takes_value: true, meaning: PeerOptionMeaning::Ignored(reason) }
}

const fn refused(name: &'static str, reason: &'static str) -> PeerOption {
    PeerOption { name, takes_value: true, meaning: PeerOptionMeaning::Refused(reason) }
}

/// Makes an option a switch without a value.
const fn alone(option: PeerOption) -> PeerOption {
    PeerOption { takes_value: false, ..option }
}

/// Converts seconds to milliseconds.
fn seconds(value: &str) -> Result<Option<String>, String> {
    let seconds: u64 = value.parse().map_err(|_| "expected a number of seconds")?;
    let milliseconds = seconds.checked_mul(1000).ok_or("this time is too long")?;
    Ok(Some(milliseconds.to_string()))
}

/// Converts a level of detail to a log level. The other ORBs count from 0, and print more and more from about 5 on.
fn verbosity(value: &str) -> Result<Option<String>, String> {
    let level: u32 = value.parse().map_err(|_| "expected a number, 0 or greater")?;
    let named = match level {
        0 => "error",
        1..=4 => "warn",
        5..=9 => "info",
        _ => "debug",
    };
    Ok(Some(named.to_owned()))
}

#[cfg(test)]
mod tests;
