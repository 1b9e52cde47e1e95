//! Index of names: the declarations and uses of names and their places, for editors.
//!
//! Erroneous sources have an index, too, without the names that have no meaning. The bodies of template modules are
//! indexed as they are written, not again for each instance. Names of user-defined annotations have no index.

use std::sync::Arc;

use crate::source::{FileId, Span};

/// Declared names of a compilation, and the places where they occur.
#[derive(Debug, Clone, Default)]
pub struct Index {
    symbols: Vec<Symbol>,
    occurrences: Vec<Occurrence>,
}

/// Declared name.
#[derive(Debug, Clone)]
pub struct Symbol {
    /// Name without escape.
    pub name: String,
    /// Names from file scope down to this one, joined by `::`; the name alone for a parameter. The front end refuses
    /// scoped names of definitions that have more than 1,024 octets; here they start at a scope further in.
    pub scoped_name: String,
    /// Kind of declaration in words: "an interface", "a member" ...
    pub what: &'static str,
    /// Repository id; `None` for a declaration without an id, such as a member, and for an erroneous one.
    pub repository_id: Option<String>,
    /// Comment directly before the declaration, without comment marks; empty without a comment. All names of one
    /// declaration share it.
    pub doc: Arc<str>,
    /// Span of the name in its definition; in the first forward declaration if there is no definition.
    pub span: Span,
    /// Span of the whole declaration at [`span`](Self::span).
    pub whole: Span,
}

/// Place of a name in the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Occurrence {
    /// Span of the name, with its escape.
    pub span: Span,
    /// Position of the name's declaration among [`Index::symbols`].
    pub symbol: usize,
    /// Span of the whole declaration, if this place declares the name; `None` if it uses the name.
    pub declares: Option<Span>,
    /// Whether the text at [`span`](Self::span) is the name. Otherwise a macro produces the name, or the place is known
    /// only approximately.
    pub is_literal: bool,
}

impl Index {
    /// Returns an index of these symbols.
    pub(crate) fn new(symbols: Vec<Symbol>, mut occurrences: Vec<Occurrence>) -> Self {
        occurrences.sort_by_key(|found| (found.span.file, found.span.start));
        Index { symbols, occurrences }
    }

    /// Returns all declared names, in the order of their first declarations.
    pub fn symbols(&self) -> &[Symbol] {
        &self.symbols
    }

    /// Returns all places of the names, in the order of files and offsets.
    pub fn occurrences(&self) -> &[Occurrence] {
        &self.occurrences
    }

    /// Returns the name at an offset, or directly before it. Visits all places.
    ///
    /// ```
    /// use oxorb_idl::source::{Memory, SourceMap};
    /// let text = "struct S { long a; }; typedef S T; typedef Nowhere U;";
    /// let files = Memory([("a.idl".into(), text.into())].into());
    /// let (result, index) =
    ///     oxorb_idl::compile_indexed(SourceMap::new(files), &["a.idl"], &Default::default());
    /// let report = result.unwrap_err().report;
    /// let file = report.sources.files().next().unwrap();
    /// let used = index.at(file, text.find("S T").unwrap() as u32).unwrap();
    /// let symbol = &index.symbols()[used.symbol];
    /// assert_eq!((symbol.what, symbol.scoped_name.as_str()), ("a struct", "S"));
    /// assert_eq!(report.sources.snippet(symbol.whole), "struct S { long a; };");
    /// ```
    pub fn at(&self, file: FileId, offset: u32) -> Option<&Occurrence> {
        let here = |found: &&Occurrence| {
            let Span { file: of, start, end } = found.span;
            of == file && start <= offset && offset <= end
        };
        let all = self.occurrences.iter().filter(here);
        all.min_by_key(|found| (!found.is_literal, found.span.end - found.span.start))
    }
}
