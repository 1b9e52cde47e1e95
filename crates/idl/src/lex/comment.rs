//! Comments that document tokens.

/// Comments since the last token that may document the next one.
#[derive(Debug, Default)]
pub(crate) struct Comments {
    lines: Vec<String>,
    line_ends: u32,
}

impl Comments {
    /// Adds a `//` comment that is the first item on its line.
    pub(crate) fn line(&mut self, comment: &str) {
        self.begin();
        let text = comment.trim_start_matches(['/', '!', '<']);
        self.lines.push(clean(text));
    }

    /// Adds the text between `/*` and `*/`.
    pub(crate) fn block(&mut self, body: &str) {
        self.begin();
        let body = body.trim_start_matches(['*', '!']);
        self.lines.extend(body.lines().enumerate().map(|(n, line)| {
            let inner = line.trim_start();
            clean(match inner.strip_prefix('*') {
                Some(text) if n > 0 => text,
                _ => inner,
            })
        }));
    }

    /// Records the end of a line.
    pub(crate) fn line_end(&mut self) {
        self.line_ends += 1;
    }

    /// Returns the documentation for the next token.
    pub(crate) fn finish(self) -> Option<Box<str>> {
        if self.line_ends > 1 {
            return None;
        }
        let first = self.lines.iter().position(|line| !line.is_empty())?;
        let last = self.lines.iter().rposition(|line| !line.is_empty())?;
        Some(self.lines[first..=last].join("\n").into())
    }

    fn begin(&mut self) {
        if self.line_ends > 1 {
            self.lines.clear();
        }
        self.line_ends = 0;
    }
}

/// Returns the line without the space after the comment mark and at the end. A ruler such as `----`
/// becomes an empty line.
fn clean(line: &str) -> String {
    let line = line.strip_prefix(' ').unwrap_or(line).trim_end();
    let ruler = line.len() > 2 && !line.chars().any(char::is_alphanumeric);
    if ruler { String::new() } else { line.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(body: &str) -> Option<Box<str>> {
        let mut comments = Comments::default();
        comments.block(body);
        comments.line_end();
        comments.finish()
    }

    #[test]
    fn marks_and_rulers_go() {
        assert_eq!(block("* Gives up.\n  * Twice.\n  ").unwrap().as_ref(), "Gives up.\nTwice.");
        assert_eq!(block("***************\n").as_deref(), None);
        let mut comments = Comments::default();
        for line in ["//////////", "/// One.", "//", "//   two"] {
            comments.line(line);
            comments.line_end();
        }
        assert_eq!(comments.finish().unwrap().as_ref(), "One.\n\n  two");
    }

    #[test]
    fn a_blank_line_detaches() {
        let mut comments = Comments::default();
        comments.line("// licence");
        comments.line_end();
        comments.line_end();
        assert_eq!(comments.finish(), None);
    }
}
