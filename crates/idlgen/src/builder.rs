//! Compilation of IDL files to Rust files, for build scripts and the command.

use std::fmt;
use std::path::{Path, PathBuf};

use oxorb_idl::diagnostic::{Code, Problem, Severity};
use oxorb_idl::model::{DefKind, InterfaceKind, Model};
use oxorb_idl::source::Span;
use oxorb_idl::{Failed, Lenient, Options, Report, equivalent};

use crate::executors::Executors;
use crate::extra::Extra;
use crate::marshalling::{Choice, unknown};
use crate::plan::declared;
use crate::reach::reachable;
use crate::rt_infos;
use crate::rust::{CodeChoices, Unmapped, generate};
use crate::{Files, Marshalling, OperationLookup};

/// Compiles IDL files for `oxorb::include_idl!`; call it from `build.rs`.
///
/// Each file becomes one `.rs` of the same name in `OUT_DIR`, with all its definitions and those that they need from
/// included files. Cargo reruns the script when one of these files changes. [`Builder`] has more options.
///
/// # Errors
/// Problems of the IDL or of files; if `main` returns the error, the problems are printed with the lines of IDL.
///
/// ```no_run
/// // build.rs
/// fn main() -> Result<(), oxorb_idlgen::Error> {
///     oxorb_idlgen::compile(["idl/bank.idl"])
/// }
/// ```
pub fn compile<P: Into<PathBuf>>(files: impl IntoIterator<Item = P>) -> Result<(), Error> {
    Builder::new().files(files).compile()
}

/// Compiler of IDL files, with its options.
///
/// ```no_run
/// # fn main() -> Result<(), oxorb_idlgen::Error> {
/// oxorb_idlgen::Builder::new()
///     .file("idl/bank.idl")
///     .include("/usr/share/idl/omniORB")
///     .define("WITH_LOANS")
///     .compile()
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Builder {
    files: Vec<PathBuf>,
    options: Options,
    out_dir: Option<PathBuf>,
    joined: Option<String>,
    runtime: String,
    marshalling: Choice,
    mutating: Vec<String>,
    extra: Extra,
    choices: CodeChoices,
    rt_infos: bool,
    executors: bool,
}

/// Result of [`Builder::generate`].
#[derive(Debug)]
pub struct Generated {
    /// Rust files, not written yet.
    pub files: Files,
    /// Every IDL file that was read.
    pub sources: Vec<PathBuf>,
    /// Warnings of the front end, for each compilation.
    pub reports: Vec<Report>,
}

/// Failure to generate Rust.
///
/// `Debug` prints the same as `Display`, so that a build script whose `main` returns it is readable.
#[derive(thiserror::Error)]
pub enum Error {
    /// Invalid or unsupported IDL.
    #[error(transparent)]
    Idl(Box<Failed>),
    /// File that cannot be written.
    #[error("{0}")]
    Io(std::io::Error),
    /// Impossible request to the builder; the text describes it.
    #[error("{0}")]
    Setup(String),
}

impl Default for Builder {
    fn default() -> Self {
        Builder {
            files: Vec::new(),
            options: Options::default(),
            out_dir: None,
            joined: None,
            runtime: "::oxorb::__gen".to_owned(),
            marshalling: Choice::default(),
            mutating: Vec::new(),
            extra: Extra::default(),
            choices: CodeChoices::default(),
            rt_infos: false,
            executors: false,
        }
    }
}

impl Builder {
    /// Returns a compiler without files and include folders.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an IDL file.
    #[must_use]
    pub fn file(self, path: impl Into<PathBuf>) -> Self {
        self.files([path])
    }

    /// Adds IDL files.
    #[must_use]
    pub fn files<P: Into<PathBuf>>(mut self, paths: impl IntoIterator<Item = P>) -> Self {
        self.files.extend(paths.into_iter().map(Into::into));
        self
    }

    /// Adds a folder to search for `#include`, after folders added before (`-I`). For `#include "..."`, the folder of
    /// the including file is searched first.
    #[must_use]
    pub fn include(mut self, folder: impl Into<PathBuf>) -> Self {
        self.options.include_dirs.push(folder.into());
        self
    }

    /// Defines a macro: `NAME` or `NAME=VALUE` (`-D`).
    #[must_use]
    pub fn define(mut self, definition: impl Into<String>) -> Self {
        self.options.defines.push(definition.into());
        self
    }

    /// Accepts departures from the specification with a warning; none by default.
    #[must_use]
    pub fn lenient(mut self, lenient: Lenient) -> Self {
        self.options.lenient = lenient;
        self
    }

    /// Ignores the files built into OxORB, `<orb.idl>` and `<Components.idl>`: those in the include folders are read
    /// instead.
    pub fn no_builtins(mut self, without: bool) -> Self {
        self.options.no_builtins = without;
        self
    }

    /// Sets the folder of the Rust files; `OUT_DIR` of the build script by default.
    #[must_use]
    pub fn out_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.out_dir = Some(folder.into());
        self
    }

    /// Compiles all files together into one `name.rs`, so that definitions included by several of these files become
    /// one set of Rust types. By default each file is compiled separately.
    #[must_use]
    pub fn joined(mut self, name: impl Into<String>) -> Self {
        self.joined = Some(name.into());
        self
    }

    /// Sets the module that generated code refers to, `::oxorb::__gen` by default; for crates that re-export `oxorb`
    /// under another path.
    #[must_use]
    pub fn runtime(mut self, path: impl Into<String>) -> Self {
        self.runtime = path.into();
        self
    }

    /// Chooses how values and calls are marshalled: by default by compiled code.
    ///
    /// Both kinds write and reject the same octets, and can be mixed; interpreted code is smaller and slower, as the
    /// figures in `docs/marshalling.md` of the repository show. `@interpreted` and `@interpreted(FALSE)` in the IDL
    /// decide for a module, an interface or a type.
    #[must_use]
    pub fn marshalling(mut self, marshalling: Marshalling) -> Self {
        self.marshalling.whole = marshalling;
        self
    }

    /// Interprets the definition of this name, such as `bank::Account`, and its contents: a module, an interface or a
    /// type.
    ///
    /// Types that only interpreted interfaces use are also interpreted.
    #[must_use]
    pub fn interpret(mut self, scoped_name: impl Into<String>) -> Self {
        self.marshalling.interpreted.push(scoped_name.into());
        self
    }

    /// Lets the operation of a valuetype with this name, such as `bank::Purse::spend`, change the value: its method
    /// takes `&mut self`. `@mutating` in the IDL does the same.
    #[must_use]
    pub fn mutating(mut self, operation: impl Into<String>) -> Self {
        self.mutating.push(operation.into());
        self
    }

    /// Generates an additional trait for servants that reply later, from any thread (AMH), for the interface of this
    /// name, such as `bank::Account`, or all interfaces in the module of this name; `@amh` in the IDL does the same.
    /// See `docs/asynchronous.md` of the repository.
    #[must_use]
    pub fn amh(mut self, scoped_name: impl Into<String>) -> Self {
        self.extra.amh.push(scoped_name.into());
        self
    }

    /// Generates an additional trait for servants that belong to one thread, and need be neither `Send` nor `Sync`, for
    /// the interface of this name, such as `bank::Account`, or all interfaces in the module of this name; `@confined`
    /// in the IDL does the same. See `docs/mapping.md` of the repository.
    #[must_use]
    pub fn confined(mut self, scoped_name: impl Into<String>) -> Self {
        self.extra.confined.push(scoped_name.into());
        self
    }

    /// Generates reply handlers and `sendc_` methods for asynchronous calls with callbacks (AMI), for the interface of
    /// this name or all interfaces in the module of this name; `@ami` in the IDL does the same. See
    /// `docs/asynchronous.md` of the repository.
    #[must_use]
    pub fn ami(mut self, scoped_name: impl Into<String>) -> Self {
        self.extra.ami.push(scoped_name.into());
        self
    }

    /// Lets servants of oneway operations return `Result<(), SystemException>` instead of nothing: servants of the
    /// operation of this name, such as `bank::Account::accrue`, or of all oneway operations in an interface or module;
    /// `@fallible` in the IDL does the same. Only callers with SYNC_WITH_TARGET receive the exception.
    #[must_use]
    pub fn fallible_oneways(mut self, scoped_name: impl Into<String>) -> Self {
        self.extra.fallible_oneways.push(scoped_name.into());
        self
    }

    /// Generates traits for the executors of components and homes, and the code that joins them to a container; the
    /// crate needs the feature `components` of `oxorb`. Without it, only the client side is generated. See
    /// `docs/components.md` of the repository.
    #[must_use]
    pub fn executors(mut self, wanted: bool) -> Self {
        self.executors = wanted;
        self
    }

    /// Chooses how skeletons find operations by name; by default by a perfect hash.
    #[must_use]
    pub fn operation_lookup(mut self, lookup: OperationLookup) -> Self {
        self.choices.operation_lookup = lookup;
        self
    }

    /// Chooses whether the compiler may inline stubs into their callers in other crates: by default it may, by the
    /// attribute `#[inline]`.
    ///
    /// Without it, each stub is compiled once, in the crate of the generated code. Programs with many places that call
    /// the same operation are then smaller, and each call of a stub is a call of a function.
    #[must_use]
    pub fn inline_stubs(mut self, wanted: bool) -> Self {
        self.choices.inline_stubs = wanted;
        self
    }

    /// Generates the table `rt_infos::RT_INFOS` of the `@rt(...)` annotations on operations of the main files, for
    /// `oxorb_sched::annotation::declare`. By default, programs contain no `@rt` data: a build script can make it
    /// depend on a feature, so that only programs for configuration runs have RT_Infos.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), oxorb_idlgen::Error> {
    /// let configuration = std::env::var_os("CARGO_FEATURE_CONFIGURATION").is_some();
    /// oxorb_idlgen::Builder::new().file("nav.idl").rt_infos(configuration).compile()
    /// # }
    /// ```
    #[must_use]
    pub fn rt_infos(mut self, wanted: bool) -> Self {
        self.rt_infos = wanted;
        self
    }

    /// Compiles without writing anything.
    ///
    /// # Errors
    /// [`Error::Idl`] for the first file that does not compile, with all its problems; [`Error::Setup`] without files,
    /// with an invalid runtime path, if a name to [interpret](Self::interpret) or a [mutating](Self::mutating)
    /// operation does not exist, or if two files would become the same Rust file.
    pub fn generate(&self) -> Result<Generated, Error> {
        if syn::parse_str::<syn::Path>(&self.runtime).is_err() {
            return Err(Error::Setup(format!("`{}` is not a Rust path", self.runtime)));
        }
        if self.files.is_empty() {
            return Err(Error::Setup("no IDL file was given".to_owned()));
        }
        let folder = self.folder()?;
        let mut generated =
            Generated { files: Files::default(), sources: Vec::new(), reports: Vec::new() };
        if let Some(name) = &self.joined {
            self.unit(&self.files, &folder.join(format!("{name}.rs")), &mut generated)?;
            return Ok(generated);
        }
        for file in &self.files {
            let stem = file.file_stem().unwrap_or(file.as_os_str());
            let target = folder.join(stem).with_extension("rs");
            if generated.files.contains(&target) {
                return Err(Error::Setup(format!(
                    "two IDL files would become {}; use two builders with different `out_dir`, or join the files",
                    target.display()
                )));
            }
            self.unit(std::slice::from_ref(file), &target, &mut generated)?;
        }
        Ok(generated)
    }

    /// Compiles and writes the files, and prints the Cargo directives for files to watch and for warnings. For build
    /// scripts; elsewhere use [`generate`](Self::generate).
    ///
    /// # Errors
    /// As [`generate`](Self::generate), and [`Error::Io`].
    pub fn compile(&self) -> Result<(), Error> {
        // Cargo watches the files even if they do not compile; otherwise it would not run the script again after a
        // correction.
        for file in &self.files {
            println!("cargo:rerun-if-changed={}", file.display());
        }
        let generated = self.generate()?;
        for source in &generated.sources {
            println!("cargo:rerun-if-changed={}", source.display());
        }
        for report in &generated.reports {
            for warning in &report.diagnostics {
                let (at, problem) = (report.sources.location(warning.span), &warning.problem);
                let (message, code) = (problem.message(), problem.code());
                println!("cargo:warning={}:{}: {message} ({code})", at.file, at.line);
            }
        }
        generated.files.write()?;
        Ok(())
    }

    /// Compiles a translation unit.
    fn unit(&self, files: &[PathBuf], target: &Path, out: &mut Generated) -> Result<(), Error> {
        let mut compiled = oxorb_idl::compile(files, &self.options)?;
        let mut mark = |name: &str| compiled.model.mark_mutating(name);
        if let Some(name) = self.mutating.iter().find(|name| !mark(name)) {
            return Err(Error::Setup(format!(
                "`{name}` is requested as mutating, but {} has no operation of a valuetype with this name",
                files[0].display()
            )));
        }
        if let Some(name) = unknown(&compiled.model, &self.marshalling) {
            return Err(Error::Setup(format!(
                "`{name}` is requested as interpreted, but {} defines nothing with this name",
                files[0].display()
            )));
        }
        if let Some(name) = self.extra.unknown(&compiled.model) {
            return Err(Error::Setup(format!(
                "`{name}` is requested as asynchronous, but {} defines nothing with this name",
                files[0].display()
            )));
        }
        if let Some(name) = self.extra.unknown_oneway(&compiled.model) {
            return Err(Error::Setup(format!(
                "`{name}` is requested as fallible, but {} has no module, interface or oneway operation with this name",
                files[0].display()
            )));
        }
        // The equivalent IDL does not compile if the IDL has its own module `Components`, which lacks definitions.
        let plain = match has_components(&compiled.model) {
            true => equivalent::compile(&compiled.model, &self.options).ok(),
            false => None,
        };
        // Rust is generated from the equivalent model, but problems are reported at places in the original text.
        let model = plain.as_ref().unwrap_or(&compiled.model);
        let extra = match &plain {
            Some(_) => &Extra {
                executors: self.executors.then(|| Executors::of(&compiled.model)),
                ..self.extra.resolved(&compiled.model)
            },
            None => &self.extra,
        };
        let text = self.text(files, target, model, extra);
        let mut report = compiled.report;
        match text {
            Ok(text) => {
                out.files.insert(target, text);
                for (place, problem) in
                    clients_only(&compiled.model, plain.is_some(), self.executors)
                {
                    report.diagnostics.push(place, problem);
                }
                for (place, problem) in unreachable_calls(&compiled.model) {
                    report.diagnostics.push(place, problem);
                }
            }
            Err(unmapped) => {
                let def = model.def(unmapped.def);
                let mut defs = compiled.model.defs();
                let written = defs.find(|other| other.scoped_name == def.scoped_name);
                let place = match (&plain, unmapped.what.at) {
                    (None, Some(place)) => place,
                    _ => written.map_or(Span::default(), |def| def.span),
                };
                let problem =
                    NotMapped { scoped_name: def.scoped_name.clone(), what: unmapped.what.what };
                report.diagnostics.push(place, problem);
                return Err(Failed { report }.into());
            }
        }
        for path in report.sources.paths() {
            if !out.sources.iter().any(|known| known == path) {
                out.sources.push(path.to_owned());
            }
        }
        out.reports.push(report);
        Ok(())
    }

    fn text(
        &self,
        files: &[PathBuf],
        target: &Path,
        model: &Model,
        extra: &Extra,
    ) -> Result<String, Unmapped> {
        // Contains only file names, because the folders differ between machines.
        let names = files.iter().filter_map(|path| path.file_name());
        let names: Vec<_> = names.map(|name| name.to_string_lossy()).collect();
        let header = format!("// @generated by oxorb from {}. Do not edit.\n", names.join(", "));
        let name = target.file_stem().unwrap_or_default().to_string_lossy();
        let mut text =
            generate(model, &name, &self.runtime, &self.marshalling, self.choices, extra, &header)?;
        if self.rt_infos {
            text.push_str(&rt_infos::table(model));
        }
        Ok(text)
    }

    fn folder(&self) -> Result<PathBuf, Error> {
        match &self.out_dir {
            Some(folder) => Ok(folder.clone()),
            None => std::env::var_os("OUT_DIR").map(PathBuf::from).ok_or_else(|| {
                Error::Setup(
                    "OUT_DIR is not set: call this from build.rs, or set `out_dir`".to_owned(),
                )
            }),
        }
    }
}

/// Reports whether the code of a model needs components or their ports and homes.
fn has_components(model: &Model) -> bool {
    let needed = reachable(model);
    let mut kinds = needed.iter().map(|id| &model.def(*id).kind);
    kinds.any(|kind| {
        matches!(kind, DefKind::Component(_) | DefKind::Connector(_) | DefKind::Home(_))
            || matches!(kind, DefKind::ValueType(value) if value.event)
    })
}

/// Returns the components, homes and connectors of which at most the equivalent interfaces are generated.
fn clients_only(
    model: &Model,
    equivalent: bool,
    executors: bool,
) -> impl Iterator<Item = (Span, Component)> {
    let executors = executors && equivalent;
    let own = model.defs().filter(|def| def.in_main_file);
    own.filter_map(move |def| {
        let kind = match &def.kind {
            _ if executors => return None,
            DefKind::Component(_) => "component",
            DefKind::Connector(_) => "connector",
            DefKind::Home(_) => "home",
            _ => return None,
        };
        let scoped_name = def.scoped_name.clone();
        let problem = Component { kind, scoped_name, equivalent };
        Some((def.span, problem))
    })
}

/// Definition of which only the client side is generated.
#[derive(Debug)]
struct Component {
    kind: &'static str,
    scoped_name: String,
    /// Whether the component has an equivalent interface; otherwise nothing is generated.
    equivalent: bool,
}

impl Problem for Component {
    fn code(&self) -> Code {
        Code("W0991")
    }

    fn severity(&self) -> Severity {
        Severity::Warning
    }

    fn message(&self) -> String {
        let (kind, name) = (self.kind, &self.scoped_name);
        match self.equivalent {
            true => format!(
                "{kind} `{name}` becomes the interfaces that clients see; no executor is generated for it"
            ),
            false => format!(
                "no Rust is generated for {kind} `{name}`: the included module `Components` lacks declarations that it \
                 needs"
            ),
        }
    }

    fn help(&self) -> Option<String> {
        Some(match self.equivalent {
            true => "`oxorb idl show --equivalent` prints these interfaces; `Builder::executors(true)` makes executors"
                .to_owned(),
            false => "include `Components.idl`; without it, the type is treated as `Object`".to_owned(),
        })
    }
}

/// Returns the calls of interfaces other than local ones that no remote client can make, because a type is local.
fn unreachable_calls(model: &Model) -> Vec<(Span, Unreachable)> {
    let mut found = Vec::new();
    for def in model.defs().filter(|def| def.in_main_file) {
        let DefKind::Interface(interface) = &def.kind else {
            continue;
        };
        if interface.kind == InterfaceKind::Local {
            continue;
        }
        for call in declared(model, &interface.exports).into_iter().flatten() {
            if !call.travels(model) {
                let call = format!("{}::{}", def.scoped_name, call.name);
                found.push((def.span, Unreachable { call }));
            }
        }
    }
    found
}

/// Operation for which no Rust is generated.
#[derive(Debug)]
struct Unreachable {
    call: String,
}

impl Problem for Unreachable {
    fn code(&self) -> Code {
        Code("W0992")
    }

    fn severity(&self) -> Severity {
        Severity::Warning
    }

    fn message(&self) -> String {
        format!("`{}` is omitted: a native type among its parameters cannot be sent", self.call)
    }

    fn help(&self) -> Option<String> {
        Some("make the interface local".to_owned())
    }
}

/// Valid IDL that has no Rust mapping yet.
#[derive(Debug)]
struct NotMapped {
    scoped_name: String,
    what: &'static str,
}

impl Problem for NotMapped {
    fn code(&self) -> Code {
        Code("E0990")
    }

    fn message(&self) -> String {
        format!("`{}` uses {}, which OxORB does not map to Rust yet", self.scoped_name, self.what)
    }
}

impl From<Failed> for Error {
    fn from(failed: Failed) -> Self {
        Error::Idl(Box::new(failed))
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Error::Io(error)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Starts with a line end, because `main` prints `Error: ` before the text.
        write!(f, "\n{self}")
    }
}
