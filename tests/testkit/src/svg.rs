//! Elements of an SVG picture.

use std::collections::BTreeMap;

/// Element of a picture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Element {
    /// Name, such as `rect`.
    pub name: String,
    /// Values by the names of the attributes.
    pub attributes: BTreeMap<String, String>,
    /// Text directly inside the element.
    pub text: String,
    /// Text of the `title` inside the element, which viewers show as a tooltip.
    pub title: Option<String>,
}

impl Element {
    /// Returns an attribute; panics without it.
    pub fn attribute(&self, name: &str) -> &str {
        let found = self.attributes.get(name);
        found.unwrap_or_else(|| panic!("no {name} in {self:?}"))
    }

    /// Returns an attribute as a number; panics without it.
    pub fn number(&self, name: &str) -> f64 {
        let text = self.attribute(name);
        text.parse().unwrap_or_else(|_| panic!("{name} is not a number in {self:?}"))
    }

    /// Returns the numbers of a path, such as `[150.0, 44.0, 23.0]` of `M150 44v23`; panics without a path.
    pub fn path(&self) -> Vec<f64> {
        let numbers = self.attribute("d").split(|c: char| c.is_ascii_alphabetic() || c == ' ');
        let numbers = numbers.filter(|number| !number.is_empty());
        numbers
            .map(|number| number.parse().unwrap_or_else(|_| panic!("{number:?} in {self:?}")))
            .collect()
    }
}

/// Returns the elements of a picture, in the order of their beginnings. Panics if the picture is not well-formed.
pub fn elements(svg: &str) -> Vec<Element> {
    let mut all: Vec<Element> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut rest = svg.trim();
    assert!(rest.starts_with("<svg "), "no picture: {rest:.40}");
    while let Some(tag) = rest.strip_prefix('<') {
        let end = end_of_tag(tag);
        let inside = &tag[..end];
        rest = &tag[end + 1..];
        if let Some(name) = inside.strip_prefix('/') {
            let at = open.pop().unwrap_or_else(|| panic!("</{name}> ends nothing"));
            assert_eq!(all[at].name, name, "the element is ended by another");
            if name == "title" {
                let text = all[at].text.clone();
                let around = *open.last().expect("a title is inside an element");
                all[around].title = Some(text);
            }
        } else {
            all.push(element(inside.trim_end_matches('/')));
            if !inside.ends_with('/') {
                open.push(all.len() - 1);
            }
        }
        let next = rest.find('<').unwrap_or(rest.len());
        match open.last() {
            Some(at) => all[*at].text += &plain(&rest[..next]),
            None => assert_eq!(&rest[..next], "", "text after the picture"),
        }
        rest = &rest[next..];
    }
    assert!(open.is_empty(), "{} elements are not ended", open.len());
    all
}

/// Returns the place of the `>` that ends a tag; a `>` in quotation marks does not.
fn end_of_tag(tag: &str) -> usize {
    let mut quoted = false;
    let end = tag.find(|c: char| {
        quoted ^= c == '"';
        c == '>' && !quoted
    });
    end.unwrap_or_else(|| panic!("a tag does not end: {tag:.40}"))
}

fn element(tag: &str) -> Element {
    let (name, mut rest) = tag.split_once(' ').unwrap_or((tag, ""));
    let mut element = Element { name: name.to_owned(), ..Element::default() };
    while !rest.trim().is_empty() {
        let (name, value) = rest.split_once("=\"").unwrap_or_else(|| panic!("no value: {tag}"));
        let (value, after) = value.split_once('"').unwrap_or_else(|| panic!("no end: {tag}"));
        let before = element.attributes.insert(name.trim().to_owned(), plain(value));
        assert_eq!(before, None, "an attribute has two values: {tag}");
        rest = after;
    }
    element
}

/// Replaces entities by their characters.
fn plain(text: &str) -> String {
    let unknown = text
        .split('&')
        .skip(1)
        .find(|it| !["lt;", "gt;", "amp;", "quot;"].iter().any(|entity| it.starts_with(entity)));
    assert_eq!(unknown, None, "an entity is unknown");
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
    text.replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_have_their_attributes_and_texts() {
        let svg = r#"<svg width="9"><rect x="1.5" fill="red"><title>a &lt; b</title></rect>
            <path d="M1 2.5v-3"/><text>1 &amp; 2</text></svg>"#;
        let all = elements(svg);
        let names: Vec<&str> = all.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["svg", "rect", "title", "path", "text"]);
        assert_eq!(all[1].number("x").to_string(), "1.5");
        assert_eq!(all[1].attribute("fill"), "red");
        assert_eq!(all[1].title.as_deref(), Some("a < b"));
        assert_eq!(all[3].path(), [1.0, 2.5, -3.0]);
        assert_eq!(all[4].text, "1 & 2");
    }

    #[test]
    fn pictures_that_are_not_well_formed_are_refused() {
        for svg in [
            "",
            "<html></html>",
            "<svg >",
            "<svg ><rect></svg>",
            "<svg ></svg></svg>",
            "<svg ><rect x></rect></svg>",
            "<svg ><rect x=\"1\" x=\"2\"/></svg>",
            "<svg >a & b</svg>",
            "<svg ></svg>more",
        ] {
            assert!(std::panic::catch_unwind(|| elements(svg)).is_err(), "{svg}");
        }
    }
}
