//! Names of a plan as Rust: no text of a plan becomes code unless it is an identifier.

use oxorb_idlgen::spelling::{camel, escape, snake};

/// Reports whether a text is an identifier of IDL, and thus of Rust except for keywords.
pub(super) fn is_identifier(text: &str) -> bool {
    text.len() <= 255
        && text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && text.chars().any(|c| c.is_ascii_alphanumeric())
}

/// Reports whether a text may be the name of a package of Cargo.
pub(super) fn is_package(text: &str) -> bool {
    is_identifier(&text.replace('-', "_")) && !text.starts_with('-')
}

/// Returns a Rust path in its written form if the text is one: identifiers between `::`.
pub(super) fn path(text: &str) -> Option<String> {
    let segments: Vec<&str> = text.split("::").collect();
    let is_good = segments.len() > 1
        && segments
            .iter()
            .all(|segment| is_identifier(segment.strip_prefix("r#").unwrap_or(segment)));
    is_good.then(|| text.to_owned())
}

/// Returns the Rust path of a scoped name of IDL (`A::B::Thing`) below a crate, with `ending` appended. `None` if the
/// text is no scoped name, or names a definition outside all modules, whose Rust module depends on the file.
pub(super) fn item(within: &str, scoped_name: &str, ending: &str) -> Option<String> {
    let (modules, name) = scoped_name.rsplit_once("::")?;
    let mut path = within.to_owned();
    for module in modules.split("::") {
        if !is_identifier(module) {
            return None;
        }
        path = format!("{path}::{}", escape(&snake(module)));
    }
    is_identifier(name).then(|| format!("{path}::{}{ending}", camel(name)))
}

/// Returns the scoped name in a repository id (`IDL:A/Thing:1.0`).
pub(super) fn scoped_name(id: &str) -> Option<String> {
    let (path, _) = id.strip_prefix("IDL:")?.rsplit_once(':')?;
    Some(path.replace('/', "::"))
}

/// Returns an IDL name in the form of a method, field or function.
pub(super) fn method(name: &str) -> Option<String> {
    is_identifier(name).then(|| escape(&snake(name)))
}

/// Returns the name of an attribute's set method.
pub(super) fn setter(attribute: &str) -> Option<String> {
    is_identifier(attribute).then(|| format!("set_{}", snake(attribute)))
}

/// Returns an IDL name in the form of an enumerator.
pub(super) fn enumerator(name: &str) -> Option<String> {
    is_identifier(name).then(|| escape(&camel(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_mapping() {
        let gps = item("display", "Avionics::GpsHead", "Ref");
        assert_eq!(gps.as_deref(), Some("display::avionics::GpsHeadRef"));
        let nested = item("a", "type::inner::Side", "");
        assert_eq!(nested.as_deref(), Some("a::r#type::inner::Side"));
        assert_eq!(scoped_name("IDL:A/B:1.0").as_deref(), Some("A::B"));
        assert_eq!(method("getHTTPReply").as_deref(), Some("get_http_reply"));
        assert_eq!(method("type").as_deref(), Some("r#type"));
        assert_eq!(setter("type").as_deref(), Some("set_type"));
        assert_eq!(enumerator("PORT_SIDE").as_deref(), Some("PortSide"));
        assert_eq!(path("display::Gps::new").as_deref(), Some("display::Gps::new"));
    }

    #[test]
    fn what_is_no_identifier_becomes_no_code() {
        for hostile in
            ["", "_", "a b", "a();fn b", "a\"", "a\n", "1a", "a::b", "\u{e9}", "a{", "//"]
        {
            assert!(!is_identifier(hostile), "{hostile:?}");
            assert_eq!(method(hostile), None);
            // `a::b` is harmless here: it only makes the scoped name longer.
            let is_scoped = hostile == "a::b";
            for name in [format!("A::{hostile}"), format!("{hostile}::A")] {
                assert_eq!(item("c", &name, "").is_some(), is_scoped, "{name:?}");
            }
        }
        for hostile in ["", "a", "a::", "::a", "a::b()", "a::b c", "a::b;", "a::<b>"] {
            assert_eq!(path(hostile), None, "{hostile:?}");
        }
        assert_eq!(item("c", "Top", ""), None, "its module depends on the file");
    }
}
