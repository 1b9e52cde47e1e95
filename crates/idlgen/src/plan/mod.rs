//! Marshal plan: the transfer of values, independent of target languages.
//!
//! A back end requests the [`Plan`] of each type and the [`Call`]s of each interface, and generates code from them. An
//! interpreter could use the same plans at run time.

mod call;
mod passing;
mod size;
mod steps;
mod traits;
mod view;

pub(crate) use call::declared;
pub use call::{Arg, Call, calls, factory_calls, value_calls};
pub(crate) use passing::{Passing, passing};
pub use size::{Size, size};
pub(crate) use steps::is_read_in_place;
pub use traits::Traits;
pub(crate) use view::{has_view, is_octets, view_is_copy, viewed};

use oxorb_idl::model::{Basic, BitSet, DefId, DefKind, Enum, Field, InterfaceKind, Model, Type};
use oxorb_idl::source::Span;

/// Plan for the transfer of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Plan {
    /// Basic type, with its own method of the encoder.
    Basic(Basic),
    /// `string` or `wstring`.
    Text {
        /// Whether the string is a `wstring`.
        wide: bool,
        /// Maximum number of characters.
        bound: Option<u32>,
    },
    /// `fixed`: two digits per octet.
    Fixed {
        /// Total number of digits.
        digits: u16,
        /// Number of digits after the point.
        scale: u8,
    },
    /// `any`: a type code, then a value of that type.
    Any,
    /// `CORBA::TypeCode`.
    TypeCode,
    /// Struct, union, exception, enum, bitmask or bitset: by the codec of that definition.
    Named(DefId),
    /// Object reference, possibly nil.
    Reference(Target),
    /// Value, shared or null: of a valuetype, boxed or `ValueBase`.
    Value,
    /// Abstract interface: an object reference or a value.
    Abstract,
    /// Sequence whose elements have the same layout in memory as on the wire except for byte order: copied as one
    /// block.
    Block {
        /// Type of the elements.
        element: Basic,
        /// Maximum number of elements.
        bound: Option<u32>,
    },
    /// `sequence<octet>` parameter marked `@in_place`: read and written in its place.
    InPlace,
    /// Sequence that is written element by element.
    List {
        /// Plan of an element.
        element: Box<Plan>,
        /// Maximum number of elements.
        bound: Option<u32>,
    },
    /// `map`: its entries, each a key and a value.
    Map {
        /// Whether the keys of the map are ordered, and then sent in that order.
        ordered: bool,
        /// Plan of a key.
        key: Box<Plan>,
        /// Plan of a value.
        value: Box<Plan>,
        /// Maximum number of entries.
        bound: Option<u32>,
    },
    /// `@optional` member: a boolean for its presence, then the value if present.
    Optional(Box<Plan>),
    /// Local interface or native type, which is never marshalled.
    Local(DefId),
    /// Dimension of an array.
    Array {
        /// Plan of an element; another array for inner dimensions.
        element: Box<Plan>,
        /// Number of elements.
        length: u32,
    },
}

/// Declared type of an object reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// `Object`.
    Object,
    /// Interface, defined or only declared forward.
    Interface(DefId),
}

/// Construct without a mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotYet {
    /// Construct, named as in IDL.
    pub what: &'static str,
    /// Place of the use, if known more precisely than the definition.
    pub at: Option<Span>,
}

impl NotYet {
    /// Returns a construct that is used somewhere in a definition.
    pub const fn new(what: &'static str) -> NotYet {
        NotYet { what, at: None }
    }

    /// Returns the construct with the place of its use.
    #[must_use]
    pub const fn at(self, place: Span) -> NotYet {
        NotYet { what: self.what, at: Some(place) }
    }
}

impl Plan {
    /// Returns the plan for a type at its use.
    pub fn of(model: &Model, ty: &Type) -> Result<Plan, NotYet> {
        Ok(match model.resolve(ty) {
            Type::Basic(basic) => Plan::Basic(*basic),
            Type::String(bound) => Plan::Text { wide: false, bound: *bound },
            Type::WString(bound) => Plan::Text { wide: true, bound: *bound },
            Type::Sequence(element, bound) => match Plan::of(model, element)? {
                Plan::Basic(element) if is_block(element) => Plan::Block { element, bound: *bound },
                element => Plan::List { element: Box::new(element), bound: *bound },
            },
            Type::Array(element, lengths) => {
                let element = Plan::of(model, element)?;
                lengths.iter().rev().fold(element, |inner, length| Plan::Array {
                    element: Box::new(inner),
                    length: *length,
                })
            }
            Type::Named(id) => match &model.def(*id).kind {
                DefKind::Struct(_)
                | DefKind::Union(_)
                | DefKind::Enum(_)
                | DefKind::BitMask(_)
                | DefKind::BitSet(_) => Plan::Named(*id),
                DefKind::Interface(interface) => match interface.kind {
                    InterfaceKind::Unconstrained => Plan::Reference(Target::Interface(*id)),
                    InterfaceKind::Local => Plan::Local(*id),
                    InterfaceKind::Abstract => Plan::Abstract,
                },
                DefKind::ForwardInterface(InterfaceKind::Abstract) => Plan::Abstract,
                DefKind::ForwardInterface(InterfaceKind::Local) | DefKind::Native => {
                    Plan::Local(*id)
                }
                DefKind::ValueType(_) | DefKind::ValueBox(_) => Plan::Value,
                DefKind::ForwardInterface(_) => Plan::Reference(Target::Interface(*id)),
                // A component or home is transferred as a reference to an object of unknown type, because it has no
                // Rust type.
                DefKind::Component(_) | DefKind::Home(_) => Plan::Reference(Target::Object),
                _ => return Err(NotYet::new("this kind of definition as a type")),
            },
            Type::Object => Plan::Reference(Target::Object),
            Type::Fixed(digits, scale) => Plan::Fixed {
                digits: *digits,
                scale: u8::try_from(*scale)
                    .map_err(|_| NotYet::new("a `fixed` with a negative scale"))?,
            },
            Type::Any => Plan::Any,
            Type::TypeCode => Plan::TypeCode,
            Type::Map(key, value, bound) => {
                let key = Plan::of(model, key)?;
                Plan::Map {
                    ordered: key.has_order(model),
                    key: Box::new(key),
                    value: Box::new(Plan::of(model, value)?),
                    bound: *bound,
                }
            }
            Type::ValueBase => Plan::Value,
        })
    }

    /// Returns the plan for a member of a struct, exception or union.
    pub fn of_field(model: &Model, field: &Field) -> Result<Plan, NotYet> {
        let plan = Plan::of(model, &field.ty).map_err(|not_yet| not_yet.at(field.span))?;
        Ok(match field.optional {
            true => Plan::Optional(Box::new(plan)),
            false => plan,
        })
    }

    /// Returns the plan for a member of a valuetype: all of its state is sent.
    pub fn of_state(model: &Model, field: &Field) -> Result<Plan, NotYet> {
        let plan = Plan::of_field(model, field)?;
        match plan.travels(model) {
            true => Ok(plan),
            false => Err(NotYet::new("a member of a valuetype that cannot be sent").at(field.span)),
        }
    }

    /// Reports whether values can be marshalled: they contain no local interface and no native type.
    pub fn travels(&self, model: &Model) -> bool {
        travels(model, self, &mut Vec::new())
    }

    /// Reports whether values have an order in Rust.
    fn has_order(&self, model: &Model) -> bool {
        match self {
            Plan::Basic(basic) => {
                !matches!(basic, Basic::Float | Basic::Double | Basic::LongDouble)
            }
            Plan::Text { .. } | Plan::Fixed { .. } => true,
            Plan::Named(id) => {
                matches!(model.def(*id).kind, DefKind::Enum(_) | DefKind::BitMask(_))
            }
            Plan::Block { element, .. } => Plan::Basic(*element).has_order(model),
            Plan::List { element, .. } | Plan::Array { element, .. } => element.has_order(model),
            _ => false,
        }
    }

    /// Reports whether values are of type `bool`, a number, a character or an enum, which are passed by value.
    pub fn is_scalar(&self, model: &Model) -> bool {
        match self {
            Plan::Basic(_) | Plan::Fixed { .. } => true,
            Plan::Named(id) => {
                matches!(model.def(*id).kind, DefKind::Enum(_) | DefKind::BitMask(_))
            }
            _ => false,
        }
    }
}

fn travels(model: &Model, plan: &Plan, seen: &mut Vec<DefId>) -> bool {
    match plan {
        Plan::Local(_) => false,
        Plan::List { element, .. } | Plan::Array { element, .. } | Plan::Optional(element) => {
            travels(model, element, seen)
        }
        Plan::Map { key, value, .. } => travels(model, key, seen) && travels(model, value, seen),
        Plan::Named(id) if !seen.contains(id) => {
            seen.push(*id);
            let fields = match &model.def(*id).kind {
                DefKind::Struct(body) | DefKind::Exception(body) => model.all_fields(body),
                DefKind::Union(body) => body.cases.iter().map(|case| &case.field).collect(),
                _ => Vec::new(),
            };
            // Ignores types without a plan, because they are rejected at their declaration.
            let mut plans = fields.iter().filter_map(|field| Plan::of(model, &field.ty).ok());
            plans.all(|plan| travels(model, &plan, seen))
        }
        _ => true,
    }
}

/// Reports whether a sequence of such values is one block in memory and on the wire.
fn is_block(basic: Basic) -> bool {
    !matches!(basic, Basic::Int8 | Basic::Char | Basic::WChar | Basic::LongDouble)
}

/// Returns the integer type of an enum's values on the wire.
pub fn enum_integer(body: &Enum) -> Basic {
    body.bit_bound.map_or(Basic::ULong, unsigned)
}

/// Reports whether a type code, which only has 32-bit ordinals, can describe the enum's form on the wire.
pub fn is_plain_enum(body: &Enum) -> bool {
    let mut all = body.enumerators.iter().zip(0..);
    enum_integer(body) == Basic::ULong && all.all(|(one, ordinal)| one.value == ordinal)
}

/// Returns the smallest unsigned integer of at least `bits` bits.
pub fn unsigned(bits: u16) -> Basic {
    match bits {
        0..=8 => Basic::Octet,
        9..=16 => Basic::UShort,
        17..=32 => Basic::ULong,
        _ => Basic::ULongLong,
    }
}

/// Returns the integer type of a bitset on the wire.
pub fn bitset_integer(model: &Model, body: &BitSet) -> Basic {
    unsigned(model.all_bits(body).iter().map(|field| field.bits).sum())
}
