//! Decoding of documents: UTF-8, UTF-16 and ISO 8859-1, by byte order mark and XML declaration.

use std::borrow::Cow;

use crate::finding::{Error, Place};

/// Number of octets within which an XML declaration must state the encoding.
const HEAD: usize = 256;

/// Byte order of the code units of UTF-16.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Big,
    Little,
}

/// Returns the text of a document's octets, without a byte order mark. Takes time and memory linear in the octets.
pub(crate) fn text(octets: &[u8]) -> Result<Cow<'_, str>, Error> {
    match octets {
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] | [0, 0, 0, b'<', ..] => Err(Error::plain(
            "the document is UTF-32, but only UTF-8, UTF-16 and ISO 8859-1 are supported: save it as UTF-8",
        )),
        [0xfe, 0xff, rest @ ..] => utf16(rest, Order::Big),
        [0xff, 0xfe, rest @ ..] => utf16(rest, Order::Little),
        // Without a byte order mark, the start of an XML declaration reveals the byte order.
        [0, b'<', 0, b'?', ..] => utf16(octets, Order::Big),
        [b'<', 0, b'?', 0, ..] => utf16(octets, Order::Little),
        [0xef, 0xbb, 0xbf, rest @ ..] => utf8(rest),
        _ => single_octets(octets),
    }
}

/// Decodes by the encoding in an XML declaration, for code units of one octet; UTF-8 by default.
fn single_octets(octets: &[u8]) -> Result<Cow<'_, str>, Error> {
    let said = declared(octets).map(|said| said.to_ascii_lowercase());
    match said.as_deref() {
        Some("iso-8859-1" | "latin1") if !octets.is_ascii() => {
            Ok(octets.iter().map(|&octet| char::from(octet)).collect::<String>().into())
        }
        // A document that declares UTF-16 here was converted to UTF-8 without changing its declaration.
        None
        | Some("utf-8" | "utf8" | "us-ascii" | "ascii" | "iso-8859-1" | "latin1" | "utf-16") => {
            utf8(octets)
        }
        // In nearly all other encodings, octets below 128 are ASCII, so a document of such octets is also UTF-8.
        Some(_) if octets.is_ascii() => utf8(octets),
        Some(other) => Err(Error::at(
            Place { line: 1, column: 1 },
            format!(
                "the XML declaration states the encoding {other:?}, but only UTF-8, UTF-16 and ISO 8859-1 are \
                 supported: save it as UTF-8"
            ),
        )),
    }
}

/// Returns the encoding in an XML declaration.
fn declared(octets: &[u8]) -> Option<&str> {
    let head = octets.strip_prefix(b"<?xml")?;
    let head = &head[..head.len().min(HEAD)];
    let end = head.windows(2).position(|two| two == b"?>")?;
    let head = std::str::from_utf8(&head[..end]).ok()?;
    let (_, rest) = head.split_once("encoding")?;
    let rest = rest.trim_start().strip_prefix('=')?.trim_start();
    let quote = rest.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    rest[1..].split_once(quote).map(|(name, _)| name)
}

fn utf8(octets: &[u8]) -> Result<Cow<'_, str>, Error> {
    std::str::from_utf8(octets).map(Cow::from).map_err(|error| {
        let good = String::from_utf8_lossy(&octets[..error.valid_up_to()]);
        Error::at(
            end(&good),
            "this is not UTF-8: save the document as UTF-8, or declare its encoding",
        )
    })
}

fn utf16(octets: &[u8], order: Order) -> Result<Cow<'_, str>, Error> {
    let (pairs, rest) = octets.as_chunks::<2>();
    let units = pairs.iter().map(|&pair| match order {
        Order::Big => u16::from_be_bytes(pair),
        Order::Little => u16::from_le_bytes(pair),
    });
    let mut text = String::with_capacity(pairs.len());
    for found in char::decode_utf16(units) {
        match found {
            Ok(character) => text.push(character),
            Err(error) => {
                let unit = error.unpaired_surrogate();
                let what =
                    format!("half of a UTF-16 surrogate pair ({unit:04x}) without the other half");
                return Err(Error::at(end(&text), what));
            }
        }
    }
    match rest {
        [] => Ok(text.into()),
        _ => Err(Error::at(end(&text), "the document is UTF-16, but ends within a character")),
    }
}

/// Returns the position after a text.
fn end(text: &str) -> Place {
    let lines = text.bytes().filter(|&octet| octet == b'\n').count();
    let last = text.rsplit('\n').next().unwrap_or_default().chars().count();
    let number = |count: usize| u32::try_from(count + 1).unwrap_or(u32::MAX);
    Place { line: number(lines), column: number(last) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(text: &str, order: Order) -> Vec<u8> {
        let octets = |unit: u16| match order {
            Order::Big => unit.to_be_bytes(),
            Order::Little => unit.to_le_bytes(),
        };
        text.encode_utf16().flat_map(octets).collect()
    }

    const TEXT: &str =
        "<?xml version=\"1.0\" encoding=\"UTF-16\"?>\n<a>\u{263a} \u{1f6f0} \u{e4}</a>";

    #[test]
    fn utf16_is_read_with_and_without_a_mark() {
        for order in [Order::Big, Order::Little] {
            assert_eq!(text(&encoded(TEXT, order)).unwrap(), TEXT, "{order:?}");
            let marked = encoded(&format!("\u{feff}{TEXT}"), order);
            assert_eq!(text(&marked).unwrap(), TEXT, "{order:?}");
        }
    }

    #[test]
    fn a_declaration_says_the_encoding_of_octets() {
        let latin = b"<?xml version='1.0' encoding = 'ISO-8859-1' ?><a>\xe4</a>";
        assert!(text(latin).unwrap().ends_with("<a>\u{e4}</a>"));
        assert_eq!(text(TEXT.as_bytes()).unwrap(), TEXT, "converted since");
        assert_eq!(text("\u{feff}x".as_bytes()).unwrap(), "x");
        let told = text(b"<?xml version=\"1.0\" encoding=\"Big5\"?><a>\xe4</a>").unwrap_err();
        assert!(told.to_string().contains("states the encoding \"big5\""), "{told}");
        assert!(text(b"<?xml version=\"1.0\" encoding=\"Big5\"?><a/>").is_ok());
    }

    #[test]
    fn what_is_broken_is_refused_with_its_place() {
        let told = |octets: &[u8]| text(octets).unwrap_err().to_string();
        assert_eq!(
            told(b"a\nb\xe4"),
            "2:2: error: this is not UTF-8: save the document as UTF-8, or declare its encoding"
        );
        let mut half = encoded("\u{feff}a\nb", Order::Little);
        half.extend([0x00, 0xd8]);
        assert!(told(&half).starts_with("2:2: error: half of a UTF-16 surrogate pair (d800)"));
        assert!(told(&[0xfe, 0xff, 0, b'a', 0]).contains("ends within a character"));
        assert!(told(&[0xff, 0xfe, 0, 0, b'a', 0, 0, 0]).contains("UTF-32"));
    }
}
