//! Type codes of types at run time, each made on first use.

use std::collections::BTreeSet;

use oxorb_idl::model::{
    Basic, Def, DefId, DefKind, Field, InterfaceKind, Struct, Type, Union, Value, ValueKind,
    ValueType,
};
use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::scope::Scope;
use super::types::ident;
use super::{Rust, is_remote};
use crate::plan::{bitset_integer, enum_integer, is_plain_enum, unsigned};

/// State of making one type code.
struct Spelling {
    /// Types that contain each other, including the one being made. Calling their type-code functions would recurse
    /// endlessly, so they are spelled out.
    cycle: BTreeSet<DefId>,
    /// Types already spelled out; from then on they are referred to by name.
    spelled: BTreeSet<DefId>,
}

impl Rust<'_> {
    /// Generates `impl Typed` for the Rust type of a definition.
    pub(super) fn typed(&self, scope: &Scope<'_>, def: &Def) -> TokenStream {
        let item = self.names.item(def.id);
        let name = match &def.kind {
            DefKind::Interface(_) | DefKind::ForwardInterface(_) => ident(&item.reference),
            _ => ident(&item.name),
        };
        let (r, body) = (&scope.runtime, self.lazy(scope, def));
        quote! {
            impl #r::Typed for #name {
                fn type_code() -> #r::TypeCode { #body }
            }
        }
    }

    /// Generates `type_code` in the module next to a typedef, which has no Rust type that could implement `Typed`.
    pub(super) fn alias_type_code(&self, def: &Def) -> TokenStream {
        let scope = self.scope(Some(def.id));
        let (r, body) = (&scope.runtime, self.lazy(&scope, def));
        quote! {
            /// Returns the type code of the typedef, which type codes of the aliased type do not name.
            pub fn type_code() -> #r::TypeCode { #body }
        }
    }

    /// Returns the type code of a type outside type codes, as an expression.
    pub(super) fn used_type_code(&self, scope: &Scope<'_>, ty: &Type) -> TokenStream {
        let mut spelling = Spelling { cycle: BTreeSet::new(), spelled: BTreeSet::new() };
        self.type_code(scope, ty, &mut spelling)
    }

    fn lazy(&self, scope: &Scope<'_>, def: &Def) -> TokenStream {
        let r = &scope.runtime;
        let mut spelling = Spelling { cycle: self.cycle(def.id), spelled: BTreeSet::new() };
        let value = self.spell(scope, def.id, &mut spelling);
        quote! {
            static TYPE: #r::LazyLock<#r::TypeCode> = #r::LazyLock::new(|| #value);
            TYPE.clone()
        }
    }

    /// Returns the type code of a type at its use, as an expression.
    fn type_code(&self, scope: &Scope<'_>, ty: &Type, spelling: &mut Spelling) -> TokenStream {
        let r = &scope.runtime;
        let tc = quote!(#r::TypeCode);
        match ty {
            Type::Basic(basic) => {
                let name = constant(*basic);
                quote!(#tc::#name)
            }
            Type::String(None) => quote!(#tc::STRING),
            Type::String(Some(bound)) => {
                let bound = Literal::u32_unsuffixed(*bound);
                quote!(#tc::bounded_string(#bound))
            }
            Type::WString(None) => quote!(#tc::WSTRING),
            Type::WString(Some(bound)) => {
                let bound = Literal::u32_unsuffixed(*bound);
                quote!(#tc::bounded_wstring(#bound))
            }
            Type::Sequence(element, bound) => {
                let element = self.type_code(scope, element, spelling);
                match bound {
                    None => quote!(#tc::sequence(#element)),
                    Some(bound) => {
                        let bound = Literal::u32_unsuffixed(*bound);
                        quote!(#tc::bounded_sequence(#element, #bound))
                    }
                }
            }
            Type::Array(element, lengths) => {
                let element = self.type_code(scope, element, spelling);
                lengths.iter().rev().fold(element, |inner, length| {
                    let length = Literal::u32_unsuffixed(*length);
                    quote!(#tc::array(#inner, #length))
                })
            }
            Type::Fixed(digits, scale) => {
                let (digits, scale) =
                    (Literal::u16_unsuffixed(*digits), Literal::i16_unsuffixed(*scale));
                quote!(#tc::fixed(#digits, #scale))
            }
            Type::Object => quote!(#tc::OBJECT),
            Type::Any => quote!(#tc::ANY),
            Type::TypeCode => quote!(#tc::TYPE_CODE),
            Type::ValueBase => quote!(#tc::VALUE_BASE),
            Type::Named(id) => self.mention(scope, *id, spelling),
            Type::Map(key, value, bound) => {
                let key = self.type_code(scope, key, spelling);
                let value = self.type_code(scope, value, spelling);
                let bound = Literal::u32_unsuffixed(bound.unwrap_or(0));
                quote!(#tc::map(#key, #value, #bound))
            }
        }
    }

    /// Returns the type code of a definition within that of another one, as an expression.
    fn mention(&self, scope: &Scope<'_>, id: DefId, spelling: &mut Spelling) -> TokenStream {
        let (r, def) = (&scope.runtime, self.model.def(id));
        let is_alias = matches!(def.kind, DefKind::Typedef(_));
        if spelling.cycle.contains(&id) {
            if spelling.spelled.contains(&id) && !is_alias {
                let id = &def.repository_id;
                return quote!(#r::TypeCode::recursive(#id));
            }
            return self.spell(scope, id, spelling);
        }
        if is_alias {
            let inner = ident(&self.names.item(id).inner);
            let module = self.path(scope, def.parent, &inner.to_string());
            return quote!(#module::type_code());
        }
        let ty = match def.kind {
            // These definitions have no Rust type that could provide their type code.
            DefKind::Component(_) | DefKind::Home(_) | DefKind::Native => {
                return self.spell(scope, id, spelling);
            }
            DefKind::Interface(ref interface) if !is_remote(interface) => {
                return self.spell(scope, id, spelling);
            }
            DefKind::Interface(_) | DefKind::ForwardInterface(_) => self.reference(scope, id),
            _ if !self.travels(id) => return self.spell(scope, id, spelling),
            _ => self.named(scope, id),
        };
        quote!(<#ty as #r::Typed>::type_code())
    }

    /// Returns the complete type code of a definition, as an expression.
    fn spell(&self, scope: &Scope<'_>, id: DefId, spelling: &mut Spelling) -> TokenStream {
        spelling.spelled.insert(id);
        let (r, def) = (&scope.runtime, self.model.def(id));
        let tc = quote!(#r::TypeCode);
        let (id, name) = (&def.repository_id, &def.name);
        match &def.kind {
            DefKind::Struct(body) => {
                let members = self.members(scope, body, spelling);
                quote!(#tc::structure(#id, #name, [#(#members),*]))
            }
            DefKind::Exception(body) => {
                let members = self.members(scope, body, spelling);
                quote!(#tc::exception(#id, #name, [#(#members),*]))
            }
            DefKind::Union(body) => {
                let discriminator = self.type_code(scope, &body.discriminator, spelling);
                let members = self.cases(scope, body, spelling);
                quote!(#tc::union(#id, #name, #discriminator, [#(#members),*]))
            }
            // A type code cannot describe an enum of another size or with other numbers, so it is described as an
            // integer.
            DefKind::Enum(body) if !is_plain_enum(body) => {
                let integer = constant(enum_integer(body));
                quote!(#tc::alias(#id, #name, #tc::#integer))
            }
            DefKind::BitMask(body) => {
                let integer = constant(unsigned(body.bit_bound));
                quote!(#tc::alias(#id, #name, #tc::#integer))
            }
            DefKind::BitSet(body) => {
                let integer = constant(bitset_integer(self.model, body));
                quote!(#tc::alias(#id, #name, #tc::#integer))
            }
            DefKind::Component(_) => quote!(#tc::component(#id, #name)),
            DefKind::Home(_) => quote!(#tc::home(#id, #name)),
            DefKind::Enum(body) => {
                let names = body.enumerators.iter().map(|one| &one.name);
                quote!(#tc::enumeration(#id, #name, [#(#names),*]))
            }
            DefKind::Typedef(alias) => {
                let content = self.type_code(scope, &alias.ty, spelling);
                quote!(#tc::alias(#id, #name, #content))
            }
            DefKind::ValueType(value) => self.value_code(scope, def, value, spelling),
            DefKind::ValueBox(content) => {
                let content = self.type_code(scope, content, spelling);
                quote!(#tc::value_box(#id, #name, #content))
            }
            DefKind::Interface(interface) => interface_code(&tc, interface.kind, id, name),
            DefKind::ForwardInterface(kind) => interface_code(&tc, *kind, id, name),
            _ => quote!(#tc::native(#id, #name)),
        }
    }

    fn value_code(
        &self,
        scope: &Scope<'_>,
        def: &Def,
        value: &ValueType,
        spelling: &mut Spelling,
    ) -> TokenStream {
        let r = &scope.runtime;
        let (id, name) = (&def.repository_id, &def.name);
        let modifier = match (value.kind, value.truncatable) {
            (ValueKind::Custom, _) => quote!(Custom),
            (ValueKind::Abstract, _) => quote!(Abstract),
            (ValueKind::Stateful, true) => quote!(Truncatable),
            (ValueKind::Stateful, false) => quote!(None),
        };
        let base = match self.state_base(value) {
            Some(base) => self.mention(scope, base, spelling),
            None => quote!(None),
        };
        let members = value.state.iter().map(|one| {
            let name = &one.field.name;
            let ty = self.member(scope, &one.field, spelling);
            let visibility = match one.public {
                true => quote!(Public),
                false => quote!(Private),
            };
            quote!((#name, #ty, #r::Visibility::#visibility))
        });
        let make = match value.event {
            true => quote!(event),
            false => quote!(value),
        };
        quote! {
            #r::TypeCode::#make(#id, #name, #r::ValueModifier::#modifier, #base, [#(#members),*])
        }
    }

    fn members(
        &self,
        scope: &Scope<'_>,
        body: &Struct,
        spelling: &mut Spelling,
    ) -> Vec<TokenStream> {
        let members = self.model.all_fields(body).into_iter().map(|field| {
            let (name, ty) = (&field.name, self.member(scope, field, spelling));
            quote!((#name, #ty))
        });
        members.collect()
    }

    fn member(&self, scope: &Scope<'_>, field: &Field, spelling: &mut Spelling) -> TokenStream {
        let (r, ty) = (&scope.runtime, self.type_code(scope, &field.ty, spelling));
        match field.optional {
            true => quote!(#r::TypeCode::optional(#ty)),
            false => ty,
        }
    }

    /// Generates a member for each label.
    fn cases(&self, scope: &Scope<'_>, body: &Union, spelling: &mut Spelling) -> Vec<TokenStream> {
        let label = &scope.runtime;
        let label = quote!(#label::Label);
        let is_int8 = *self.model.resolve(&body.discriminator) == Type::Basic(Basic::Int8);
        let mut members = Vec::new();
        for case in &body.cases {
            let labels = case.labels.iter().map(|value| {
                // A label of type `int8` is the octet on the wire, so a negative one becomes 128 to 255.
                let mask = if is_int8 { 0xFF } else { -1 };
                let value = Literal::i128_unsuffixed(self.label_number(value) & mask);
                quote!(#label::Value(#value))
            });
            let default = case.is_default.then(|| quote!(#label::Default));
            for label in labels.chain(default) {
                let name = &case.field.name;
                let ty = self.member(scope, &case.field, spelling);
                members.push(quote!((#label, #name, #ty)));
            }
        }
        members
    }

    /// Returns a label in the form of type codes.
    fn label_number(&self, label: &Value) -> i128 {
        match label {
            Value::Integer(number) => *number,
            Value::Boolean(truth) => i128::from(*truth),
            Value::Char(c) => i128::from(u32::from(*c)),
            Value::Enumerator(id, ordinal) => match &self.model.def(*id).kind {
                DefKind::Enum(body) => body.enumerators[*ordinal as usize].value.into(),
                _ => (*ordinal).into(),
            },
            Value::Float(_) | Value::LongDouble(_) | Value::String(_) | Value::Fixed(_) => {
                unreachable!("no type of a discriminator has such values")
            }
        }
    }

    /// Returns the types that contain each other with this one; empty if it does not contain itself.
    fn cycle(&self, id: DefId) -> BTreeSet<DefId> {
        let below = self.below(id);
        if !below.contains(&id) {
            return BTreeSet::new();
        }
        below.into_iter().filter(|other| self.below(*other).contains(&id)).collect()
    }

    /// Returns every type that a type contains.
    fn below(&self, id: DefId) -> BTreeSet<DefId> {
        let (mut found, mut todo) = (BTreeSet::new(), Vec::new());
        self.parts_of(id, &mut todo);
        while let Some(part) = todo.pop() {
            if found.insert(part) {
                self.parts_of(part, &mut todo);
            }
        }
        found
    }

    fn parts_of(&self, id: DefId, parts: &mut Vec<DefId>) {
        match &self.model.def(id).kind {
            DefKind::Struct(body) | DefKind::Exception(body) => {
                let fields = self.model.all_fields(body);
                fields.iter().for_each(|field| names(&field.ty, parts));
            }
            DefKind::Union(body) => {
                names(&body.discriminator, parts);
                body.cases.iter().for_each(|case| names(&case.field.ty, parts));
            }
            DefKind::Typedef(alias) => names(&alias.ty, parts),
            DefKind::ValueType(value) => {
                parts.extend(self.state_base(value));
                (value.state.iter()).for_each(|one| names(&one.field.ty, parts));
            }
            DefKind::ValueBox(content) => names(content, parts),
            _ => {}
        }
    }
}

/// Collects the definitions that a type names.
fn names(ty: &Type, parts: &mut Vec<DefId>) {
    match ty {
        Type::Named(id) => parts.push(*id),
        Type::Sequence(element, _) | Type::Array(element, _) => names(element, parts),
        Type::Map(key, value, _) => {
            names(key, parts);
            names(value, parts);
        }
        _ => {}
    }
}

fn interface_code(tc: &TokenStream, kind: InterfaceKind, id: &str, name: &str) -> TokenStream {
    match kind {
        InterfaceKind::Unconstrained => quote!(#tc::interface(#id, #name)),
        InterfaceKind::Local => quote!(#tc::local_interface(#id, #name)),
        InterfaceKind::Abstract => quote!(#tc::abstract_interface(#id, #name)),
    }
}

/// Returns the constant of a basic type's type code.
fn constant(basic: Basic) -> TokenStream {
    match basic {
        Basic::Octet | Basic::Int8 | Basic::UInt8 => quote!(OCTET),
        Basic::Boolean => quote!(BOOLEAN),
        Basic::Char => quote!(CHAR),
        Basic::WChar => quote!(WCHAR),
        Basic::Short => quote!(SHORT),
        Basic::UShort => quote!(USHORT),
        Basic::Long => quote!(LONG),
        Basic::ULong => quote!(ULONG),
        Basic::LongLong => quote!(LONGLONG),
        Basic::ULongLong => quote!(ULONGLONG),
        Basic::Float => quote!(FLOAT),
        Basic::Double => quote!(DOUBLE),
        Basic::LongDouble => quote!(LONGDOUBLE),
    }
}
