//! Operations from files: task sets in TOML, annotations in IDL, and AADL models. All are entered in one repository,
//! and each problem is reported with its place.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use oxorb_sched::repository::{CallKind, Characteristics, Handle};
use oxorb_sched::{Anomaly, Repository, Severity};

use super::extra::Extra;
use super::system::System;
use super::{aadl, annotation, set};
use oxorb_terminal::output::{Failed, because};

/// Contents of the files.
pub(super) struct Loaded {
    pub(super) repository: Repository,
    /// Scheduling declared by `[schedule]` of a file; options override it.
    pub(super) asked: set::Asked,
    /// Nodes that run operations, unless a single processor runs all.
    pub(super) system: System,
    /// Servers, critical sections and distributions of times.
    pub(super) extra: Extra,
    /// Whether the contents are those of one of several nodes, with jobs that are released by the completion of jobs
    /// elsewhere.
    pub(super) is_fed: bool,
    /// Place of each operation: `file:line:column`.
    places: HashMap<String, String>,
    calls: Vec<Call>,
}

/// Call or event, to be resolved once all operations are known.
pub(super) struct Call {
    pub(super) from: (String, String),
    pub(super) to: (String, String),
    pub(super) times: u32,
    pub(super) kind: CallKind,
}

/// Reads files, by extension: `.idl`, `.aadl`, anything else as TOML.
pub(super) fn load(files: &[PathBuf], include: &[PathBuf]) -> Result<Loaded, Failed> {
    let mut loaded = Loaded::of(Repository::new());
    let (idl, rest): (Vec<&PathBuf>, Vec<&PathBuf>) =
        files.iter().partition(|file| ends(file, "idl"));
    let (models, sets): (Vec<&PathBuf>, Vec<&PathBuf>) =
        rest.into_iter().partition(|file| ends(file, "aadl"));
    if !idl.is_empty() {
        annotation::read(&idl, include, &mut loaded)?;
    }
    for file in sets {
        set::read(file, &mut loaded)?;
    }
    if !models.is_empty() {
        aadl::read(&models, &mut loaded)?;
    }
    loaded.join()?;
    let Loaded { repository, system, places, extra, .. } = &mut loaded;
    extra.settle(repository)?;
    system.settle(repository, |name| places.get(name).cloned().unwrap_or_default())?;
    if let (Some(server), false) = (loaded.extra.servers.first(), loaded.system.is_empty()) {
        let (name, place) = &server.name;
        let why = "servers can be analysed only on one processor, without nodes and flows";
        return Err(because(format!("{place}: {name}: {why}")));
    }
    if loaded.repository.is_empty() {
        return Err(because(
            "the files declare no operations: [[operation]] in TOML, or @rt(...) before an operation in IDL",
        ));
    }
    Ok(loaded)
}

fn ends(file: &Path, with: &str) -> bool {
    file.extension().is_some_and(|ending| ending == with)
}

impl Loaded {
    /// Returns operations that come from no file.
    pub(super) fn of(repository: Repository) -> Loaded {
        Loaded {
            repository,
            asked: set::Asked::default(),
            system: System::default(),
            extra: Extra::default(),
            is_fed: false,
            places: HashMap::new(),
            calls: Vec::new(),
        }
    }

    /// Adds an operation declared at `place`.
    pub(super) fn add(
        &mut self,
        name: &str,
        place: String,
        said: Characteristics,
    ) -> Result<(), Failed> {
        if name.trim().is_empty() {
            return Err(because(format!("{place}: an operation without a name")));
        }
        self.claim(name, place.clone())?;
        let handle = self.repository.create(name);
        let handle = handle.map_err(|error| because(format!("{place}: {error}")))?;
        let set = self.repository.set(handle, said);
        set.map_err(|error| because(format!("{place}: {error}")))?;
        Ok(())
    }

    /// Records where a name is declared; rejects a second declaration.
    pub(super) fn claim(&mut self, name: &str, place: String) -> Result<(), Failed> {
        if let Some(first) = self.places.get(name) {
            let error = oxorb_sched::Error::DuplicateName(name.into());
            return Err(because(format!("{place}: {error}, at {first}")));
        }
        self.places.insert(name.into(), place);
        Ok(())
    }

    pub(super) fn call(&mut self, call: Call) {
        self.calls.push(call);
    }

    fn join(&mut self) -> Result<(), Failed> {
        for call in std::mem::take(&mut self.calls) {
            let find = |(name, place): &(String, String)| -> Result<Handle, Failed> {
                let found = self.repository.lookup(name);
                found.map_err(|error| because(format!("{place}: {error}")))
            };
            let (from, to) = (find(&call.from)?, find(&call.to)?);
            // The dependent operation is the caller of a call, and the receiver of an event.
            let (dependent, on) = match call.kind {
                CallKind::TwoWay => (from, to),
                CallKind::OneWay => (to, from),
            };
            let added = self.repository.add_dependency(dependent, on, call.times, call.kind);
            added.map_err(|error| because(format!("{}: {error}", call.from.1)))?;
        }
        Ok(())
    }

    /// Returns only the operations of one node.
    pub(super) fn only(mut self, node: &str) -> Result<Loaded, Failed> {
        let at = self.system.find(node)?;
        self.repository = self.system.only(&self.repository, at)?;
        self.asked = self.system.asked(at, self.asked);
        self.is_fed = self.system.is_fed(at);
        self.system = System::default();
        Ok(self)
    }

    /// Rejects operations that are spread over several nodes.
    pub(super) fn on_one_processor(&self) -> Result<(), Failed> {
        match self.system.is_empty() {
            true => Ok(()),
            false => Err(because(
                "the files place operations on nodes; specify one with --node (`check` and `analyse` accept all nodes)",
            )),
        }
    }

    /// Returns the place where an operation was declared.
    pub(super) fn place(&self, name: &str) -> Option<&str> {
        self.places.get(name).map(String::as_str)
    }

    /// Returns a finding with the place of its subject.
    pub(super) fn told(&self, found: &Anomaly) -> String {
        let operation = found.operation.as_deref();
        match operation.and_then(|name| self.place(name)) {
            Some(place) => format!("{place}: {found}"),
            None => found.to_string(),
        }
    }
}

/// Reports whether a finding makes a set invalid.
pub(super) fn is_wrong(found: &Anomaly) -> bool {
    found.severity <= Severity::Error
}
