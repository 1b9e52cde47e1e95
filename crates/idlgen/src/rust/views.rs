//! Views: structs and unions for servants in `@borrowed` parameters.

use oxorb_idl::model::{Def, Type};
use proc_macro2::TokenStream;
use quote::quote;

use super::codec::{Step, Vars};
use super::scope::Scope;
use super::structs::Field;
use super::types::{self, ident};
use super::{Rust, docs};
use crate::plan::{Plan, Traits, has_view, is_octets, view_is_copy};

impl<'m> Rust<'m> {
    /// Returns the type of a value within a view.
    pub(super) fn view_ty(
        &self,
        scope: &Scope<'_>,
        ty: &Type,
        plan: &Plan,
        life: &TokenStream,
    ) -> TokenStream {
        match plan {
            Plan::Text { .. } => quote!(&#life str),
            Plan::Block { element, .. } => {
                let element = types::basic(scope, *element);
                quote!(&#life [#element])
            }
            Plan::List { element, .. } => {
                let element = self.view_ty(scope, self.element(ty), element, life);
                quote!(&#life [#element])
            }
            Plan::Array { element, length } => {
                let inner = self.inner_array(ty);
                let element = self.view_ty(scope, &inner, element, life);
                let length = proc_macro2::Literal::u32_unsuffixed(*length);
                quote!([#element; #length])
            }
            Plan::Optional(inner) => {
                let (option, inner) = (scope.std("Option"), self.view_ty(scope, ty, inner, life));
                quote!(#option<#inner>)
            }
            Plan::Named(id) if has_view(self.model, *id) => {
                let view = self.view(scope, *id);
                quote!(#view<#life>)
            }
            _ => self.ty(scope, ty),
        }
    }

    /// Returns the path of a view.
    fn view(&self, scope: &Scope<'_>, id: oxorb_idl::model::DefId) -> TokenStream {
        let parent = self.model.def(id).parent;
        self.path(scope, parent, &self.names.item(id).view)
    }

    /// Returns the type of a `@borrowed` parameter.
    pub(super) fn view_parameter(
        &self,
        scope: &Scope<'_>,
        ty: &Type,
        plan: &Plan,
        life: Option<&TokenStream>,
    ) -> TokenStream {
        let anonymous = quote!('_);
        match plan {
            Plan::Text { .. } | Plan::Block { .. } | Plan::List { .. } => {
                let inner = life.unwrap_or(&anonymous);
                self.view_ty(scope, ty, plan, inner)
            }
            _ => {
                let inner = self.view_ty(scope, ty, plan, life.unwrap_or(&anonymous));
                let life = life.into_iter();
                quote!(&#(#life)* #inner)
            }
        }
    }

    /// Returns the code that reads one value of a view, with an arena named `arena`.
    pub(super) fn decode_view(
        &self,
        scope: &Scope<'_>,
        vars: &Vars,
        ty: &Type,
        plan: &Plan,
        arena: &TokenStream,
    ) -> Step {
        let d = &vars.d;
        match plan {
            Plan::Text { wide, bound } => {
                let (method, bound) = super::codec::text_method(*wide, *bound);
                Step::Fallible(quote!(#arena.#method(#d #bound)))
            }
            Plan::Block { element, bound } => {
                let bound = super::codec::limit(*bound);
                let least = super::codec::least(self, &Plan::Basic(*element));
                let method = super::codec::block_method(*element);
                let read = match is_octets(*element) {
                    true => quote!(#d.#method(count)?),
                    false => quote!(#arena.#method(#d, count)?),
                };
                Step::Plain(quote!({
                    let count = #d.length(#bound, #least)?;
                    #read
                }))
            }
            Plan::List { element, bound } => {
                let bound = super::codec::limit(*bound);
                let least = super::codec::least(self, element);
                let (inner, item_ty) = (quote!(arena), self.element(ty));
                let item = self.decode_view(scope, vars, item_ty, element, &inner).last();
                let inner = super::passing::parameter(inner, &item);
                Step::Fallible(quote!(#arena.list(#d, #bound, #least, |#d, #inner| #item)))
            }
            Plan::Array { element, .. } => {
                let inner = self.inner_array(ty);
                let item = self.decode_view(scope, vars, &inner, element, arena).last();
                Step::Fallible(quote!(#d.array_with(|#d| #item)))
            }
            Plan::Optional(inner) => {
                let item = self.decode_view(scope, vars, ty, inner, arena).last();
                Step::Fallible(quote!(#d.optional(|#d| #item)))
            }
            Plan::Named(id) if has_view(self.model, *id) => {
                let view = self.view(scope, *id);
                Step::Fallible(quote!(#view::decode_view(#d, #arena)))
            }
            _ => self.decode(scope, vars, ty, plan),
        }
    }

    /// Returns the owned value of a part of a view.
    pub(super) fn owned(&self, plan: &Plan, place: &TokenStream) -> TokenStream {
        match plan {
            Plan::Text { .. } => quote!(#place.into()),
            Plan::Block { .. } => quote!(#place.to_vec()),
            Plan::List { element, .. } => match self.is_borrowing(element) {
                false => quote!(#place.to_vec()),
                true => {
                    let item = self.owned(element, &quote!(item));
                    quote!(#place.iter().cloned().map(|item| #item).collect())
                }
            },
            Plan::Array { element, .. } | Plan::Optional(element) if self.is_borrowing(element) => {
                let item = self.owned(element, &quote!(item));
                quote!(#place.map(|item| #item))
            }
            Plan::Named(id) if has_view(self.model, *id) => quote!(#place.into()),
            _ => place.clone(),
        }
    }

    fn is_borrowing(&self, plan: &Plan) -> bool {
        match plan {
            Plan::Text { .. } | Plan::Block { .. } | Plan::List { .. } => true,
            Plan::Array { element, .. } | Plan::Optional(element) => self.is_borrowing(element),
            Plan::Named(id) => has_view(self.model, *id),
            _ => false,
        }
    }

    /// Generates the view of a struct, if servants receive a view.
    pub(super) fn struct_view(
        &self,
        scope: &Scope<'_>,
        def: &Def,
        fields: &[Field<'_>],
    ) -> Option<TokenStream> {
        if !self.views.contains(&def.id) {
            return None;
        }
        let vars = Vars::beside([].into_iter());
        let (life, arena) = (quote!('a), quote!(arena));
        let declared = fields.iter().map(|field| {
            let ty = self.view_ty(scope, &field.declared.ty, &field.plan, &life);
            let doc = docs::member(&field.declared.doc, &field.declared.annotations);
            let (name, docs) = (&field.name, docs::or(&doc, ""));
            quote!(#docs pub #name: #ty)
        });
        let read = fields.iter().map(|field| {
            let ty = &field.declared.ty;
            let value = self.decode_view(scope, &vars, ty, &field.plan, &arena).tried();
            let name = &field.name;
            quote!(#name: #value)
        });
        let read = quote!(Ok(Self { #(#read),* }));
        let owned = fields.iter().map(|field| {
            let name = &field.name;
            let value = self.owned(&field.plan, &quote!(view.#name));
            quote!(#name: #value)
        });
        let owned = quote!(Self { #(#owned),* });
        let item = self.names.item(def.id);
        let view = ident(&item.view);
        let body = quote!(struct #view<'a> { #(#declared),* });
        Some(self.view_items(scope, def, &body, &read, &owned))
    }

    /// Generates a view: its declaration, and the functions that read it and convert it to an owned value.
    pub(super) fn view_items(
        &self,
        scope: &Scope<'_>,
        def: &Def,
        body: &TokenStream,
        read: &TokenStream,
        owned: &TokenStream,
    ) -> TokenStream {
        let r = &scope.runtime;
        let item = self.names.item(def.id);
        let (name, view) = (ident(&item.name), ident(&item.view));
        let docs = docs::lines(&format!(
            "View of a [`{}`] in a `@borrowed` parameter of a servant: it refers to the message and to an arena of the \
             thread, until the request ends.",
            item.name
        ));
        let eq = Traits::of(self.model, def.id).eq.then(|| quote!(, Eq));
        let copy = view_is_copy(self.model, def.id).then(|| quote!(, Copy));
        let from = scope.std("From");
        quote! {
            #docs
            #[derive(Debug, Clone #copy, PartialEq #eq)]
            pub #body
            impl<'a> #view<'a> {
                /// Reads one.
                #[doc(hidden)]
                #[inline]
                pub fn decode_view<'de>(
                    d: &mut #r::Decoder<'de>,
                    arena: &'a #r::Arena,
                ) -> #r::CdrResult<Self>
                where
                    'de: 'a,
                { #read }
            }
            impl #from<#view<'_>> for #name {
                fn from(view: #view<'_>) -> Self { #owned }
            }
        }
    }
}
