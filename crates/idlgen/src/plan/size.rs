//! Sizes of values on the wire, in octets.

use oxorb_idl::model::{Basic, DefId, DefKind, Field, Model, Type};

use super::{Plan, bitset_integer, enum_integer, unsigned};

/// Bounds on the size of an encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Minimum number of octets, without padding: a decoder with fewer octets left can reject the value at once.
    pub min: u64,
    /// Maximum number of octets, with padding, at the least favourable alignment; `None` if unbounded.
    pub max: Option<u64>,
    /// Whether the number of octets is constant except for padding: no text, sequence, union, reference or character
    /// (whose size depends on the code set).
    pub fixed: bool,
}

/// Returns the size of values with this plan.
pub fn size(model: &Model, plan: &Plan) -> Size {
    Measure { model, open: Vec::new() }.plan(plan)
}

impl Size {
    const NOTHING: Size = Size { min: 0, max: Some(0), fixed: true };

    const fn unbounded(min: u64) -> Size {
        Size { min, max: None, fixed: false }
    }

    /// Returns the size of a primitive of `octets` octets, aligned to `align`.
    const fn primitive(octets: u64, align: u64) -> Size {
        Size { min: octets, max: Some(octets + align - 1), fixed: true }
    }

    fn then(self, next: Size) -> Size {
        Size {
            min: self.min.saturating_add(next.min),
            max: self.max.zip(next.max).and_then(|(a, b)| a.checked_add(b)),
            fixed: self.fixed && next.fixed,
        }
    }

    fn or(self, other: Size) -> Size {
        Size {
            min: self.min.min(other.min),
            max: self.max.zip(other.max).map(|(a, b)| a.max(b)),
            fixed: false,
        }
    }

    fn times(self, count: u64) -> Size {
        Size {
            min: self.min.saturating_mul(count),
            max: self.max.and_then(|max| max.checked_mul(count)),
            fixed: self.fixed,
        }
    }

    fn variable(self) -> Size {
        Size { fixed: false, ..self }
    }
}

struct Measure<'m> {
    model: &'m Model,
    /// Definitions being measured, by which recursion is detected.
    open: Vec<DefId>,
}

impl Measure<'_> {
    fn plan(&mut self, plan: &Plan) -> Size {
        match plan {
            Plan::Basic(basic) => self.basic(*basic),
            Plan::Text { bound, .. } => {
                // Text consists of a count, characters of at most four octets, and possibly a NUL. The minimum is the
                // count alone, as which some peers send an empty string.
                Size {
                    min: 4,
                    max: bound.map(|bound| 7 + 4 * (u64::from(bound) + 1)),
                    fixed: false,
                }
            }
            // Each octet has two digits; the sign takes the place of one digit.
            Plan::Fixed { digits, .. } => Size::primitive(u64::from(*digits) / 2 + 1, 1).variable(),
            // A type code has at least the four octets of its kind, and the value of `null` has none.
            Plan::Any | Plan::TypeCode => Size::unbounded(4),
            Plan::Named(id) => self.named(*id),
            // A nil reference consists of an empty type id and a count of zero profiles.
            Plan::Reference(_) => Size::unbounded(8),
            // Null consists of a tag of four octets.
            Plan::Value => Size::unbounded(4),
            Plan::Abstract => Size::unbounded(5),
            Plan::Block { element, bound } => {
                let element = self.basic(*element);
                self.counted(element, *bound)
            }
            Plan::InPlace => {
                let octet = self.basic(Basic::Octet);
                self.counted(octet, None)
            }
            Plan::List { element, bound } => {
                let element = self.plan(element);
                self.counted(element, *bound)
            }
            Plan::Map { key, value, bound, .. } => {
                let entry = self.plan(key).then(self.plan(value));
                self.counted(entry, *bound)
            }
            Plan::Optional(plan) => {
                let there = self.basic(Basic::Boolean);
                let whole = there.then(self.plan(plan)).variable();
                Size { min: there.min, ..whole }
            }
            Plan::Local(_) => Size::unbounded(0),
            Plan::Array { element, length } => self.plan(element).times(u64::from(*length)),
        }
    }

    fn basic(&self, basic: Basic) -> Size {
        match basic {
            Basic::Octet | Basic::Int8 | Basic::UInt8 | Basic::Boolean => Size::primitive(1, 1),
            // The size of a `char` depends on the code set. A `wchar` may have a length before its code units.
            Basic::Char => Size::primitive(1, 1).variable(),
            Basic::WChar => Size { min: 1, max: Some(7), fixed: false },
            Basic::Short | Basic::UShort => Size::primitive(2, 2),
            Basic::Long | Basic::ULong | Basic::Float => Size::primitive(4, 4),
            Basic::LongLong | Basic::ULongLong | Basic::Double => Size::primitive(8, 8),
            Basic::LongDouble => Size::primitive(16, 8),
        }
    }

    fn counted(&self, element: Size, bound: Option<u32>) -> Size {
        let elements = bound.and_then(|bound| element.times(u64::from(bound)).max);
        Size { min: 4, max: elements.and_then(|octets| octets.checked_add(7)), fixed: false }
    }

    fn named(&mut self, id: DefId) -> Size {
        if self.open.contains(&id) {
            return Size::unbounded(0);
        }
        self.open.push(id);
        let size = match &self.model.def(id).kind {
            DefKind::Enum(body) => self.basic(enum_integer(body)),
            DefKind::BitMask(body) => self.basic(unsigned(body.bit_bound)),
            // A bitset is one number on the wire, but not of fixed layout, because each field is checked before it is
            // written.
            DefKind::BitSet(body) => self.basic(bitset_integer(self.model, body)).variable(),
            DefKind::Struct(body) | DefKind::Exception(body) => self
                .model
                .all_fields(body)
                .into_iter()
                .map(|field| self.field(field))
                .fold(Size::NOTHING, Size::then),
            DefKind::Union(body) => {
                let members = body
                    .cases
                    .iter()
                    .map(|case| self.field(&case.field))
                    .reduce(Size::or)
                    .unwrap_or(Size::NOTHING);
                let head = self.ty(&body.discriminator);
                // If the labels do not cover all values, a union may have no member, so the minimum is that of the
                // discriminator.
                let size = head.then(members).variable();
                Size { min: head.min, ..size }
            }
            _ => Size::unbounded(0),
        };
        self.open.pop();
        size
    }

    fn field(&mut self, field: &Field) -> Size {
        Plan::of_field(self.model, field).map_or(Size::unbounded(0), |plan| self.plan(&plan))
    }

    fn ty(&mut self, ty: &Type) -> Size {
        Plan::of(self.model, ty).map_or(Size::unbounded(0), |plan| self.plan(&plan))
    }
}
