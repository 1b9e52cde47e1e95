//! Types as octets: written by hand, by omniORB, at random, and maliciously.

use std::fmt::Write as _;

use oxorb_cdr::{
    ByteOrder, Decode, Decoder, DecoderLimits, Dialect, Dynamic, Encode, Encoder, ErrorKind, Label,
    Result, Shape, TcKind, TypeCode, Typed, ValueModifier, Visibility, skip,
};
use proptest::prelude::*;

use crate::types::{Choices, choices, order, reader, written};

const INDIRECTION: u32 = 0xFFFF_FFFF;

proptest! {
    #[test]
    fn any_type_is_read_back(octets in choices(), order in order(), lead in 0usize..9) {
        let ty = Choices::new(octets).top_type();
        let message = written(order, lead, |e| ty.as_ref().encode(e).expect("complete"));
        let mut decoder = reader(&message, order, lead);
        let read = TypeCode::decode(&mut decoder).expect("just written");
        prop_assert_eq!(decoder.remaining(), 0);
        prop_assert!(read.equal(&ty) && read.equivalent(&ty));
        prop_assert_eq!(read.to_string(), ty.to_string());
        prop_assert_eq!(read.as_ref().min_size(), ty.as_ref().min_size());
        prop_assert_eq!(written(order, lead, |e| read.as_ref().encode(e).expect("complete")), message.clone());
        for cut in lead..message.len() {
            prop_assert!(TypeCode::decode(&mut reader(&message[..cut], order, lead)).is_err());
        }
    }

    #[test]
    fn types_are_equal_only_if_they_are(left in choices(), right in choices()) {
        let (left, right) = (Choices::new(left).top_type(), Choices::new(right).top_type());
        let octets = |ty: &TypeCode| written(ByteOrder::Big, 0, |e| ty.as_ref().encode(e).expect("complete"));
        prop_assert_eq!(left == right, octets(&left) == octets(&right));
        prop_assert_eq!(left == right, right == left);
        if left == right {
            prop_assert!(left.equivalent(&right));
        }
        prop_assert_eq!(left.equivalent(&right), right.equivalent(&left));
    }

    #[test]
    fn an_octet_more_or_less_is_an_error_or_another_type(
        octets in choices(), order in order(), at in any::<prop::sample::Index>(), flip in 1u8..,
    ) {
        let ty = Choices::new(octets).top_type();
        let mut message = written(order, 0, |e| ty.as_ref().encode(e).expect("complete"));
        let at = at.index(message.len());
        message[at] ^= flip;
        if let Ok(read) = TypeCode::decode(&mut reader(&message, order, 0)) {
            prop_assert!(!read.to_string().is_empty());
            let _ = skip(&read, &mut reader(&message, order, 0));
            let _ = Dynamic::decode(&read, &mut reader(&message, order, 0));
            let _ = Dynamic::default_for(&read);
            prop_assert!(read.equal(&read.clone()));
        }
    }
}

#[track_caller]
fn golden(ty: &TypeCode, big: &[u8]) {
    let octets = written(ByteOrder::Big, 0, |e| ty.as_ref().encode(e).expect("complete"));
    assert_eq!(octets, big, "{ty}");
    let mut decoder = reader(big, ByteOrder::Big, 0);
    assert_eq!(TypeCode::decode(&mut decoder).as_ref(), Ok(ty));
    assert_eq!(decoder.remaining(), 0);
}

#[test]
fn octets_written_by_hand() {
    for kind in TcKind::ALL {
        if let Some(ty) = TypeCode::simple(kind) {
            golden(&ty, &(kind as u32).to_be_bytes());
        }
    }
    golden(&TypeCode::STRING, &[0, 0, 0, 18, 0, 0, 0, 0]);
    golden(&TypeCode::bounded_wstring(9), &[0, 0, 0, 27, 0, 0, 0, 9]);
    golden(&TypeCode::fixed(5, 2), &[0, 0, 0, 28, 0, 5, 0, 2]);
    golden(
        &TypeCode::sequence(TypeCode::OCTET),
        &[0, 0, 0, 19, 0, 0, 0, 12, 0, 0, 0, 0, 0, 0, 0, 10, 0, 0, 0, 0],
    );
    golden(
        &TypeCode::enumeration("", "", ["a"]),
        &[
            0, 0, 0, 17, 0, 0, 0, 30, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0,
            0, 0, 0, 1, 0, 0, 0, 2, b'a', 0,
        ],
    );
    golden(
        &TypeCode::union("", "", TypeCode::OCTET, [(Label::Default, "", TypeCode::LONG)]),
        &[
            0, 0, 0, 16, 0, 0, 0, 48, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0,
            0, 0, 0, 10, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 3,
        ],
    );
    // `struct T { sequence<T> s; }` refers back to itself from within two encapsulations. The indirection counts from
    // its own offset field.
    let recursive =
        TypeCode::structure("T", "", [("s", TypeCode::sequence(TypeCode::recursive("T")))]);
    golden(
        &recursive,
        &[
            0, 0, 0, 15, 0, 0, 0, 56, 0, 0, 0, 0, 0, 0, 0, 2, b'T', 0, 0, 0, 0, 0, 0, 1, 0, 0, 0,
            0, 0, 0, 0, 1, 0, 0, 0, 2, b's', 0, 0, 0, 0, 0, 0, 19, 0, 0, 0, 16, 0, 0, 0, 0, 0xFF,
            0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xC8, 0, 0, 0, 0,
        ],
    );
}

#[test]
fn every_kind_has_its_parts() {
    let value = TypeCode::value(
        "IDL:V:1.0",
        "V",
        ValueModifier::Truncatable,
        TypeCode::VALUE_BASE,
        [("m", TypeCode::LONG, Visibility::Private)],
    );
    let Shape::Value { modifier, base } = value.shape() else {
        panic!("{value}");
    };
    assert_eq!(modifier, ValueModifier::Truncatable);
    assert_eq!(base.map(|base| base.to_type_code()), Some(TypeCode::VALUE_BASE));
    let member = value.as_ref().member(0).expect("one");
    assert_eq!((&**member.name, member.visibility), ("m", Visibility::Private));

    assert_eq!(TypeCode::OBJECT.id(), Some("IDL:omg.org/CORBA/Object:1.0"));
    assert_eq!(TypeCode::interface("IDL:omg.org/CORBA/Object:1.0", "Object"), TypeCode::OBJECT);
    assert_eq!(TypeCode::bounded_string(0), TypeCode::STRING);
    assert_eq!(TypeCode::LONG.id(), None);
    let alias =
        TypeCode::alias("IDL:A:1.0", "A", TypeCode::alias("IDL:B:1.0", "B", TypeCode::LONG));
    assert_eq!(alias.resolved(), TypeCode::LONG);
    assert_eq!(<[Vec<u8>; 3]>::type_code().kind(), TcKind::Array);
    assert_eq!(TypeCode::default(), TypeCode::NULL);
}

#[test]
fn types_read_as_idl() {
    let point = TypeCode::structure("IDL:P:1.0", "P", [("x", TypeCode::LONG)]);
    let shown = |ty: TypeCode| ty.to_string();
    assert_eq!(shown(TypeCode::ULONGLONG), "unsigned long long");
    assert_eq!(
        shown(TypeCode::sequence(TypeCode::bounded_sequence(point.clone(), 3))),
        "sequence<sequence<P, 3>>"
    );
    assert_eq!(
        shown(TypeCode::alias(
            "IDL:G:1.0",
            "G",
            TypeCode::array(TypeCode::array(point.clone(), 3), 2)
        )),
        "typedef P G[2][3]"
    );
    assert_eq!(
        shown(TypeCode::enumeration("IDL:C:1.0", "C", ["red", "blue"])),
        "enum C { red, blue }"
    );
    assert_eq!(
        shown(TypeCode::exception("IDL:E:1.0", "E", [("why", TypeCode::bounded_string(5))])),
        "exception E { string<5> why; }"
    );
    let color = TypeCode::enumeration("IDL:C:1.0", "C", ["red", "blue"]);
    assert_eq!(
        shown(TypeCode::union(
            "IDL:U:1.0",
            "U",
            color,
            [
                (Label::Value(0), "a", TypeCode::fixed(3, 1)),
                (Label::Value(1), "a", TypeCode::fixed(3, 1)),
            ]
        )),
        "union U switch (C) { case red: case blue: fixed<3, 1> a; }"
    );
    assert_eq!(
        shown(TypeCode::value(
            "IDL:V:1.0",
            "V",
            ValueModifier::Truncatable,
            TypeCode::VALUE_BASE,
            [("p", point, Visibility::Public)]
        )),
        "valuetype V : truncatable ValueBase { public P p; }"
    );
    assert_eq!(shown(TypeCode::native("IDL:N:1.0", "N")), "native N");
    assert_eq!(shown(TypeCode::recursive("IDL:R:1.0")), "<still to be defined>");
}

#[test]
fn recursive_types_are_compared_without_end() {
    let tree = |id: &str, name: &str, member: &str| {
        let again = TypeCode::sequence(TypeCode::recursive(id));
        TypeCode::structure(id, name, [(member, again)])
    };
    let one = tree("IDL:T:1.0", "T", "s");
    assert!(one.equal(&tree("IDL:T:1.0", "T", "s")));
    assert!(!one.equal(&tree("IDL:T:1.0", "T", "t")));
    assert!(one.equivalent(&tree("IDL:T:1.0", "U", "t")));
    assert!(!one.equivalent(&tree("IDL:U:1.0", "T", "s")));

    // A recursive type that is unrolled once is equal to the original.
    let rolled = TypeCode::structure("IDL:T:1.0", "T", [("s", TypeCode::sequence(one.clone()))]);
    assert!(one.equal(&rolled) && rolled.equal(&one));

    // Types without repository ids are equivalent if their structures are equal.
    let nameless = |bound| {
        let octets = written(ByteOrder::Big, 0, |e| {
            nameless_tree(e, bound).expect("no text in it");
        });
        TypeCode::decode(&mut reader(&octets, ByteOrder::Big, 0)).expect("a tree")
    };
    assert!(nameless(0).equivalent(&nameless(0)) && nameless(0).equal(&nameless(0)));
    assert!(!nameless(0).equivalent(&nameless(1)));
    assert!(nameless(0).equivalent(&one));
}

/// Writes `struct { sequence<that struct, bound> m; }` without any names.
fn nameless_tree(e: &mut Encoder<'_>, bound: u32) -> Result<()> {
    let start = struct_start(e);
    e.encapsulation(|e| {
        names(e);
        e.ulong(1);
        name(e);
        e.ulong(TcKind::Sequence as u32);
        e.encapsulation(|e| {
            indirection(e, start);
            e.ulong(bound);
            Ok(())
        })
    })
}

fn struct_start(e: &mut Encoder<'_>) -> usize {
    e.align(4);
    let start = e.position();
    e.ulong(TcKind::Struct as u32);
    start
}

fn name(e: &mut Encoder<'_>) {
    e.ulong(1);
    e.octet(0);
}

fn names(e: &mut Encoder<'_>) {
    name(e);
    name(e);
}

fn indirection(e: &mut Encoder<'_>, to: usize) {
    e.ulong(INDIRECTION);
    e.long(to as i32 - e.position() as i32);
}

fn decode(f: impl FnOnce(&mut Encoder<'_>) -> Result<()>) -> Result<TypeCode> {
    let octets = written(ByteOrder::Big, 0, |e| f(e).expect("no text in it"));
    TypeCode::decode(&mut reader(&octets, ByteOrder::Big, 0))
}

#[test]
fn groups_of_types_contain_each_other() {
    let file = TypeCode::structure(
        "IDL:File:1.0",
        "File",
        [
            (
                "parents",
                TypeCode::sequence(TypeCode::structure(
                    "IDL:Folder:1.0",
                    "Folder",
                    [("files", TypeCode::sequence(TypeCode::recursive("IDL:File:1.0")))],
                )),
            ),
            ("more", TypeCode::sequence(TypeCode::recursive("IDL:Folder:1.0"))),
        ],
    );
    assert!(file.is_complete());
    let folder = file.find("IDL:Folder:1.0").expect("in it");
    let octets = written(ByteOrder::Little, 3, |e| folder.as_ref().encode(e).expect("complete"));
    let read = TypeCode::decode(&mut reader(&octets, ByteOrder::Little, 3)).expect("just written");
    assert_eq!(read, folder);
    assert_eq!(read.find("IDL:File:1.0"), Some(file));
    assert_eq!(read.find("IDL:Other:1.0"), None);
}

#[test]
fn types_are_shared_not_copied() {
    // Each struct contains the previous one twice, so without sharing the last one would have 2^40 parts.
    let mut ty = TypeCode::structure("IDL:S0:1.0", "S0", [("o", TypeCode::OCTET)]);
    for at in 1..=40 {
        let (id, name) = (format!("IDL:S{at}:1.0"), format!("S{at}"));
        ty = TypeCode::structure(&id, &name, [("a", ty.clone()), ("b", ty)]);
    }
    let octets = written(ByteOrder::Big, 0, |e| ty.as_ref().encode(e).expect("complete"));
    assert!(octets.len() < 200_000, "{}", octets.len());
    let read = TypeCode::decode(&mut reader(&octets, ByteOrder::Big, 0)).expect("just written");
    assert!(read.equal(&ty) && ty.equal(&read));
    assert!(skip(&read, &mut reader(&octets, ByteOrder::Big, 0)).is_err());
    assert!(Dynamic::default_for(&read).is_err());
    assert!(Dynamic::decode(&read, &mut reader(&octets, ByteOrder::Big, 0)).is_err());
}

#[test]
fn small_types_that_stand_for_very_large_ones() {
    // Each member is a struct that contains the type of the previous member twice; the first one contains two `leaf`s.
    let bomb = |leaf: TcKind| {
        decode(|e| {
            e.ulong(TcKind::Struct as u32);
            e.encapsulation(|e| {
                names(e);
                e.ulong(500);
                let mut last = None;
                for _ in 0..500 {
                    name(e);
                    let start = struct_start(e);
                    e.encapsulation(|e| {
                        names(e);
                        e.ulong(2);
                        for _ in 0..2 {
                            name(e);
                            e.align(4);
                            match last {
                                Some(last) => indirection(e, last),
                                None => e.ulong(leaf as u32),
                            }
                        }
                        Ok(())
                    })?;
                    last = Some(start);
                }
                Ok(())
            })
        })
        .expect("a type")
    };
    for leaf in [TcKind::Null, TcKind::Octet, TcKind::Any] {
        let ty = bomb(leaf);
        assert!(Dynamic::default_for(&ty).is_err());
        let octets = [0; 3000];
        assert!(Dynamic::decode(&ty, &mut reader(&octets, ByteOrder::Big, 0)).is_err());
        let skipped = skip(&ty, &mut reader(&octets, ByteOrder::Big, 0));
        assert_eq!(skipped.is_ok(), leaf == TcKind::Null);
        assert!(!ty.to_string().is_empty() && ty.equal(&bomb(leaf)) && ty.compact().equal(&ty));

        let octets = written(ByteOrder::Big, 0, |e| ty.as_ref().encode(e).expect("complete"));
        assert!(octets.len() < 200_000, "{}", octets.len());
        let again =
            TypeCode::decode(&mut reader(&octets, ByteOrder::Big, 0)).expect("just written");
        assert!(again.equal(&ty));
        assert!(TypeCode::sequence(ty.clone()).as_ref().content() == Some(ty.as_ref()));
    }
}

#[test]
fn references_to_nothing_are_refused() {
    let kind = |result: Result<TypeCode>| result.expect_err("refused").kind;
    for offset in [-4, 0, 4, -8, i32::MIN, i32::MAX] {
        let refused = kind(decode(|e| {
            e.ulong(INDIRECTION);
            e.long(offset);
            Ok(())
        }));
        assert_eq!(refused, ErrorKind::BadIndirection(offset));
    }
    // The offsets lead into the middle of a type, to a member's name, to an indirection, and forward, but never to the
    // start of an earlier type.
    for offset in [-60, -52, -28, -4, -1, 8] {
        let refused = kind(decode(|e| {
            e.ulong(TcKind::Struct as u32);
            e.encapsulation(|e| {
                names(e);
                e.ulong(1);
                name(e);
                e.ulong(TcKind::Sequence as u32);
                e.encapsulation(|e| {
                    e.ulong(INDIRECTION);
                    e.long(offset);
                    e.ulong(0);
                    Ok(())
                })
            })
        }));
        assert_eq!(refused, ErrorKind::BadIndirection(offset));
    }
    // An indirection must not refer to octets before the type code.
    let octets = written(ByteOrder::Big, 0, |e| {
        e.ulong(TcKind::Long as u32);
        e.ulong(INDIRECTION);
        e.long(-8);
    });
    let read = TypeCode::decode(&mut reader(&octets, ByteOrder::Big, 4));
    assert_eq!(read, Err(ErrorKind::BadIndirection(-8).at(8)));
}

#[test]
fn types_that_contain_themselves_are_refused() {
    let outer = |kind: TcKind| {
        decode(move |e| {
            let start = e.position();
            e.ulong(kind as u32);
            e.encapsulation(|e| {
                match kind {
                    TcKind::Struct | TcKind::Except => {
                        names(e);
                        e.ulong(1);
                        name(e);
                        e.align(4);
                        indirection(e, start);
                    }
                    TcKind::Union => {
                        names(e);
                        e.ulong(TcKind::Octet as u32);
                        e.long(-1);
                        e.ulong(1);
                        e.octet(1);
                        name(e);
                        e.align(4);
                        indirection(e, start);
                    }
                    TcKind::Alias => {
                        names(e);
                        e.align(4);
                        indirection(e, start);
                    }
                    _ => {
                        indirection(e, start);
                        e.ulong(2);
                    }
                }
                Ok(())
            })
        })
    };
    for kind in [TcKind::Struct, TcKind::Except, TcKind::Union, TcKind::Alias, TcKind::Array] {
        assert_eq!(outer(kind), Err(ErrorKind::BadTypeCode.at(0)), "{kind}");
    }
    // A sequence of itself can have values: an empty sequence, and sequences of such values.
    let endless = outer(TcKind::Sequence).expect("a type");
    assert!(endless.to_string().contains("..."));
    assert_eq!(endless.as_ref().content(), Some(endless.as_ref()));
    let octets = [0, 0, 0, 1, 0, 0, 0, 0];
    assert_eq!(skip(&endless, &mut reader(&octets, ByteOrder::Big, 0)), Ok(()));
    // A type that contains itself is incomplete, too, if it is constructed instead of decoded.
    let bad = TypeCode::structure("IDL:B:1.0", "B", [("b", TypeCode::recursive("IDL:B:1.0"))]);
    assert!(!bad.is_complete() && bad.equal(&bad.clone()) && !bad.to_string().is_empty());
    assert_eq!(bad.resolved(), bad);
    let mut encoder = Encoder::new(Vec::new(), ByteOrder::Big, Dialect::GIOP_1_2);
    assert_eq!(bad.encode(&mut encoder), Err(ErrorKind::BadTypeCode.at(0)));
}

#[test]
fn what_is_no_type_is_refused() {
    let kind = |result: Result<TypeCode>| result.expect_err("refused").kind;
    let number = |number: u32| {
        move |e: &mut Encoder<'_>| {
            e.ulong(number);
            Ok(())
        }
    };
    assert_eq!(kind(decode(number(37))), ErrorKind::BadTypeKind(37));
    assert_eq!(kind(decode(number(u32::MAX - 1))), ErrorKind::BadTypeKind(u32::MAX - 1));
    // The struct declares a million members, but no octets follow.
    let refused = kind(decode(|e| {
        e.ulong(TcKind::Struct as u32);
        e.encapsulation(|e| {
            names(e);
            e.ulong(1_000_000);
            Ok(())
        })
    }));
    assert!(matches!(refused, ErrorKind::LengthImplausible { .. }));
    // The discriminator type is invalid, or the index of the default member is.
    for (discriminator, default) in [(TcKind::Double, -1), (TcKind::Octet, 1), (TcKind::Any, 0)] {
        let refused = kind(decode(|e| {
            e.ulong(TcKind::Union as u32);
            e.encapsulation(|e| {
                names(e);
                e.align(4);
                e.ulong(discriminator as u32);
                e.long(default);
                e.ulong(1);
                e.octet(0);
                name(e);
                e.align(4);
                e.ulong(TcKind::Long as u32);
                Ok(())
            })
        }));
        assert_eq!(refused, ErrorKind::BadTypeCode);
    }
    // The valuetype has the unknown modifier 4.
    let refused = kind(decode(|e| {
        e.ulong(TcKind::Value as u32);
        e.encapsulation(|e| {
            names(e);
            e.short(4);
            e.ulong(0);
            e.ulong(0);
            Ok(())
        })
    }));
    assert_eq!(refused, ErrorKind::BadTypeCode);
}

#[test]
fn nesting_ends_at_the_limit() {
    let nested = |depth: usize| {
        fn inside(e: &mut Encoder<'_>, depth: usize) -> Result<()> {
            if depth == 0 {
                e.ulong(TcKind::Long as u32);
                return Ok(());
            }
            e.ulong(TcKind::Sequence as u32);
            e.encapsulation(|e| {
                inside(e, depth - 1)?;
                e.ulong(0);
                Ok(())
            })
        }
        written(ByteOrder::Big, 0, |e| inside(e, depth).expect("no text in it"))
    };
    let octets = nested(64);
    let ty = TypeCode::decode(&mut reader(&octets, ByteOrder::Big, 0)).expect("within the limit");
    assert_eq!(
        written(ByteOrder::Big, 0, |e| ty.as_ref().encode(e).expect("not too deep")),
        octets
    );
    let octets = nested(65);
    let error = TypeCode::decode(&mut reader(&octets, ByteOrder::Big, 0)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::TooDeep { limit: 64 });
    let limits = DecoderLimits { max_depth: 8, ..DecoderLimits::default() };
    let octets = nested(9);
    let decoder = Decoder::new(&octets, ByteOrder::Big, Dialect::GIOP_1_2);
    assert!(TypeCode::decode(&mut decoder.with_limits(limits)).is_err());
}

/// Encodes a type, or returns the error.
fn encoded(ty: &TypeCode) -> Result<Vec<u8>> {
    let mut encoder = Encoder::new(Vec::new(), ByteOrder::Big, Dialect::GIOP_1_2);
    ty.as_ref().encode(&mut encoder)?;
    Ok(encoder.finish().to_vec())
}

#[test]
fn no_type_is_written_that_is_too_deep_for_readers() {
    let nested =
        |depth: u32, leaf: &TypeCode| (1..=depth).fold(leaf.clone(), TypeCode::bounded_sequence);
    // Each sequence is an encapsulation, and so are references and enums.
    for (leaf, most) in [
        (TypeCode::LONG, 64),
        (TypeCode::STRING, 64),
        (TypeCode::bounded_string(5), 64),
        (TypeCode::fixed(5, 2), 64),
        (TypeCode::OBJECT, 63),
        (TypeCode::enumeration("IDL:E:1.0", "E", ["a"]), 63),
    ] {
        let deepest = nested(most, &leaf);
        let octets = encoded(&deepest).expect("within the limit");
        let read = TypeCode::decode(&mut reader(&octets, ByteOrder::Big, 0));
        assert_eq!(read.as_ref(), Ok(&deepest), "{leaf}");
        let error = encoded(&nested(most + 1, &leaf)).expect_err("too deep");
        assert_eq!(error.kind, ErrorKind::TooDeep { limit: 64 }, "{leaf}");
    }
}

/// Returns the number of indirections in a type code.
fn indirections(octets: &[u8]) -> usize {
    let words = octets.chunks_exact(4);
    words.filter(|word| word[..] == INDIRECTION.to_be_bytes()).count()
}

/// Beyond each of the limits, a repeated type is written as an indirection to its first occurrence.
#[test]
fn repeated_types_are_written_in_full_within_limits() {
    let repeated = |name: &str| TypeCode::structure("P", name, [("x", TypeCode::LONG)]);
    let many = |ty: &TypeCode, count: usize| {
        let members = (0..count).map(|_| ("m", ty.clone()));
        encoded(&TypeCode::structure("T", "", members)).expect("complete")
    };
    // The limit on the number of types: 1000, the enclosing struct not counted.
    assert_eq!(indirections(&many(&repeated(""), 1000)), 0);
    assert_eq!(indirections(&many(&repeated(""), 1200)), 200);
    // The limit on the size: seven of these types begin in the first 64 KiB.
    let long = repeated(&"n".repeat(10_000));
    assert_eq!(indirections(&many(&long, 7)), 0);
    assert_eq!(indirections(&many(&long, 20)), 13);
    // The limit on the depth: each level contains the repeated type, and the innermost one contains it twice.
    let short = repeated("");
    let levels = |count: usize| {
        let nested = (0..count).fold(short.clone(), |inner, at| {
            let members = [("p", short.clone()), ("inner", inner)];
            TypeCode::structure(&format!("IDL:L{at}:1.0"), "", members)
        });
        encoded(&nested).expect("complete")
    };
    assert_eq!(indirections(&levels(24)), 0);
    assert_eq!(indirections(&levels(40)), 17);
}

#[test]
fn typedefs_of_typedefs_that_are_read_end_at_the_limit() {
    fn inside(e: &mut Encoder<'_>, length: usize) -> Result<()> {
        if length == 0 {
            e.ulong(TcKind::Long as u32);
            return Ok(());
        }
        e.ulong(TcKind::Alias as u32);
        e.encapsulation(|e| {
            names(e);
            inside(e, length - 1)
        })
    }
    // With the usual limit on the depth, this limit would not be reached.
    let limits = DecoderLimits { max_depth: 100, ..DecoderLimits::default() };
    let read = |length: usize| {
        let octets = written(ByteOrder::Big, 0, |e| inside(e, length).expect("no text in it"));
        TypeCode::decode(&mut reader(&octets, ByteOrder::Big, 0).with_limits(limits))
    };
    assert_eq!(read(64).map(|ty| ty.resolved()), Ok(TypeCode::LONG));
    assert_eq!(read(65), Err(ErrorKind::BadTypeCode.at(0)));
}

#[test]
fn text_of_nested_types_ends_at_the_limit() {
    let nested = |depth: u32, around: fn(TypeCode, u32) -> TypeCode| {
        (1..=depth).fold(TypeCode::LONG, around).to_string()
    };
    let sequences = |depth| nested(depth, TypeCode::bounded_sequence);
    assert!(!sequences(8).contains("...") && sequences(9).contains("..."));
    assert_eq!(sequences(60).matches("sequence<").count(), 8);
    // Arrays of arrays are written with up to 16 dimensions at each level.
    let arrays = |depth| nested(depth, TypeCode::array);
    assert!(!arrays(144).contains("...") && arrays(145).contains("..."));
    assert_eq!(arrays(200).matches('[').count(), 144);
}

#[test]
fn typedefs_of_typedefs_end_at_the_limit() {
    let chain = |length: usize| {
        let mut ty = TypeCode::LONG;
        for at in 0..length {
            ty = TypeCode::alias(&format!("IDL:A{at}:1.0"), "A", ty);
        }
        ty
    };
    assert_eq!(chain(64).resolved(), TypeCode::LONG);
    assert!(chain(64).is_complete() && !chain(65).is_complete());
}

#[test]
fn fixed_has_31_digits_at_most() {
    for (digits, scale, right) in
        [(31, 31, true), (1, 0, true), (32, 0, false), (0, 0, false), (3, 4, false), (3, -1, false)]
    {
        assert_eq!(TypeCode::fixed(digits, scale).is_complete(), right);
    }
}

#[test]
fn names_of_peers_are_taken_as_they_come() {
    // The repository id has a length of zero, and the name is not UTF-8.
    let octets = written(ByteOrder::Big, 0, |e| {
        e.ulong(TcKind::Objref as u32);
        e.encapsulation(|e| {
            e.ulong(0);
            e.ulong(2);
            e.copy_octets(&[0xE9, 0]);
            Ok(())
        })
        .expect("no text in it");
    });
    let ty = TypeCode::decode(&mut reader(&octets, ByteOrder::Big, 0)).expect("a type");
    assert_eq!((ty.id(), ty.name()), (Some(""), Some("é")));
    let mut list = String::new();
    for kind in TcKind::ALL {
        write!(list, "{kind} ").expect("a string");
    }
    assert!(list.starts_with("tk_null tk_void ") && list.ends_with("tk_event "));
}

/// JacORB accepts an indirection only to a struct, and rejects one to a typedef that contains the
/// struct.
#[test]
fn a_typedef_within_itself_leads_back_to_what_it_stands_for() {
    let again = TypeCode::sequence(TypeCode::recursive("IDL:Tree:1.0"));
    let children = TypeCode::alias("IDL:Trees:1.0", "Trees", again);
    let tree = TypeCode::structure("IDL:Tree:1.0", "Tree", [("children", children)]);
    let trees = tree.as_ref().member(0).expect("children").ty.to_type_code();
    for ty in [&trees, &TypeCode::sequence(tree)] {
        let message = written(ByteOrder::Big, 0, |e| ty.as_ref().encode(e).expect("complete"));
        let ulong = |at: usize| u32::from_be_bytes(message[at..at + 4].try_into().expect("four"));
        let ways_back = (0..message.len() - 4).step_by(4).filter(|at| ulong(*at) == INDIRECTION);
        let kinds = ways_back.map(|at| {
            let there = (at as i32 + 4).checked_add(ulong(at + 4) as i32);
            ulong(there.expect("within the message") as usize)
        });
        assert_eq!(kinds.collect::<Vec<_>>(), [TcKind::Struct as u32]);
    }
}

#[test]
fn text_of_a_type_cannot_control_a_terminal_nor_go_on_for_ever() {
    let named = |name: &str| TypeCode::structure("IDL:S:1.0", name, [(name, TypeCode::LONG)]);
    assert_eq!(named("a\n\x1b[2J").to_string(), "struct a\\n\\u{1b}[2J { long a\\n\\u{1b}[2J; }");
    assert!(!named("\r").as_ref().mention().to_string().contains('\r'));

    let long = named(&"x".repeat(1 << 15));
    let members = (0..1000).map(|_| ("m", long.clone()));
    let text = TypeCode::structure("IDL:T:1.0", "T", members).to_string();
    assert!(text.len() < 70_000 && text.ends_with("..."), "{}", text.len());
}
