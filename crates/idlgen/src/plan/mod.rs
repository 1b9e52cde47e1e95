//! Marshal plan: the way in which values travel, in which no target language shows.
//!
//! A back end asks for the [`Plan`] of each type it meets and for the
//! [`Call`]s of each interface, and prints them. An interpreter could follow
//! the same values at run time.

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

/// Plan by which a value travels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Plan {
    /// A basic type, by its own encoder call.
    Basic(Basic),
    /// `string` or `wstring`.
    Text {
        /// `wstring`.
        wide: bool,
        /// Most characters allowed.
        bound: Option<u32>,
    },
    /// `fixed`: two digits in an octet.
    Fixed {
        /// Digits in all.
        digits: u16,
        /// Digits after the point.
        scale: u8,
    },
    /// `any`: a type code, then a value of that type.
    Any,
    /// `CORBA::TypeCode`.
    TypeCode,
    /// A struct, union, exception, enum, bitmask or bitset: by the codec made
    /// for that definition.
    Named(DefId),
    /// An object reference, nil allowed.
    Reference(Target),
    /// A value, shared or null: of a valuetype, boxed or `ValueBase`.
    Value,
    /// An abstract interface: an object reference or a value.
    Abstract,
    /// A sequence whose elements lie in memory as on the wire but for octet
    /// order: copied as one block.
    Block {
        /// The element type.
        element: Basic,
        /// Most elements allowed.
        bound: Option<u32>,
    },
    /// A `sequence<octet>` parameter marked `@in_place`: wherever it lies.
    InPlace,
    /// A sequence written element by element.
    List {
        /// Plan of an element.
        element: Box<Plan>,
        /// Most elements allowed.
        bound: Option<u32>,
    },
    /// A `map`: its entries, key and value.
    Map {
        /// Whether its keys have an order, in which they are sent then.
        ordered: bool,
        /// Plan of a key.
        key: Box<Plan>,
        /// Plan of a value.
        value: Box<Plan>,
        /// Most entries allowed.
        bound: Option<u32>,
    },
    /// An `@optional` member: whether it is there, and then itself.
    Optional(Box<Plan>),
    /// A local interface or a native type, which does not travel.
    Local(DefId),
    /// Dimension of an array.
    Array {
        /// Plan of an element; another array for inner dimensions.
        element: Box<Plan>,
        /// Number of elements.
        length: u32,
    },
}

/// Type that an object reference is declared to lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// `Object`.
    Object,
    /// An interface, defined or only declared forward.
    Interface(DefId),
}

/// A construct the generator has no mapping for yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotYet {
    /// The construct, named as in IDL.
    pub what: &'static str,
    /// Place at which it is used, if that is known more exactly than by the definition.
    pub at: Option<Span>,
}

impl NotYet {
    /// A construct, used somewhere in a definition.
    pub const fn new(what: &'static str) -> NotYet {
        NotYet { what, at: None }
    }

    /// The same, used at a place.
    #[must_use]
    pub const fn at(self, place: Span) -> NotYet {
        NotYet { what: self.what, at: Some(place) }
    }
}

impl Plan {
    /// The plan for a type as it is used.
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
                // Until they have code of their own, whatever they are at least.
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

    /// The plan for a member of a struct, exception or union.
    pub fn of_field(model: &Model, field: &Field) -> Result<Plan, NotYet> {
        let plan = Plan::of(model, &field.ty).map_err(|not_yet| not_yet.at(field.span))?;
        Ok(match field.optional {
            true => Plan::Optional(Box::new(plan)),
            false => plan,
        })
    }

    /// The plan for a member of a valuetype: all of its state is sent.
    pub fn of_state(model: &Model, field: &Field) -> Result<Plan, NotYet> {
        let plan = Plan::of_field(model, field)?;
        match plan.travels(model) {
            true => Ok(plan),
            false => Err(NotYet::new("a member of a valuetype that cannot be sent").at(field.span)),
        }
    }

    /// Whether values can be sent at all: not so where a local interface or a
    /// native type is within.
    pub fn travels(&self, model: &Model) -> bool {
        travels(model, self, &mut Vec::new())
    }

    /// Whether values have an order that Rust knows.
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

    /// Whether `bool`, a number, a character or an enum: small enough to be
    /// passed by value.
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
            // What has no plan is refused where it is declared.
            let mut plans = fields.iter().filter_map(|field| Plan::of(model, &field.ty).ok());
            plans.all(|plan| travels(model, &plan, seen))
        }
        _ => true,
    }
}

/// Whether a run of such values is one block in memory and on the wire.
fn is_block(basic: Basic) -> bool {
    !matches!(basic, Basic::Int8 | Basic::Char | Basic::WChar | Basic::LongDouble)
}

/// The integer that a value of an enum is on the wire.
pub fn enum_integer(body: &Enum) -> Basic {
    body.bit_bound.map_or(Basic::ULong, unsigned)
}

/// Whether a type code, which knows ordinals of 32 bits only, can tell what an
/// enum is on the wire.
pub fn is_plain_enum(body: &Enum) -> bool {
    let mut all = body.enumerators.iter().zip(0..);
    enum_integer(body) == Basic::ULong && all.all(|(one, ordinal)| one.value == ordinal)
}

/// The smallest unsigned integer of at least so many bits.
pub fn unsigned(bits: u16) -> Basic {
    match bits {
        0..=8 => Basic::Octet,
        9..=16 => Basic::UShort,
        17..=32 => Basic::ULong,
        _ => Basic::ULongLong,
    }
}

/// The integer that a bitset is on the wire.
pub fn bitset_integer(model: &Model, body: &BitSet) -> Basic {
    unsigned(model.all_bits(body).iter().map(|field| field.bits).sum())
}
