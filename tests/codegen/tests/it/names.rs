//! Names that are difficult in Rust, from the user's point of view, and constants.

use oxorb::__gen::LongDouble;
use oxorb_codegen_tests::{consts, names};

#[test]
fn keywords() {
    let all = names::r#type::Match { r#fn: 1, self_: 2, r#struct: 3, self__: 4 };
    assert_eq!(all.r#fn + all.self_ + all.r#struct + all.self__, 10);
    let _ = names::r#type::Impl::Self_;
    assert_eq!(names::r#type::LOOP, 1);
    let _: names::r#type::Self_ = vec![names::Attribute { interface: 1 }];
}

#[test]
fn names_of_the_standard_library() {
    let nested = names::Result { some: names::Option { none: 1 } };
    let from = names::From { into: names::Vec { ok: vec![nested] } };
    assert_eq!(from.into.ok[0].some.none, 1);
    assert_eq!(names::SystemException { minor: 2 }.minor, 2);
    assert_ne!(names::Send::Sync, names::Send::Box);
}

#[test]
fn names_that_become_one() {
    let first = names::FooBar { a_b: 1, a_b_: 2 };
    let second = names::FooBar_ { e: 1, d: 2 };
    let third = names::FooBar__ { x: 1 };
    assert_eq!(first.a_b + second.e + third.x, 3);
    assert_ne!(names::Twice::OneTwo, names::Twice::OneTwo_);
}

/// Names added by the mapping yield to names in the IDL.
#[test]
fn names_that_the_mapping_wants() {
    let _ = names::DoorRef { x: 1 };
    let _ = names::Door_ { x: 1 };
    fn calls(door: &names::DoorRef_) -> Result<(), names::door::OpenError_> {
        let mut moved = 0;
        let _ = door.open(1, 2, "", "", &mut moved)?;
        // The operation `set_open` keeps its name, the attribute `open_` yields.
        door.set_open(true)?;
        let _: bool = door.open_()?;
        door.set_open_(true)?;
        // The asynchronous twin of `open` yields, too, because of `open_async`.
        door.open_async()?;
        let _ = door.open_async_(1, 2, "", "", moved).wait();
        door.r#type(1, 2, &mut moved)?;
        let _ = door.type_async(1, 2, 3).wait();
        Ok(())
    }
    let _ = calls;
    let _ = names::door::Skeleton { op: 1 };
    let _ = names::door::OpenError {};
}

#[test]
fn constants_of_every_type() {
    assert_eq!(consts::AN_OCTET, 255_u8);
    assert_eq!((consts::LETTER, consts::WIDE), ('\'', '€'));
    assert_eq!(consts::LEAST_SHORT, i16::MIN);
    assert_eq!(consts::MOST_USHORT, u16::MAX);
    assert_eq!(consts::LEAST_LONG, i32::MIN);
    assert_eq!(consts::MOST_ULONG, u32::MAX);
    assert_eq!(consts::LEAST_LONGLONG, i64::MIN);
    assert_eq!(consts::MOST_ULONGLONG, u64::MAX);
    assert_eq!((consts::ROUGH, consts::PI), (0.1_f32, std::f64::consts::PI));
    assert_eq!((consts::TINY, consts::WHOLE), (1e-300, 2.0));
    assert_eq!(consts::HALF, LongDouble::from(0.5));
    assert_eq!(consts::HUGE.to_bits(), 0x73e6_a375_0647_fcab_18c2_1ab9_0545_0cc3);
    assert_eq!(consts::THIRD.to_bits(), 0x3ffd_5555_5555_5555_5555_5555_5555_5555);
    assert_eq!(consts::GREETING, "hello \"you\"\n");
    assert_eq!(consts::WIDE_GREETING, "grüße");
    assert_eq!(consts::FAVOURITE, consts::Colour::Green);
    let yes: bool = consts::YES;
    assert!(yes);
    assert_eq!((consts::COMPUTED, consts::ALIASED_NUMBER), (19, 38));
    assert_eq!(consts::holder::INSIDE, 7);
}
