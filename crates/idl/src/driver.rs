//! Driver: compiles paths to a model, for the command and for build scripts.

use crate::Options;
use crate::diagnostic::{Code, Diagnostics, Problem, render_json, render_text};
use crate::index::Index;
use crate::lex::Token;
use crate::model::Model;
use crate::parse::parse;
use crate::preprocess::{INCLUDE_NOT_FOUND, preprocess_all};
use crate::resolve::resolve;
use crate::source::{FileId, SourceMap, Span};
use std::fmt;
use std::path::{Path, PathBuf};

/// Compiles IDL files to one model of all their definitions and includes. A file that was included by one of them is
/// not read again for a later one.
///
/// Reads files and allocates, without other effects. All problems of a run are reported together.
///
/// # Errors
/// [`Failed`] holds every problem with its place in the source.
///
/// ```no_run
/// match oxorb_idl::compile(&["idl/bank.idl"], &oxorb_idl::Options::default()) {
///     Ok(compiled) => println!("{} definitions", compiled.model.defs().count()),
///     Err(failed) => eprint!("{}", failed.report.text(true)),
/// }
/// ```
pub fn compile<P: AsRef<Path>>(paths: &[P], options: &Options) -> Result<Compiled, Failed> {
    compile_from(SourceMap::default(), paths, options)
}

/// Compiles as [`compile`] does, with files from any [`Loader`](crate::source::Loader).
///
/// # Errors
/// As [`compile`].
///
/// ```
/// use oxorb_idl::source::{Memory, SourceMap};
/// let files = Memory([("a.idl".into(), b"module m { const long c = 6 * 7; };".to_vec())].into());
/// let compiled = oxorb_idl::compile_from(SourceMap::new(files), &["a.idl"], &Default::default())?;
/// let names: Vec<_> = compiled.model.defs().map(|def| def.scoped_name.as_str()).collect();
/// assert_eq!(names, ["m", "m::c"]);
/// # Ok::<(), oxorb_idl::Failed>(())
/// ```
pub fn compile_from<P: AsRef<Path>>(
    sources: SourceMap,
    paths: &[P],
    options: &Options,
) -> Result<Compiled, Failed> {
    run(sources, paths, options, None)
}

/// Compiles as [`compile_from`] does, and returns the index of names in addition. Erroneous sources have an index, too,
/// unless a file is missing.
pub fn compile_indexed<P: AsRef<Path>>(
    sources: SourceMap,
    paths: &[P],
    options: &Options,
) -> (Result<Compiled, Failed>, Index) {
    let mut index = Index::default();
    let result = run(sources, paths, options, Some(&mut index));
    (result, index)
}

fn run<P: AsRef<Path>>(
    mut sources: SourceMap,
    paths: &[P],
    options: &Options,
    index: Option<&mut Index>,
) -> Result<Compiled, Failed> {
    let mut diagnostics = Diagnostics::with_limit(options.limits.diagnostics);
    let mut mains = Vec::new();
    for path in paths {
        mains.extend(load(path.as_ref(), &mut sources, &mut diagnostics));
    }
    let tokens = preprocess_all(&mut sources, &mains, options, &mut diagnostics);
    let model = analyse(&tokens, &sources, options, &mut diagnostics, index);
    diagnostics.sort(&sources);
    let report = Report { sources: Box::new(sources), diagnostics };
    match model {
        Some(model) => Ok(Compiled { model, report }),
        None => Err(Failed { report }),
    }
}

/// Result of a compilation without errors.
#[derive(Debug)]
pub struct Compiled {
    /// Model of the text.
    pub model: Model,
    /// Sources of the model, and warnings.
    pub report: Report,
}

/// Result of a compilation with errors.
pub struct Failed {
    /// Errors; at least one.
    pub report: Report,
}

/// Report of a run, with its sources.
#[derive(Debug)]
pub struct Report {
    /// All files that were read.
    pub sources: Box<SourceMap>,
    /// Diagnostics in reading order.
    pub diagnostics: Diagnostics,
}

impl Report {
    /// Returns the report as text, with source lines; see [`render_text`].
    pub fn text(&self, colour: bool) -> String {
        render_text(&self.diagnostics, &self.sources, colour)
    }

    /// Returns the report as JSON; see [`render_json`].
    pub fn json(&self) -> String {
        render_json(&self.diagnostics, &self.sources)
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.report.text(false).trim_end())
    }
}

impl fmt::Debug for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Failed {}

fn load(path: &Path, sources: &mut SourceMap, out: &mut Diagnostics) -> Option<FileId> {
    match sources.load_main(path) {
        Ok(file) => Some(file),
        Err(error) => {
            // An empty text stands in for the file, because a diagnostic needs a place in a source.
            let file = sources.add_builtin(&path.to_string_lossy(), "", None);
            let at = Span { file, ..Span::default() };
            let path = path.to_owned();
            let reason = error.to_string();
            out.push(at, Unreadable { path, reason });
            None
        }
    }
}

fn analyse(
    tokens: &[Token],
    sources: &SourceMap,
    options: &Options,
    out: &mut Diagnostics,
    index: Option<&mut Index>,
) -> Option<Model> {
    let hopeless = [INCLUDE_NOT_FOUND, Unreadable::CODE];
    if out.iter().any(|found| hopeless.contains(&found.problem.code())) {
        // Does not continue, because every name of the missing file would be reported as undeclared.
        return None;
    }
    let tree = parse(tokens, out);
    resolve(&tree, sources, options, out, index)
}

/// File named by the user that cannot be read.
#[derive(Debug)]
struct Unreadable {
    path: PathBuf,
    reason: String,
}

impl Unreadable {
    const CODE: Code = Code("E0001");
}

impl Problem for Unreadable {
    fn code(&self) -> Code {
        Self::CODE
    }

    fn message(&self) -> String {
        format!("cannot read `{}`: {}", self.path.display(), self.reason)
    }
}
