//! Text in every code set, GIOP version and byte order: as omniORB and JacORB write it, within
//! anys, and converted from one code set to another. The vectors were written by the peers' own
//! streams.

use oxorb_cdr::{
    Any, ByteOrder, CharSet, CodeSet, Decode as _, Decoder, Dialect, Dynamic, Encode as _, Encoder,
    Error, ErrorKind, Found, OutsideCodeSet, Result, TypeCode, WcharSet,
};

const OMNIORB: &str = include_str!("../vectors/text/omniorb.txt");
const JACORB: &str = include_str!("../vectors/text/jacorb.txt");

#[derive(Clone, Copy, PartialEq, Debug)]
enum Kind {
    Char,
    String,
    Wchar,
    Wstring,
}

use Kind::{Char, String as Str, Wchar, Wstring};

/// Line of a file of vectors.
#[derive(Debug)]
struct Vector {
    dialect: Dialect,
    order: ByteOrder,
    kind: Kind,
    text: String,
    /// `None`: the peer raised DATA_CONVERSION.
    octets: Option<Vec<u8>>,
}

fn vectors(file: &str) -> Vec<Vector> {
    let lines = file.lines().filter(|line| !line.starts_with('#'));
    lines.map(vector).collect()
}

fn vector(line: &str) -> Vector {
    let (before, rest) = line.split_once(" [").unwrap();
    let (points, octets) = rest.split_once("] ").unwrap();
    let [minor, set, order, kind] = before.split(' ').collect::<Vec<_>>()[..] else {
        panic!("{line}");
    };
    let mut dialect = Dialect { wchars: WcharSet::Utf16, ..Dialect::new(minor.parse().unwrap()) };
    match set {
        "10001" => dialect.chars = CharSet::Iso8859_1,
        "5010001" => dialect.chars = CharSet::Utf8,
        "10109" => dialect.wchars = WcharSet::Utf16,
        "10100" => dialect.wchars = WcharSet::Ucs2,
        other => panic!("{other}"),
    }
    let points = points.split(' ').filter(|point| *point != "-");
    let octets = (octets != "! DATA_CONVERSION").then(|| {
        let pairs = (0..octets.len()).step_by(2);
        let octet = |at| u8::from_str_radix(&octets[at..at + 2], 16).unwrap();
        pairs.map(octet).collect()
    });
    Vector {
        dialect,
        order: if order == "big" { ByteOrder::Big } else { ByteOrder::Little },
        kind: match kind {
            "char" => Char,
            "string" => Str,
            "wchar" => Wchar,
            _ => Wstring,
        },
        text: points
            .map(|point| char::from_u32(u32::from_str_radix(point, 16).unwrap()).unwrap())
            .collect(),
        octets,
    }
}

/// Returns whether a text can be encoded according to the rules.
fn judged(kind: Kind, text: &str, dialect: Dialect) -> Result<(), ErrorKind> {
    let latin = text.chars().all(|c| u32::from(c) < 0x100);
    let fits = match (kind, dialect.chars) {
        (Char | Str, CharSet::Iso8859_1) => latin,
        (Char, CharSet::Utf8) => text.is_ascii(),
        (Str, CharSet::Utf8) => true,
        (Wchar | Wstring, _) if dialect.giop_minor == 0 => return Err(ErrorKind::WcharForbidden),
        (Wchar, _) if dialect.giop_minor == 1 => text.chars().all(|c| c.len_utf16() == 1),
        (Wchar | Wstring, _) => {
            dialect.wchars == WcharSet::Utf16 || text.chars().all(|c| c.len_utf16() == 1)
        }
    };
    if fits { Ok(()) } else { Err(OUTSIDE) }
}

/// Error that represents all errors about code sets.
const OUTSIDE: ErrorKind = ErrorKind::NotInCodeSet(OutsideCodeSet {
    code_set: CodeSet::Char(CharSet::Utf8),
    found: Found::Octets(0),
    position: 0,
});

fn simple(error: Error) -> ErrorKind {
    match error.kind {
        ErrorKind::NotInCodeSet(_) => OUTSIDE,
        other => other,
    }
}

fn write(kind: Kind, text: &str, dialect: Dialect, order: ByteOrder) -> Result<Vec<u8>, ErrorKind> {
    let mut e = Encoder::new(Vec::new(), order, dialect);
    let only = text.chars().next().unwrap_or('\0');
    let written = match kind {
        Char => e.char(only),
        Str => e.string(text),
        Wchar => e.wchar(only),
        Wstring => e.wstring(text),
    };
    written.map_err(simple)?;
    Ok(e.finish().to_vec())
}

fn read(
    kind: Kind,
    octets: &[u8],
    dialect: Dialect,
    order: ByteOrder,
) -> Result<String, ErrorKind> {
    let mut d = Decoder::new(octets, order, dialect);
    let text = match kind {
        Char => d.char().map(String::from),
        Str => d.string().map(|text| text.into_owned()),
        Wchar => d.wchar().map(String::from),
        Wstring => d.wstring(),
    };
    let text = text.map_err(simple)?;
    d.finish().map_err(|error| error.kind)?;
    Ok(text)
}

#[test]
fn omniorb_and_we_say_the_same() {
    let all = vectors(OMNIORB);
    assert!(all.len() > 100);
    for v in &all {
        let judged = judged(v.kind, &v.text, v.dialect);
        let ours = write(v.kind, &v.text, v.dialect, v.order);
        match &v.octets {
            None => assert_eq!(ours, Err(OUTSIDE), "{v:?}"),
            Some(octets) => {
                assert_eq!(judged, Ok(()), "{v:?}");
                let text = read(v.kind, octets, v.dialect, v.order);
                assert_eq!(text.as_ref(), Ok(&v.text), "{v:?}");
                // omniORB marks its byte order in every wide string. OxORB writes big-endian text,
                // which needs a mark only if it starts with a character that looks like one.
                let free = v.kind == Wstring && !v.text.is_empty() || v.text == "\u{feff}";
                if !free {
                    assert_eq!(ours.as_ref(), Ok(octets), "{v:?}");
                }
            }
        }
    }
}

#[test]
fn jacorb_and_we_say_the_same_but_where_it_loses_text() {
    let all = vectors(JACORB);
    assert!(all.len() > 100);
    for v in &all {
        let judged = judged(v.kind, &v.text, v.dialect);
        let ours = write(v.kind, &v.text, v.dialect, v.order);
        assert_eq!(ours.as_ref().err(), judged.as_ref().err(), "{v:?}");
        let Some(octets) = &v.octets else {
            assert_eq!(ours, Err(OUTSIDE), "{v:?}");
            continue;
        };
        let text = read(v.kind, octets, v.dialect, v.order);
        let marked = v.text.starts_with('\u{feff}') && v.dialect.giop_minor == 2;
        match judged {
            // JacORB writes no byte order mark before text that starts with U+FEFF, so a reader
            // takes that character for a mark.
            Ok(()) if marked && matches!(v.kind, Wchar | Wstring) => {
                let read_as = match v.kind {
                    Wstring => &v.text['\u{feff}'.len_utf8()..],
                    // A single U+FEFF is a character, because nothing follows that it could mark.
                    _ => &v.text,
                };
                assert_eq!(text.as_deref(), Ok(read_as), "{v:?}");
                let again = read(v.kind, &ours.unwrap(), v.dialect, v.order);
                assert_eq!(again.as_ref(), Ok(&v.text));
            }
            Ok(()) => {
                assert_eq!(text.as_ref(), Ok(&v.text), "{v:?}");
                assert_eq!(ours.as_ref(), Ok(octets), "{v:?}");
            }
            // These texts cannot be encoded: wide characters in GIOP 1.0, surrogates in UCS-2, and
            // a Latin-1 character as a `char` where UTF-8 was negotiated. For strings beyond ISO
            // 8859-1, JacORB sends the low octets of the characters, which are another text.
            Err(kind) => match text {
                Err(error) => assert!(
                    error == kind || v.kind == Str && error == ErrorKind::BadString,
                    "{v:?}: {error}"
                ),
                Ok(other) => {
                    assert_eq!((v.kind, v.dialect.chars), (Str, CharSet::Iso8859_1), "{v:?}");
                    assert_ne!(other, v.text);
                }
            },
        }
    }
}

const TEXTS: [&str; 8] = ["", "a", "ascii only", "hé", "€5", "中", "😀", "\u{feff}x"];

fn dialects() -> impl Iterator<Item = Dialect> {
    let minors = [0, 1, 2].into_iter();
    minors.flat_map(|giop_minor| {
        [CharSet::Iso8859_1, CharSet::Utf8].into_iter().flat_map(move |chars| {
            [WcharSet::Utf16, WcharSet::Ucs2].map(|wchars| Dialect { giop_minor, chars, wchars })
        })
    })
}

fn samples() -> impl Iterator<Item = (Kind, TypeCode, &'static str, Dynamic)> {
    TEXTS.into_iter().flat_map(|text| {
        let mut all = vec![
            (Str, TypeCode::STRING, text, Dynamic::String(text.to_owned())),
            (Wstring, TypeCode::WSTRING, text, Dynamic::Wstring(text.to_owned())),
        ];
        let mut chars = text.chars();
        if let (Some(only), None) = (chars.next(), chars.next()) {
            all.push((Char, TypeCode::CHAR, text, Dynamic::Char(only)));
            all.push((Wchar, TypeCode::WCHAR, text, Dynamic::Wchar(only)));
        }
        all
    })
}

/// Each type in a struct, an any and a nested any, passed on from each dialect and byte order to
/// each other one, yields the same text or an error, but never another text.
#[test]
fn text_in_anys_is_converted_or_refused() {
    let orders = [ByteOrder::Big, ByteOrder::Little];
    let mut passed = 0;
    for (kind, ty, text, value) in samples() {
        // The text follows an octet, so that alignment matters.
        let members = [("o", TypeCode::OCTET), ("t", ty.clone())];
        let pair = TypeCode::structure("IDL:Pair:1.0", "Pair", members);
        let mut both = Dynamic::default_for(&pair).unwrap();
        *both.at_mut("t").unwrap() = value;
        let Ok(inner) = Any::with_type(pair, both) else {
            // Only a `char` can be impossible to insert: no code set for `char` contains this
            // character.
            assert_eq!(kind, Char);
            continue;
        };
        let nested = Any::new(inner.clone());
        for any in [inner, nested] {
            for (from, from_order) in dialects().flat_map(|d| orders.map(|order| (d, order))) {
                let mut e = Encoder::new(Vec::new(), from_order, from);
                let written = any.encode(&mut e).map_err(simple);
                assert_eq!(written, judged(kind, text, from), "{kind:?} {text:?} {from:?}");
                if written.is_err() {
                    continue;
                }
                let octets = e.finish().to_vec();
                let mut d = Decoder::new(&octets, from_order, from);
                let received = Any::decode(&mut d).unwrap();
                assert_eq!(received, any, "{kind:?} {text:?} {from:?}");
                for (to, to_order) in dialects().flat_map(|d| orders.map(|order| (d, order))) {
                    let mut e = Encoder::new(Vec::new(), to_order, to);
                    let sent_on = received.encode(&mut e).map_err(simple);
                    assert_eq!(
                        sent_on,
                        judged(kind, text, to),
                        "{kind:?} {text:?} {from:?} {to:?}"
                    );
                    if sent_on.is_ok() {
                        let octets = e.finish().to_vec();
                        let mut d = Decoder::new(&octets, to_order, to);
                        assert_eq!(Any::decode(&mut d).unwrap(), any);
                        passed += 1;
                    }
                }
            }
        }
    }
    assert!(passed > 1000, "{passed}");
}

/// Encapsulations have separate rules, whatever was negotiated for the enclosing message.
#[test]
fn encapsulations_have_their_own_code_sets() {
    for (kind, _, text, _) in samples() {
        let octets = write(kind, text, Dialect::GIOP_1_2, ByteOrder::Little);
        let expected = judged(kind, text, Dialect::GIOP_1_2);
        assert_eq!(octets.as_ref().err(), expected.as_ref().err(), "{kind:?} {text:?}");
        let Ok(octets) = octets else { continue };
        // The first octet declares the byte order. Padding may follow, because alignment counts
        // from this octet.
        let mut whole = Encoder::new(Vec::new(), ByteOrder::Little, Dialect::GIOP_1_2);
        whole.octet(1);
        let only = text.chars().next().unwrap_or('\0');
        match kind {
            Char => whole.char(only),
            Str => whole.string(text),
            Wchar => whole.wchar(only),
            Wstring => whole.wstring(text),
        }
        .unwrap();
        let whole = whole.finish().to_vec();
        assert!(whole.ends_with(&octets));
        let mut d = Decoder::encapsulated(&whole, Dialect::GIOP_1_2).unwrap();
        let read = match kind {
            Char => String::from(d.char().unwrap()),
            Str => d.string().unwrap().into_owned(),
            Wchar => String::from(d.wchar().unwrap()),
            Wstring => d.wstring().unwrap(),
        };
        assert_eq!(read, text);
    }
}
