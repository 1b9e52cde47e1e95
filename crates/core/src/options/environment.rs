//! Variables `OXORB_...` of the environment that nothing reads, such as a misspelt setting.

use super::named::{FILE_SETTINGS, find, nearest};
use super::{Options, PeerOptionMeaning, peers};

/// Variables that are no settings: of commands, of compilation, and of tests, benchmarks and continuous integration. A
/// name that ends with an underscore stands for all names that begin with it. Names are without `OXORB_`.
const OTHERS: [&str; 19] = [
    "ANALYSES",
    "BLESS",
    "COMPILER",
    "FAULTS_",
    "FULL",
    "FUZZ_SECONDS",
    "HTTP_TOKEN",
    "IFR_TEST_STORE",
    "IN_PLACE_TASK",
    "MODEL_SECONDS",
    "NOT_TESTED",
    "PAGE_PICTURES",
    "REQUIRE_TOOLS",
    "SHM_",
    "SIMULATION_",
    "SOAK_SECONDS",
    "TARGET",
    "TESTKIT_",
    "TEST_",
];

impl Options {
    /// Adds a warning for each variable `OXORB_...` of the environment that nothing reads, which the ORB logs when it
    /// starts. The warning names the most similar setting. It does not contain the value, which may be confidential.
    ///
    /// Variables of other parts of OxORB, and those that Kubernetes adds for services named `oxorb-...`, are ignored.
    pub fn warn_of_unknown_variables(&mut self) {
        let mut names: Vec<String> = std::env::vars_os()
            .filter_map(|(name, _)| name.into_string().ok())
            .filter(|name| is_unknown(name))
            .collect();
        // The order of the environment is arbitrary.
        names.sort();
        self.ignored.extend(names.iter().map(|name| warning(name)));
    }
}

/// Returns the name of a variable after `OXORB_`, in any case; `None` for variables of other programs.
fn after_prefix(name: &str) -> Option<&str> {
    const PREFIX: &str = "OXORB_";
    let prefix = name.get(..PREFIX.len())?;
    prefix.eq_ignore_ascii_case(PREFIX).then(|| &name[PREFIX.len()..])
}

/// Reports whether a variable is one of OxORB, but nothing reads it.
fn is_unknown(name: &str) -> bool {
    let Some(rest) = after_prefix(name) else {
        return false;
    };
    let is_spelt = name.starts_with("OXORB_") && rest.to_uppercase() == rest;
    let is_setting = find(rest).is_some()
        || FILE_SETTINGS.iter().any(|setting| setting.eq_ignore_ascii_case(rest));
    let is_other = OTHERS.iter().any(|other| match other.ends_with('_') {
        true => rest.starts_with(other),
        false => rest == *other,
    });
    !(is_spelt && is_setting || is_other || is_of_kubernetes(rest))
}

/// Reports whether Kubernetes sets the variable, for a service whose name begins with `oxorb-`.
fn is_of_kubernetes(rest: &str) -> bool {
    ["_SERVICE_HOST", "_PORT"].iter().any(|end| rest.ends_with(end))
        || ["_SERVICE_PORT", "_PORT_"].iter().any(|part| rest.contains(part))
}

fn warning(name: &str) -> String {
    let meant = after_prefix(name).unwrap_or_default().replace('_', "");
    let of_peer = peers::find(&meant).and_then(|option| match option.meaning {
        PeerOptionMeaning::Setting { name, .. } => Some(name),
        _ => None,
    });
    match of_peer.or_else(|| nearest(&meant)) {
        Some(setting) => format!(
            "the environment variable {name} is ignored: no setting has this name; did you mean OXORB_{}?",
            setting.to_uppercase()
        ),
        None => format!(
            "the environment variable {name} is ignored: no setting has this name; docs/config.md lists the variables"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_misspelt_variables_are_unknown() {
        for known in [
            "OXORB_INITREF",
            "OXORB_CONFIGFILE",
            "OXORB_HTTP_TOKEN",
            "OXORB_TEST_ANYTHING",
            "OXORB_NAME_SERVICE_HOST",
            "OXORB_NAME_SERVICE_PORT_IIOP",
            "OXORB_NAME_PORT_2809_TCP_ADDR",
            "OXORBIT",
            "PATH",
            "\u{e9}\u{e9}\u{e9}\u{e9}",
        ] {
            assert!(!is_unknown(known), "{known}");
        }
        for (unknown, meant) in [
            ("OXORB_INITREFF", "OXORB_INITREF?"),
            ("OXORB_INIT_REF", "OXORB_INITREF?"),
            ("OXORB_InitRef", "OXORB_INITREF?"),
            ("oxorb_initref", "OXORB_INITREF?"),
            ("OXORB_FULLY", "docs/config.md"),
            ("OXORB_", "docs/config.md"),
            // TAO's name of an option whose name in OxORB is not similar.
            ("OXORB_ENDPOINT", "OXORB_LISTENENDPOINTS?"),
        ] {
            assert!(is_unknown(unknown), "{unknown}");
            let line = warning(unknown);
            assert!(line.contains(&format!("variable {unknown} is ignored")), "{line}");
            assert!(line.ends_with(meant) || line.contains(&format!("{meant} lists")), "{line}");
        }
    }

    #[test]
    fn the_most_similar_setting_is_meant() {
        assert_eq!(nearest("MaxConnection"), Some("MaxConnections"));
        assert_eq!(nearest("ConectTimeout"), Some("ConnectTimeout"));
        assert_eq!(nearest("nothing like it"), None);
        assert_eq!(nearest(""), None);
    }
}
