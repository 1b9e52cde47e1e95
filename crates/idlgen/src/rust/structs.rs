//! Structs and exceptions.

use oxorb_idl::model::{Def, Struct, Type};
use proc_macro2::{Ident, Literal, TokenStream};
use quote::quote;

use super::codec::{Place, Step, Vars, sequence};
use super::scope::Scope;
use super::types::ident;
use super::{Rust, docs};
use crate::plan::{NotYet, Plan, Size, Traits, size};

/// One field, ready to print.
struct Field<'m> {
    doc: &'m str,
    name: Ident,
    ty: &'m Type,
    plan: Plan,
}

impl<'m> Rust<'m> {
    /// `struct`.
    pub(super) fn structure(
        &self,
        scope: &Scope<'_>,
        def: &'m Def,
        body: &'m Struct,
    ) -> Result<Vec<TokenStream>, NotYet> {
        let fields = self.fields(def, body)?;
        let docs = docs::item(&def.doc, "struct", def);
        Ok(vec![
            self.declaration(scope, def, docs, &fields),
            self.field_codec(scope, def, &fields),
        ])
    }

    /// `exception`: a struct that knows its id and is an error.
    pub(super) fn exception(
        &self,
        scope: &Scope<'_>,
        def: &'m Def,
        body: &'m Struct,
    ) -> Result<Vec<TokenStream>, NotYet> {
        let fields = self.fields(def, body)?;
        let docs = docs::item(&def.doc, "exception", def);
        let name = ident(&self.names.item(def.id).name);
        let id = &def.repository_id;
        // `bank::Overdrawn { missing: 5 }`
        let format = match def.scoped_name.rsplit_once("::") {
            Some((scope, _)) => format!("{scope}::{{self:?}}"),
            None => "{self:?}".to_owned(),
        };
        let error = quote! {
            impl #name {
                /// Its repository id.
                pub const REPOSITORY_ID: &'static str = #id;
            }
            impl ::core::fmt::Display for #name {
                fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                    write!(f, #format)
                }
            }
            impl ::core::error::Error for #name {}
        };
        Ok(vec![
            self.declaration(scope, def, docs, &fields),
            error,
            self.field_codec(scope, def, &fields),
        ])
    }

    fn fields(&self, def: &Def, body: &'m Struct) -> Result<Vec<Field<'m>>, NotYet> {
        let names = self.names.parts(def.id).iter();
        let fields = body.fields.iter().zip(names).map(|(field, name)| {
            Ok(Field {
                doc: &field.doc,
                name: ident(name),
                ty: &field.ty,
                plan: Plan::of(self.model, &field.ty).map_err(|not_yet| not_yet.at(field.span))?,
            })
        });
        fields.collect()
    }

    fn declaration(
        &self,
        scope: &Scope<'_>,
        def: &Def,
        docs: TokenStream,
        fields: &[Field<'_>],
    ) -> TokenStream {
        let name = ident(&self.names.item(def.id).name);
        let derives = derives(Traits::of(self.model, def.id));
        let fields = fields.iter().map(|field| {
            let (name, ty) = (&field.name, self.ty(scope, field.ty));
            let docs = docs::or(field.doc, "");
            quote!(#docs pub #name: #ty)
        });
        quote! {
            #docs
            #derives
            pub struct #name { #(#fields),* }
        }
    }

    /// `Encode` and `Decode`, through `Fixed` where every value has one layout.
    fn field_codec(&self, scope: &Scope<'_>, def: &Def, fields: &[Field<'_>]) -> TokenStream {
        let whole = size(self.model, &Plan::Named(def.id));
        match whole.fixed && !fields.is_empty() {
            true => self.fixed(scope, def, fields),
            false => self.variable(scope, def, fields, whole),
        }
    }

    fn fixed(&self, scope: &Scope<'_>, def: &Def, fields: &[Field<'_>]) -> TokenStream {
        let r = &scope.runtime;
        let name = ident(&self.names.item(def.id).name);
        let types: Vec<_> = fields
            .iter()
            .map(|field| self.ty(scope, field.ty))
            .collect();
        let fields: Vec<_> = fields.iter().map(|field| &field.name).collect();
        quote! {
            impl #r::Fixed for #name {
                const LAYOUT: #r::Layout = #r::Layout::EMPTY #(.then::<#types>())*;
                #[inline(always)]
                fn put(&self, w: &mut #r::FixedWriter<'_>) {
                    #(self.#fields.put(w);)*
                }
                #[inline(always)]
                fn take(r: &mut #r::FixedReader<'_>) -> #r::CdrResult<Self> {
                    Ok(Self { #(#fields: #r::Fixed::take(r)?),* })
                }
            }
            #r::fixed!(#name);
        }
    }

    fn variable(
        &self,
        scope: &Scope<'_>,
        def: &Def,
        fields: &[Field<'_>],
        whole: Size,
    ) -> TokenStream {
        let vars = Vars::beside([].into_iter());
        let write = fields.iter().map(|field| {
            let name = &field.name;
            self.encode(scope, &vars, &field.plan, &Place::Owned(quote!(self.#name)))
        });
        let write = sequence(write.collect());
        let read = fields.iter().map(|field| {
            let name = &field.name;
            let value = self.decode(scope, &vars, field.ty, &field.plan).tried();
            quote!(#name: #value)
        });
        let read = Step::Plain(quote!(Self { #(#read),* }));
        self.codec(scope, def, write, read.last(), whole)
    }

    /// The two trait implementations around given bodies.
    pub(super) fn codec(
        &self,
        scope: &Scope<'_>,
        def: &Def,
        write: TokenStream,
        read: TokenStream,
        whole: Size,
    ) -> TokenStream {
        let r = &scope.runtime;
        let (option, name) = (scope.std("Option"), ident(&self.names.item(def.id).name));
        let max = whole
            .max
            .and_then(|max| u32::try_from(max).ok())
            .map(|max| {
                let max = Literal::u32_unsuffixed(max);
                quote!(const MAX_SIZE: #option<usize> = Some(#max);)
            });
        let min = Literal::u64_unsuffixed(whole.min);
        quote! {
            impl #r::Encode for #name {
                #max
                #[inline]
                fn encode<'a>(&'a self, e: &mut #r::Encoder<'a>) -> #r::CdrResult<()> { #write }
            }
            impl<'de> #r::Decode<'de> for #name {
                const MIN_SIZE: usize = #min;
                #[inline]
                fn decode(d: &mut #r::Decoder<'de>) -> #r::CdrResult<Self> { #read }
            }
        }
    }
}

/// The derives that hold for a struct or union with these properties.
pub(super) fn derives(traits: Traits) -> TokenStream {
    let copy = traits.copy.then(|| quote!(, Copy));
    let eq = traits.eq.then(|| quote!(, Eq, Hash));
    quote!(#[derive(Debug, Clone #copy, PartialEq #eq)])
}
