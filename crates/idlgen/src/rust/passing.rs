//! Conditions, as Rust expressions, under which a value passes unmarshalled to a servant of the same process.

use oxorb_idl::model::{Basic, Def};
use proc_macro2::{Literal, TokenStream, TokenTree};
use quote::quote;

use super::Rust;
use super::codec::Place;
use super::scope::Scope;
use super::structs::Field;
use super::types::ident;
use crate::plan::{Passing, Plan, passing};

impl Rust<'_> {
    /// Returns the condition under which one value passes; `None` if it always does.
    ///
    /// The plan must not be one whose values never pass.
    pub(super) fn passes(
        &self,
        scope: &Scope<'_>,
        plan: &Plan,
        place: &Place,
        orb: &TokenStream,
    ) -> Option<TokenStream> {
        if passing(self.model, plan) == Passing::Always {
            return None;
        }
        let r = &scope.runtime;
        Some(match plan {
            Plan::Basic(Basic::Char) => {
                let value = place.value();
                quote!(#r::Passes::passes(&#value, #orb))
            }
            Plan::Text { bound: None, .. } => {
                let text = place.borrow();
                quote!(#r::text_passes(#text, u32::MAX))
            }
            Plan::Text { bound: Some(bound), .. } => {
                let (text, bound) = (place.borrow(), Literal::u32_unsuffixed(*bound));
                quote!(#r::text_passes(#text, #bound))
            }
            Plan::Reference(_) => {
                let reference = place.option();
                quote!(#reference.is_none_or(|one| #r::Passes::passes(one, #orb)))
            }
            Plan::Optional(inner) => {
                let (value, item) = (place.option(), self.item_passes(scope, inner, orb)?);
                quote!(#value.is_none_or(|item| #item))
            }
            Plan::Block { bound, .. } => {
                let items = place.receiver();
                within(items, *bound)?
            }
            Plan::List { element, bound } => {
                let items = place.receiver();
                let each = self.item_passes(scope, element, orb);
                let each = each.map(|item| quote!(#items.iter().all(|item| #item)));
                all_of(within(items, *bound).into_iter().chain(each))
            }
            Plan::Array { element, .. } => {
                let (items, item) = (place.receiver(), self.item_passes(scope, element, orb)?);
                quote!(#items.iter().all(|item| #item))
            }
            Plan::Map { key, value, bound, .. } => {
                let entries = place.receiver();
                let (key_place, value_place) =
                    (Place::Behind(quote!(key)), Place::Behind(quote!(value)));
                let key = self.passes(scope, key, &key_place, orb);
                let value = self.passes(scope, value, &value_place, orb);
                let names = match (&key, &value) {
                    (Some(_), Some(_)) => Some(quote!((key, value))),
                    (Some(_), None) => Some(quote!((key, _))),
                    (None, Some(_)) => Some(quote!((_, value))),
                    (None, None) => None,
                };
                let each = names.map(|names| {
                    let both = all_of(key.into_iter().chain(value));
                    quote!(#entries.iter().all(|#names| #both))
                });
                all_of(within(entries, *bound).into_iter().chain(each))
            }
            _ => {
                let value = place.borrow();
                quote!(#r::Passes::passes(#value, #orb))
            }
        })
    }

    /// Returns the condition for `item`, a reference to one element.
    fn item_passes(
        &self,
        scope: &Scope<'_>,
        element: &Plan,
        orb: &TokenStream,
    ) -> Option<TokenStream> {
        self.passes(scope, element, &Place::Behind(quote!(item)), orb)
    }

    /// Returns the condition for a struct or exception as a trait implementation, if it depends on the value.
    pub(super) fn struct_passes(
        &self,
        scope: &Scope<'_>,
        def: &Def,
        fields: &[Field<'_>],
    ) -> Option<TokenStream> {
        self.passes_impl(scope, def, |orb| {
            let each = fields.iter().filter_map(|field| {
                let name = &field.name;
                self.passes(scope, &field.plan, &Place::Owned(quote!(self.#name)), orb)
            });
            all_of(each)
        })
    }

    /// Returns the trait implementation for a definition, if the passing of its values depends on them.
    pub(super) fn passes_impl(
        &self,
        scope: &Scope<'_>,
        def: &Def,
        condition: impl FnOnce(&TokenStream) -> TokenStream,
    ) -> Option<TokenStream> {
        if passing(self.model, &Plan::Named(def.id)) != Passing::Checked {
            return None;
        }
        let (r, name) = (&scope.runtime, ident(&self.names.item(def.id).name));
        let orb = quote!(orb);
        let condition = condition(&orb);
        let orb = parameter(orb, &condition);
        Some(quote! {
            impl #r::Passes for #name {
                fn passes(&self, #orb: &#r::Orb) -> bool { #condition }
            }
        })
    }
}

/// Combines several conditions into one.
pub(super) fn all_of(conditions: impl Iterator<Item = TokenStream>) -> TokenStream {
    let conditions: Vec<_> = conditions.collect();
    match conditions.as_slice() {
        [] => quote!(true),
        [one] => one.clone(),
        all => quote!(#(#all)&&*),
    }
}

fn within(items: &TokenStream, bound: Option<u32>) -> Option<TokenStream> {
    let bound = Literal::u32_unsuffixed(bound?);
    Some(quote!(#items.len() <= #bound))
}

/// Returns a parameter of a closure or function: unnamed if the body does not use it.
pub(super) fn parameter(name: TokenStream, body: &TokenStream) -> TokenStream {
    match mentions(body, &name.to_string()) {
        true => name,
        false => quote!(_),
    }
}

fn mentions(tokens: &TokenStream, name: &str) -> bool {
    tokens.clone().into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == name,
        TokenTree::Group(group) => mentions(&group.stream(), name),
        _ => false,
    })
}
