//! Any value can be decomposed into its parts, and built from them.

use oxorb_dynamic::{
    DynAny, Dynamic, DynamicValue, RawReference, TcKind, TypeCode, Wchar, Wstring,
};
use proptest::prelude::*;

use crate::dyn_any::types::{Choices, choices};

/// Builds the same value from a default one, part by part, with the public operations.
fn rebuild(from: &mut DynAny<'_>, to: &mut DynAny<'_>) {
    let ty = from.type_code().resolved();
    match ty.kind() {
        TcKind::Struct | TcKind::Except => parts(from, to),
        TcKind::Sequence => {
            let length = from.as_sequence().unwrap().length();
            to.as_sequence().unwrap().set_length(length).unwrap();
            parts(from, to);
        }
        TcKind::Array => parts(from, to),
        TcKind::Union => {
            let mut union = from.as_union().unwrap();
            let discriminator = union.discriminator().copy();
            let mut built = to.as_union().unwrap();
            built.set_discriminator(&discriminator).unwrap();
            assert_eq!(union.has_no_active_member(), built.has_no_active_member());
            assert_eq!(union.is_set_to_default_member(), built.is_set_to_default_member());
            if !union.has_no_active_member() {
                assert_eq!(union.member_name().unwrap(), built.member_name().unwrap());
                assert_eq!(built.position(), Some(1));
                rebuild(&mut union.member().unwrap(), &mut built.member().unwrap());
            }
        }
        TcKind::Enum => {
            let ordinal = from.as_enum().unwrap().as_ulong();
            to.as_enum().unwrap().set_as_ulong(ordinal).unwrap();
        }
        TcKind::Fixed => {
            let number = from.as_fixed().unwrap().value();
            let mut fixed = to.as_fixed().unwrap();
            assert!(fixed.set_value(&number.to_string()).unwrap());
        }
        TcKind::Any => {
            let any: oxorb::Any = from.get().unwrap();
            let Ok(mut inner) = from.get_dyn_any() else {
                assert!(has_principal(any.type_code()));
                return to.insert(any).unwrap();
            };
            let mut built = DynAny::from_type_code(inner.type_code()).unwrap();
            rebuild(&mut inner, &mut built);
            to.insert_dyn_any(&built).unwrap();
        }
        kind => match from.value().into_owned() {
            Dynamic::Value(value) => {
                // Keep the identity of the value, because other parts may refer to it.
                let mut fresh = DynamicValue::default_for(&value.ty).unwrap();
                fresh.key = value.key;
                to.insert(Dynamic::from(fresh)).unwrap();
                parts(from, to);
            }
            Dynamic::Indirection(key) => to.insert(Dynamic::Indirection(key)).unwrap(),
            _ => basic(kind, from, to),
        },
    }
}

fn parts(from: &mut DynAny<'_>, to: &mut DynAny<'_>) {
    assert_eq!(from.component_count(), to.component_count());
    let (mut more, mut more_to) = (from.rewind(), to.rewind());
    let mut seen = 0;
    while more {
        assert!(more_to);
        assert_eq!(from.position(), Some(seen));
        let mut part = from.current_component().unwrap().unwrap();
        rebuild(&mut part, &mut to.current_component().unwrap().unwrap());
        seen += 1;
        (more, more_to) = (from.next(), to.next());
    }
    assert_eq!(seen, from.component_count());
    assert!(!more_to);
    assert_eq!(from.position(), None);
}

fn basic(kind: TcKind, from: &DynAny<'_>, to: &mut DynAny<'_>) {
    macro_rules! copy {
        ($ty:ty) => {
            to.insert(from.get::<$ty>().unwrap()).unwrap()
        };
    }
    match kind {
        TcKind::Boolean => copy!(bool),
        TcKind::Octet => copy!(u8),
        TcKind::Char => copy!(char),
        TcKind::Wchar => copy!(Wchar),
        TcKind::Short => copy!(i16),
        TcKind::Ushort => copy!(u16),
        TcKind::Long => copy!(i32),
        TcKind::Ulong => copy!(u32),
        TcKind::Longlong => copy!(i64),
        TcKind::Ulonglong => copy!(u64),
        TcKind::Float => copy!(f32),
        TcKind::Double => copy!(f64),
        TcKind::Longdouble => copy!(oxorb::values::LongDouble),
        TcKind::String => copy!(String),
        TcKind::Wstring => copy!(Wstring),
        TcKind::TypeCode => copy!(TypeCode),
        TcKind::Objref | TcKind::Component | TcKind::Home => copy!(RawReference),
        // These are null, references as abstract interfaces, and valuetypes.
        _ => to.insert(from.value().into_owned()).unwrap(),
    }
    assert_eq!(from.component_count(), 0);
    assert!(from.copy().current_component().is_err());
}

proptest! {
    #[test]
    fn every_value_is_built_from_its_parts(octets in choices()) {
        let mut choices = Choices::new(octets);
        let ty = choices.top_type();
        let value = choices.value(ty.as_ref());
        let Ok(mut given) = DynAny::new(ty.clone(), value.clone()) else {
            prop_assert!(has_principal(&ty), "{ty}");
            return Ok(());
        };
        let mut built = DynAny::from_type_code(&ty).unwrap();
        rebuild(&mut given, &mut built);
        prop_assert!(built.equal(&given), "{ty}\n{:?}\n{value:?}", built.value());
        let any = built.to_any().unwrap();
        prop_assert_eq!(any.type_code(), &ty);
        let again = DynAny::from_any(&any).unwrap();
        prop_assert!(again.equal(&given));
        prop_assert!(given.copy().equal(&built));
        let mut assigned = DynAny::from_type_code(&ty).unwrap();
        assigned.assign_any(&any).unwrap();
        prop_assert!(assigned.equal(&given));
    }

    /// A value of another type is rejected, and leaves the current value unchanged.
    #[test]
    fn nothing_of_another_type_gets_in(octets in choices(), others in choices()) {
        let mut choices = Choices::new(octets);
        let ty = choices.top_type();
        let Ok(mut into) = DynAny::from_type_code(&ty) else { return Ok(()) };
        let before = into.copy();
        let mut choices = Choices::new(others);
        let other = choices.top_type();
        let value = choices.value(other.as_ref());
        let Ok(value) = DynAny::new(other.clone(), value) else { return Ok(()) };
        let assigned = into.assign(&value);
        // Types with the same id are equivalent even if their members differ.
        prop_assert!(assigned.is_err() || ty.equivalent(&other));
        prop_assert!(assigned.is_ok() || ty != other);
        if assigned.is_err() {
            prop_assert!(into.equal(&before));
            prop_assert_eq!(into.position(), before.position());
        }
    }
}

/// Reports whether a type contains the only simple type that has values, but no `DynAny`.
fn has_principal(ty: &TypeCode) -> bool {
    ty.resolved().kind() == TcKind::Principal
}

#[test]
fn a_long_walk_costs_no_more_than_the_value() {
    let ty = TypeCode::sequence(TypeCode::OCTET);
    let mut octets = DynAny::new(ty, vec![7u8; 100_000]).unwrap();
    let mut sum = 0u64;
    let mut more = octets.rewind();
    while more {
        sum += u64::from(octets.get::<u8>().unwrap());
        octets.insert(1u8).unwrap();
        more = octets.next();
    }
    assert_eq!(sum, 700_000);
    assert_eq!(*octets.value(), Dynamic::Octets(vec![1; 100_000]));
}
