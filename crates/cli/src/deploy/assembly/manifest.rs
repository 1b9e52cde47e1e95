//! Cargo manifest of the program.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::parts::{Assembly, Origin};

/// Protocols by their names in URLs and settings, with the features of `oxorb` that they need. IIOP needs none.
const PROTOCOLS: [(&str, &[&str]); 12] = [
    ("uiop", &["unix"]),
    ("shm", &["memory"]),
    ("diop", &["datagrams"]),
    ("miop", &["datagrams"]),
    ("iiops", &["tls"]),
    ("giop-lite+tcp", &["lite"]),
    ("giop-lite-rt+tcp", &["lite"]),
    ("giop-lite+unix", &["lite", "unix"]),
    ("giop-lite-rt+unix", &["lite", "unix"]),
    ("giop-lite+shm", &["lite", "memory"]),
    ("giop-lite-rt+shm", &["lite", "memory"]),
    // A stringified reference, or a file with one, may contain profiles of any protocol.
    ("ior", &["datagrams", "lite", "memory", "unix"]),
];

/// Feature that the setting `Personality` needs.
const FILES: &str = "files";

/// Returns the text of `Cargo.toml`. `folders` lists crates with the folders that contain them.
pub(super) fn text(assembly: &Assembly<'_>, folders: &[(String, String)]) -> String {
    let folder = |name: &str| {
        let mut found = folders.iter().filter(|(known, _)| known == name);
        found.next_back().map(|(_, folder)| folder.as_str())
    };
    let process = assembly.process;
    let name =
        super::super::emit::slug(&format!("{}-{}-{}", assembly.label, process.node, process.name));
    let version = env!("CARGO_PKG_VERSION");
    let place = match folder("oxorb") {
        Some(folder) => format!("path = {}", quoted(folder)),
        None => format!("version = {}", quoted(version)),
    };
    let mut out = format!(
        "# Written once by `oxorb deploy static`, which never overwrites it. Edit it as needed.\n\
         [package]\n\
         name = {}\n\
         version = \"0.1.0\"\n\
         edition = \"2024\"\n\
         publish = false\n\
         \n\
         [dependencies]\n\
         # Features of further protocols: unix, memory, datagrams, lite, tls; of settings in files: files.\n\
         oxorb = {{ {place}, default-features = false, features = {:?} }}\n",
        quoted(&format!("assembly-{name}")),
        features(assembly)
    );
    for package in &assembly.packages {
        let at = folder(package).map_or_else(|| format!("../{package}"), str::to_owned);
        let _ = writeln!(out, "{package} = {{ path = {} }}", quoted(&at));
    }
    out
}

/// Returns the features of `oxorb` that the program needs: for components, and for the protocols that the plan names.
fn features(assembly: &Assembly<'_>) -> Vec<&'static str> {
    let urls = assembly.links.iter().filter_map(|link| match link.from {
        Origin::Url(url) => Some(url),
        Origin::Port(..) => None,
    });
    let mut features = BTreeSet::from(["components"]);
    for text in assembly.arguments.iter().map(String::as_str).chain(urls) {
        let text = text.to_ascii_lowercase();
        if text.starts_with("-orbpersonality") {
            features.insert(FILES);
        }
        // `corbaloc:uiop:/run/a,iiop:host/key`, `IOR:...`, `NAME=URL`, `uiop,iiop`.
        for word in text.split([':', ',', ';', '=', '"', ' ']) {
            let word = if word == "file" { "ior" } else { word };
            let named = PROTOCOLS.iter().filter(|(name, _)| *name == word);
            features.extend(named.flat_map(|(_, needed)| *needed));
        }
    }
    features.into_iter().collect()
}

/// Returns a text as a basic string of TOML.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            other if other.is_control() => {
                let _ = write!(out, "\\U{:08X}", u32::from(other));
            }
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use oxorb_deploy::Process;

    use super::super::parts::{How, Link};
    use super::*;

    /// Returns the features of `oxorb` in the manifest of a program with these arguments, whose connection has this
    /// URL.
    fn written(arguments: &[&str], url: &str) -> Vec<String> {
        let process = Process { node: "n".into(), name: "main".into(), instances: Vec::new() };
        let arguments: Vec<String> = arguments.iter().map(|&one| one.to_owned()).collect();
        let link = Link {
            name: "connection",
            how: How::Receptacle,
            user: 0,
            port: "port",
            from: Origin::Url(url),
            bands: None,
        };
        let assembly = Assembly {
            label: "plan",
            process: &process,
            packages: BTreeSet::new(),
            arguments: &arguments,
            pools: Vec::new(),
            containers: Vec::new(),
            instances: Vec::new(),
            links: vec![link],
            order: Vec::new(),
        };
        let manifest: toml::Table = text(&assembly, &[]).parse().expect("a manifest is TOML");
        let oxorb = &manifest["dependencies"]["oxorb"];
        assert_eq!(oxorb["default-features"].as_bool(), Some(false));
        let features = oxorb["features"].as_array().expect("a list");
        features.iter().map(|one| one.as_str().expect("a name").to_owned()).collect()
    }

    #[test]
    fn only_protocols_that_the_plan_names_are_linked() {
        let iiop = "corbaloc:iiop:10.0.0.7:2809/dev/shm/uiop";
        assert_eq!(written(&[], iiop), ["components"]);
        assert_eq!(written(&["-ORBSchedPolicy", "SCHED_FIFO"], iiop), ["components"]);
        assert_eq!(written(&["-ORBProtocols", "uiop,iiop"], iiop), ["components", "unix"]);
        assert_eq!(written(&["-ORBProtocols=iiops,shm"], iiop), ["components", "memory", "tls"]);
        let refs = ["-ORBInitRef", "NameService=corbaloc:diop:1.2@host:1306/NameService"];
        assert_eq!(written(&refs, iiop), ["components", "datagrams"]);
        assert_eq!(written(&["-ORBPersonality", "avionics"], iiop), ["components", "files"]);
        for (url, needed) in [
            ("corbaloc:uiop:/run/bank/shm|Teller", vec!["components", "unix"]),
            ("corbaloc:iiop:a/K,giop-lite-rt+shm:/b|K", vec!["components", "lite", "memory"]),
            ("IOR:0123", vec!["components", "datagrams", "lite", "memory", "unix"]),
            ("file:///run/a.ior", vec!["components", "datagrams", "lite", "memory", "unix"]),
        ] {
            assert_eq!(written(&[], url), needed, "{url}");
        }
    }

    /// The features exist.
    #[test]
    fn features_are_those_of_the_crate() {
        let manifest = include_str!("../../../../orb/Cargo.toml");
        let manifest: toml::Table = manifest.parse().expect("a manifest is TOML");
        let known = manifest["features"].as_table().expect("a table");
        for needed in PROTOCOLS.iter().flat_map(|(_, needed)| *needed).chain([&FILES]) {
            assert!(known.contains_key(*needed), "{needed}");
        }
    }

    #[test]
    fn folders_stay_strings() {
        for hostile in ["a\"b", "a\\", "a\n[dependencies]", "\u{7f}\u{1}", "plain"] {
            let text = format!("a = {}", quoted(hostile));
            let table: toml::Table = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(table["a"].as_str(), Some(hostile));
        }
    }
}
