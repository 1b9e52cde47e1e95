//! Systemd units.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use oxorb_deploy::Process;
use oxorb_deploy::check::Lookup;

use super::{Loaded, What, hash, slug};
use oxorb_terminal::output::{Done, Failed, because, print};

/// Arguments of `oxorb deploy emit systemd`.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) what: What,
    /// Folder for the units; created if missing
    #[arg(long, value_name = "FOLDER", value_hint = clap::ValueHint::DirPath)]
    out: PathBuf,
    /// Check the units with systemd-analyze on this machine, where the programs must be installed
    #[arg(long)]
    verify: bool,
    /// User that the services run as
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
}

/// Writes the units, and checks them with systemd if requested.
pub(super) fn run(args: &Args) -> Done {
    let loaded = args.what.load()?;
    check_nodes(&loaded)?;
    let absolute = |file: &Path| std::path::absolute(file).map(|file| file.display().to_string());
    let plan = absolute(&args.what.plan)?;
    let resources = args.what.rt.as_deref().map(absolute).transpose()?;
    let resources = resources.unwrap_or_default();
    let (mut folders, mut units) = (Vec::<PathBuf>::new(), Vec::new());
    let mut known = HashSet::new();
    let lookup = loaded.lookup();
    for process in &loaded.processes {
        let folder = args.out.join(slug(&process.node));
        if known.insert(folder.clone()) {
            units.push((folder.join(target(&loaded)), target_unit(&loaded)));
            folders.push(folder.clone());
        }
        let words = args.what.words(&plan, &resources, process, str::to_owned)?;
        let unit = service(&loaded, process, lookup.as_ref(), &words, args.user.as_deref())?;
        let name = [&loaded.label, &process.name].map(|name| unit_name(name)).join("-");
        units.push((folder.join(format!("oxorb-{name}.service")), unit));
    }
    // Write only now: a process that cannot be a unit leaves no files behind.
    for folder in &folders {
        std::fs::create_dir_all(folder).map_err(|error| wrong(folder, &error))?;
    }
    for (file, unit) in &units {
        write(file, unit)?;
    }
    for folder in &folders {
        print(format!("{}: {}\n", folder.display(), told(folder, args.verify)?))?;
    }
    Ok(())
}

/// Refuses two nodes whose units would be in the same folder, as each node would run the processes of both.
fn check_nodes(loaded: &Loaded) -> Done {
    let mut nodes: HashMap<String, &str> = HashMap::new();
    for process in &loaded.processes {
        let folder = slug(&process.node);
        match nodes.get(&folder) {
            Some(other) if *other != process.node => {
                return Err(because(format!(
                    "the units of the nodes {other:?} and {:?} would be in one folder, {folder}: rename a node",
                    process.node
                )));
            }
            _ => drop(nodes.insert(folder, &process.node)),
        }
    }
    Ok(())
}

fn wrong(path: &Path, error: &std::io::Error) -> Failed {
    because(format!("{}: {error}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), Failed> {
    std::fs::write(path, text).map_err(|error| wrong(path, &error))
}

fn target(loaded: &Loaded) -> String {
    format!("oxorb-{}.target", unit_name(&loaded.label))
}

fn target_unit(loaded: &Loaded) -> String {
    format!(
        "[Unit]\nDescription=All processes of the plan {} on this node\n\n[Install]\nWantedBy=multi-user.target\n",
        escaped(&loaded.label)
    )
}

fn service(
    loaded: &Loaded,
    process: &Process,
    resources: Option<&Lookup<'_>>,
    words: &[String],
    user: Option<&str>,
) -> Result<String, Failed> {
    let mut unit = String::new();
    let command: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    let _ = write!(
        unit,
        "[Unit]\nDescription=Instances {} of the plan {}\nPartOf={}\nWants=network-online.target\nAfter=network-online.target\n\n\
         [Service]\nType=exec\nExecStart={}\nRestart=on-failure\nRestartSec=1\nNoNewPrivileges=yes\n",
        escaped(&loaded.instances(process)),
        escaped(&loaded.label),
        target(loaded),
        command.join(" ")
    );
    if let Some(user) = user {
        let _ = writeln!(unit, "User={}", escaped(user));
    }
    if loaded.is_real_time(process, resources) {
        // Permit SCHED_FIFO and locked memory to a service that does not run as root.
        unit.push_str("LimitRTPRIO=99\nLimitMEMLOCK=infinity\n");
    }
    let processors = loaded.processors(process, resources)?;
    if !processors.is_empty() {
        let processors: Vec<String> = processors.iter().map(u16::to_string).collect();
        let _ = write!(unit, "AllowedCPUs={0}\nCPUAffinity={0}\n", processors.join(" "));
    }
    let _ = write!(unit, "\n[Install]\nWantedBy={}\n", target(loaded));
    Ok(unit)
}

/// Maximum length in octets of a part of a unit's name, which has at most 255.
const MOST: usize = 100;

/// Escapes a part of a unit's name as `systemd-escape` does: all characters except ASCII letters, digits, `:`, `_` and
/// `.`. This includes hyphens, which separate the parts, and also slashes, which `systemd-escape` makes hyphens. A
/// longer name is cut off, and ends with a hash of the complete name.
fn unit_name(text: &str) -> String {
    let mut name = String::new();
    for (at, octet) in text.bytes().enumerate() {
        let is_plain = octet.is_ascii_alphanumeric() || b":_".contains(&octet);
        let escaped = match octet {
            b'.' if at > 0 => ".".to_owned(),
            plain if is_plain => char::from(plain).to_string(),
            other => format!("\\x{other:02x}"),
        };
        if name.len() + escaped.len() > MOST {
            return format!("{name}_{:08x}", hash(text));
        }
        name.push_str(&escaped);
    }
    name
}

/// Escapes the text of a setting: no line ends, and no specifiers of systemd.
fn escaped(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    text.replace('%', "%%")
}

/// Quotes a word of a command line.
fn quoted(word: &str) -> String {
    let word = escaped(word).replace('\\', "\\\\").replace('"', "\\\"").replace('$', "$$");
    let is_plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "-_=/.,:+@%{}".contains(c));
    if is_plain && !word.is_empty() { word } else { format!("\"{word}\"") }
}

/// Returns a report on the units in a folder, which the systemd of this machine checks if requested.
fn told(folder: &Path, is_verified: bool) -> Result<String, Failed> {
    let mut units: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "service" || ending == "target") {
            units.push(path);
        }
    }
    if !is_verified {
        return Ok(format!("{} units", units.len()));
    }
    let analyse = |more: &[&str]| {
        Command::new("systemd-analyze")
            .args(["verify", "--man=no"])
            .args(more)
            .args(&units)
            .stdin(Stdio::null())
            .output()
    };
    let mut found = analyse(&["--recursive-errors=no"]);
    // systemd before version 250 does not have the option `--recursive-errors`.
    if found.as_ref().is_ok_and(is_unknown_option) {
        found = analyse(&[]);
    }
    match found {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(format!(
            "{} units, NOT CHECKED: systemd-analyze is not installed on this machine",
            units.len()
        )),
        Err(error) => Err(because(format!("systemd-analyze: {error}"))),
        Ok(done) if done.status.success() => {
            Ok(format!("{} units, checked by systemd-analyze", units.len()))
        }
        Ok(done) => Err(because(format!(
            "{}: systemd-analyze on this machine rejects the units: {}",
            folder.display(),
            String::from_utf8_lossy(&done.stderr).trim()
        ))),
    }
}

fn is_unknown_option(done: &Output) -> bool {
    !done.status.success() && String::from_utf8_lossy(&done.stderr).contains("unrecognized option")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_units_are_escaped_and_short() {
        for (name, escaped) in [
            ("main_1.a:b", "main_1.a:b"),
            (".a-b/c", r"\x2ea\x2db\x2fc"),
            ("a%i $\n\u{e9}", r"a\x25i\x20\x24\x0a\xc3\xa9"),
        ] {
            assert_eq!(unit_name(name), escaped);
        }
        let [one, other] = ["1", "2"].map(|end| unit_name(&("-".repeat(100) + end)));
        assert_ne!(one, other);
        assert!(one.len() <= MOST + 9 && one.starts_with(r"\x2d\x2d"), "{one}");
    }
}
