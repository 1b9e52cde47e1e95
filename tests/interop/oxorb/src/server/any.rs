//! Objects for `interop_any.idl`.

use oxorb::values::{FixedPoint, LongDouble, TypeCode, Wchar, Wstring};
use oxorb::{Any, CompletionStatus, ObjectRef, Orb, SystemException};
use oxorb_interop::dynany;
use oxorb_interop::interop;
use oxorb_interop::interop_any::{self, *};
use oxorb_interop::lanes;
use oxorb_interop::types::NAMED;

use crate::data::{Result, rotate, rotate_borrowed, rotate_values};

/// Object through which clients obtain all others.
pub(crate) struct Suite {
    contents: ContentsRef,
    types: TypesRef,
    decimals: DecimalsRef,
}

impl Suite {
    pub(crate) fn new(orb: &Orb) -> core::result::Result<Self, oxorb::poa::PoaError> {
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

/// Extracts the value of an any as the first of these types that matches, and returns it in a new any.
macro_rules! fresh_as {
    ($any:expr, $scope:expr, $($type:ty,)*) => {
        (|| -> oxorb::cdr::Result<Option<Any>> {
            $(if let Some(value) = $any.get_in::<$type>($scope)? {
                return Ok(Some(Any::new(value)));
            })*
            Ok(None)
        })()
    };
}
pub(crate) use fresh_as;

struct Contents {
    orb: Orb,
}

impl Contents {
    /// Returns the value in an any in a new one.
    fn fresh(&self, any: &Any) -> oxorb::cdr::Result<Option<Any>> {
        if *any.type_code() == TypeCode::NULL {
            return Ok(Some(Any::default()));
        }
        if let Some(inner) = any.get_in::<Any>(&*self.orb)? {
            return Ok(self.fresh(&inner)?.map(Any::new));
        }
        fresh_as!(
            any, &*self.orb,
            u8, i16, u16, i32, u32, i64, u64, f32, f64, LongDouble,
            bool, char, Wchar, String, Wstring,
            TypeCode, Option<interop::NodeRef>, Option<ObjectRef>,
            interop::Colour, interop::Point, interop::Record, interop::Tree, interop::Words,
            interop::WideRecord, interop::Holder,
            interop::ByShort, interop::ByUShort, interop::ByLong, interop::ByULong,
            interop::ByLongLong, interop::ByULongLong, interop::ByChar, interop::ByBoolean,
            interop::ByEnum, interop::ByMiddle, interop::Nested, interop::WideChoice,
            Vec<u8>, Vec<bool>, Vec<char>, Vec<i16>, Vec<u16>, Vec<i32>, Vec<u32>, Vec<i64>, Vec<u64>,
            Vec<f32>, Vec<f64>, Vec<String>, Vec<Wchar>, Vec<Wstring>,
            interop::Colours, interop::Points, interop::Records, interop::Trees, interop::Unions,
            interop::LongLists, interop::Rows, interop::Nodes,
            interop::Matrix, interop::Grid, interop::Names, interop::Digest, interop::Pair,
            interop::Empty, interop::Detailed,
            Labelled, Choice, Anys, TwoAnys, TypeCodes, Prices, Priced,
            FixedPoint<5, 2>, FixedPoint<4, 4>, FixedPoint<31, 0>,
        )
    }

    /// Types with bounds, which Rust does not distinguish from unbounded ones.
    fn bounded(any: &Any) -> Option<Any> {
        let ty = any.type_code();
        let known = [
            interop::short_text::type_code,
            interop::short_wide_text::type_code,
            interop::short_texts::type_code,
            interop::few_longs::type_code,
            interop::few_strings::type_code,
        ];
        let known = known.iter().any(|known| ty.equivalent(&known()));
        known.then(|| Any::with_type(ty.clone(), any.dynamic().ok()?).ok())?
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
        Err(Carrying { content: content.clone() }.into())
    }

    fn retype(&self, a: &Any) -> Result<Any> {
        let fresh = self.fresh(a).map_err(|_| SystemException::marshal(0, CompletionStatus::No))?;
        fresh
            .or_else(|| Self::bounded(a))
            .ok_or(SystemException::bad_param(0, CompletionStatus::No))
    }

    fn rebuild(&self, a: &Any) -> Result<Any> {
        dynany::rebuilt(a).map_err(|_| SystemException::data_conversion(0, CompletionStatus::No))
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
