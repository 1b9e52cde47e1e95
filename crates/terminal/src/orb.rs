//! The ORB's own settings on the command line: `-ORBInitRef NAME=URL` and the like.

use std::ffi::OsString;
use std::sync::OnceLock;

use oxorb::{Builder, Orb, Priority, SystemException};

static TAKEN: OnceLock<Vec<String>> = OnceLock::new();

/// Takes `-ORB...` arguments out of the command line, wherever they stand before `--`, and leaves the rest.
///
/// # Errors
///
/// The first setting that is unknown or has a bad value, in a sentence.
pub fn take_args(args: impl IntoIterator<Item = OsString>) -> Result<Vec<OsString>, String> {
    let (mut settings, mut rest) = (Vec::new(), Vec::new());
    let mut args = args.into_iter();
    while let Some(arg) = args.next() {
        if arg == "--" {
            // What follows is for another process.
            rest.push(arg);
            rest.extend(args);
            break;
        }
        let Some(setting) = arg.to_str().filter(|text| text.starts_with("-ORB")) else {
            rest.push(arg);
            continue;
        };
        settings.push(setting.to_owned());
        if !setting.contains('=') && takes_value(setting) {
            settings.extend(args.next().and_then(|value| value.into_string().ok()));
        }
    }
    if !settings.is_empty() {
        // A command that makes no ORB would not notice a mistake.
        let builder = Orb::builder().args(settings.iter().cloned());
        if let Some(problem) = builder.problem() {
            return Err(problem.to_string());
        }
    }
    let _ = TAKEN.set(settings);
    Ok(rest)
}

/// Whether a value follows an argument: a few options of other ORBs stand alone.
fn takes_value(argument: &str) -> bool {
    let is_it = |option: &&oxorb::PeerOption| {
        let name = argument.strip_prefix("-ORB");
        name.is_some_and(|name| name.eq_ignore_ascii_case(option.name))
    };
    let mut all = oxorb::PEER_OPTIONS.iter().flat_map(|(_, options)| *options);
    all.find(is_it).is_none_or(|option| option.takes_value)
}

/// Returns the options that were taken, for a process that shall be configured in the same way.
pub fn args() -> &'static [String] {
    TAKEN.get().map_or(&[], Vec::as_slice)
}

/// Applies what was taken; it wins over what `builder` has been told before.
pub fn with_args(builder: Builder) -> Builder {
    builder.args(args().iter().cloned())
}

/// Makes signals end the ORB of a service in order (SIGINT, SIGTERM), and have it read its certificates again (SIGHUP).
///
/// # Errors
///
/// The system has no room for another handler.
pub fn heed_signals(orb: &Orb) -> std::io::Result<()> {
    orb.shutdown_on_signal()?;
    orb.reload_security_on_signal()
}

/// Gives the calling thread a CORBA priority (0 to 32767), if one is wanted.
///
/// # Errors
///
/// DATA_CONVERSION where the ORB's mapping has no native priority for it, NO_PERMISSION where the system refuses that one.
///
/// # Panics
///
/// `priority` is negative.
pub fn call_at(orb: &Orb, priority: Option<i16>) -> Result<(), SystemException> {
    let Some(priority) = priority else {
        return Ok(());
    };
    let priority = Priority::new(priority).expect("clap accepts 0..=32767 only");
    orb.set_thread_priority(priority)
}
