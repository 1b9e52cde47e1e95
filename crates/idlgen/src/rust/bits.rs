//! Bitmasks and bitsets of IDL 4.

use oxorb_idl::model::{Basic, BitMask, BitSet, Def};
use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::codec::{fresh, method};
use super::scope::Scope;
use super::types::{basic, ident};
use super::{Rust, docs};
use crate::plan::{Plan, bitset_integer, size, unsigned};

impl Rust<'_> {
    /// Generates a `bitmask`: one integer, and a constant for each flag.
    pub(super) fn bitmask(&self, scope: &Scope<'_>, def: &Def, body: &BitMask) -> Vec<TokenStream> {
        let r = &scope.runtime;
        let name = ident(&self.names.item(def.id).name);
        let integer = basic(scope, unsigned(body.bit_bound));
        let docs = docs::item(&def.doc, "bitmask", def);
        let flags = body.flags.iter().zip(self.names.parts(def.id));
        let flags = flags.map(|(flag, name)| {
            let (name, position) = (ident(name), Literal::u16_unsuffixed(flag.position));
            let docs = docs::or(&flag.doc, &format!("`{}`.", flag.name));
            quote!(#docs pub const #name: Self = Self(1 << #position);)
        });
        let declaration = quote! {
            #docs
            #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
            pub struct #name(#integer);
            impl #name {
                #(#flags)*
                /// Creates a value from bits, including bits that no flag names.
                pub const fn from_bits(bits: #integer) -> Self { Self(bits) }
                /// Returns all bits, including bits that no flag names.
                pub const fn bits(self) -> #integer { self.0 }
                /// Reports whether no flag is set.
                pub const fn is_empty(self) -> bool { self.0 == 0 }
                /// Reports whether all of the given flags are set.
                pub const fn contains(self, flags: Self) -> bool { self.0 & flags.0 == flags.0 }
                /// Returns the value without the given flags.
                #[must_use]
                pub const fn without(self, flags: Self) -> Self { Self(self.0 & !flags.0) }
            }
            impl ::core::ops::BitOr for #name {
                type Output = Self;
                fn bitor(self, flags: Self) -> Self { Self(self.0 | flags.0) }
            }
            impl ::core::ops::BitOrAssign for #name {
                fn bitor_assign(&mut self, flags: Self) { self.0 |= flags.0; }
            }
            impl ::core::ops::BitAnd for #name {
                type Output = Self;
                fn bitand(self, flags: Self) -> Self { Self(self.0 & flags.0) }
            }
        };
        let codec = quote! {
            impl #r::Fixed for #name {
                const LAYOUT: #r::Layout = <#integer as #r::Fixed>::LAYOUT;
                #[inline(always)]
                fn put(&self, w: &mut #r::FixedWriter<'_>) { self.0.put(w); }
                #[inline(always)]
                fn take(r: &mut #r::FixedReader<'_>) -> #r::CdrResult<Self> {
                    #integer::take(r).map(Self)
                }
            }
        };
        let whole = self.fixed_codec(scope, def, || Ok(quote!(Self(0))));
        vec![declaration, codec, whole]
    }

    /// Generates a `bitset`: a struct of small numbers, one integer on the wire.
    pub(super) fn bitset(&self, scope: &Scope<'_>, def: &Def, body: &BitSet) -> Vec<TokenStream> {
        let r = &scope.runtime;
        let name = ident(&self.names.item(def.id).name);
        let docs = docs::item(&def.doc, "bitset", def);
        let names = self.names.parts(def.id);
        let bits = fresh("bits", names.iter().map(String::as_str));
        let d = fresh("d", names.iter().map(String::as_str));
        let mut idents = names.iter().map(|name| ident(name));
        let (mut fields, mut writes, mut reads) = (Vec::new(), Vec::new(), Vec::new());
        for field in self.model.all_bits(body) {
            let width = Literal::u16_unsuffixed(field.bits);
            if field.name.is_none() {
                writes.push(quote!(bits.skip(#width);));
                reads.push(quote!(#bits.skip(#width);));
                continue;
            }
            let (name, ty) = (idents.next().expect("one for each"), basic(scope, field.ty));
            let count = match field.bits {
                1 => "1 bit".to_owned(),
                bits => format!("{bits} bits"),
            };
            let docs = docs::after(&format!("{count}."), &field.doc);
            fields.push(quote!(#docs pub #name: #ty));
            let (wide, kind) = match is_signed(field.ty) {
                true => (quote!(i64), quote!(signed)),
                false => (quote!(u64), quote!(unsigned)),
            };
            writes.push(quote!(bits.#kind(#wide::from(self.#name), #width);));
            let read = quote!(#bits.#kind(#width));
            let read = match field.ty {
                Basic::Boolean => quote!(#read != 0),
                Basic::LongLong | Basic::ULongLong => read,
                _ => quote!(#read as #ty),
            };
            reads.push(quote!(let #name = #read;));
        }
        let integer = bitset_integer(self.model, body);
        let (method, ty) = (method(integer), basic(scope, integer));
        let cast = (integer != Basic::ULongLong).then(|| quote!(as #ty));
        let names = names.iter().map(|name| ident(name));
        let write = quote! {
            let mut bits = #r::BitWriter::new();
            #(#writes)*
            let bits = bits.finish(e.position())? #cast;
            e.#method(bits);
            Ok(())
        };
        let passes = self.passes_impl(scope, def, |_| {
            quote!({
                let mut bits = #r::BitWriter::new();
                #(#writes)*
                bits.finish(0).is_ok()
            })
        });
        // Fields become variables. If one is named `d`, the decoder must be renamed, because the
        // variable would hide it.
        let rename = (d.to_string() != "d").then(|| quote!(let #d = d;));
        let read = quote! {
            #rename
            let mut #bits = #r::BitReader::new(u64::from(#d.#method()?));
            #(#reads)*
            Ok(Self { #(#names),* })
        };
        let declaration = quote! {
            #docs
            #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
            pub struct #name { #(#fields),* }
        };
        let whole = size(self.model, &Plan::Named(def.id));
        let mut items = vec![declaration, self.codec(scope, def, write, read, whole)];
        items.extend(passes);
        if self.interpreted.contains(&def.id) {
            items.push(self.called_whole(scope, def));
        }
        items
    }
}

fn is_signed(basic: Basic) -> bool {
    matches!(basic, Basic::Int8 | Basic::Short | Basic::Long | Basic::LongLong)
}
