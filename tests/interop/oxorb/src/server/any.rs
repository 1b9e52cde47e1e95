//! Objects for `interop_any.idl`.

use oxorb::{
    Any, CompletionStatus, FixedPoint, LongDouble, Orb, SystemException, TypeCode, Wchar, Wstring,
};
use oxorb_interop::interop;
use oxorb_interop::interop_any::{self, *};
use oxorb_interop::lanes;
use oxorb_interop::types::NAMED;

use crate::data::{Result, rotate, rotate_borrowed, rotate_values};

/// The way to the objects.
pub(crate) struct Suite {
    contents: ContentsRef,
    types: TypesRef,
    decimals: DecimalsRef,
}

impl Suite {
    pub(crate) fn new(orb: &Orb) -> core::result::Result<Self, oxorb::PoaError> {
        let poa = lanes::propagated(orb);
        Ok(Self {
            contents: poa.activate(Contents { orb: orb.clone() })?,
            types: poa.activate(Types)?,
            decimals: poa.activate(Decimals)?,
        })
    }
}

impl interop_any::Suite for Suite {
    fn any_tests(&self) -> Result<Option<ContentsRef>> {
        Ok(Some(self.contents.clone()))
    }

    fn type_tests(&self) -> Result<Option<TypesRef>> {
        Ok(Some(self.types.clone()))
    }

    fn decimal_tests(&self) -> Result<Option<DecimalsRef>> {
        Ok(Some(self.decimals.clone()))
    }
}

struct Contents {
    orb: Orb,
}

impl Contents {
    /// The value in an any, as the first of these types that it is, in a new one.
    fn fresh(&self, any: &Any) -> oxorb::cdr::Result<Option<Any>> {
        macro_rules! try_types {
            ($($type:ty,)*) => {$(
                if let Some(value) = any.get_in::<$type>(&*self.orb)? {
                    return Ok(Some(Any::new(value)));
                }
            )*};
        }
        try_types! {
            u8, i16, u16, i32, u32, i64, u64, f32, f64, LongDouble,
            bool, char, Wchar, String, Wstring,
            Any, TypeCode,
            interop::Colour, interop::Point, interop::Record, interop::Tree, interop::WideRecord,
            interop::ByShort, interop::ByUShort, interop::ByLong, interop::ByULong,
            interop::ByLongLong, interop::ByULongLong, interop::ByChar, interop::ByBoolean,
            interop::ByEnum, interop::Nested,
            Vec<u8>, Vec<i32>, Vec<String>, interop::Points, interop::LongLists, interop::Unions,
            interop::Matrix, interop::Names, interop::Pair,
            interop::Empty, interop::Detailed, Option<interop::NodeRef>,
            Labelled, Choice, Anys, Priced,
            FixedPoint<5, 2>, FixedPoint<4, 4>, FixedPoint<31, 0>,
        }
        Ok(None)
    }

    /// Types with bounds, which Rust does not tell from those without.
    fn bounded(any: &Any) -> Option<Any> {
        let ty = any.type_code().clone();
        let value = any.dynamic().ok()?;
        Any::with_type(ty, value).ok()
    }
}

impl interop_any::Contents for Contents {
    rotate_borrowed! {
        rotate_any: Any => Any,
        rotate_anys: [Any] => Anys,
        rotate_two: TwoAnys => TwoAnys,
        rotate_labelled: Labelled => Labelled,
        rotate_choice: Choice => Choice,
    }

    fn raise_any(&self, content: &Any) -> core::result::Result<(), contents::RaiseAnyError> {
        Err(Carrying {
            content: content.clone(),
        }
        .into())
    }

    fn retype(&self, a: &Any) -> Result<Any> {
        let fresh = self
            .fresh(a)
            .map_err(|_| SystemException::marshal(0, CompletionStatus::No))?;
        fresh
            .or_else(|| Self::bounded(a))
            .ok_or(SystemException::bad_param(0, CompletionStatus::No))
    }
}

struct Types;

impl interop_any::Types for Types {
    rotate_borrowed! {
        rotate_type: TypeCode => TypeCode,
        rotate_types: [TypeCode] => TypeCodes,
    }

    fn type_of(&self, a: &Any) -> Result<TypeCode> {
        Ok(a.type_code().clone())
    }

    fn type_named(&self, name: &str) -> Result<TypeCode> {
        let known = NAMED.iter().find(|(known, _)| *known == name);
        known
            .map(|(_, type_code)| type_code())
            .ok_or(SystemException::bad_param(0, CompletionStatus::No))
    }
}

struct Decimals;

impl interop_any::Decimals for Decimals {
    rotate_values! {
        rotate_price: Price,
        rotate_fraction: Fraction,
        rotate_longest: Longest,
    }
    rotate_borrowed! {
        rotate_prices: [Price] => Prices,
        rotate_priced: Priced => Priced,
    }
}
