//! Octets that JacORB 3.9 writes, in big-endian order: types, an exception in an any, and a `fixed`
//! without leading zeros.

use oxorb_cdr::{Any, ByteOrder, Decimal, Decode, FixedPoint, TypeCode};

use crate::types::{reader, written};

const P: &str = "0000000f0000002c000000000000000a49444c3a503a312e3000000000000002500000000000000100000002780000000000\
    0003";

const T: &str = "0000000f0000008c000000000000000a49444c3a543a312e3000000000000002540000000000000300000002610000000000\
    000f0000002c000000000000000a49444c3a503a312e30000000000000025000000000000001000000027800000000000003\
    0000000262000000000000130000001000000000ffffffffffffffb40000000000000002660000000000001c00050002";

const TREE: &str = "0000000f00000048000000000000000d49444c3a547265653a312e3000000000000000055472656500000000000000010000\
    000273000000000000130000001000000000ffffffffffffffb800000000";

const E: &str = "000000160000002c000000000000000a49444c3a453a312e30000000000000024500000000000001000000026e0000000000\
    0003";

const ANY_E: &str = "000000160000002c000000000000000a49444c3a453a312e30000000000000024500000000000001000000026e0000000000\
    00030000000a49444c3a453a312e3000000000000007";

const ANY_FIXED: &str = "0000001c00090002125d";

fn octets(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks(2);
    let text = digits.map(|pair| std::str::from_utf8(pair).expect("ASCII"));
    text.map(|pair| u8::from_str_radix(pair, 16).expect("hexadecimal")).collect()
}

#[track_caller]
fn type_code(hex: &str) -> TypeCode {
    let octets = octets(hex);
    let mut decoder = reader(&octets, ByteOrder::Big, 0);
    let read = TypeCode::decode(&mut decoder).expect("a type");
    assert_eq!(decoder.remaining(), 0);
    read
}

#[track_caller]
fn any(hex: &str) -> Any {
    let octets = octets(hex);
    let mut decoder = reader(&octets, ByteOrder::Big, 0);
    let read = Any::decode(&mut decoder).expect("an any");
    assert_eq!(decoder.remaining(), 0);
    read
}

fn point() -> TypeCode {
    TypeCode::structure("IDL:P:1.0", "P", [("x", TypeCode::LONG)])
}

fn exception() -> TypeCode {
    TypeCode::exception("IDL:E:1.0", "E", [("n", TypeCode::LONG)])
}

#[test]
fn type_codes_are_the_same_octets() {
    let branches = TypeCode::sequence(TypeCode::recursive("IDL:Tree:1.0"));
    let tree = TypeCode::structure("IDL:Tree:1.0", "Tree", [("s", branches)]);
    for (hex, ty) in [(P, point()), (TREE, tree), (E, exception())] {
        assert_eq!(type_code(hex), ty);
        let ours = written(ByteOrder::Big, 0, |e| {
            ty.as_ref().encode(e).expect("complete");
        });
        assert_eq!(ours, octets(hex), "{ty}");
    }
}

#[test]
fn a_type_that_occurs_again_is_a_reference() {
    let members =
        [("a", point()), ("b", TypeCode::sequence(point())), ("f", TypeCode::fixed(5, 2))];
    let twice = TypeCode::structure("IDL:T:1.0", "T", members);
    assert_eq!(type_code(T), twice);
}

#[test]
fn an_exception_in_an_any_has_its_repository_id() {
    let any = any(ANY_E);
    assert_eq!(any.type_code(), &exception());
    let value = any.dynamic().expect("a value of its type");
    assert_eq!(value.at("n"), Some(&7i32.into()));
    let ours = Any::with_type(exception(), value).expect("a value of its type");
    let message = written(ByteOrder::Big, 0, |e| {
        let ours = oxorb_cdr::Dynamic::Any(ours);
        ours.encode(&TypeCode::ANY, e).expect("an any");
    });
    assert_eq!(message, octets(ANY_E));
}

#[test]
fn a_fixed_lacks_its_leading_zeros() {
    let any = any(ANY_FIXED);
    assert_eq!(any.type_code(), &TypeCode::fixed(9, 2));
    let number: Decimal = "-1.25".parse().expect("a number");
    assert_eq!(any.get(), Ok(FixedPoint::<9, 2>::new(number).ok()));
}
