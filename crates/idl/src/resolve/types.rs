//! Conversion of types as written to types of the model.

use std::collections::BTreeSet;

use super::{Completeness, Resolver};
use crate::ast::{Declarator, Expr, Notes, ScopedName, TypeKind, TypeSpec};
use crate::check::anonymous::{Anonymous, Position};
use crate::check::bound::Bounded;
use crate::check::constant::Constant;
use crate::check::fixed::Fixed;
use crate::check::incomplete::Incomplete;
use crate::check::wrong_kind::Wanted;
use crate::model::{Basic, DefId, DefKind, Type};
use crate::source::Span;

impl Resolver<'_> {
    /// Returns the type that a typedef names.
    pub(super) fn named_type(&mut self, spec: &TypeSpec) -> Option<Type> {
        self.type_of(spec, false)
    }

    /// Returns the type of a member, parameter, result or attribute, which should have a name.
    pub(super) fn used_type(&mut self, spec: &TypeSpec, position: Position) -> Option<Type> {
        let what = match &spec.kind {
            TypeKind::Sequence(..) => Some("a sequence"),
            TypeKind::String(Some(_)) => Some("a bounded string"),
            TypeKind::WString(Some(_)) => Some("a bounded wide string"),
            TypeKind::Map(..) => Some("a map"),
            TypeKind::Fixed(Some(_)) => Some("a fixed-point type"),
            _ => None,
        };
        if let Some(what) = what {
            self.anonymous(what, position, spec.span);
        }
        self.type_of(spec, false)
    }

    /// Returns the type of an `@external` member: a struct or union may be declared forward only.
    pub(super) fn external_type(&mut self, spec: &TypeSpec) -> Option<Type> {
        if !matches!(spec.kind, TypeKind::Named(_)) {
            return self.used_type(spec, Position::Member);
        }
        let ty = self.type_of(spec, true)?;
        if let Type::Named(def) = &ty
            && self.incomplete.contains_key(def)
        {
            self.external.push((*def, spec.span));
        }
        Some(ty)
    }

    /// Reports `@external` members that contain their own struct or union: a value of such a type is infinite.
    pub(super) fn report_endless(&mut self) {
        for (def, span) in std::mem::take(&mut self.external) {
            if self.incomplete.contains_key(&def) || !self.holds_itself(def) {
                continue;
            }
            let problem = Incomplete {
                name: self.model.def(def).name.clone(),
                at: self.model.def(def).span,
                recursive: true,
            };
            self.report(span, problem);
        }
    }

    /// Reports whether a struct or union contains itself, directly or indirectly.
    fn holds_itself(&self, def: DefId) -> bool {
        let (mut next, mut seen) = (vec![def], BTreeSet::new());
        while let Some(at) = next.pop() {
            let types: Vec<&Type> = match &self.model.def(at).kind {
                DefKind::Struct(body) => {
                    let fields = self.model.all_fields(body).into_iter();
                    fields.map(|field| &field.ty).collect()
                }
                DefKind::Union(body) => body.cases.iter().map(|case| &case.field.ty).collect(),
                DefKind::Typedef(alias) => vec![&alias.ty],
                _ => Vec::new(),
            };
            for mut ty in types {
                while let Type::Array(element, _) = ty {
                    ty = element;
                }
                match ty {
                    Type::Named(held) if *held == def => return true,
                    Type::Named(held) if seen.insert(*held) => next.push(*held),
                    _ => {}
                }
            }
        }
        false
    }

    fn anonymous(&mut self, what: &'static str, position: Position, span: Span) {
        let problem = Anonymous {
            what,
            position,
            deprecated: position == Position::Member || what.contains("string"),
        };
        self.report(span, problem);
    }

    /// Returns a type that constants can have.
    pub(super) fn constant_type(&mut self, spec: &TypeSpec) -> Option<Type> {
        let ty = self.type_of(spec, false)?;
        let plain = self.plain(&ty);
        let allowed = match plain {
            Type::Basic(_) | Type::String(_) | Type::WString(_) | Type::Fixed(..) => true,
            Type::Named(def) => matches!(self.model.def(*def).kind, DefKind::Enum(_)),
            _ => false,
        };
        if !allowed {
            let found = self.describe(plain);
            self.report(spec.span, Constant::Type { found });
            return None;
        }
        Some(ty)
    }

    /// Returns any type; `in_sequence` allows incomplete ones.
    fn type_of(&mut self, spec: &TypeSpec, in_sequence: bool) -> Option<Type> {
        Some(match &spec.kind {
            TypeKind::Basic(basic) => Type::Basic(*basic),
            TypeKind::Object => Type::Object,
            TypeKind::String(bound) => {
                Type::String(self.optional_bound(bound.as_deref(), Bounded::String)?)
            }
            TypeKind::WString(bound) => {
                Type::WString(self.optional_bound(bound.as_deref(), Bounded::String)?)
            }
            TypeKind::Sequence(element, bound) => {
                // Resolves the bound even if the element is wrong, so that all errors are reported.
                let element = self.type_of(element, true);
                let bound = self.optional_bound(bound.as_deref(), Bounded::Sequence);
                Type::Sequence(Box::new(element?), bound?)
            }
            TypeKind::Map(key, value, bound) => {
                let key = self.type_of(key, true);
                let value = self.type_of(value, true);
                let bound = self.optional_bound(bound.as_deref(), Bounded::Map);
                Type::Map(Box::new(key?), Box::new(value?), bound?)
            }
            TypeKind::Fixed(shape) => self.fixed(spec.span, shape.as_deref())?,
            TypeKind::Any => Type::Any,
            TypeKind::ValueBase => Type::ValueBase,
            TypeKind::Named(name) if self.is_type_code(name) => Type::TypeCode,
            TypeKind::Named(name) => {
                if let Some(basic) = self.idl4_type(name) {
                    return Some(Type::Basic(basic));
                }
                let def = self.look_up_def(name, Wanted::Type)?;
                if !in_sequence && !self.is_complete(def, name.span()) {
                    return None;
                }
                match self.templates.argument(def) {
                    Some(ty) => ty.clone(),
                    None => Type::Named(def),
                }
            }
            TypeKind::Constructed(constructed) => {
                let outer = self.enter_declaration(spec.span, Notes::NONE);
                let def = self.constructed(Notes::NONE, constructed);
                self.leave_declaration(outer);
                let def = def?;
                if self.poisoned.contains(&def) {
                    return None;
                }
                Type::Named(def)
            }
        })
    }

    fn fixed(&mut self, span: Span, shape: Option<&(Expr, Expr)>) -> Option<Type> {
        let Some((digits, scale)) = shape else {
            self.report(span, Fixed::NoShape);
            return None;
        };
        let digits_value = self.integer(digits)?;
        if !(1..=31).contains(&digits_value) {
            let value = digits_value;
            self.report(digits.span, Fixed::Digits { value });
            return None;
        }
        let scale_value = self.integer(scale)?;
        if !(0..=digits_value).contains(&scale_value) {
            let problem = Fixed::Scale { value: scale_value, digits: digits_value };
            self.report(scale.span, problem);
            return None;
        }
        Some(Type::Fixed(digits_value as u16, scale_value as i16))
    }

    /// Returns the IDL 4 type that a name such as `int8` denotes, unless the name is declared.
    pub(super) fn idl4_type(&self, name: &ScopedName) -> Option<Basic> {
        let [part] = &name.parts[..] else { return None };
        let basic = match &*part.name {
            "int8" => Basic::Int8,
            "uint8" => Basic::UInt8,
            "int16" => Basic::Short,
            "uint16" => Basic::UShort,
            "int32" => Basic::Long,
            "uint32" => Basic::ULong,
            "int64" => Basic::LongLong,
            "uint64" => Basic::ULongLong,
            _ => return None,
        };
        // A name declared with an escape in another spelling, such as `_Int8`, is a different name.
        let declared = name.absolute || self.finds_spelled(part);
        (!declared).then_some(basic)
    }

    fn is_complete(&mut self, def: DefId, span: Span) -> bool {
        let Some(completeness) = self.incomplete.get(&def) else {
            return true;
        };
        if matches!(self.model.def(def).kind, DefKind::ValueType(_) | DefKind::Component(_)) {
            // Valuetypes and components are used by reference, so they may be incomplete.
            return true;
        }
        let problem = Incomplete {
            name: self.model.def(def).name.clone(),
            at: self.model.def(def).span,
            recursive: *completeness == Completeness::BeingDefined,
        };
        self.report(span, problem);
        false
    }

    /// Returns an optional bound. `None`: an error was reported; `Some(None)`: there is no bound.
    fn optional_bound(&mut self, bound: Option<&Expr>, of: Bounded) -> Option<Option<u32>> {
        match bound {
            Some(bound) => Some(Some(self.bound(bound, of)?)),
            None => Some(None),
        }
    }

    /// Returns the type of one declarator: an array if it has dimensions.
    pub(super) fn with_dimensions(&mut self, base: Type, declarator: &Declarator) -> Option<Type> {
        if declarator.dimensions.is_empty() {
            return Some(base);
        }
        let dimensions: Vec<Option<u32>> = declarator
            .dimensions
            .iter()
            .map(|dimension| self.bound(dimension, Bounded::Array))
            .collect();
        let dimensions = dimensions.into_iter().collect::<Option<Vec<u32>>>()?;
        Some(Type::Array(Box::new(base), dimensions))
    }

    /// Adds dimensions like [`Self::with_dimensions`] for members, where arrays should have names.
    pub(super) fn member_dimensions(
        &mut self,
        base: Type,
        declarator: &Declarator,
    ) -> Option<Type> {
        if !declarator.dimensions.is_empty() {
            self.anonymous("an array", Position::Member, declarator.name.span);
        }
        self.with_dimensions(base, declarator)
    }

    /// Describes a type: "`long`", "the struct `S`" ...
    pub(super) fn describe(&self, ty: &Type) -> String {
        match ty {
            Type::Basic(basic) => format!("`{}`", basic.as_str()),
            Type::String(_) => "`string`".into(),
            Type::WString(_) => "`wstring`".into(),
            Type::Sequence(..) => "a sequence".into(),
            Type::Array(..) => "an array".into(),
            Type::Fixed(digits, scale) => format!("`fixed<{digits}, {scale}>`"),
            Type::Map(..) => "a map".into(),
            Type::Object => "`Object`".into(),
            Type::Any => "`any`".into(),
            Type::TypeCode => "`TypeCode`".into(),
            Type::ValueBase => "`ValueBase`".into(),
            Type::Named(def) => {
                let def = self.model.def(*def);
                let what = super::lookup::what(&def.kind);
                let what = what.split_once(' ').map_or(what, |(_, what)| what);
                format!("the {what} `{}`", def.name)
            }
        }
    }
}
