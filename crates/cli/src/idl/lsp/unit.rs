//! Translation units: an open document with everything that it includes, compiled.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use oxorb_idl::index::{Index, Occurrence};
use oxorb_idl::source::{FileId, SourceMap, Span};
use oxorb_idl::{Options, Report, compile_indexed};
use serde_json::{Value, json};

use super::documents::{Document, Overlay, identity};
use super::position::{Encoding, Lines};

/// Code of the diagnostic about an `#include` without a file.
const INCLUDE_NOT_FOUND: &str = "E0103";

/// Result of compiling a document.
pub(super) struct Unit {
    pub(super) report: Report,
    pub(super) index: Index,
    /// Whether the unit has no errors.
    pub(super) is_good: bool,
    /// File of the document.
    pub(super) main: FileId,
    /// Identities of the files that come from a [`Loader`](oxorb_idl::source::Loader).
    identities: BTreeMap<FileId, PathBuf>,
}

impl Unit {
    pub(super) fn analyse(document: &Document, overlay: Overlay, options: &Options) -> Unit {
        let sources = SourceMap::new(overlay);
        let (result, index) = compile_indexed(sources, &[&document.path], options);
        let (report, is_good) = match result {
            Ok(compiled) => (compiled.report, true),
            Err(failed) => (failed.report, false),
        };
        // The document is loaded before all other files.
        let main = report.sources.files().next().unwrap_or_default();
        let identities = identities(&report.sources);
        Unit { report, index, is_good, main, identities }
    }

    pub(super) fn sources(&self) -> &SourceMap {
        &self.report.sources
    }

    /// Reports whether the unit contains a file.
    pub(super) fn contains(&self, identity: &Path) -> bool {
        self.identities.values().any(|file| file == identity)
    }

    /// Reports whether an included file was not found.
    pub(super) fn lacks_file(&self) -> bool {
        let mut all = self.report.diagnostics.iter();
        all.any(|found| found.problem.code().0 == INCLUDE_NOT_FOUND)
    }

    /// Returns the identity of a file; `None` for files built into OxORB.
    pub(super) fn identity(&self, file: FileId) -> Option<&Path> {
        self.identities.get(&file).map(PathBuf::as_path)
    }

    /// Returns the text of the document.
    pub(super) fn text(&self) -> &str {
        self.sources().text(self.main)
    }

    /// Returns the name at an offset of the document.
    pub(super) fn name_at(&self, offset: usize) -> Option<&Occurrence> {
        self.index.at(self.main, offset as u32)
    }

    /// Returns the file that the `#include` at an offset of the document loads.
    pub(super) fn included_by(&self, offset: usize) -> Option<FileId> {
        let sources = self.sources();
        let is_here = |at: Span| {
            at.file == self.main && (at.start as usize..=at.end as usize).contains(&offset)
        };
        sources.files().find(|file| sources.included_at(*file).is_some_and(is_here))
    }

    /// Returns the place within the document that leads to a span: the span itself, or the `#include` of its file.
    pub(super) fn place_in_document(&self, span: Span) -> Span {
        let sources = self.sources();
        let mut outwards = std::iter::successors(Some(span), |at| sources.included_at(at.file));
        let found = outwards.find(|at| at.file == self.main);
        found.unwrap_or(Span { file: self.main, ..Span::default() })
    }
}

/// Returns the identities of all files that are not built into OxORB.
fn identities(sources: &SourceMap) -> BTreeMap<FileId, PathBuf> {
    let mut known: HashMap<&Path, PathBuf> = HashMap::new();
    let files = sources.files().filter(|file| !sources.is_builtin(*file));
    files
        .map(|file| {
            let path = sources.path(file);
            (file, known.entry(path).or_insert_with(|| identity(path)).clone())
        })
        .collect()
}

/// Conversion of the spans of a unit to ranges of the protocol.
pub(super) struct Ranges<'u> {
    sources: &'u SourceMap,
    encoding: Encoding,
    lines: HashMap<FileId, Lines<'u>>,
}

impl<'u> Ranges<'u> {
    pub(super) fn new(unit: &'u Unit, encoding: Encoding) -> Self {
        Ranges { sources: unit.sources(), encoding, lines: HashMap::new() }
    }

    pub(super) fn range(&mut self, span: Span) -> Value {
        let (sources, encoding) = (self.sources, self.encoding);
        let lines = self.lines.entry(span.file);
        let lines = lines.or_insert_with(|| Lines::new(sources.text(span.file), encoding));
        json!({
            "start": lines.position(span.start as usize).json(),
            "end": lines.position(span.end as usize).json(),
        })
    }
}
