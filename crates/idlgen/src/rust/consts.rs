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
            Value::Float(number) => self.float(scope, of, *number),
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

    fn float(&self, scope: &Scope<'_>, of: Option<Basic>, number: f64) -> TokenStream {
        match of {
            Some(Basic::LongDouble) => {
                let ty = basic(scope, Basic::LongDouble);
                let bits: syn::LitInt =
                    syn::parse_str(&format!("{:#034x}", quadruple(number))).expect("a number");
                quote!(#ty::from_bits(#bits))
            }
            // Rounds to `f32` first, so that the text is as short as the type allows.
            Some(Basic::Float) => decimal(format!("{:?}", number as f32)),
            _ => decimal(format!("{number:?}")),
        }
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

/// Returns the IEEE binary128 bits of a finite number, which represent it exactly.
fn quadruple(number: f64) -> u128 {
    const DOUBLE_BIAS: i32 = 1023;
    const QUADRUPLE_BIAS: i32 = 16383;
    let bits = number.to_bits();
    let sign = u128::from(bits >> 63) << 127;
    let exponent = ((bits >> 52) & 0x7ff) as i32;
    let mut mantissa = bits & ((1 << 52) - 1);
    if exponent == 0 && mantissa == 0 {
        return sign;
    }
    let exponent = match exponent {
        // A subnormal `f64` is normal in binary128: the shift turns its leading one into the
        // implicit one.
        0 => {
            let shift = mantissa.leading_zeros() as i32 - 11;
            mantissa = (mantissa << shift) & ((1 << 52) - 1);
            1 - shift
        }
        normal => normal,
    };
    let exponent = (exponent - DOUBLE_BIAS + QUADRUPLE_BIAS) as u128;
    sign | (exponent << 112) | (u128::from(mantissa) << 60)
}

#[cfg(test)]
mod tests {
    use super::quadruple;

    #[test]
    fn doubles_as_quadruples() {
        assert_eq!(quadruple(0.0), 0);
        assert_eq!(quadruple(-0.0), 1 << 127);
        assert_eq!(quadruple(1.0), 0x3fff << 112);
        assert_eq!(quadruple(-2.0), (1 << 127) | (0x4000 << 112));
        assert_eq!(quadruple(1.5), (0x3fff << 112) | (1 << 111));
        // The smallest subnormal number is 2 to the power of -1074.
        assert_eq!(quadruple(f64::from_bits(1)), (16383 - 1074) << 112);
    }
}
