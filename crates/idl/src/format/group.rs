//! Groups of lines opened by `#if` and related directives, as far as the formatter needs them.
//!
//! Text that the preprocessor skips need not consist of tokens, so it is kept as it is. The formatter does not know the
//! macros, so it treats only two kinds of groups as skipped: those with a constant condition such as `#if 0`, and those
//! that cannot be split into tokens, because a file with such a group compiles only where the group is skipped.

use super::Error;
use super::scan::{Kind, Piece, without_blanks};
use std::ops::Range;

/// Open groups, innermost last.
#[derive(Debug, Default)]
pub(super) struct Groups(Vec<Group>);

/// Group being read.
#[derive(Debug)]
struct Group {
    /// Whether this group or an earlier one of the same conditional is taken, regardless of macros.
    taken: bool,
    /// Whether the group is skipped regardless of macros.
    skipped: bool,
    /// First reason why the group cannot be split into tokens.
    wrong: Option<Error>,
    /// Number of pieces before it.
    first: usize,
    /// Offset after the directive that opens the group.
    start: usize,
    /// Line of that offset.
    line: usize,
}

impl Groups {
    /// Records an error in the innermost group.
    ///
    /// # Errors
    /// The error itself if no group is open: the preprocessor then does not skip the text.
    pub(super) fn wrong(&mut self, error: Error) -> Result<(), Error> {
        let group = self.0.last_mut().ok_or_else(|| error.clone())?;
        group.wrong.get_or_insert(error);
        Ok(())
    }

    /// Opens and closes groups according to a directive at `place`, which follows the pieces. The pieces of a closed
    /// group become one if the group is skipped.
    pub(super) fn directive<'s>(
        &mut self,
        source: &'s str,
        pieces: &mut Vec<Piece<'s>>,
        directive: &mut Piece<'s>,
        place: Range<usize>,
    ) {
        let (word, condition) = words(directive.text);
        let before = match word {
            "if" | "ifdef" | "ifndef" => None,
            "elif" | "elifdef" | "elifndef" | "else" | "endif" => match self.0.pop() {
                Some(group) => Some(group),
                None => return,
            },
            _ => return,
        };
        if let Some(group) = &before
            && (group.skipped || group.wrong.is_some())
        {
            pieces.truncate(group.first);
            let text = &source[group.start..place.start];
            let (skipped, newlines) = skipped(text, &source[place.start..], group.line);
            pieces.extend(skipped);
            directive.newlines = newlines;
        }
        if word == "endif" {
            return;
        }
        let holds = match word {
            "if" | "elif" => literally(condition),
            _ => None,
        };
        let taken = before.is_some_and(|group| group.taken);
        self.0.push(Group {
            taken: taken || holds == Some(true),
            skipped: taken || holds == Some(false),
            wrong: None,
            first: pieces.len() + 1,
            start: place.end,
            line: directive.line + source[place].matches('\n').count(),
        });
    }

    /// Checks the groups at the end of the text.
    ///
    /// # Errors
    /// The first error in a group that is still open, since its end is unknown.
    pub(super) fn finish(self) -> Result<(), Error> {
        self.0.into_iter().find_map(|group| group.wrong).map_or(Ok(()), Err)
    }
}

/// Returns the lines of a group as one piece, unless they are empty, and the number of line ends after it.
fn skipped<'s>(text: &'s str, behind: &str, line: usize) -> (Option<Piece<'s>>, usize) {
    let count = |text: &str| text.matches('\n').count();
    let blank = text.len() - text.trim_start().len();
    if blank == text.len() {
        return (None, count(text));
    }
    let (before, lines) = text.split_at(text[..blank].rfind('\n').map_or(0, |end| end + 1));
    let text = without_blanks(lines, behind);
    let newlines = count(before);
    let piece = Piece { kind: Kind::Skipped, text, newlines, space: true, line: line + newlines };
    (Some(piece), count(&lines[text.len()..]))
}

/// Returns the name of a directive, and the text after it.
fn words(directive: &str) -> (&str, &str) {
    let text = directive.strip_prefix('#').unwrap_or(directive).trim_start();
    text.split_at(text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len()))
}

/// Returns the value of a condition that is a plain number.
fn literally(condition: &str) -> Option<bool> {
    let comment = condition.find("//").into_iter().chain(condition.find("/*")).min();
    let number = condition[..comment.unwrap_or(condition.len())].trim();
    let digits = number.bytes().all(|digit| digit.is_ascii_digit());
    (digits && !number.is_empty()).then(|| number.bytes().any(|digit| digit != b'0'))
}
