//! Lines that were copied.

use std::collections::HashMap;

/// Number of lines of a run.
const RUN: usize = 8;

/// Counts the lines that are part of a run of `RUN` lines that occurs more than once. Blank lines, comments and the
/// indentation do not count.
pub(super) fn count<'t>(texts: impl Iterator<Item = &'t str>) -> usize {
    let texts: Vec<Vec<&str>> = texts.map(|text| lines(text).collect()).collect();
    let mut runs: HashMap<&[&str], usize> = HashMap::new();
    for run in texts.iter().flat_map(|text| text.windows(RUN)) {
        *runs.entry(run).or_default() += 1;
    }
    let repeated = |text: &Vec<&str>| {
        let mut is_repeated = vec![false; text.len()];
        for (at, run) in text.windows(RUN).enumerate() {
            if runs[run] > 1 {
                is_repeated[at..at + RUN].fill(true);
            }
        }
        is_repeated.into_iter().filter(|it| *it).count()
    };
    texts.iter().map(repeated).sum()
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_of_a_repeated_run_counts_once() {
        let text = |numbers: std::ops::Range<u8>| numbers.map(|it| format!("{it}\n")).collect();
        let (one, other): (String, String) = (text(0..20), text(5..14));
        assert_eq!(count([one.as_str()].into_iter()), 0);
        // Nine lines in each of the two texts.
        assert_eq!(count([one.as_str(), other.as_str()].into_iter()), 18);
        let indented = other.replace('\n', "\n\n    // a comment\n  ");
        assert_eq!(count([one.as_str(), &indented].into_iter()), 18);
        assert_eq!(count([one.as_str(), &other[2..]].into_iter()), 16);
    }
}
