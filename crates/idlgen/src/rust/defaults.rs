//! `Default` for structs whose members all have a default.

use std::collections::HashSet;

use oxorb_idl::model::{Basic, Def, DefId, DefKind, Field, Quadruple, Type, Value};
use proc_macro2::TokenStream;
use quote::quote;

use super::Rust;
use super::scope::Scope;
use super::types::ident;
use crate::plan::NotYet;

impl Rust<'_> {
    /// Reports whether values of a struct have a default: no part is of a native type.
    pub(super) fn has_default(&self, id: DefId) -> bool {
        self.all_have_default(id, &mut HashSet::new())
    }

    /// Reports whether all members of a struct, or the first one of a union, have a default; visits each definition
    /// once.
    fn all_have_default(&self, id: DefId, seen: &mut HashSet<DefId>) -> bool {
        if !seen.insert(id) {
            return true;
        }
        let mut fits = |field: &Field| {
            field.optional || field.default.is_some() || self.type_has_default(&field.ty, seen)
        };
        match &self.model.def(id).kind {
            DefKind::Struct(body) => self.model.all_fields(body).into_iter().all(fits),
            DefKind::Union(body) => body.cases.first().is_some_and(|case| fits(&case.field)),
            DefKind::Native => false,
            _ => true,
        }
    }

    fn type_has_default(&self, ty: &Type, seen: &mut HashSet<DefId>) -> bool {
        match self.model.resolve(ty) {
            Type::Array(element, _) => self.type_has_default(element, seen),
            Type::Named(id) => self.all_have_default(*id, seen),
            _ => true,
        }
    }

    /// Generates `Default`: members without `@default` are zero, empty, absent, nil, or the first value of their
    /// enumeration or union.
    pub(super) fn default_impl(&self, scope: &Scope<'_>, def: &Def) -> Result<TokenStream, NotYet> {
        let (default, name) = (scope.std("Default"), ident(&self.names.item(def.id).name));
        let members = self.default_members(scope, def)?;
        Ok(quote! {
            impl #default for #name {
                fn default() -> Self { Self #members }
            }
        })
    }

    /// Returns the members with their defaults: `{ x: 0, y: 7 }`.
    pub(super) fn default_members(
        &self,
        scope: &Scope<'_>,
        def: &Def,
    ) -> Result<TokenStream, NotYet> {
        let (DefKind::Struct(body) | DefKind::Exception(body)) = &def.kind else {
            unreachable!("only structs and exceptions have members")
        };
        let names = self.names.parts(def.id).iter();
        let members = self.model.all_fields(body).into_iter().zip(names);
        let members = members.map(|(field, name)| {
            let (name, value) = (ident(name), self.default_field(scope, field)?);
            Ok(quote!(#name: #value))
        });
        let members = members.collect::<Result<Vec<_>, NotYet>>()?;
        Ok(quote!({ #(#members),* }))
    }

    fn default_field(&self, scope: &Scope<'_>, field: &Field) -> Result<TokenStream, NotYet> {
        let value = match (&field.default, field.optional) {
            (None, true) => return Ok(quote!(None)),
            (None, false) => return self.default_value(scope, &field.ty),
            (Some(value), _) => value,
        };
        let expression = self.value(scope, &field.ty, value)?;
        let expression = match (self.model.resolve(&field.ty), value) {
            (Type::Fixed(..), _) => {
                let ty = self.ty(scope, &field.ty);
                quote!(<#ty>::new(#expression).expect("checked when it was compiled"))
            }
            (_, Value::String(_)) => quote!(#expression.into()),
            _ => expression,
        };
        Ok(match field.optional {
            true => quote!(Some(#expression)),
            false => expression,
        })
    }

    pub(super) fn default_value(
        &self,
        scope: &Scope<'_>,
        ty: &Type,
    ) -> Result<TokenStream, NotYet> {
        Ok(match self.model.resolve(ty) {
            Type::Basic(Basic::Boolean) => quote!(false),
            Type::Basic(Basic::Char | Basic::WChar) => quote!('\0'),
            Type::Basic(Basic::Float | Basic::Double) => quote!(0.0),
            Type::Basic(Basic::LongDouble) => {
                self.value(scope, ty, &Value::LongDouble(Quadruple::ZERO))?
            }
            Type::Basic(_) => quote!(0),
            Type::Array(element, lengths) => {
                let value = self.default_value(scope, element)?;
                lengths.iter().fold(value, |inner, _| quote!(::core::array::from_fn(|_| #inner)))
            }
            Type::Named(id) => {
                let (def, path) = (self.model.def(*id), self.named(scope, *id));
                match &def.kind {
                    DefKind::Struct(_) => self.trait_default(scope),
                    DefKind::Enum(body) => {
                        let variant = body.default.unwrap_or(0) as usize;
                        let variant = ident(&self.names.parts(*id)[variant]);
                        quote!(#path::#variant)
                    }
                    DefKind::Union(body) => {
                        let Some(case) = body.cases.first() else {
                            return Err(NotYet::new("the default of a union without members"));
                        };
                        let value = self.default_field(scope, &case.field)?;
                        let carries = case.is_default || case.labels.len() > 1;
                        let variant = match carries {
                            true => ident(&self.names.union(*id).constructors[0]),
                            false => ident(&self.names.parts(*id)[0]),
                        };
                        quote!(#path::#variant(#value))
                    }
                    _ => self.trait_default(scope),
                }
            }
            _ => self.trait_default(scope),
        })
    }

    fn trait_default(&self, scope: &Scope<'_>) -> TokenStream {
        let default = scope.std("Default");
        quote!(#default::default())
    }
}
