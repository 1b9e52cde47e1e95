//! IDL types as Rust types.

use oxorb_idl::model::{Basic, Def, DefId, DefKind, Field, InterfaceKind, Type, Typedef};
use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::quote;

use super::scope::Scope;
use super::{Rust, docs};
use crate::plan::{NotYet, Plan, Target};

/// Returns a name as a token, raw if necessary.
pub(super) fn ident(name: &str) -> Ident {
    match name.strip_prefix("r#") {
        Some(keyword) => Ident::new_raw(keyword, Span::call_site()),
        None => Ident::new(name, Span::call_site()),
    }
}

/// Returns the Rust type of a basic type.
pub(super) fn basic(scope: &Scope<'_>, basic: Basic) -> TokenStream {
    let runtime = &scope.runtime;
    match basic {
        Basic::Octet | Basic::UInt8 => quote!(u8),
        Basic::Int8 => quote!(i8),
        Basic::Boolean => quote!(bool),
        Basic::Char | Basic::WChar => quote!(char),
        Basic::Short => quote!(i16),
        Basic::UShort => quote!(u16),
        Basic::Long => quote!(i32),
        Basic::ULong => quote!(u32),
        Basic::LongLong => quote!(i64),
        Basic::ULongLong => quote!(u64),
        Basic::Float => quote!(f32),
        Basic::Double => quote!(f64),
        Basic::LongDouble => quote!(#runtime::LongDouble),
    }
}

impl Rust<'_> {
    /// Returns the owned Rust type; keeps typedef names.
    pub(super) fn ty(&self, scope: &Scope<'_>, ty: &Type) -> TokenStream {
        match ty {
            Type::Basic(one) => basic(scope, *one),
            Type::String(_) | Type::WString(_) => scope.std("String"),
            Type::Sequence(element, _) => {
                let (vec, element) = (scope.std("Vec"), self.ty(scope, element));
                quote!(#vec<#element>)
            }
            Type::Array(element, lengths) => {
                let element = self.ty(scope, element);
                lengths.iter().rev().fold(element, |inner, length| {
                    let length = Literal::u32_unsuffixed(*length);
                    quote!([#inner; #length])
                })
            }
            Type::Map(key, value, _) => {
                let (key, value) = (self.ty(scope, key), self.ty(scope, value));
                match Plan::of(self.model, ty) {
                    Ok(Plan::Map { ordered: false, .. }) => {
                        let vec = scope.std("Vec");
                        quote!(#vec<(#key, #value)>)
                    }
                    _ => quote!(::std::collections::BTreeMap<#key, #value>),
                }
            }
            Type::Named(id) => match &self.model.def(*id).kind {
                DefKind::Interface(interface) if interface.kind == InterfaceKind::Local => {
                    let (option, local) = (scope.std("Option"), self.local(scope, *id));
                    quote!(#option<#local>)
                }
                DefKind::Interface(_) | DefKind::ForwardInterface(_) => {
                    match self.is_abstract(*id) {
                        false => self.nilable(scope, Target::Interface(*id)),
                        true => {
                            let (r, reference) = (&scope.runtime, self.reference(scope, *id));
                            quote!(#r::Abstract<#reference>)
                        }
                    }
                }
                DefKind::ValueType(_) | DefKind::ValueBox(_) => {
                    let (r, value) = (&scope.runtime, self.named(scope, *id));
                    quote!(#r::ValueLink<#value>)
                }
                DefKind::Component(_) | DefKind::Home(_) => self.nilable(scope, Target::Object),
                _ => self.named(scope, *id),
            },
            Type::Fixed(digits, scale) => {
                let (r, digits) = (&scope.runtime, Literal::u16_unsuffixed(*digits));
                let scale = Literal::i16_unsuffixed(*scale);
                quote!(#r::FixedPoint<#digits, #scale>)
            }
            Type::Any => {
                let r = &scope.runtime;
                quote!(#r::Any)
            }
            Type::TypeCode => {
                let r = &scope.runtime;
                quote!(#r::TypeCode)
            }
            Type::ValueBase => {
                let r = &scope.runtime;
                quote!(#r::ValueLink<#r::ValueBase>)
            }
            // Only `Object` remains, because other types are rejected when the plan is made.
            _ => self.nilable(scope, Target::Object),
        }
    }

    /// Returns the reference type for a target.
    pub(super) fn target(&self, scope: &Scope<'_>, target: Target) -> TokenStream {
        let runtime = &scope.runtime;
        match target {
            Target::Object => quote!(#runtime::ObjectRef),
            Target::Interface(id) => self.reference(scope, id),
        }
    }

    /// Returns the type of an object with a local interface, never nil.
    fn local(&self, scope: &Scope<'_>, id: DefId) -> TokenStream {
        let (arc, interface) = (scope.std("Arc"), self.named(scope, id));
        quote!(#arc<dyn #interface>)
    }

    /// Returns the type of a member.
    pub(super) fn field_ty(&self, scope: &Scope<'_>, field: &Field) -> TokenStream {
        let ty = self.ty(scope, &field.ty);
        match field.optional {
            true => {
                let option = scope.std("Option");
                quote!(#option<#ty>)
            }
            false => ty,
        }
    }

    fn nilable(&self, scope: &Scope<'_>, target: Target) -> TokenStream {
        let (option, reference) = (scope.std("Option"), self.target(scope, target));
        quote!(#option<#reference>)
    }

    /// Returns the type of an `in` parameter: scalars by value, the rest borrowed. `life` is a lifetime to name, if the
    /// result borrows from the arguments.
    pub(super) fn borrowed(
        &self,
        scope: &Scope<'_>,
        ty: &Type,
        plan: &Plan,
        life: Option<&TokenStream>,
    ) -> TokenStream {
        if plan.is_scalar(self.model) {
            return self.ty(scope, ty);
        }
        let mut life = life.into_iter();
        match plan {
            Plan::Text { .. } => quote!(&#(#life)* str),
            Plan::Reference(target) => {
                let (option, reference) = (scope.std("Option"), self.target(scope, *target));
                quote!(#option<&#(#life)* #reference>)
            }
            Plan::Local(id) if !matches!(self.model.def(*id).kind, DefKind::Native) => {
                let (option, local) = (scope.std("Option"), self.local(scope, *id));
                quote!(#option<&#(#life)* #local>)
            }
            Plan::InPlace => {
                let (r, anonymous) = (&scope.runtime, quote!('_));
                let life = life.next().unwrap_or(&anonymous);
                quote!(#r::Octets<#life>)
            }
            Plan::Block { .. } | Plan::List { .. } => {
                let Type::Sequence(element, _) = self.model.resolve(ty) else {
                    unreachable!("only sequences have these plans")
                };
                let element = self.ty(scope, element);
                quote!(&#(#life)* [#element])
            }
            _ => {
                let ty = self.ty(scope, ty);
                quote!(&#(#life)* #ty)
            }
        }
    }

    /// Generates a `native` type: any type that both sides of a local call agree on.
    pub(super) fn native(&self, scope: &Scope<'_>, def: &Def) -> TokenStream {
        let name = ident(&self.names.item(def.id).name);
        let docs = docs::item(&def.doc, "native", def);
        let (arc, send, sync) = (scope.std("Arc"), scope.std("Send"), scope.std("Sync"));
        quote! {
            #docs
            pub type #name = #arc<dyn ::core::any::Any + #send + #sync>;
        }
    }

    /// Generates a `typedef`.
    pub(super) fn alias(
        &self,
        scope: &Scope<'_>,
        def: &Def,
        alias: &Typedef,
    ) -> Result<TokenStream, NotYet> {
        Plan::of(self.model, &alias.ty)?;
        let name = ident(&self.names.item(def.id).name);
        let docs = docs::item(&def.doc, "typedef", def);
        let ty = self.ty(scope, &alias.ty);
        Ok(quote! {
            #docs
            pub type #name = #ty;
        })
    }
}
