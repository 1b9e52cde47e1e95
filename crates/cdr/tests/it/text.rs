//! Characters and strings in every code set and GIOP version, as OxORB writes them and as other ORBs may.

use oxorb_cdr::ErrorKind::{
    BadString, BoundExceeded, NotInCodeSet, WcharForbidden, WcharUnsupported,
};
use oxorb_cdr::{
    ByteOrder, CharSet, CodeSet, Decoder, Dialect, Encoder, ErrorKind, Found, OutsideCodeSet,
    Result, WcharSet,
};

const LATIN: Dialect = Dialect::new(2);
const UTF_8: Dialect = Dialect { chars: CharSet::Utf8, ..LATIN };
const UTF_16: Dialect = Dialect { wchars: WcharSet::Utf16, ..LATIN };
const UCS_2: Dialect = Dialect { wchars: WcharSet::Ucs2, ..LATIN };
const GIOP_1_1: Dialect = Dialect { giop_minor: 1, ..UTF_16 };
const GIOP_1_0: Dialect = Dialect { giop_minor: 0, ..UTF_16 };

/// Error that represents all errors about code sets, whose details another test checks.
const OUTSIDE: ErrorKind = NotInCodeSet(OutsideCodeSet {
    code_set: CodeSet::Char(CharSet::Iso8859_1),
    found: Found::Octets(0),
    position: 0,
});

fn simple(kind: ErrorKind) -> ErrorKind {
    match kind {
        NotInCodeSet(_) => OUTSIDE,
        other => other,
    }
}

fn write(
    dialect: Dialect,
    f: impl FnOnce(&mut Encoder<'_>) -> Result<()>,
) -> Result<Vec<u8>, ErrorKind> {
    write_in(ByteOrder::Big, dialect, f)
}

fn write_in(
    order: ByteOrder,
    dialect: Dialect,
    f: impl FnOnce(&mut Encoder<'_>) -> Result<()>,
) -> Result<Vec<u8>, ErrorKind> {
    let mut encoder = Encoder::new(Vec::new(), order, dialect);
    f(&mut encoder).map_err(|error| {
        assert_eq!(
            (error.at, encoder.position()),
            (0, 0),
            "an error names its place and leaves nothing behind"
        );
        simple(error.kind)
    })?;
    Ok(encoder.finish().to_vec())
}

fn read<'de, T>(
    dialect: Dialect,
    octets: &'de [u8],
    f: impl FnOnce(&mut Decoder<'de>) -> Result<T>,
) -> Result<T, ErrorKind> {
    read_in(ByteOrder::Big, dialect, octets, f)
}

fn read_in<'de, T>(
    order: ByteOrder,
    dialect: Dialect,
    octets: &'de [u8],
    f: impl FnOnce(&mut Decoder<'de>) -> Result<T>,
) -> Result<T, ErrorKind> {
    let mut decoder = Decoder::new(octets, order, dialect);
    let value = f(&mut decoder).map_err(|error| simple(error.kind))?;
    decoder.finish().map_err(|error| error.kind)?;
    Ok(value)
}

fn string(d: &mut Decoder<'_>) -> Result<String> {
    d.string().map(Into::into)
}

#[test]
fn chars_are_one_octet_of_their_code_set() {
    assert_eq!(write(LATIN, |e| e.char('ÿ')), Ok(vec![0xFF]));
    assert_eq!(write(LATIN, |e| e.char('\0')), Ok(vec![0]));
    assert_eq!(write(LATIN, |e| e.char('Ā')), Err(OUTSIDE));
    assert_eq!(write(UTF_8, |e| e.char('a')), Ok(vec![b'a']));
    assert_eq!(write(UTF_8, |e| e.char('é')), Err(OUTSIDE));
    assert_eq!(read(LATIN, &[0xE9], Decoder::char), Ok('é'));
    assert_eq!(read(UTF_8, b"a", Decoder::char), Ok('a'));
    assert_eq!(read(UTF_8, &[0xE9], Decoder::char), Err(OUTSIDE));
}

#[test]
fn strings_are_converted_or_refused_but_never_damaged() {
    assert_eq!(write(LATIN, |e| e.string("é")), Ok(vec![0, 0, 0, 2, 0xE9, 0]));
    assert_eq!(write(UTF_8, |e| e.string("é")), Ok(vec![0, 0, 0, 3, 0xC3, 0xA9, 0]));
    assert_eq!(write(LATIN, |e| e.string("10 €")), Err(OUTSIDE));
    assert_eq!(write(UTF_8, |e| e.string("10 €")).map(|octets| octets.len()), Ok(4 + 6 + 1));
    for dialect in [LATIN, UTF_8] {
        for text in ["a\0b", "\0", "longer than a word\0", "not plain: é\0"] {
            assert_eq!(write(dialect, |e| e.string(text)), Err(BadString), "{text:?}");
        }
    }
    assert_eq!(read(LATIN, &[0, 0, 0, 3, 0xC3, 0xA9, 0], string), Ok("Ã©".into()));
    assert_eq!(read(UTF_8, &[0, 0, 0, 3, 0xC3, 0xA9, 0], string), Ok("é".into()));
    assert_eq!(read(UTF_8, &[0, 0, 0, 2, 0xE9, 0], string), Err(OUTSIDE));
}

/// Short and long strings are checked in different ways, and each octet of a word must be checked.
#[test]
fn every_octet_counts_at_every_place() {
    for length in [1, 3, 7, 8, 9, 15, 16, 17, 25] {
        for place in 0..length {
            for octet in [0, 1, 0x7F, 0x80, 0x81, 0xC3, 0xFF] {
                let mut octets = vec![b'a'; length];
                octets[place] = octet;
                let text: String = octets.iter().map(|&octet| char::from(octet)).collect();
                let sent = [&(length as u32 + 1).to_be_bytes(), octets.as_slice(), &[0]].concat();
                let (written, as_latin) = match octet {
                    0 => (Err(BadString), Err(BadString)),
                    _ => (Ok(sent.clone()), Ok(text.clone())),
                };
                assert_eq!(write(LATIN, |e| e.string(&text)), written);
                assert_eq!(read(LATIN, &sent, string), as_latin);
                let as_utf_8 = match String::from_utf8(octets) {
                    _ if octet == 0 => Err(BadString),
                    text => text.map_err(|_| OUTSIDE),
                };
                assert_eq!(read(UTF_8, &sent, string), as_utf_8);
            }
        }
    }
}

#[test]
fn strings_that_are_as_they_are_in_the_message_are_borrowed() {
    let octets = [0, 0, 0, 3, b'h', b'i', 0];
    let mut decoder = Decoder::new(&octets, ByteOrder::Big, LATIN);
    assert!(matches!(decoder.string(), Ok(std::borrow::Cow::Borrowed("hi"))));
}

#[test]
fn malformed_strings_are_refused() {
    for dialect in [LATIN, UTF_8] {
        assert_eq!(
            read(dialect, &[0, 0, 0, 0], string),
            Ok(String::new()),
            "sent by some peers for an empty string"
        );
        assert_eq!(
            read(dialect, &[0, 0, 0, 2, b'h', b'i'], string),
            Err(BadString),
            "no NUL at the end"
        );
        assert_eq!(
            read(dialect, &[0, 0, 0, 3, b'h', 0, 0], string),
            Err(BadString),
            "a NUL inside"
        );
        assert_eq!(
            read(dialect, &[0, 0, 0, 3, b'h', 0], string),
            Err(ErrorKind::LengthImplausible { length: 3, left: 2 })
        );
    }
}

#[test]
fn bounds_count_characters() {
    for dialect in [LATIN, UTF_8] {
        assert!(write(dialect, |e| e.bounded_string("éé", 2)).is_ok());
        assert_eq!(
            write(dialect, |e| e.bounded_string("ééé", 2)),
            Err(BoundExceeded { length: 3, bound: 2 })
        );
        let octets = write(dialect, |e| e.string("éé")).expect("carried");
        assert_eq!(
            read(dialect, &octets, |d| d.bounded_string(2).map(String::from)),
            Ok("éé".into())
        );
        let error =
            Decoder::new(&octets, ByteOrder::Big, dialect).bounded_string(1).expect_err("too long");
        assert_eq!((error.kind, error.at), (BoundExceeded { length: 2, bound: 1 }, 0));
    }
    assert!(write(UTF_16, |e| e.bounded_wstring("éé", 2)).is_ok());
    assert_eq!(
        write(UTF_16, |e| e.bounded_wstring("éé", 1)),
        Err(BoundExceeded { length: 2, bound: 1 })
    );
    let octets = write(UTF_16, |e| e.wstring("éé")).expect("carried");
    assert_eq!(read(UTF_16, &octets, |d| d.bounded_wstring(2)), Ok("éé".into()));
    assert_eq!(
        read(UTF_16, &octets, |d| d.bounded_wstring(1)),
        Err(BoundExceeded { length: 2, bound: 1 })
    );
}

#[test]
fn giop_1_0_has_no_wide_characters_and_none_were_agreed_without_a_code_set() {
    for (dialect, kind) in
        [(GIOP_1_0, WcharForbidden), (LATIN, WcharUnsupported), (Dialect::new(1), WcharUnsupported)]
    {
        assert_eq!(write(dialect, |e| e.wchar('a')), Err(kind));
        assert_eq!(write(dialect, |e| e.wstring("a")), Err(kind));
        assert_eq!(read(dialect, &[0; 8], Decoder::wchar), Err(kind));
        assert_eq!(read(dialect, &[0; 8], Decoder::wstring), Err(kind));
    }
}

#[test]
fn giop_1_1_sends_units_in_the_order_of_the_message() {
    assert_eq!(write(GIOP_1_1, |e| e.wchar('é')), Ok(vec![0, 0xE9]));
    assert_eq!(write_in(ByteOrder::Little, GIOP_1_1, |e| e.wchar('é')), Ok(vec![0xE9, 0]));
    assert_eq!(write(GIOP_1_1, |e| e.wchar('😀')), Err(OUTSIDE), "two units are not one wchar");
    assert_eq!(
        write(GIOP_1_1, |e| e.wstring("é")),
        Ok(vec![0, 0, 0, 2, 0, 0xE9, 0, 0]),
        "the count includes the NUL"
    );
    assert_eq!(write(GIOP_1_1, |e| e.wstring("")), Ok(vec![0, 0, 0, 1, 0, 0]));
    let little = [2, 0, 0, 0, 0xE9, 0, 0, 0];
    assert_eq!(write_in(ByteOrder::Little, GIOP_1_1, |e| e.wstring("é")), Ok(little.to_vec()));
    assert_eq!(read_in(ByteOrder::Little, GIOP_1_1, &little, Decoder::wstring), Ok("é".into()));

    assert_eq!(read(GIOP_1_1, &[0, 0xE9], Decoder::wchar), Ok('é'));
    assert_eq!(
        read(GIOP_1_1, &[0xD8, 0x3D], Decoder::wchar),
        Err(OUTSIDE),
        "half of a surrogate pair"
    );
    assert_eq!(read(GIOP_1_1, &[0, 0, 0, 0], Decoder::wstring), Ok(String::new()));
    assert_eq!(
        read(GIOP_1_1, &[0, 0, 0, 1, 0, b'a'], Decoder::wstring),
        Err(BadString),
        "no NUL at the end"
    );
    assert_eq!(
        read(GIOP_1_1, &[0, 0, 0, 3, 0, b'a', 0, 0, 0, 0], Decoder::wstring),
        Err(BadString),
        "a NUL inside"
    );
}

#[test]
fn a_wchar_of_giop_1_1_is_aligned_and_one_of_giop_1_2_is_not() {
    let after_an_octet = |dialect| {
        let mut encoder = Encoder::new(Vec::new(), ByteOrder::Big, dialect);
        encoder.octet(9);
        encoder.wchar('a').expect("carried");
        encoder.finish().to_vec()
    };
    assert_eq!(after_an_octet(GIOP_1_1), [9, 0, 0, b'a']);
    assert_eq!(after_an_octet(UTF_16), [9, 2, 0, b'a']);
}

#[test]
fn giop_1_2_writes_big_endian_without_a_mark_whatever_the_message() {
    for order in [ByteOrder::Big, ByteOrder::Little] {
        assert_eq!(write_in(order, UTF_16, |e| e.wchar('é')), Ok(vec![2, 0, 0xE9]));
        assert_eq!(write_in(order, UTF_16, |e| e.wchar('😀')), Ok(vec![4, 0xD8, 0x3D, 0xDE, 0x00]));
    }
    assert_eq!(write(UTF_16, |e| e.wstring("aé")), Ok(vec![0, 0, 0, 4, 0, b'a', 0, 0xE9]));
    assert_eq!(
        write_in(ByteOrder::Little, UTF_16, |e| e.wstring("a")),
        Ok(vec![2, 0, 0, 0, 0, b'a'])
    );
    assert_eq!(write(UTF_16, |e| e.wstring("")), Ok(vec![0, 0, 0, 0]));
    assert_eq!(write(UTF_16, |e| e.wstring("a\0")), Err(BadString));
}

#[test]
fn giop_1_2_reads_what_any_peer_writes() {
    // JacORB writes the first form, and so does TAO in big-endian messages. JacORB may add a byte order mark, as in the
    // second form. TAO writes the third form in little-endian messages.
    for octets in [&[2, 0, 0xE9][..], &[4, 0xFE, 0xFF, 0, 0xE9], &[4, 0xFF, 0xFE, 0xE9, 0]] {
        for order in [ByteOrder::Big, ByteOrder::Little] {
            assert_eq!(read_in(order, UTF_16, octets, Decoder::wchar), Ok('é'), "{octets:?}");
            assert_eq!(read_in(order, UCS_2, octets, Decoder::wchar), Ok('é'), "{octets:?}");
        }
    }
    assert_eq!(read(UTF_16, &[6, 0xFF, 0xFE, 0x3D, 0xD8, 0x00, 0xDE], Decoder::wchar), Ok('😀'));
    for octets in [
        &[0, 0, 0, 4, 0, b'a', 0, 0xE9][..],
        &[0, 0, 0, 6, 0xFE, 0xFF, 0, b'a', 0, 0xE9],
        &[0, 0, 0, 6, 0xFF, 0xFE, b'a', 0, 0xE9, 0],
    ] {
        assert_eq!(read(UTF_16, octets, Decoder::wstring), Ok("aé".into()), "{octets:?}");
        assert_eq!(read(UCS_2, octets, Decoder::wstring), Ok("aé".into()), "{octets:?}");
    }
    assert_eq!(
        read(UTF_16, &[0, 0, 0, 2, 0xFE, 0xFF], Decoder::wstring),
        Ok(String::new()),
        "a mark and nothing else"
    );
}

/// A text that starts with U+FEFF would lose it at the reader without a preceding mark.
#[test]
fn a_character_that_looks_like_a_mark_survives() {
    assert_eq!(write(UTF_16, |e| e.wchar('\u{FEFF}')), Ok(vec![4, 0xFE, 0xFF, 0xFE, 0xFF]));
    for text in ["\u{FEFF}", "\u{FEFF}a", "\u{FFFE}a", "a\u{FEFF}"] {
        let octets = write(UTF_16, |e| e.wstring(text)).expect("carried");
        assert_eq!(read(UTF_16, &octets, Decoder::wstring).as_deref(), Ok(text));
        let first = text.chars().next().expect("not empty");
        let octets = write(UTF_16, |e| e.wchar(first)).expect("carried");
        assert_eq!(read(UTF_16, &octets, Decoder::wchar), Ok(first));
    }
    assert_eq!(
        read(UTF_16, &[2, 0xFE, 0xFF], Decoder::wchar),
        Ok('\u{FEFF}'),
        "alone it is no mark"
    );
}

#[test]
fn malformed_wide_text_is_refused() {
    for octets in [
        &[0][..],
        &[1, 0],
        &[3, 0, b'a', 0],
        &[4, 0, b'a', 0, b'b'],
        &[2, 0xD8, 0x3D],
        &[2, 0xDE, 0x00],
    ] {
        assert_eq!(read(UTF_16, octets, Decoder::wchar), Err(OUTSIDE), "{octets:?}");
    }
    assert_eq!(
        read(UTF_16, &[0, 0, 0, 3, 0, b'a', 0], Decoder::wstring),
        Err(BadString),
        "half a unit"
    );
    assert_eq!(
        read(UTF_16, &[0, 0, 0, 2, 0xD8, 0x3D], Decoder::wstring),
        Err(OUTSIDE),
        "half a pair"
    );
    assert_eq!(
        read(UTF_16, &[0, 0, 0, 4, 0, 0, 0, b'a'], Decoder::wstring),
        Err(BadString),
        "a NUL inside"
    );
}

#[test]
fn ucs_2_has_nothing_beyond_the_basic_plane() {
    assert_eq!(write(UCS_2, |e| e.wchar('é')), Ok(vec![2, 0, 0xE9]));
    assert_eq!(write(UCS_2, |e| e.wchar('😀')), Err(OUTSIDE));
    assert_eq!(write(UCS_2, |e| e.wstring("a😀")), Err(OUTSIDE));
    assert_eq!(read(UCS_2, &[4, 0xD8, 0x3D, 0xDE, 0x00], Decoder::wchar), Err(OUTSIDE));
    assert_eq!(read(UCS_2, &[0, 0, 0, 4, 0xD8, 0x3D, 0xDE, 0x00], Decoder::wstring), Err(OUTSIDE));
}

/// An error about a character names it, its position and the code set, for every type and direction
/// (P4).
#[test]
fn errors_name_the_character_its_place_and_the_code_set() {
    fn encoded(dialect: Dialect, f: impl FnOnce(&mut Encoder<'_>) -> Result<()>) -> String {
        let mut e = Encoder::new(Vec::new(), ByteOrder::Big, dialect);
        f(&mut e).unwrap_err().kind.to_string()
    }
    fn decoded<'de, T: std::fmt::Debug>(
        dialect: Dialect,
        octets: &'de [u8],
        f: impl FnOnce(&mut Decoder<'de>) -> Result<T>,
    ) -> String {
        let mut d = Decoder::new(octets, ByteOrder::Big, dialect);
        f(&mut d).unwrap_err().kind.to_string()
    }
    let told = [
        (
            encoded(LATIN, |e| e.char('Ā')),
            "ISO 8859-1, the code set in use, lacks U+0100 (character 1 of the text)",
        ),
        (
            encoded(UTF_8, |e| e.char('é')),
            "UTF-8, the code set in use, lacks U+00E9 in a single octet (character 1 of the text)",
        ),
        (
            encoded(LATIN, |e| e.string("10 €")),
            "ISO 8859-1, the code set in use, lacks U+20AC (character 4 of the text)",
        ),
        (
            encoded(UCS_2, |e| e.wchar('😀')),
            "UCS-2, the code set in use, lacks U+1F600 (character 1 of the text)",
        ),
        (
            encoded(UCS_2, |e| e.wstring("aé😀")),
            "UCS-2, the code set in use, lacks U+1F600 (character 3 of the text)",
        ),
        (
            encoded(GIOP_1_1, |e| e.wchar('😀')),
            "UTF-16, the code set in use, lacks U+1F600 in a single unit (character 1 of the text)",
        ),
        (
            decoded(UTF_8, &[0xE9], Decoder::char),
            "octet 0xe9 (octet 1 of the text) is not a character of UTF-8, the code set in use",
        ),
        (
            decoded(UTF_8, b"\0\0\0\x05caf\xE9\0", string),
            "octet 0xe9 (octet 4 of the text) is not a character of UTF-8, the code set in use",
        ),
        (
            decoded(UTF_8, b"\0\0\0\x05caf\xE9\0", Decoder::owned_string),
            "octet 0xe9 (octet 4 of the text) is not a character of UTF-8, the code set in use",
        ),
        (
            decoded(UTF_16, &[2, 0xD8, 0x3D], Decoder::wchar),
            "unit 0xd83d (unit 1 of the text) is not a character of UTF-16, the code set in use",
        ),
        (
            decoded(UTF_16, &[3, 0, b'a', 0], Decoder::wchar),
            "3 octets are not one character of UTF-16, the code set in use",
        ),
        (
            decoded(UTF_16, &[0, 0, 0, 4, 0, b'a', 0xD8, 0x3D], Decoder::wstring),
            "unit 0xd83d (unit 2 of the text) is not a character of UTF-16, the code set in use",
        ),
        (
            decoded(GIOP_1_1, &[0, 0, 0, 3, 0, b'a', 0xDE, 0, 0, 0], Decoder::wstring),
            "unit 0xde00 (unit 2 of the text) is not a character of UTF-16, the code set in use",
        ),
        (
            decoded(UCS_2, &[0, 0, 0, 4, 0xD8, 0x3D, 0xDE, 0x00], Decoder::wstring),
            "unit 0xd83d (unit 1 of the text) is not a character of UCS-2, the code set in use",
        ),
    ];
    for (told, expected) in told {
        assert_eq!(told, expected);
    }
}
