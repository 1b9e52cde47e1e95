//! Arguments that a plan may set for its processes: `cmdline` of its real-time resources.

/// ORB settings that a plan may set. They affect only how a process works. Addresses, access rules, protection and
/// files are not included, because the operator decides about them.
const ALLOWED: [&str; 47] = [
    "Budget",
    "BudgetQuantum",
    "Budgets",
    "BufferedOneways",
    "ByteOrder",
    "CallbackThreads",
    "CDRTradeoff",
    "ClassPacing",
    "ClientConnections",
    "ClientIdleTimeout",
    "Collocation",
    "Concurrency",
    "ConnectTimeout",
    "DebugLevel",
    "DefaultInitRef",
    "Demultiplexing",
    "DynamicThreadIdleTimeout",
    "FragmentSize",
    "InitRef",
    "KeepAlive",
    "LaneCPU",
    "LaneDSCP",
    "LargePayloads",
    "LockMemory",
    "LogLevel",
    "MaxClientConnections",
    "MaxGIOPVersion",
    "MaxIdleConnections",
    "NativeCharCodeSet",
    "OperationSearch",
    "OrderedReconnect",
    "Personality",
    "PreferUtf8",
    "PriorityMapping",
    "Protocols",
    "Reactor",
    "ReplyWait",
    "RoundTripTimeout",
    "SchedPolicy",
    "SharedPages",
    "Spin",
    "SynchronizedClocks",
    "TimeProbes",
    "TrustIdle",
    "ValueArena",
    "ValueArenaFull",
    "WorkerStay",
];

/// Reasons why settings are refused, by prefixes of their names.
const REFUSED: [(&[&str], &str); 4] = [
    (
        &["LogFile", "ConfigFile", "SvcConf", "Schedule", "Preconnect"],
        "it names files, which the process would read or write with its own permissions",
    ),
    (
        &["Listen", "Endpoint", "LaneListen", "LaneEndpoint", "LanesOn", "Multicast", "Admission"],
        "it sets the addresses and names at which the process can be called",
    ),
    (
        &["Access", "Secure", "Tls", "AcceptBi", "OfferBi"],
        "it sets which peers the process trusts and admits",
    ),
    (&["Max", "Hold", "Stall", "Idle", "Kept"], "it is a limit that protects the process"),
];

/// Remedy for a refused setting.
const CURE: &str = "remove it from cmdline; the operator of the process can set it, with --process-arg of the node \
    manager or on the command line of the process";

/// Checks the arguments that a plan sets for its processes. Of the ORB settings (`-ORBNAME`), only those that affect
/// how the process works are permitted. The operator decides about files, addresses, access rules and limits. Arguments
/// for other code are permitted.
///
/// # Errors
/// An error message for the first argument that a plan may not set, with the reason and a remedy.
///
/// ```
/// use oxorb_launch::check_arguments;
///
/// let line = |arguments: &[&str]| -> Vec<String> {
///     arguments.iter().map(|&one| one.to_owned()).collect()
/// };
/// assert_eq!(check_arguments(&line(&["-ORBSchedPolicy", "SCHED_FIFO", "--verbose"])), Ok(()));
/// let refused = check_arguments(&line(&["-ORBLogFile=/etc/motd"])).unwrap_err();
/// assert!(refused.starts_with("cmdline has \"-ORBLogFile\", which a plan may not set: it names files"));
/// ```
pub fn check_arguments(arguments: &[String]) -> Result<(), String> {
    // Also check arguments that are values of the preceding one, because the ORB takes file names from them too.
    for (at, argument) in arguments.iter().enumerate() {
        let Some(body) = argument.strip_prefix("-ORB") else {
            continue;
        };
        let (name, value) = match body.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (body, arguments.get(at + 1).map(String::as_str)),
        };
        // Java also has the form `-ORBInitRef.NAME=URL`.
        let is_java = name.get(..8).is_some_and(|name| name == "InitRef.");
        let name = if is_java { "InitRef" } else { name };
        let refuse = |why: &str| {
            Err(format!(
                "cmdline has {:?}, which a plan may not set: {why}; {CURE}",
                format!("-ORB{name}")
            ))
        };
        let mut allowed = ALLOWED.iter();
        let Some(allowed) = allowed.find(|one| one.eq_ignore_ascii_case(name)) else {
            return refuse(reason(name));
        };
        let value = value.unwrap_or_default();
        let url = match *allowed {
            "InitRef" if !is_java => value.split_once('=').map_or("", |(_, url)| url),
            _ => value,
        };
        match *allowed {
            "InitRef" | "DefaultInitRef" if is_file(url) => {
                return refuse(
                    "it names a file, which the process would read with its own permissions",
                );
            }
            "Personality" if value.contains(['.', '/']) => {
                return refuse(
                    "it names a file of settings, but it may name only those that are built into OxORB",
                );
            }
            _ => {}
        }
    }
    Ok(())
}

/// Reports whether a URL refers to a file on this machine.
pub(crate) fn is_file(url: &str) -> bool {
    let scheme = url.trim_start().get(..5);
    scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("file:"))
}

/// Returns the reason why a plan may not set a setting.
fn reason(name: &str) -> &'static str {
    let begins = |prefix: &&str| {
        let own = name.get(..prefix.len());
        own.is_some_and(|own| own.eq_ignore_ascii_case(prefix))
    };
    let mut known = REFUSED.iter();
    let found = known.find(|(prefixes, _)| prefixes.iter().any(begins));
    found.map_or("it is not one of the settings that a plan may change", |(_, why)| why)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &[&str]) -> Result<(), String> {
        let line: Vec<String> = line.iter().map(|&one| one.to_owned()).collect();
        check_arguments(&line)
    }

    #[test]
    fn a_plan_says_how_its_processes_work() {
        for line in [
            &[][..],
            &["-ORBSchedPolicy", "SCHED_FIFO", "-ORBDebugLevel", "1"],
            &["-ORBschedpolicy=SCHED_FIFO"],
            &["-ORBInitRef", "NameService=corbaloc::host:2809/NameService"],
            &["-ORBInitRef=NameService=corbaloc::host:2809/NameService"],
            &["-ORBInitRef.NameService=corbaloc::host:2809/NameService"],
            &["-ORBPersonality", "avionics"],
            &["--verbose", "file:///etc/passwd", "-orblogfile"],
        ] {
            assert_eq!(check(line), Ok(()), "{line:?}");
        }
    }

    #[test]
    fn files_addresses_and_protection_are_up_to_whoever_runs_the_process() {
        for (line, why) in [
            (&["-ORBLogFile=@HOME@/x"][..], "it names files"),
            (&["-ORBlogfile", "x"], "it names files"),
            (&["-ORBConfigFile", "x.toml"], "it names files"),
            (&["-ORBSvcConfDirective", "static"], "it names files"),
            (&["-ORBPersonality=./x"], "it names a file of settings"),
            (&["-ORBPersonality", "x.toml"], "it names a file of settings"),
            (&["-ORBInitRef", "N=file:///etc/passwd"], "it names a file, "),
            (&["-ORBInitRef=N=FILE:///etc/passwd"], "it names a file, "),
            (&["-ORBInitRef.N=file:///etc/passwd"], "it names a file, "),
            (&["-ORBDefaultInitRef= file:///etc"], "it names a file, "),
            (&["-ORBListenEndpoints=iiop://0.0.0.0:0"], "it sets the addresses and names"),
            (&["-ORBEndpoint", "iiop://0.0.0.0:0"], "it sets the addresses and names"),
            (&["-ORBLaneListenEndpoints", "1:0", "iiop://"], "it sets the addresses and names"),
            (&["-ORBAccess", "allow all"], "which peers the process trusts"),
            (&["-ORBTlsRoots=ca.pem"], "which peers the process trusts"),
            (&["-ORBMaxMessage=1"], "it is a limit"),
            (&["-ORBUnheardOf"], "it is not one of the settings"),
            (&["-ORB"], "it is not one of the settings"),
            // The ORB takes file names from any argument, even from one that is the value of another.
            (&["-ORBSchedPolicy", "-ORBConfigFile=x.toml"], "it names files"),
        ] {
            let refused = check(line).unwrap_err();
            assert!(refused.contains(why) && refused.ends_with(CURE), "{line:?}: {refused}");
        }
    }
}
