//! Handwritten equivalent of the generated code for `vectors/values/values.idl`.

use core::any::{Any, TypeId};

use oxorb_cdr::{
    CustomMarshal, Decode, Decoder, Encode, Encoder, Factory, Inherits, Result, ValueBase,
    ValueInfo, ValueLink, ValueState, Valuetype,
};

/// Declares a valuetype: its name in IDL, the types valid where it is declared, its bases, its
/// members.
macro_rules! valuetype {
    ($name:ident, $info:expr, [$($known:ty),*], [$($base:ty),*] $(in $parent:ident)? $(, $field:ident)*) => {
        impl Valuetype for $name {
            const INFO: &'static ValueInfo = &$info;

            fn factories() -> &'static [Factory] {
                static ALL: &[Factory] = &[$(Factory::of::<$known>()),*];
                ALL
            }
        }

        impl Inherits<ValueBase> for $name {}
        $(impl Inherits<$base> for $name {})*

        impl ValueState for $name {
            fn encode_state<'a>(&'a self, e: &mut Encoder<'a>) -> Result<()> {
                $(self.base.encode_state(e)?; let _: &$parent = &self.base;)?
                $(self.$field.encode(e)?;)*
                Ok(())
            }

            fn decode_state(d: &mut Decoder<'_>) -> Result<Self> {
                Ok(Self {
                    $(base: $parent::decode_state(d)?,)?
                    $($field: Decode::decode(d)?),*
                })
            }

            fn part(&self, of: TypeId) -> Option<&dyn Any> {
                if of == TypeId::of::<Self>() {
                    return Some(self);
                }
                $(return <$parent as ValueState>::part(&self.base, of);)?
                #[allow(unreachable_code)]
                None
            }
        }
    };
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub id: i32,
    pub next: ValueLink<Node>,
}

valuetype!(Node, ValueInfo::new("IDL:values/Node:1.0"), [Node], [], id, next);

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pair {
    pub left: ValueLink<Node>,
    pub right: ValueLink<Node>,
}

valuetype!(Pair, ValueInfo::new("IDL:values/Pair:1.0"), [Pair], [], left, right);

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Base {
    pub id: i32,
}

valuetype!(Base, ValueInfo::new("IDL:values/Base:1.0"), [Base, Derived, Mid, Leaf], [], id);

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Derived {
    pub base: Base,
    pub name: String,
}

valuetype!(
    Derived,
    ValueInfo {
        bases: &[Base::INFO],
        ..ValueInfo::new("IDL:values/Derived:1.0")
    },
    [Derived], [Base] in Base, name
);

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mid {
    pub base: Base,
    pub note: String,
    pub extra: ValueLink<Node>,
}

valuetype!(
    Mid,
    ValueInfo {
        bases: &[Base::INFO],
        truncatable: true,
        ..ValueInfo::new("IDL:values/Mid:1.0")
    },
    [Mid, Leaf], [Base] in Base, note, extra
);

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Leaf {
    pub base: Mid,
    pub flag: u8,
    pub weight: f64,
}

valuetype!(
    Leaf,
    ValueInfo {
        bases: &[Mid::INFO],
        truncatable: true,
        ..ValueInfo::new("IDL:values/Leaf:1.0")
    },
    [Leaf], [Mid, Base] in Mid, flag, weight
);

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Secret {
    pub code: i32,
}

impl CustomMarshal for Secret {
    fn marshal(&self, e: &mut Encoder<'_>) -> Result<()> {
        e.string("code")?;
        e.long(self.code);
        Ok(())
    }

    fn unmarshal(d: &mut Decoder<'_>) -> Result<Self> {
        assert_eq!(d.string()?, "code");
        Ok(Self { code: d.long()? })
    }
}

impl Valuetype for Secret {
    const INFO: &'static ValueInfo =
        &ValueInfo { custom: true, ..ValueInfo::new("IDL:values/Secret:1.0") };

    fn factories() -> &'static [Factory] {
        static ALL: &[Factory] = &[Factory::of::<Secret>()];
        ALL
    }
}

impl ValueState for Secret {
    fn encode_state<'a>(&'a self, e: &mut Encoder<'a>) -> Result<()> {
        self.marshal(e)
    }

    fn decode_state(d: &mut Decoder<'_>) -> Result<Self> {
        Self::unmarshal(d)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Name(pub String);

impl Valuetype for Name {
    const INFO: &'static ValueInfo = &ValueInfo::new("IDL:values/Name:1.0");

    fn factories() -> &'static [Factory] {
        static ALL: &[Factory] = &[Factory::of::<Name>()];
        ALL
    }
}

impl ValueState for Name {
    fn encode_state<'a>(&'a self, e: &mut Encoder<'a>) -> Result<()> {
        self.0.encode(e)
    }

    fn decode_state(d: &mut Decoder<'_>) -> Result<Self> {
        Decode::decode(d).map(Self)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Numbers(pub Vec<i32>);

impl Valuetype for Numbers {
    const INFO: &'static ValueInfo = &ValueInfo::new("IDL:values/Numbers:1.0");

    fn factories() -> &'static [Factory] {
        static ALL: &[Factory] = &[Factory::of::<Numbers>()];
        ALL
    }
}

impl ValueState for Numbers {
    fn encode_state<'a>(&'a self, e: &mut Encoder<'a>) -> Result<()> {
        self.0.encode(e)
    }

    fn decode_state(d: &mut Decoder<'_>) -> Result<Self> {
        Decode::decode(d).map(Self)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Holder {
    pub first: ValueLink<Name>,
    pub second: ValueLink<Name>,
    pub numbers: ValueLink<Numbers>,
    pub item: ValueLink<Base>,
    pub mark: i16,
}

valuetype!(
    Holder,
    ValueInfo::new("IDL:values/Holder:1.0"),
    [Holder],
    [],
    first,
    second,
    numbers,
    item,
    mark
);
