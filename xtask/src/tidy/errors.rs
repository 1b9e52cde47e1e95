//! `Debug` of errors must be a sentence, because a `main` that returns an error prints it.

use super::Finding;

/// Checks that each error type of the crates implements `Debug` by hand, next to its `Display` or its derive.
pub(super) fn check_file(file: &str, text: &str) -> Vec<Finding> {
    if !file.starts_with("crates/") || !file.contains("/src/") || !file.ends_with(".rs") {
        return Vec::new();
    }
    let lines: Vec<&str> = text.lines().collect();
    let mut findings = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let (name, by_hand): (_, &[&str]) = match (error_type(line), derived_type(&lines[at..])) {
            (Some(name), _) => (name, &["Debug", "Display"]),
            (None, Some(name)) => (name, &["Debug"]),
            (None, None) => continue,
        };
        if by_hand.iter().all(|one| has(text, one, name)) {
            continue;
        }
        let impls = by_hand.join("` and `impl ");
        let what = format!(
            "the error `{name}` lacks `impl {impls}` beside it: `Debug` prints the sentence, for a `main` that returns it"
        );
        findings.push(Finding::error(file, at + 1, what));
    }
    findings
}

/// Returns the type for which a line implements `Error`, unless it is generic.
fn error_type(line: &str) -> Option<&str> {
    let (before, after) = line.split_once(" for ")?;
    let path = before.strip_prefix("impl ")?;
    let is_error = path == "Error" || path.ends_with("error::Error");
    let name = after.split([' ', '{', '<']).next()?;
    (is_error && !name.is_empty()).then_some(name)
}

/// Returns the type for which the first of these lines derives `thiserror::Error`, unless it is generic.
fn derived_type<'t>(lines: &[&'t str]) -> Option<&'t str> {
    let (first, rest) = lines.split_first()?;
    if !first.starts_with("#[derive(") || !first.contains("thiserror::Error") {
        return None;
    }
    let declared = rest.iter().find_map(|line| {
        let mut words = line.split_whitespace();
        words.find(|word| matches!(*word, "struct" | "enum"))?;
        words.next()
    })?;
    let name = declared.split(['(', ';', '{']).next()?;
    (!name.contains('<')).then_some(name)
}

fn has(text: &str, derived: &str, name: &str) -> bool {
    text.lines().any(|line| {
        let head = line.split_once(&format!("{derived} for {name}"));
        head.is_some_and(|(before, after)| {
            before.starts_with("impl ") && after.starts_with([' ', '<'])
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BY_HAND: &str = "impl fmt::Debug for Wrong {\n}\nimpl fmt::Display for Wrong {\n}\n";

    #[test]
    fn an_error_with_a_derived_debug_is_found() {
        let text = "#[derive(Debug)]\npub struct Wrong;\nimpl fmt::Display for Wrong {\n}\n\
                    impl std::error::Error for Wrong {}\n";
        let found = check_file("crates/x/src/lib.rs", text);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].line, Some(5));
        assert!(found[0].what.contains("`Wrong`"));
        assert_eq!(check_file("crates/x/tests/all.rs", text), []);
    }

    #[test]
    fn an_error_that_thiserror_derives_needs_its_debug_by_hand() {
        let derived =
            "#[derive(Clone, thiserror::Error)]\n#[error(\"no {0}\")]\npub struct Wrong(u8);\n";
        let found = check_file("crates/x/src/lib.rs", derived);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].line, Some(1));
        assert!(found[0].what.contains("`Wrong` lacks `impl Debug` beside it"));
        assert_eq!(check_file("crates/x/src/lib.rs", &format!("{BY_HAND}{derived}")), []);
        let generic = derived.replace("Wrong(u8)", "Wrong<T>(T)");
        assert_eq!(check_file("crates/x/src/lib.rs", &generic), []);
    }

    #[test]
    fn an_error_that_writes_its_sentence_is_not() {
        for line in ["impl core::error::Error for Wrong {", "impl Error for Wrong {}"] {
            let text = format!("{BY_HAND}{line}\n");
            assert_eq!(check_file("crates/x/src/lib.rs", &text), []);
        }
        let other = "impl From<Error> for Wrong {\nimpl MyError for Wrong {}\n";
        assert_eq!(check_file("crates/x/src/lib.rs", other), []);
    }
}
