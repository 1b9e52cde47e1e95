//! Writing of elements as XML.

use crate::described::clip;
use crate::element::Element;
use crate::finding::Error;

use super::read::is_legal;

/// Writes a document with this root tag and these namespace declarations. `xmi` names attributes of XMI.
pub(crate) fn write(
    root: &Element,
    tag: &str,
    declared: &[(&str, &str)],
    xmi: bool,
) -> Result<String, Error> {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<");
    out.push_str(tag);
    for (name, value) in declared {
        out.push_str("\n    ");
        out.push_str(name);
        out.push_str("=\"");
        escape(value, true, &mut out)?;
        out.push('"');
    }
    let mut writer = Writer { out, xmi };
    writer.inside(root, tag, 0)?;
    Ok(writer.out)
}

struct Writer {
    out: String,
    xmi: bool,
}

impl Writer {
    fn element(&mut self, element: &Element, depth: usize) -> Result<(), Error> {
        self.indent(depth);
        self.out.push('<');
        self.out.push_str(&element.name);
        self.inside(element, &element.name, depth)
    }

    /// Writes the rest of an element after its name.
    fn inside(&mut self, element: &Element, tag: &str, depth: usize) -> Result<(), Error> {
        let (attributes, children): (Vec<&Element>, Vec<&Element>) =
            element.children.iter().partition(|child| child.is_attribute);
        for attribute in attributes {
            self.out.push(' ');
            if self.xmi && ["id", "idref"].contains(&&*attribute.name) {
                self.out.push_str("xmi:");
            }
            self.out.push_str(&attribute.name);
            self.out.push_str("=\"");
            escape(&attribute.text, true, &mut self.out)?;
            self.out.push('"');
        }
        if children.is_empty() && element.text.is_empty() {
            self.out.push_str("/>\n");
            return Ok(());
        }
        self.out.push('>');
        match children.is_empty() {
            true => escape(&element.text, false, &mut self.out)?,
            false => {
                self.out.push('\n');
                for child in children {
                    self.element(child, depth + 1)?;
                }
                self.indent(depth);
            }
        }
        self.out.push_str("</");
        self.out.push_str(tag);
        self.out.push_str(">\n");
        Ok(())
    }

    fn indent(&mut self, depth: usize) {
        for _ in 0..depth {
            self.out.push_str("  ");
        }
    }
}

fn escape(text: &str, is_attribute: bool, out: &mut String) -> Result<(), Error> {
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' if is_attribute => out.push_str("&quot;"),
            // Unescaped, these characters would be converted to line feeds and spaces by readers.
            '\r' => out.push_str("&#13;"),
            '\u{85}' => out.push_str("&#133;"),
            '\u{2028}' => out.push_str("&#8232;"),
            '\n' if is_attribute => out.push_str("&#10;"),
            '\t' if is_attribute => out.push_str("&#9;"),
            legal if is_legal(legal) => out.push(legal),
            other => {
                let (code, text) = (u32::from(other), clip(text));
                let what = format!("XML cannot hold the character U+{code:04X} of {text:?}");
                return Err(Error::plain(what));
            }
        }
    }
    Ok(())
}
