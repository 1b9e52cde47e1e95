//! Files in which a host reports its state.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use oxorb_sys::cgroup::processor_list;

/// Maximum number of octets to read from a file: files of the system are shorter.
const MOST: u64 = 1 << 20;

/// Maximum number of entries to read from a directory.
const ENTRIES: usize = 8192;

/// Host, or a copy of its files.
pub(super) struct Host {
    root: PathBuf,
    /// Names of the wanted findings; empty for all.
    only: Vec<String>,
}

impl Host {
    pub(super) fn at(root: PathBuf) -> Self {
        Host { root, only: Vec::new() }
    }

    /// Restricts the check to findings of these names; empty for all.
    pub(super) fn only(mut self, names: &[String]) -> Self {
        self.only = names.iter().map(|name| name.trim().to_owned()).collect();
        self
    }

    pub(super) fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|wanted| wanted == name)
    }

    /// Returns a wanted name that is not among those found.
    pub(super) fn unknown_name<'n>(
        &self,
        found: impl Iterator<Item = &'n str> + Clone,
    ) -> Option<&str> {
        let known = |wanted: &&String| !found.clone().any(|name| name == **wanted);
        self.only.iter().find(known).map(String::as_str)
    }

    /// Reports whether the files are those of the host that runs this process.
    pub(super) fn is_this(&self) -> bool {
        self.root == Path::new("/")
    }

    /// Returns the location of a file.
    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// Returns the queueing disciplines of all network devices: from `tc` on this host, or from the file
    /// `tc-qdisc.json` of a copy (`tc -j qdisc show`). Returns `None` if neither is available.
    pub(super) fn queues(&self) -> Option<Vec<Queue>> {
        let text = match self.is_this() {
            true => {
                let output = Command::new("tc")
                    .args(["-j", "qdisc", "show"])
                    .stdin(Stdio::null())
                    .output()
                    .ok()?;
                String::from_utf8(output.stdout).ok()?
            }
            false => self.text("tc-qdisc.json")?,
        };
        serde_json::from_str(&text).ok()
    }

    /// Returns the text of a file, trimmed; `None` if the file is missing or not readable.
    pub(super) fn text(&self, path: &str) -> Option<String> {
        let mut text = String::new();
        let file = File::open(self.root.join(path)).ok()?;
        file.take(MOST).read_to_string(&mut text).ok()?;
        Some(text.trim().to_owned())
    }

    pub(super) fn number(&self, path: &str) -> Option<i64> {
        self.text(path)?.parse().ok()
    }

    pub(super) fn has(&self, path: &str) -> bool {
        self.root.join(path).exists()
    }

    /// Returns the names in a directory, sorted.
    pub(super) fn names(&self, path: &str) -> Vec<String> {
        let entries = fs::read_dir(self.root.join(path)).into_iter().flatten();
        let names = entries.flatten().map(|entry| entry.file_name());
        let mut names: Vec<String> =
            names.take(ENTRIES).filter_map(|name| name.into_string().ok()).collect();
        names.sort_unstable();
        names
    }

    /// Returns a soft limit of this process, by its name in `/proc/self/limits`; `Some(None)` if it is unlimited.
    pub(super) fn limit(&self, name: &str) -> Option<Option<u64>> {
        let limits = self.text("proc/self/limits")?;
        let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
        match line.split_whitespace().next()? {
            "unlimited" => Some(None),
            number => number.parse().ok().map(Some),
        }
    }

    /// Reports whether this process has a capability, by its number.
    pub(super) fn is_capable(&self, capability: u32) -> bool {
        let status = self.text("proc/self/status").unwrap_or_default();
        let mut lines = status.lines();
        let set = lines.find_map(|line| line.strip_prefix("CapEff:"));
        let set = set.and_then(|set| u64::from_str_radix(set.trim(), 16).ok());
        set.is_some_and(|set| set >> capability & 1 == 1)
    }

    /// Returns the real-time priority of a thread, by its id; 0 if its scheduling class has none.
    pub(super) fn real_time_priority(&self, thread: &str) -> Option<i32> {
        // Field 40 of the file is the real-time priority. The first field after the name, which is in parentheses, is
        // field 3.
        let stat = self.text(&format!("proc/{thread}/stat"))?;
        let (_, fields) = stat.rsplit_once(')')?;
        fields.split_whitespace().nth(37)?.parse().ok()
    }

    /// Returns a list of processors, such as `0,2-3`, as numbers.
    pub(super) fn processors(&self, path: &str) -> Option<Vec<usize>> {
        processor_list(&self.text(path)?)
    }
}

/// Queueing discipline of a network device.
#[derive(Clone, Debug, serde::Deserialize)]
pub(super) struct Queue {
    pub(super) kind: String,
    #[serde(default)]
    pub(super) handle: String,
    pub(super) dev: String,
    #[serde(default)]
    pub(super) root: bool,
}
