//! IDL names in Rust spelling. A name that is already used in its scope also gets a trailing underscore.

/// Returns a name in `UpperCamelCase`: types, traits, variants.
pub fn camel(name: &str) -> String {
    let mut out = String::new();
    for word in words(name) {
        // An underscore separates digits of adjacent words, so that `v_1_2` and `v_12` stay different.
        if out.ends_with(|c: char| c.is_ascii_digit())
            && word.starts_with(|c: char| c.is_ascii_digit())
        {
            out.push('_');
        }
        let (first, rest) = word.split_at(1);
        out.push_str(&first.to_ascii_uppercase());
        out.push_str(&rest.to_ascii_lowercase());
    }
    out
}

/// Returns a name in `snake_case`: fields, parameters, methods, modules.
pub fn snake(name: &str) -> String {
    words(name).join("_").to_ascii_lowercase()
}

/// Returns a name in `SCREAMING_SNAKE_CASE`: constants.
pub fn screaming(name: &str) -> String {
    words(name).join("_").to_ascii_uppercase()
}

/// Returns the words of a name: split at underscores, before a capital that follows a small letter or digit, and before
/// the last capital of a run that a small letter follows (`getHTTPReply` is get, HTTP, Reply).
fn words(name: &str) -> Vec<&str> {
    let mut words = Vec::new();
    for part in name.split('_').filter(|part| !part.is_empty()) {
        let bytes = part.as_bytes();
        let mut start = 0;
        for at in 1..bytes.len() {
            let (before, here) = (bytes[at - 1], bytes[at]);
            let next_small = bytes.get(at + 1).is_some_and(u8::is_ascii_lowercase);
            let cut = here.is_ascii_uppercase() && (!before.is_ascii_uppercase() || next_small);
            if cut {
                words.push(&part[start..at]);
                start = at;
            }
        }
        words.push(&part[start..]);
    }
    if words.is_empty() { vec!["x"] } else { words }
}

/// Returns the name as an identifier: keywords become raw, the few that cannot be raw get an underscore.
pub fn escape(name: &str) -> String {
    match name {
        "self" | "Self" | "super" | "crate" => format!("{name}_"),
        _ if KEYWORDS.contains(&name) => format!("r#{name}"),
        _ => name.to_owned(),
    }
}

/// Reserved words of the 2024 edition and all earlier ones.
const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let",
    "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return",
    "static", "struct", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use",
    "virtual", "where", "while", "yield",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spelling() {
        for (idl, upper, lower) in [
            ("Account", "Account", "account"),
            ("GREEN", "Green", "green"),
            ("darkBlue", "DarkBlue", "dark_blue"),
            ("getHTTPReply", "GetHttpReply", "get_http_reply"),
            ("IOR", "Ior", "ior"),
            ("long_name_t", "LongNameT", "long_name_t"),
            ("vec3D", "Vec3D", "vec3_d"),
            ("v_1_2", "V1_2", "v_1_2"),
            ("trailing_", "Trailing", "trailing"),
            ("x", "X", "x"),
        ] {
            assert_eq!((camel(idl).as_str(), snake(idl).as_str()), (upper, lower), "{idl}");
        }
        assert_eq!(screaming("maxValue"), "MAX_VALUE");
    }

    #[test]
    fn keywords_become_raw_or_get_an_underscore() {
        assert_eq!(escape("type"), "r#type");
        assert_eq!(escape("self"), "self_");
        assert_eq!(escape("Self"), "Self_");
        assert_eq!(escape("port"), "port");
    }
}
