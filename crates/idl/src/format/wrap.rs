//! Lines that are too long.

/// Where a line may be broken: at a space.
#[derive(Debug, Clone, Copy)]
pub(super) struct Break {
    /// Offset of the space.
    pub(super) at: usize,
    /// Heavier ones are taken first.
    pub(super) weight: u8,
}

/// Writes a line; if it is longer than `width`, broken at the heaviest breaks,
/// and where that is not enough at as few of the others as possible.
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
    let heavy: Vec<usize> = breaks
        .iter()
        .filter(|one| one.weight == heaviest && heaviest > 1)
        .map(|one| one.at)
        .chain([line.len()])
        .collect();
    let (mut from, mut margin) = (0, indent);
    for to in heavy {
        let light = breaks
            .iter()
            .map(|one| one.at)
            .filter(|at| (from + 1..to).contains(at))
            .chain([to]);
        let (mut start, mut last) = (from, from);
        for at in light {
            if at > start && !fits(margin, line[start..at].trim_start()) && last > start {
                push(margin, line[start..last].trim_start(), out);
                margin = deeper;
                start = last;
            }
            last = at;
        }
        push(margin, line[start..to].trim_start(), out);
        margin = deeper;
        from = to;
    }
}

fn push(indent: &str, text: &str, out: &mut String) {
    out.push_str(indent);
    out.push_str(text);
    out.push('\n');
}
