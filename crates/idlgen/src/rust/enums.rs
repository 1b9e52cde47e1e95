//! Enumerations.

use oxorb_idl::model::{Basic, Def, Enum};
use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::scope::Scope;
use super::types::ident;
use super::{Rust, docs};
use crate::plan::enum_integer;

impl Rust<'_> {
    /// Generates an `enum`: discriminants are the ordinals on the wire.
    pub(super) fn enumeration(
        &self,
        scope: &Scope<'_>,
        def: &Def,
        body: &Enum,
    ) -> Vec<TokenStream> {
        let r = &scope.runtime;
        let name = ident(&self.names.item(def.id).name);
        let docs = docs::item(&def.doc, "enum", def);
        let variants: Vec<_> = self.names.parts(def.id).iter().map(|name| ident(name)).collect();
        let values = body.enumerators.iter().map(|one| one.value);
        let ordinals: Vec<_> = values.map(Literal::u32_unsuffixed).collect();
        let (integer, failed) = match enum_integer(body) {
            Basic::Octet => (quote!(u8), quote!(bad_enumerator_of(unknown.into(), 1))),
            Basic::UShort => (quote!(u16), quote!(bad_enumerator_of(unknown.into(), 2))),
            _ => (quote!(u32), quote!(bad_enumerator(unknown))),
        };
        let variant_docs =
            body.enumerators.iter().map(|one| docs::or(&one.doc, &format!("`{}`.", one.name)));
        let declaration = quote! {
            #docs
            #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
            #[repr(u32)]
            pub enum #name { #(#variant_docs #variants = #ordinals),* }
        };
        let codec = quote! {
            impl #r::Fixed for #name {
                const LAYOUT: #r::Layout = <#integer as #r::Fixed>::LAYOUT;
                #[inline(always)]
                fn put(&self, w: &mut #r::FixedWriter<'_>) {
                    (*self as #integer).put(w);
                }
                #[inline(always)]
                fn take(r: &mut #r::FixedReader<'_>) -> #r::CdrResult<Self> {
                    match #integer::take(r)? {
                        #(#ordinals => Ok(Self::#variants),)*
                        unknown => Err(r.#failed),
                    }
                }
            }
        };
        let whole = self.fixed_codec(scope, def, || {
            let first = &variants[0];
            Ok(quote!(Self::#first))
        });
        let default = body.default.map(|ordinal| {
            let (default, variant) = (scope.std("Default"), &variants[ordinal as usize]);
            quote! {
                impl #default for #name {
                    fn default() -> Self { Self::#variant }
                }
            }
        });
        [declaration, codec, whole].into_iter().chain(default).collect()
    }
}
