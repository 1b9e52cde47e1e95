//! Wrapping of long lines.

/// Possible line break, at a space.
#[derive(Debug, Clone, Copy)]
pub(super) struct Break {
    /// Offset of the space.
    pub(super) at: usize,
    /// Weight; heavier breaks are used first.
    pub(super) weight: u8,
}

/// Writes a line; if it exceeds `width`, breaks it at the heaviest breaks, and if necessary at as few others as
/// possible.
pub(super) fn wrap(
    line: &str,
    breaks: &[Break],
    indent: &str,
    deeper: &str,
    width: usize,
    out: &mut String,
) {
    let fits = |indent: &str, text: &str| indent.len() + text.chars().count() <= width;
    if fits(indent, line) || breaks.is_empty() {
        push(indent, line, out);
        return;
    }
    let heaviest = breaks.iter().map(|one| one.weight).max().unwrap_or(0);
    let is_heavy = |one: &Break| heaviest > 1 && one.weight == heaviest;
    let (mut start, mut last) = (0, 0);
    let mut margin = indent;
    let ends = breaks.iter().map(|one| (one.at, is_heavy(one)));
    for (at, heavy) in ends.chain([(line.len(), true)]) {
        let too_long = !fits(margin, line[start..at].trim_start());
        if too_long && last > start {
            push(margin, line[start..last].trim_start(), out);
            margin = deeper;
            start = last;
        }
        if heavy {
            push(margin, line[start..at].trim_start(), out);
            margin = deeper;
            start = at;
        }
        last = at;
    }
}

fn push(indent: &str, text: &str, out: &mut String) {
    out.push_str(indent);
    out.push_str(text);
    out.push('\n');
}
