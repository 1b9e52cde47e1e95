//! Values as octets outside messages (`IOP::Codec`): those of JacORB 3.9, both byte orders, and
//! invalid ones. omniORB 4.2.5 has no codec.

use oxorb_cdr::{Any, ByteOrder, Codec, DecoderLimits, TypeCode, Wstring};

/// Returns values, each with the results of JacORB's `encode` and `encode_value`.
fn jacorb() -> Vec<(Any, &'static str, &'static str)> {
    let blue = || Any::new(String::from("blue"));
    vec![
        (Any::new(7_u32), "000000000000000500000007", "0000000000000007"),
        (blue(), "00000000000000120000000000000005626c756500", "0000000000000005626c756500"),
        (Any::new(2.5_f64), "00000000000000074004000000000000", "00000000000000004004000000000000"),
        (
            Any::new(Wstring::from("fünf".to_owned())),
            "000000000000001b0000000000000008006600fc006e0066",
            "0000000000000008006600fc006e0066",
        ),
        (
            Any::new(blue()),
            "000000000000000b000000120000000000000005626c756500",
            "00000000000000120000000000000005626c756500",
        ),
    ]
}

fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

fn octets(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks(2);
    let text = digits.map(|pair| std::str::from_utf8(pair).expect("ASCII"));
    text.map(|pair| u8::from_str_radix(pair, 16).expect("hexadecimal")).collect()
}

#[test]
fn octets_are_those_of_jacorb() {
    let codec = Codec::default().with_byte_order(ByteOrder::Big);
    for (value, typed, bare) in jacorb() {
        assert_eq!(hex(&codec.encode(&value).unwrap()), typed);
        assert_eq!(hex(&codec.encode_value(&value).unwrap()), bare);
        assert_eq!(codec.decode(&octets(typed)).unwrap(), value);
        let read = codec.decode_value(&octets(bare), value.type_code());
        assert_eq!(read.unwrap(), value);
    }
}

#[test]
fn either_byte_order_is_read_by_either() {
    let orders = [ByteOrder::Big, ByteOrder::Little];
    for (value, ..) in jacorb() {
        for (writes, reads) in [(0, 1), (1, 0), (1, 1)] {
            let [writer, reader] = [writes, reads].map(|at: usize| orders[at]);
            let writer = Codec::default().with_byte_order(writer);
            let reader = Codec::default().with_byte_order(reader);
            let typed = writer.encode(&value).unwrap();
            assert_eq!(reader.decode(&typed).unwrap(), value);
            let bare = writer.encode_value(&value).unwrap();
            assert_eq!(reader.decode_value(&bare, value.type_code()).unwrap(), value);
        }
    }
}

/// These errors correspond to the exceptions `FormatMismatch` and `TypeMismatch` of `IOP::Codec`.
#[test]
fn what_is_not_exactly_one_value_is_refused() {
    let codec = Codec::default();
    for (value, typed, bare) in jacorb() {
        let (typed, bare) = (octets(typed), octets(bare));
        for end in 0..typed.len() {
            assert!(codec.decode(&typed[..end]).is_err(), "{value:?} to {end}");
        }
        for end in 0..bare.len() {
            let cut = codec.decode_value(&bare[..end], value.type_code());
            assert!(cut.is_err(), "{value:?} to {end}");
        }
        let [more, too_much] = [typed, bare.clone()].map(|mut octets| {
            octets.push(0);
            octets
        });
        assert!(codec.decode(&more).is_err(), "{value:?}");
        assert!(codec.decode_value(&too_much, value.type_code()).is_err());
        assert!(codec.decode_value(&bare, &TypeCode::OCTET).is_err());
    }
    // Three nested anys exceed a limit of one level.
    let deep = Any::new(Any::new(Any::new(7_u32)));
    let flat =
        Codec::default().with_limits(DecoderLimits { max_depth: 1, ..DecoderLimits::default() });
    let deep = codec.encode(&deep).unwrap();
    assert!(codec.decode(&deep).is_ok() && flat.decode(&deep).is_err());
}
