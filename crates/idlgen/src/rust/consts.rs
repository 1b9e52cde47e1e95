//! Constants and constant values.

use oxorb_idl::model::{Basic, Const, Def, Type, Value};
use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::scope::Scope;
use super::types::{basic, ident};
use super::{Rust, docs};
use crate::plan::NotYet;

impl Rust<'_> {
    /// Generates a `const`.
    pub(super) fn constant(
        &self,
        scope: &Scope<'_>,
        def: &Def,
        constant: &Const,
    ) -> Result<TokenStream, NotYet> {
        let name = ident(&self.names.item(def.id).name);
        let docs = docs::item(&def.doc, "const", def);
        let value = self.value(scope, &constant.ty, &constant.value)?;
        let ty = match self.model.resolve(&constant.ty) {
            Type::String(_) | Type::WString(_) => quote!(&str),
            // The number of digits of a constant is not that of its type, but that of its literal.
            Type::Fixed(..) => {
                let r = &scope.runtime;
                quote!(#r::Decimal)
            }
            _ => self.ty(scope, &constant.ty),
        };
        Ok(quote! {
            #docs
            pub const #name: #ty = #value;
        })
    }

    /// Returns a value of type `ty` as an expression; also valid as a pattern, except for floats.
    pub(super) fn value(
        &self,
        scope: &Scope<'_>,
        ty: &Type,
        value: &Value,
    ) -> Result<TokenStream, NotYet> {
        let of = match self.model.resolve(ty) {
            Type::Basic(basic) => Some(*basic),
            _ => None,
        };
        Ok(match value {
            Value::Integer(number) => {
                let magnitude = Literal::u128_unsuffixed(number.unsigned_abs());
                match *number < 0 {
                    true => quote!(-#magnitude),
                    false => quote!(#magnitude),
                }
            }
            // Rounds to `f32` first, so that the text is as short as the type allows.
            Value::Float(number) if of == Some(Basic::Float) => {
                decimal(format!("{:?}", *number as f32))
            }
            Value::Float(number) => decimal(format!("{number:?}")),
            Value::LongDouble(number) => {
                let ty = basic(scope, Basic::LongDouble);
                let bits = format!("{:#034x}", number.to_bits());
                let bits: syn::LitInt = syn::parse_str(&bits).expect("a number");
                quote!(#ty::from_bits(#bits))
            }
            Value::Boolean(truth) => quote!(#truth),
            Value::Char(c) => quote!(#c),
            Value::String(text) => {
                let text = &**text;
                quote!(#text)
            }
            Value::Enumerator(id, ordinal) => {
                let ty = self.named(scope, *id);
                let variant = ident(&self.names.parts(*id)[*ordinal as usize]);
                quote!(#ty::#variant)
            }
            Value::Fixed(text) => {
                let (r, (unscaled, scale)) = (&scope.runtime, unscaled(text));
                quote!(#r::Decimal::new(#unscaled, #scale).unwrap())
            }
        })
    }
}

fn decimal(text: String) -> TokenStream {
    text.parse().expect("finite numbers print as Rust literals")
}

/// Returns `-1.50` as -150 and 2.
fn unscaled(text: &str) -> (TokenStream, Literal) {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let scale = u8::try_from(fraction.len()).expect("at most 31 digits");
    let number = format!("{whole}{fraction}");
    let number = number.parse().expect("digits and perhaps a sign");
    (number, Literal::u8_unsuffixed(scale))
}
