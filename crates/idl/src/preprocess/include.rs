//! `#include`: search for files.

use super::Preprocessor;
use super::builtin;
use super::problem::PreProblem;
use crate::lex::{Raw, RawKind};
use crate::source::{FileId, Span};
use std::collections::HashSet;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

/// File name as written in an `#include`.
struct Wanted {
    name: String,
    span: Span,
    /// Whether the file is named as `"name"` rather than `<name>`: search next to the including file first.
    beside: bool,
}

impl Preprocessor<'_> {
    pub(crate) fn include(&mut self, directive: &Raw) {
        let Some(wanted) = self.wanted() else {
            self.out.push(directive.span, PreProblem::IncludeMalformed);
            return;
        };
        let (limits, depth) = (&self.options.limits, self.include_depth());
        self.includes += 1;
        if depth > limits.include_depth {
            let limit = limits.include_depth;
            self.stop(wanted.span, PreProblem::IncludeTooDeep { limit });
        } else if self.includes > limits.includes {
            let limit = limits.includes;
            self.stop(wanted.span, PreProblem::TooManyIncludes { limit });
        } else if let Some(file) = self.find(&wanted) {
            self.enter_file(file, wanted.span, false);
        }
    }

    /// Handles `#pragma once`.
    pub(crate) fn read_only_once(&mut self) {
        let id = self.file().0.scanner.file();
        self.once.insert(self.map.identity(self.map.path(id)));
    }

    fn wanted(&mut self) -> Option<Wanted> {
        let (file, out) = self.file();
        if let Some((name, span)) = file.scanner.header_name() {
            self.ignore_rest();
            let beside = false;
            return (!name.is_empty()).then_some(Wanted { name, span, beside });
        }
        let line = file.line(out);
        let plain = line.first().is_some_and(|first| first.kind == RawKind::Str);
        let line = if plain { line } else { self.expand_all(line) };
        let first = line.first()?;
        if first.kind == RawKind::Str && !first.text.starts_with('L') {
            if let Some(more) = line.get(1) {
                let directive = "include";
                self.out.push(more.span, PreProblem::TrailingTokens { directive });
            }
            // In a file name, a backslash is an ordinary character, not the start of an escape.
            let name = first.text[1..first.text.len() - 1].to_owned();
            let span = first.span;
            let beside = true;
            return (!name.is_empty()).then_some(Wanted { name, span, beside });
        }
        // The directive contained a macro that expanded to the tokens of `<name>`.
        let end = line.iter().position(|token| token.is_punct(">"))?;
        if !first.is_punct("<") || end < 2 {
            return None;
        }
        let name = line[1..end].iter().map(|token| &*token.text).collect();
        let span = first.span.to(line[end].span);
        let beside = false;
        Some(Wanted { name, span, beside })
    }

    fn ignore_rest(&mut self) {
        let (file, out) = self.file();
        if let Some(more) = file.line(out).first() {
            let directive = "include";
            out.push(more.span, PreProblem::TrailingTokens { directive });
        }
    }

    /// Returns title and text of a file built into OxORB, unless built-in files are switched off.
    pub(super) fn builtin(&self, name: &Path) -> Option<(&'static str, &'static str)> {
        builtin::find(name).filter(|_| !self.options.no_builtins)
    }

    /// Loads the file; `None` if it does not exist, or is not to be read again.
    fn find(&mut self, wanted: &Wanted) -> Option<FileId> {
        let name = PathBuf::from(&wanted.name);
        let own_folder = self.map.path(wanted.span.file).parent();
        let own_folder = own_folder.unwrap_or(Path::new("")).to_owned();
        if let Some((title, text)) = self.builtin(&name)
            && !(wanted.beside && self.map.exists(&own_folder.join(&name)))
        {
            return Some(self.map.add_builtin(title, text, Some(wanted.span)));
        }
        let mut searched = Vec::new();
        if name.is_absolute() {
            searched.push(PathBuf::new());
        } else {
            if wanted.beside {
                searched.push(own_folder.clone());
            }
            searched.extend(self.options.include_dirs.iter().cloned());
            let mut seen = HashSet::new();
            searched.retain(|folder| seen.insert(without_dots(folder)));
        }
        for folder in &searched {
            let path = folder.join(&name);
            if self.once.contains(&self.map.identity(&path)) {
                return None;
            }
            match self.map.load_include(&path, wanted.span) {
                Ok(file) => return Some(file),
                Err(error) if is_absent(error.kind()) => {}
                Err(error) => {
                    let reason = error.to_string();
                    let problem = PreProblem::IncludeUnreadable { path, reason };
                    self.out.push(wanted.span, problem);
                    return None;
                }
            }
        }
        if let Some((title, text)) = builtin::stand_in(&name)
            && !self.options.no_builtins
        {
            return Some(self.map.add_builtin(title, text, Some(wanted.span)));
        }
        let beside =
            !wanted.beside && !name.is_absolute() && self.map.exists(&own_folder.join(&name));
        let name = wanted.name.clone();
        if name.starts_with(['/', '\\']) {
            searched.clear();
        }
        let problem = PreProblem::IncludeNotFound { name, searched, beside };
        self.out.push(wanted.span, problem);
        None
    }
}

/// Returns a folder without `.` in its path, so that `.`, `./` and an empty path are equal.
fn without_dots(folder: &Path) -> PathBuf {
    let parts = folder.components();
    parts.filter(|part| *part != Component::CurDir).collect()
}

fn is_absent(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory)
}
