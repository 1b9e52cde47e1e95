//! Lines of code: those that are neither blank nor a comment.

use std::ops::RangeInclusive;

/// Returns the number of lines of code in a range of a file's lines, counted from 1.
pub(super) fn of_code(text: &str, lines: RangeInclusive<usize>) -> usize {
    let first = lines.start().saturating_sub(1);
    let count = lines.end() + 1 - lines.start();
    let lines = text.lines().skip(first).take(count).map(str::trim);
    lines.filter(|line| !line.is_empty() && !line.starts_with("//")).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_lines_and_comments_are_none() {
        let text = "fn f() {\n    // why\n\n    g(); // so\n}\nfn h() {}\n";
        assert_eq!(of_code(text, 1..=5), 3);
        assert_eq!(of_code(text, 6..=6), 1);
    }
}
