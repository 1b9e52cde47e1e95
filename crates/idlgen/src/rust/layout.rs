//! Blank lines between items, which the formatter omits.

/// Inserts a blank line before each item that follows another of its level, except within a run of one-liners.
pub(super) fn air(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 16);
    let mut before: Option<&str> = None;
    for line in text.lines() {
        if let Some(before) = before
            && indent(before) == indent(line)
            && parts(before.trim_start(), line.trim_start())
        {
            out.push('\n');
        }
        out.push_str(line);
        out.push('\n');
        before = Some(line);
    }
    out
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Reports whether a blank line belongs between two lines of the same level.
fn parts(before: &str, line: &str) -> bool {
    let starts = |what: &[&str]| what.iter().any(|start| line.starts_with(start));
    let attributed = starts(&["///", "#["]);
    let item =
        attributed || starts(&["pub ", "impl ", "impl<", "fn ", "const ", "type ", "static "]);
    let ends_item = before.ends_with('}') || before.ends_with("});");
    let one_liner = before.ends_with(';') && !before.starts_with("let ");
    let long =
        attributed || starts(&["impl", "pub fn", "pub mod", "pub trait", "pub struct", "fn "]);
    (ends_item && item) || (one_liner && long)
}

#[cfg(test)]
mod tests {
    use super::air;

    #[test]
    fn items_are_set_apart_and_runs_are_not() {
        let text = "use a;\nuse b;\n/// A.\npub struct A;\nimpl A {\n    fn f() {\n        let x = 1;\n        if x {}\n    }\n    fn g() {}\n}\n";
        let aired = "use a;\nuse b;\n\n/// A.\npub struct A;\n\nimpl A {\n    fn f() {\n        let x = 1;\n        if x {}\n    }\n\n    fn g() {}\n}\n";
        assert_eq!(air(text), aired);
    }
}
