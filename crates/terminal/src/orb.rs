//! ORB settings on the command line, such as `-ORBInitRef NAME=URL`.

use std::ffi::OsString;
use std::sync::OnceLock;

use oxorb::rt::Priority;
use oxorb::settings::ClientConnections;
use oxorb::{Builder, Orb, SystemException};

static TAKEN: OnceLock<Vec<String>> = OnceLock::new();

/// Takes `-ORB...` arguments out of the command line, anywhere before `--`, and returns the rest.
///
/// # Errors
///
/// A sentence that describes the first setting that is unknown or has an invalid value.
pub fn take_args(args: impl IntoIterator<Item = OsString>) -> Result<Vec<OsString>, String> {
    let (mut settings, mut rest) = (Vec::new(), Vec::new());
    let mut args = args.into_iter();
    while let Some(arg) = args.next() {
        if arg == "--" {
            // Arguments after `--` belong to another program, so leave its `-ORB` options in place.
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
        // Check the settings here: a command that creates no ORB would not notice an invalid one.
        let builder = Orb::builder().args(settings.iter().cloned());
        if let Some(problem) = builder.problem() {
            return Err(problem.to_string());
        }
    }
    let _ = TAKEN.set(settings);
    Ok(rest)
}

/// Reports whether the argument after `argument` is its value. A few options of other ORBs have no
/// value.
fn takes_value(argument: &str) -> bool {
    let is_it = |option: &&oxorb::settings::PeerOption| {
        let name = argument.strip_prefix("-ORB");
        name.is_some_and(|name| name.eq_ignore_ascii_case(option.name))
    };
    let mut all = oxorb::settings::PEER_OPTIONS.iter().flat_map(|(_, options)| *options);
    all.find(is_it).is_none_or(|option| option.takes_value)
}

/// Returns the ORB settings that [`take_args`] took, to be passed to a child process that needs the
/// same configuration.
pub fn args() -> &'static [String] {
    TAKEN.get().map_or(&[], Vec::as_slice)
}

/// Applies the ORB settings that [`take_args`] took. They override earlier settings of `builder`.
pub fn with_args(builder: Builder) -> Builder {
    builder.args(args().iter().cloned())
}

/// Applies the ORB settings like [`with_args`]. If no setting chooses the connections of client threads, each thread has
/// private ones, unless `OfferBiDirectionalGIOP` is set: the connection of an ORB that offers callbacks is shared.
pub fn with_private_connections(builder: Builder) -> Builder {
    let mut offers_callbacks = false;
    // This builder makes no ORB. `builder` reports its errors, since it gets the same settings.
    let _ = with_args(Orb::builder())
        .configure(|options| offers_callbacks = options.offer_bidirectional);
    with_args(match offers_callbacks {
        true => builder,
        false => builder.client_connections(ClientConnections::Private),
    })
}

/// Makes SIGINT and SIGTERM shut the ORB down in order, and SIGHUP reload its certificates and access rules.
///
/// # Errors
///
/// The system cannot install another handler.
pub fn heed_signals(orb: &Orb) -> std::io::Result<()> {
    orb.shutdown_on_signal()?;
    orb.reload_security_on_signal()
}

/// Sets the CORBA priority (0 to 32767) of the calling thread, if one is given.
///
/// # Errors
///
/// DATA_CONVERSION if the ORB's priority mapping has no native priority for `priority`,
/// NO_PERMISSION if the operating system refuses the native priority.
///
/// # Panics
///
/// Panics if `priority` is negative.
pub fn call_at(orb: &Orb, priority: Option<i16>) -> Result<(), SystemException> {
    let Some(priority) = priority else {
        return Ok(());
    };
    let priority = Priority::new(priority).expect("clap accepts 0..=32767 only");
    orb.set_thread_priority(priority)
}
