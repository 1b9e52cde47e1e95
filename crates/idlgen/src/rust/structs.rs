//! Structs and exceptions.

use oxorb_idl::model::{self, Def, DefId, DefKind, Struct, Type};
use proc_macro2::{Ident, Literal, TokenStream};
use quote::quote;

use super::codec::{Place, Step, Vars, sequence};
use super::scope::Scope;
use super::types::ident;
use super::{Rust, docs};
use crate::plan::{NotYet, Plan, Size, Traits, is_read_in_place, size};

/// Field, ready to print.
pub(super) struct Field<'m> {
    pub(super) declared: &'m model::Field,
    pub(super) name: Ident,
    pub(super) plan: Plan,
}

impl<'m> Rust<'m> {
    /// Generates a `struct`.
    pub(super) fn structure(
        &self,
        scope: &Scope<'_>,
        def: &'m Def,
        body: &'m Struct,
    ) -> Result<Vec<TokenStream>, NotYet> {
        let fields = self.fields(def, body)?;
        let docs = docs::item(&def.doc, "struct", def);
        let mut items = vec![
            self.declaration(scope, def, docs, &fields),
            self.field_codec(scope, def, &fields)?,
        ];
        items.extend(self.struct_view(scope, def, &fields));
        items.extend(body.base.map(|base| self.base_part(scope, def, base)));
        if self.has_default(def.id) {
            items.push(self.default_impl(scope, def)?);
        }
        Ok(items)
    }

    /// Generates an `exception`: a struct with a repository id that is an error.
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
        let (r, scoped_name) = (&scope.runtime, &def.scoped_name);
        // An exception with local objects is shown without its members, because such objects may have no text form.
        let shown = fields.iter().filter(|_| self.travels(def.id));
        let shown = shown.map(|field| {
            let (member, value) = (&field.declared.name, &field.name);
            match field.declared.ty {
                Type::String(_) if !field.declared.optional => {
                    quote!((#member, &#r::Quoted(&self.#value)))
                }
                _ => quote!((#member, &self.#value)),
            }
        });
        let error = quote! {
            impl #name {
                /// Repository id of the exception.
                pub const REPOSITORY_ID: &'static str = #id;
            }
            impl ::core::fmt::Display for #name {
                fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                    #r::show_exception(f, #scoped_name, &[#(#shown),*])
                }
            }
            impl ::core::fmt::Debug for #name {
                fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                    ::core::fmt::Display::fmt(self, f)
                }
            }
            impl ::core::error::Error for #name {}
        };
        Ok(vec![
            self.declaration(scope, def, docs, &fields),
            error,
            self.field_codec(scope, def, &fields)?,
        ])
    }

    fn fields(&self, def: &Def, body: &'m Struct) -> Result<Vec<Field<'m>>, NotYet> {
        let names = self.names.parts(def.id).iter();
        let fields = self.model.all_fields(body).into_iter().zip(names);
        let fields = fields.map(|(declared, name)| {
            Ok(Field { declared, name: ident(name), plan: Plan::of_field(self.model, declared)? })
        });
        fields.collect()
    }

    /// Generates the conversion of a struct to its base struct.
    fn base_part(&self, scope: &Scope<'_>, def: &Def, base: DefId) -> TokenStream {
        let name = ident(&self.names.item(def.id).name);
        let (from, target) = (scope.std("From"), self.named(scope, base));
        let (own, inherited) = (self.names.parts(def.id), self.names.parts(base));
        let moves = inherited.iter().zip(own).map(|(to, field)| {
            let (to, field) = (ident(to), ident(field));
            quote!(#to: derived.#field)
        });
        quote! {
            impl #from<#name> for #target {
                fn from(derived: #name) -> Self { Self { #(#moves),* } }
            }
        }
    }

    fn declaration(
        &self,
        scope: &Scope<'_>,
        def: &Def,
        docs: TokenStream,
        fields: &[Field<'_>],
    ) -> TokenStream {
        let name = ident(&self.names.item(def.id).name);
        let (derives, debug) = self.derives(def.id);
        let fields = fields.iter().map(|field| {
            let (name, ty) = (&field.name, self.field_ty(scope, field.declared));
            let doc = docs::member(&field.declared.doc, &field.declared.annotations);
            let docs = docs::or(&doc, "");
            quote!(#docs pub #name: #ty)
        });
        quote! {
            #docs
            #derives
            pub struct #name { #(#fields),* }
            #debug
        }
    }

    /// Returns the derives of a struct, exception or union, and replacements for those that cannot be derived.
    pub(super) fn derives(&self, id: DefId) -> (TokenStream, TokenStream) {
        if self.travels(id) {
            // Exceptions do not derive `Debug`, because they print as a sentence.
            let debug = !matches!(self.model.def(id).kind, DefKind::Exception(_));
            return (derives(Traits::of(self.model, id), debug), TokenStream::new());
        }
        // Local objects can be shared by a clone, but neither compared nor printed.
        if matches!(self.model.def(id).kind, DefKind::Exception(_)) {
            return (quote!(#[derive(Clone)]), TokenStream::new());
        }
        let name = &self.names.item(id).name;
        let (ty, text) = (ident(name), name.trim_start_matches("r#"));
        let debug = quote! {
            impl ::core::fmt::Debug for #ty {
                fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                    f.debug_struct(#text).finish_non_exhaustive()
                }
            }
        };
        (quote!(#[derive(Clone)]), debug)
    }

    /// Reports whether values of a struct, exception or union can be marshalled.
    pub(super) fn travels(&self, id: DefId) -> bool {
        Plan::Named(id).travels(self.model)
    }

    /// Generates `Encode` and `Decode`, through `Fixed` if every value has one layout.
    fn field_codec(
        &self,
        scope: &Scope<'_>,
        def: &Def,
        fields: &[Field<'_>],
    ) -> Result<TokenStream, NotYet> {
        if !self.travels(def.id) {
            return Ok(TokenStream::new());
        }
        let whole = size(self.model, &Plan::Named(def.id));
        let interpreted = self.interpreted.contains(&def.id);
        let mut codec = match (whole.fixed && !fields.is_empty(), interpreted) {
            (true, false) => self.fixed(scope, def, fields),
            (true, true) => self.interpreted_fixed(scope, def, fields)?,
            (false, false) => self.variable(scope, def, fields, whole),
            (false, true) => self.interpreted_variable(scope, def, fields, whole)?,
        };
        codec.extend(self.struct_passes(scope, def, fields));
        Ok(codec)
    }

    fn fixed(&self, scope: &Scope<'_>, def: &Def, fields: &[Field<'_>]) -> TokenStream {
        let r = &scope.runtime;
        let name = ident(&self.names.item(def.id).name);
        let types: Vec<_> =
            fields.iter().map(|field| self.field_ty(scope, field.declared)).collect();
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
            let ty = &field.declared.ty;
            let value = self.decode(scope, &vars, ty, &field.plan).tried();
            quote!(#name: #value)
        });
        let read = Step::Plain(quote!(Self { #(#read),* }));
        self.codec(scope, def, write, read.last(), whole)
    }

    /// Generates the two trait implementations around given bodies.
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
        let max = max_size(whole).map(|max| quote!(const MAX_SIZE: #option<usize> = Some(#max);));
        let min = Literal::u64_unsuffixed(whole.min);
        let always = is_read_in_place(self.model, def.id).then(|| quote!((always)));
        quote! {
            impl #r::Encode for #name {
                #max
                #[inline]
                fn encode<'a>(&'a self, e: &mut #r::Encoder<'a>) -> #r::CdrResult<()> { #write }
            }
            impl<'de> #r::Decode<'de> for #name {
                const MIN_SIZE: usize = #min;
                #[inline #always]
                fn decode(d: &mut #r::Decoder<'de>) -> #r::CdrResult<Self> { #read }
            }
        }
    }
}

/// Returns the greatest number of octets, as a constant of the generated code; none if it is too large to reserve.
pub(super) fn max_size(whole: Size) -> Option<Literal> {
    let max = whole.max.and_then(|max| u32::try_from(max).ok());
    max.map(Literal::u32_unsuffixed)
}

/// Returns the derives for a struct or union with these properties.
fn derives(traits: Traits, debug: bool) -> TokenStream {
    let copy = traits.copy.then(|| quote!(, Copy));
    let eq = traits.eq.then(|| quote!(, Eq, Hash));
    let debug = debug.then(|| quote!(Debug,));
    quote!(#[derive(#debug Clone #copy, PartialEq #eq)])
}
