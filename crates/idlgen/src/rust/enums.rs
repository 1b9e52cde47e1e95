//! Enumerations.

use oxorb_idl::model::{Def, Enum};
use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::scope::Scope;
use super::types::ident;
use super::{Rust, docs};

impl Rust<'_> {
    /// `enum`: discriminants are the ordinals on the wire.
    pub(super) fn enumeration(
        &self,
        scope: &Scope<'_>,
        def: &Def,
        body: &Enum,
    ) -> Vec<TokenStream> {
        let r = &scope.runtime;
        let name = ident(&self.names.item(def.id).name);
        let docs = docs::item(&def.doc, "enum", def);
        let variants: Vec<_> = self
            .names
            .parts(def.id)
            .iter()
            .map(|name| ident(name))
            .collect();
        let ordinals: Vec<_> = (0..)
            .take(variants.len())
            .map(Literal::u32_unsuffixed)
            .collect();
        let variant_docs = body
            .enumerators
            .iter()
            .map(|one| docs::or(&one.doc, &format!("`{}`.", one.name)));
        let declaration = quote! {
            #docs
            #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
            #[repr(u32)]
            pub enum #name { #(#variant_docs #variants = #ordinals),* }
        };
        let codec = quote! {
            impl #r::Fixed for #name {
                const LAYOUT: #r::Layout = <u32 as #r::Fixed>::LAYOUT;
                #[inline(always)]
                fn put(&self, w: &mut #r::FixedWriter<'_>) {
                    (*self as u32).put(w);
                }
                #[inline(always)]
                fn take(r: &mut #r::FixedReader<'_>) -> #r::CdrResult<Self> {
                    match u32::take(r)? {
                        #(#ordinals => Ok(Self::#variants),)*
                        unknown => Err(r.bad_enumerator(unknown)),
                    }
                }
            }
            #r::fixed!(#name);
        };
        vec![declaration, codec]
    }
}
