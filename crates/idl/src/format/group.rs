//! The groups of lines that `#if` and its family open, as far as the formatter needs to know them.
//!
//! What the preprocessor skips need not consist of tokens, so it stays as it is. Without macros that is known of
//! `#if 0` and its like, and of groups that cannot be taken apart: a file with such a group compiles only where it
//! is skipped.

use super::Error;
use super::scan::{Kind, Piece, without_blanks};
use std::ops::Range;

/// The groups that are open, innermost last.
#[derive(Debug, Default)]
pub(super) struct Groups(Vec<Group>);

/// A group that is being read.
#[derive(Debug)]
struct Group {
    /// Whether this group or one before it of the same conditional holds, whatever macros there are.
    taken: bool,
    /// Whether it is skipped, whatever macros there are.
    skipped: bool,
    /// Reason for which it cannot be taken apart, the first one.
    wrong: Option<Error>,
    /// Number of pieces before it.
    first: usize,
    /// Offset behind the directive that opens it.
    start: usize,
    /// Line of that.
    line: usize,
}

impl Groups {
    /// Notes what is wrong in the innermost group.
    ///
    /// # Errors
    /// Where no group is open, so that the preprocessor does not skip the text.
    pub(super) fn wrong(&mut self, error: Error) -> Result<(), Error> {
        let group = self.0.last_mut().ok_or_else(|| error.clone())?;
        group.wrong.get_or_insert(error);
        Ok(())
    }

    /// Opens and closes groups as a directive says, which stands at `place` and is about to follow the pieces. The
    /// pieces of a group that it closes become one if the group is skipped.
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

    /// The text ends.
    ///
    /// # Errors
    /// The first thing that is wrong in a group that is still open, since nothing says where it ends.
    pub(super) fn finish(self) -> Result<(), Error> {
        self.0.into_iter().find_map(|group| group.wrong).map_or(Ok(()), Err)
    }
}

/// The lines of a group as one piece, if they are not empty, and the number of line ends behind it.
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

/// The name of a directive, and what follows it.
fn words(directive: &str) -> (&str, &str) {
    let text = directive.strip_prefix('#').unwrap_or(directive).trim_start();
    text.split_at(text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len()))
}

/// Whether a condition holds, if it is nothing but a number.
fn literally(condition: &str) -> Option<bool> {
    let comment = condition.find("//").into_iter().chain(condition.find("/*")).min();
    let number = condition[..comment.unwrap_or(condition.len())].trim();
    let digits = number.bytes().all(|digit| digit.is_ascii_digit());
    (digits && !number.is_empty()).then(|| number.bytes().any(|digit| digit != b'0'))
}
