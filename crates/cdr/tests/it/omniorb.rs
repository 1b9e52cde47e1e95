//! Octets that omniORB 4.2.5 writes: type codes in little-endian order, anys in big-endian order
//! with little-endian parts, and uninitialised memory as padding.

use oxorb_cdr::{
    Any, ByteOrder, Decode, Decoder, Dialect, Dynamic, Encode, Encoder, Label, TypeCode,
    ValueModifier, Visibility, Wstring,
};

use crate::types::{reader, written};

const TREE: &str = "0f00000064000000010000000d00000049444c3a547265653a312e30000000000500000054726565000f0000020000000600\
     00006c6162656c0001001200000008000000090000006272616e6368657300000000130000001000000001000000ffffffff\
     9cffffff00000000";

const COLOR: &str = "1100000045000000010000000e00000049444c3a436f6c6f723a312e3000000006000000436f6c6f72000000030000000400\
     00007265640006000000677265656e00000005000000626c756500";

const U: &str = "10000000a8000000010000000a00000049444c3a553a312e300000000200000055004f7a1100000045000000010000000e00\
     000049444c3a436f6c6f723a312e3000000006000000436f6c6f720000000300000004000000726564000600000067726565\
     6e00000005000000626c75650000000002000000030000000000000002000000610011000300000001000000020000006200\
     0400020000000000000002000000630027001200000000000000";

const GRID: &str = "1500000048000000010000000d00000049444c3a477269643a312e3000000000050000004772696400000000140000001c00\
     000001000000140000000c00000001adbda1030000000300000002000000";

const MONEY: &str = "150000002c000000010000000e00000049444c3a4d6f6e65793a312e30000000060000004d6f6e65790000001c0000000500\
     0200";

const BAD: &str = "16000000e8000000010000000c00000049444c3a4261643a312e300004000000426164000200000004000000776879001b00\
     00000400000003000000756e000010000000a8000000013043210a00000049444c3a553a312e3000bda1020000005500bda1\
     110000004500000001adbda10e00000049444c3a436f6c6f723a312e3000000006000000436f6c6f72000000030000000400\
     00007265640006000000677265656e00000005000000626c7565000000000200000003000000000000000200000061001100\
     03000000010000000200000062000400020000000000000002000000630027001200000000000000";

const FACE: &str =
    "0e00000021000000010000000d00000049444c3a466163653a312e3000000000050000004661636500";

const ALL: &str = "0f00000004020000010000000c00000049444c3a416c6c3a312e300004000000416c6c000a00000003000000636f00001100\
     000045000000013043210e00000049444c3a436f6c6f723a312e3000000006000000436f6c6f720000000300000004000000\
     7265640006000000677265656e00000005000000626c75650000000003000000756e00001000000060000000013043210a00\
     000049444c3a553a312e3000312e0200000055000000ffffffff80ffffff0200000003000000000000000200000061006565\
     0300000001000000020000006200080002000000000000000200000063000000120000000000000002000000670000001500\
     000048000000013043210d00000049444c3a477269643a312e3000000000050000004772696400ffffff140000001c000000\
     01000000140000000c00000001adbda103000000030000000200000002000000660000000e00000021000000013043210d00\
     000049444c3a466163653a312e3000000000050000004661636500000000020000006f0000000e0000003300000001304321\
     1d00000049444c3a6f6d672e6f72672f434f5242412f4f626a6563743a312e3000000000070000004f626a65637400000200\
     0000790000000b0000000200000071006661130000000c000000013043210a0000000700000002000000770000001a000000\
     030000006c6c00001700000002000000740000000c000000";

const B: &str = "1000000038000000010200000a00000049444c3a423a312e300000000200000042004f7a08000000ffffffff010000000100\
     000002000000780000000a000000";

const C: &str = "1000000048000000010000000a00000049444c3a433a312e300000000200000043004f7a09000000ffffffff0200000061ff\
     ffff02000000640000000700000062000000020000006400000007000000";

const L: &str = "100000003c000000010000000a00000049444c3a4c3a312e30000000020000004c004f7a17000000ffffffff01000000fbff\
     ffffffffffff020000006400000006000000";

const V: &str = "1d00000046000000010000000a00000049444c3a563a312e3000000002000000560000000000000002000000020000007000\
     ffff030000000100ffff020000007300000012000000000000000000";

const VB: &str =
    "1e00000024000000010000000b00000049444c3a56423a312e300000030000005642007a1200000000000000";

const OBJECT: &str = "0e00000033000000010000001d00000049444c3a6f6d672e6f72672f434f5242412f4f626a6563743a312e30000000000700\
     00004f626a65637400";

const ANY_TREE: &str = "0000000f00000064010000000d00000049444c3a547265653a312e30000000000500000054726565002f4f62020000000600\
     00006c6162656c0000001200000008000000090000006272616e636865730000000013000000100000000172672fffffffff\
     9cffffff0000000000000005726f6f740000000000000002000000026100000000000000000000010000000000000000";

const ANY_ALL: &str = "0000000f00000204010000000c00000049444c3a416c6c3a312e300004000000416c6c000a00000003000000636f00001100\
     000045000000013043210e00000049444c3a436f6c6f723a312e3000000006000000436f6c6f72002e300300000004000000\
     7265640006000000677265656e00000005000000626c75650000000003000000756e00001000000060000000013043210a00\
     000049444c3a553a312e3000312e0200000055000000ffffffff80ffffff0200000003000000000000000200000061006565\
     0300000001000000020000006200000002000000000000000200000063000000120000000000000002000000670000001500\
     000048000000013043210d00000049444c3a477269643a312e3000000000050000004772696400ffffff140000001c000000\
     01000000140000000c00000001acbda103000000030000000200000002000000660000000e00000021000000013043210d00\
     000049444c3a466163653a312e3000000000050000004661636500000000020000006f0000000e0000003300000001304321\
     1d00000049444c3a6f6d672e6f72672f434f5242412f4f626a6563743a312e3000000000070000004f626a65637400000200\
     0000790000000b0000000200000071006661130000000c000000013043210a0000000700000002000000770000001a000000\
     030000006c6c00001700000002000000740000000c0000000000000100000002000000027800000000000000000000010000\
     0002000000030000000400000005000000010000000000000000000000010000000000000000000000030000000700000002\
     0102020077560000ffffffffffffffff0000001200000000";

const ANY_BAD: &str = "00000016000000e801210d000c00000049444c3a4261643a312e300004000000426164000200000004000000776879001b00\
     00000400000003000000756e000010000000a8000000013043210a00000049444c3a553a312e3000bda1020000005500bda1\
     1100000045000000010000000e00000049444c3a436f6c6f723a312e3000000006000000436f6c6f72000000030000000400\
     00007265640006000000677265656e00000005000000626c7565000000000200000003000000000000000200000061000000\
     0300000001000000020000006200ffff02000000000000000200000063000000120000000000000000000006fffe6e006f00\
     ff200000000000000003";

fn octets(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks(2);
    let text = digits.map(|pair| std::str::from_utf8(pair).expect("ASCII"));
    text.map(|pair| u8::from_str_radix(pair, 16).expect("hexadecimal")).collect()
}

/// Checks that omniORB's octets denote our type.
#[track_caller]
fn means(hex: &str, ty: &TypeCode) -> Vec<u8> {
    let theirs = octets(hex);
    let mut decoder = reader(&theirs, ByteOrder::Little, 0);
    let read = TypeCode::decode(&mut decoder).expect("a type");
    assert_eq!(decoder.remaining(), 0);
    assert_eq!(&read, ty);
    theirs
}

/// Checks that omniORB's octets denote our type, and that our octets equal them except for padding
/// and the label of a default.
#[track_caller]
fn same(hex: &str, ty: &TypeCode) {
    let theirs = means(hex, ty);
    let ours = written(ByteOrder::Little, 0, |e| {
        ty.as_ref().encode(e).expect("complete");
    });
    assert_eq!(ours.len(), theirs.len(), "{ty}");
    for (at, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
        assert!(*ours == 0 || ours == theirs, "{ty}: octet {at}");
    }
}

fn tree() -> TypeCode {
    let branches = TypeCode::sequence(TypeCode::recursive("IDL:Tree:1.0"));
    TypeCode::structure(
        "IDL:Tree:1.0",
        "Tree",
        [("label", TypeCode::bounded_string(8)), ("branches", branches)],
    )
}

fn color() -> TypeCode {
    TypeCode::enumeration("IDL:Color:1.0", "Color", ["red", "green", "blue"])
}

fn union() -> TypeCode {
    TypeCode::union(
        "IDL:U:1.0",
        "U",
        color(),
        [
            (Label::Value(0), "a", TypeCode::LONG),
            (Label::Value(1), "b", TypeCode::SHORT),
            (Label::Default, "c", TypeCode::STRING),
        ],
    )
}

fn grid() -> TypeCode {
    let rows = TypeCode::array(TypeCode::array(TypeCode::LONG, 3), 2);
    TypeCode::alias("IDL:Grid:1.0", "Grid", rows)
}

fn bad() -> TypeCode {
    let members = [("why", TypeCode::bounded_wstring(4)), ("un", union())];
    TypeCode::exception("IDL:Bad:1.0", "Bad", members)
}

fn face() -> TypeCode {
    TypeCode::interface("IDL:Face:1.0", "Face")
}

fn all() -> TypeCode {
    TypeCode::structure(
        "IDL:All:1.0",
        "All",
        [
            ("co", color()),
            ("un", union()),
            ("g", grid()),
            ("f", face()),
            ("o", TypeCode::OBJECT),
            ("y", TypeCode::ANY),
            ("q", TypeCode::bounded_sequence(TypeCode::OCTET, 7)),
            ("w", TypeCode::WCHAR),
            ("ll", TypeCode::LONGLONG),
            ("t", TypeCode::TYPE_CODE),
        ],
    )
}

#[test]
fn type_codes() {
    same(TREE, &tree());
    same(COLOR, &color());
    same(U, &union());
    same(GRID, &grid());
    let money = TypeCode::fixed(5, 2);
    same(MONEY, &TypeCode::alias("IDL:Money:1.0", "Money", money));
    same(BAD, &bad());
    same(FACE, &face());
    // omniORB writes a repeated type as an indirection to its first occurrence; OxORB writes it in
    // full, like TAO.
    means(ALL, &all());
    let switch = |id: &str, name: &str, by: TypeCode, members: &[(Label, &str, TypeCode)]| {
        TypeCode::union(id, name, by, members.iter().cloned())
    };
    let x = [(true.into(), "x", TypeCode::OCTET)];
    same(B, &switch("IDL:B:1.0", "B", TypeCode::BOOLEAN, &x));
    let d = ['a', 'b'].map(|label| (label.into(), "d", TypeCode::DOUBLE));
    same(C, &switch("IDL:C:1.0", "C", TypeCode::CHAR, &d));
    let d = [(Label::from(-5i64), "d", TypeCode::FLOAT)];
    same(L, &switch("IDL:L:1.0", "L", TypeCode::LONGLONG, &d));
    // The IDL declares `private p` and `public s`, but omniidl swaps the two visibilities in its
    // tables.
    let members =
        [("p", TypeCode::LONG, Visibility::Public), ("s", TypeCode::STRING, Visibility::Private)];
    same(V, &TypeCode::value("IDL:V:1.0", "V", ValueModifier::None, None, members));
    same(VB, &TypeCode::value_box("IDL:VB:1.0", "VB", TypeCode::STRING));
    same(OBJECT, &TypeCode::OBJECT);
}

#[track_caller]
fn read(hex: &str, ty: &TypeCode) -> (Any, Dynamic) {
    let octets = octets(hex);
    let mut decoder = Decoder::new(&octets, ByteOrder::Big, Dialect::GIOP_1_2);
    let any = Any::decode(&mut decoder).expect("an any");
    assert_eq!(decoder.remaining(), 0);
    assert_eq!(any.type_code(), ty);
    let value = any.dynamic().expect("a value of its type");
    // The any must stay the same when it is re-encoded in the other byte order.
    let mut encoder = Encoder::new(Vec::new(), ByteOrder::Little, Dialect::GIOP_1_2);
    any.encode(&mut encoder).expect("nothing special");
    let again = encoder.finish().to_vec();
    let mut decoder = Decoder::new(&again, ByteOrder::Little, Dialect::GIOP_1_2);
    assert_eq!(Any::decode(&mut decoder).as_ref(), Ok(&any));
    (any.clone(), value)
}

#[test]
fn an_any_of_a_recursive_struct() {
    let (_, value) = read(ANY_TREE, &tree());
    assert_eq!(value.at("label"), Some(&"root".into()));
    assert_eq!(value.at("branches[0].label"), Some(&"a".into()));
    assert_eq!(value.at("branches[1].branches"), Some(&Dynamic::Sequence(vec![])));
}

#[test]
fn an_any_of_everything() {
    let (_, value) = read(ANY_ALL, &all());
    assert_eq!(value.at("co").and_then(Dynamic::label), Some(1));
    assert_eq!(value.at("un.c"), Some(&"x".into()));
    assert_eq!(value.at("g[1][2]"), Some(&5i32.into()));
    assert_eq!(value.at("y"), Some(&Any::new(7i32).into()));
    assert_eq!(value.at("q"), Some(&vec![1u8, 2].into()));
    assert_eq!(value.at("w"), Some(&Dynamic::Wchar('w')));
    assert_eq!(value.at("ll"), Some(&(-1i64).into()));
    assert_eq!(value.at("t"), Some(&TypeCode::STRING.into()));
}

#[test]
fn an_any_of_an_exception_lacks_its_repository_id() {
    let (any, value) = read(ANY_BAD, &bad());
    assert_eq!(value.at("why"), Some(&Dynamic::Wstring("no".into())));
    assert_eq!(value.at("un.a"), Some(&3i32.into()));
    assert_eq!(any.get::<Wstring>(), Ok(None));
}
