//! Plans as Rust expressions that write and read values.

use oxorb_idl::model::{Basic, Type};
use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::scope::Scope;
use super::{Rust, types};
use crate::plan::{Plan, size};

/// Expression for a value to write.
pub(super) enum Place {
    /// Expression of the value's own type: `self.x`, a local.
    Owned(TokenStream),
    /// Expression of type `&T`.
    Behind(TokenStream),
    /// Expression of type `&mut T`.
    BehindMut(TokenStream),
    /// `in` parameter: scalars by value, `&str`, `&[T]`, `Option<&XRef>`, `&T`.
    Param(TokenStream),
}

/// Step of writing or reading, with its fallibility.
pub(super) enum Step {
    /// Expression of type `CdrResult<T>`.
    Fallible(TokenStream),
    /// Expression of type `T`; may contain `?`.
    Plain(TokenStream),
}

/// Names of encoder and decoder in a piece of code.
pub(super) struct Vars {
    pub e: TokenStream,
    pub d: TokenStream,
    /// Whether operations are called through functions that are not inlined.
    pub interpreted: bool,
}

impl Vars {
    /// Returns `e` and `d`, with underscores if parameters have these names.
    pub(super) fn beside<'n>(taken: impl Iterator<Item = &'n str> + Clone) -> Vars {
        Vars { e: fresh("e", taken.clone()), d: fresh("d", taken), interpreted: false }
    }

    /// Sets whether the code belongs to an interpreted definition.
    pub(super) fn interpreted(self, interpreted: bool) -> Vars {
        Vars { interpreted, ..self }
    }

    /// Returns an operation of the encoder with these arguments.
    fn writes(&self, scope: &Scope<'_>, method: TokenStream, args: TokenStream) -> TokenStream {
        let (e, r) = (&self.e, &scope.runtime);
        match self.interpreted {
            true => quote!(#r::interpreted::writing::#method(#e, #args)),
            false => quote!(#e.#method(#args)),
        }
    }

    /// Returns an operation of the decoder with these arguments.
    fn reads(&self, scope: &Scope<'_>, method: TokenStream, args: TokenStream) -> TokenStream {
        let (d, r) = (&self.d, &scope.runtime);
        match (self.interpreted, args.is_empty()) {
            (true, true) => quote!(#r::interpreted::reading::#method(#d)),
            (true, false) => quote!(#r::interpreted::reading::#method(#d, #args)),
            (false, _) => quote!(#d.#method(#args)),
        }
    }
}

/// Returns a local name that no parameter has.
pub(super) fn fresh<'n>(wish: &str, taken: impl Iterator<Item = &'n str>) -> TokenStream {
    let taken: Vec<_> = taken.collect();
    let mut name = wish.to_owned();
    while taken.contains(&name.as_str()) {
        name.push('_');
    }
    let name = types::ident(&name);
    quote!(#name)
}

impl Place {
    /// Returns the value itself; scalars only.
    pub(super) fn value(&self) -> TokenStream {
        match self {
            Place::Owned(x) | Place::Param(x) => x.clone(),
            Place::Behind(x) | Place::BehindMut(x) => quote!(*#x),
        }
    }

    /// Returns a reference to the value.
    pub(super) fn borrow(&self) -> TokenStream {
        match self {
            Place::Owned(x) => quote!(&#x),
            Place::BehindMut(x) => quote!(&*#x),
            Place::Behind(x) | Place::Param(x) => x.clone(),
        }
    }

    /// Returns the expression that a method with `&self` is called on.
    pub(super) fn receiver(&self) -> &TokenStream {
        match self {
            Place::Owned(x) | Place::Behind(x) | Place::BehindMut(x) | Place::Param(x) => x,
        }
    }

    /// Returns an `Option<&XRef>`.
    pub(super) fn option(&self) -> TokenStream {
        match self {
            Place::Owned(x) | Place::Behind(x) | Place::BehindMut(x) => quote!(#x.as_ref()),
            Place::Param(x) => x.clone(),
        }
    }
}

impl Step {
    /// Returns the step as a value, with an early return on failure.
    pub(super) fn tried(self) -> TokenStream {
        match self {
            Step::Fallible(x) => quote!(#x?),
            Step::Plain(x) => x,
        }
    }

    /// Returns the step as a result, the last expression of a function.
    pub(super) fn last(self) -> TokenStream {
        match self {
            Step::Fallible(x) => x,
            Step::Plain(x) => quote!(Ok(#x)),
        }
    }
}

/// Returns writing steps as the body of a function that returns `CdrResult<()>`.
pub(super) fn sequence(steps: Vec<Step>) -> TokenStream {
    let mut steps = steps;
    match steps.pop() {
        None => quote!(Ok(())),
        Some(Step::Fallible(last)) => {
            let steps = steps.into_iter().map(Step::tried);
            quote!(#(#steps;)* #last)
        }
        Some(last) => {
            steps.push(last);
            let steps = steps.into_iter().map(Step::tried);
            quote!(#(#steps;)* Ok(()))
        }
    }
}

/// Returns writing steps as a closure.
pub(super) fn writer(vars: &Vars, steps: Vec<Step>) -> TokenStream {
    let e = &vars.e;
    match steps.as_slice() {
        [] => quote!(|_| Ok(())),
        [Step::Fallible(only)] => quote!(|#e| #only),
        _ => {
            let body = sequence(steps);
            quote!(|#e| { #body })
        }
    }
}

/// Returns reading steps as a closure that returns nothing, one value, or a tuple.
pub(super) fn reader(vars: &Vars, steps: Vec<Step>) -> TokenStream {
    let d = &vars.d;
    let body = gathered(steps);
    match body {
        None => quote!(|_| Ok(())),
        Some(body) => quote!(|#d| #body),
    }
}

fn gathered(mut steps: Vec<Step>) -> Option<TokenStream> {
    if steps.len() < 2 {
        return steps.pop().map(Step::last);
    }
    let steps = steps.into_iter().map(Step::tried);
    Some(quote!(Ok((#(#steps),*))))
}

impl Rust<'_> {
    /// Writes one value.
    pub(super) fn encode(
        &self,
        scope: &Scope<'_>,
        vars: &Vars,
        plan: &Plan,
        place: &Place,
    ) -> Step {
        let (e, runtime) = (&vars.e, &scope.runtime);
        match plan {
            Plan::Basic(basic) => {
                let written = vars.writes(scope, method(*basic), place.value());
                match basic {
                    Basic::Char | Basic::WChar => Step::Fallible(written),
                    _ => Step::Plain(written),
                }
            }
            Plan::Text { wide, bound } => {
                let text = place.borrow();
                let (method, bound) = text_method(*wide, *bound);
                Step::Fallible(vars.writes(scope, method, quote!(#text #bound)))
            }
            Plan::Fixed { digits, scale } => {
                let value = place.receiver();
                let (digits, scale) =
                    (Literal::u16_unsuffixed(*digits), Literal::u8_unsuffixed(*scale));
                // The parentheses are necessary, because an `inout` parameter is the expression `*b`.
                Step::Fallible(quote!(#e.decimal((#value).get(), #digits, #scale)))
            }
            // Written by a method that copies, because an encoder may keep references, and the value may be a
            // temporary.
            Plan::Named(_) if plan.is_scalar(self.model) => {
                let value = match place {
                    Place::Param(x) => quote!(&#x),
                    _ => place.borrow(),
                };
                Step::Plain(vars.writes(scope, quote!(fixed), value))
            }
            Plan::Named(_) | Plan::Any | Plan::TypeCode | Plan::Value | Plan::Abstract => {
                let value = place.receiver();
                Step::Fallible(quote!(#value.encode(#e)))
            }
            Plan::Reference(_) => {
                let reference = place.option();
                Step::Fallible(quote!(#runtime::encode_ref(#e, #reference)))
            }
            Plan::InPlace => {
                let octets = place.receiver();
                Step::Fallible(quote!(#octets.encode(#e)))
            }
            Plan::Block { bound, .. } => self.encode_sequence(scope, vars, place, *bound),
            Plan::List { element, bound } if is_canonical(element) => {
                self.encode_sequence(scope, vars, place, *bound)
            }
            Plan::List { element, bound } => {
                let (items, bound) = (place.borrow(), limit(*bound));
                let item = self.encode_item(scope, vars, element);
                Step::Fallible(quote!(#e.sequence_with(#items, #bound, |#e, item| #item)))
            }
            Plan::Map { .. } if is_canonical(plan) => {
                let value = place.receiver();
                Step::Fallible(quote!(#value.encode(#e)))
            }
            Plan::Map { ordered, key, value, bound } => {
                let (map, bound) = (place.borrow(), limit(*bound));
                let key = self.encode(scope, vars, key, &Place::Behind(quote!(key)));
                let value = self.encode(scope, vars, value, &Place::Behind(quote!(value)));
                let entry = sequence(vec![key, value]);
                Step::Fallible(match ordered {
                    true => quote!(#e.map_with(#map, #bound, |#e, key, value| { #entry })),
                    false => {
                        quote!(#e.sequence_with(#map, #bound, |#e, (key, value)| { #entry }))
                    }
                })
            }
            Plan::Optional(inner) => {
                let (value, item) = (place.option(), self.encode_item(scope, vars, inner));
                Step::Fallible(quote!(#e.optional(#value, |#e, item| #item)))
            }
            Plan::Local(_) => unreachable!("not sent, the front end checks"),
            Plan::Array { .. } if is_canonical(plan) => {
                let value = place.receiver();
                Step::Fallible(quote!(#value.encode(#e)))
            }
            Plan::Array { element, .. } => {
                let (items, item) = (place.receiver(), self.encode_item(scope, vars, element));
                Step::Fallible(quote!(#items.iter().try_for_each(|item| #item)))
            }
        }
    }

    fn encode_sequence(
        &self,
        scope: &Scope<'_>,
        vars: &Vars,
        place: &Place,
        bound: Option<u32>,
    ) -> Step {
        let (items, bound) = (place.borrow(), limit(bound));
        Step::Fallible(vars.writes(scope, quote!(sequence), quote!(#items, #bound)))
    }

    /// Returns the body of a closure over `item`, a reference to one element.
    fn encode_item(&self, scope: &Scope<'_>, vars: &Vars, element: &Plan) -> TokenStream {
        match self.encode(scope, vars, element, &Place::Behind(quote!(item))) {
            Step::Fallible(x) => x,
            Step::Plain(x) => quote!({ #x; Ok(()) }),
        }
    }

    /// Reads one owned value of type `ty`.
    pub(super) fn decode(&self, scope: &Scope<'_>, vars: &Vars, ty: &Type, plan: &Plan) -> Step {
        let (d, runtime) = (&vars.d, &scope.runtime);
        match plan {
            Plan::Basic(basic) => Step::Fallible(vars.reads(scope, method(*basic), quote!())),
            Plan::Text { wide: false, bound: None } if !vars.interpreted => {
                Step::Fallible(quote!(#d.owned_string()))
            }
            Plan::Text { wide, bound } => {
                let (method, bound) = text_method(*wide, *bound);
                let bound = bound.into_iter().skip(1);
                let text = vars.reads(scope, method, quote!(#(#bound)*));
                match wide {
                    true => Step::Fallible(text),
                    false => Step::Plain(quote!(#text?.into_owned())),
                }
            }
            Plan::Named(_) | Plan::Any | Plan::TypeCode | Plan::Fixed { .. } => {
                self.decode_by_type(scope, vars, ty)
            }
            Plan::Value | Plan::Abstract => {
                let path = self.ty(scope, ty);
                Step::Fallible(quote!(<#path>::decode(#d)))
            }
            Plan::Reference(_) => Step::Fallible(quote!(#runtime::decode_ref(#d))),
            Plan::InPlace => Step::Plain(quote!(#runtime::Octets::decode_from(#d)?.into_owned())),
            Plan::Block { bound, .. } => {
                Step::Fallible(self.decode_sequence(scope, vars, ty, *bound))
            }
            Plan::List { element, bound } if is_canonical(element) => {
                Step::Fallible(self.decode_sequence(scope, vars, ty, *bound))
            }
            Plan::List { element, bound } => {
                let (bound, least) = (limit(*bound), least(self, element));
                let item = self.decode(scope, vars, self.element(ty), element).last();
                Step::Fallible(quote!(#d.sequence_with(#bound, #least, |#d| #item)))
            }
            Plan::Map { .. } if is_canonical(plan) => self.decode_by_type(scope, vars, ty),
            Plan::Map { ordered, key, value, bound } => {
                let bound = limit(*bound);
                let least = least_of(size(self.model, key).min + size(self.model, value).min);
                let (key_ty, value_ty) = self.entry(ty);
                let key = self.decode(scope, vars, key_ty, key).tried();
                let value = self.decode(scope, vars, value_ty, value).tried();
                let method = match ordered {
                    true => quote!(map_with),
                    false => quote!(sequence_with),
                };
                Step::Fallible(quote!(#d.#method(#bound, #least, |#d| Ok((#key, #value)))))
            }
            Plan::Optional(inner) => {
                let item = self.decode(scope, vars, ty, inner).last();
                Step::Fallible(quote!(#d.optional(|#d| #item)))
            }
            Plan::Local(_) => unreachable!("not sent, the front end checks"),
            Plan::Array { .. } if is_canonical(plan) => self.decode_by_type(scope, vars, ty),
            Plan::Array { element, .. } => {
                let inner = self.inner_array(ty);
                let item = self.decode(scope, vars, &inner, element).last();
                Step::Fallible(quote!(#d.array_with(|#d| #item)))
            }
        }
    }

    fn decode_by_type(&self, scope: &Scope<'_>, vars: &Vars, ty: &Type) -> Step {
        let (d, path) = (&vars.d, self.ty(scope, ty));
        match ty {
            Type::Array(..) | Type::Fixed(..) | Type::Map(..) => {
                Step::Fallible(quote!(<#path>::decode(#d)))
            }
            _ => Step::Fallible(quote!(#path::decode(#d))),
        }
    }

    fn decode_sequence(
        &self,
        scope: &Scope<'_>,
        vars: &Vars,
        ty: &Type,
        bound: Option<u32>,
    ) -> TokenStream {
        let (d, r, bound) = (&vars.d, &scope.runtime, limit(bound));
        let element = self.ty(scope, self.element(ty));
        match vars.interpreted {
            true => quote!(#r::interpreted::reading::sequence::<#element>(#d, #bound)),
            false => quote!(#d.sequence::<#element>(#bound)),
        }
    }

    /// Reads an `in` argument without copying what can be borrowed.
    pub(super) fn decode_borrowed(
        &self,
        scope: &Scope<'_>,
        vars: &Vars,
        ty: &Type,
        plan: &Plan,
    ) -> Step {
        match plan {
            Plan::Text { wide: false, bound } => {
                let (method, bound) = text_method(false, *bound);
                let bound = bound.into_iter().skip(1);
                Step::Fallible(vars.reads(scope, method, quote!(#(#bound)*)))
            }
            Plan::InPlace => {
                let (d, runtime) = (&vars.d, &scope.runtime);
                Step::Fallible(quote!(#runtime::Octets::decode_from(#d)))
            }
            Plan::Block { element, bound } => {
                let bound = limit(*bound);
                let least = least(self, &Plan::Basic(*element));
                let length = vars.reads(scope, quote!(length), quote!(#bound, #least));
                let block = vars.reads(scope, block_method(*element), quote!(count));
                Step::Plain(quote!({
                    let count = #length?;
                    #block?
                }))
            }
            _ => self.decode(scope, vars, ty, plan),
        }
    }

    /// Returns the element type of a sequence.
    pub(super) fn element<'t>(&'t self, ty: &'t Type) -> &'t Type {
        match self.model.resolve(ty) {
            Type::Sequence(element, _) => element,
            _ => unreachable!("only sequences have elements"),
        }
    }

    /// Returns the types of key and value of a map.
    fn entry<'t>(&'t self, ty: &'t Type) -> (&'t Type, &'t Type) {
        match self.model.resolve(ty) {
            Type::Map(key, value, _) => (key, value),
            _ => unreachable!("only maps have entries"),
        }
    }

    /// Returns an array type without its outermost dimension.
    pub(super) fn inner_array(&self, ty: &Type) -> Type {
        match self.model.resolve(ty) {
            Type::Array(element, lengths) if lengths.len() > 1 => {
                Type::Array(element.clone(), lengths[1..].to_vec())
            }
            Type::Array(element, _) => (**element).clone(),
            _ => unreachable!("only arrays have dimensions"),
        }
    }
}

/// Reports whether the Rust type alone decides the encoding, so that its `Encode` and `Decode` are correct: not for
/// wide characters and text (which have the same Rust types as narrow ones), and not for bounds.
pub(super) fn is_canonical(plan: &Plan) -> bool {
    match plan {
        Plan::Basic(basic) => *basic != Basic::WChar,
        Plan::Text { wide, bound } => !wide && bound.is_none(),
        Plan::Value | Plan::Abstract => true,
        Plan::Named(_) | Plan::Fixed { .. } | Plan::Any | Plan::TypeCode | Plan::Reference(_) => {
            true
        }
        Plan::Block { bound, .. } => bound.is_none(),
        Plan::List { element, bound } => bound.is_none() && is_canonical(element),
        Plan::Array { element, .. } => is_canonical(element),
        Plan::Map { ordered, key, value, bound } => {
            *ordered && bound.is_none() && is_canonical(key) && is_canonical(value)
        }
        Plan::Optional(_) | Plan::Local(_) | Plan::InPlace => false,
    }
}

/// Returns the minimum number of octets of one element.
pub(super) fn least(rust: &Rust<'_>, plan: &Plan) -> Literal {
    least_of(size(rust.model, plan).min)
}

fn least_of(least: u64) -> Literal {
    Literal::usize_unsuffixed(usize::try_from(least).unwrap_or(usize::MAX))
}

pub(super) fn limit(bound: Option<u32>) -> TokenStream {
    match bound {
        Some(bound) => {
            let bound = Literal::u32_unsuffixed(bound);
            quote!(Some(#bound))
        }
        None => quote!(None),
    }
}

/// Returns the codec method for text, and its bound as a further argument.
pub(super) fn text_method(wide: bool, bound: Option<u32>) -> (TokenStream, TokenStream) {
    let method = match (wide, bound) {
        (false, None) => quote!(string),
        (false, Some(_)) => quote!(bounded_string),
        (true, None) => quote!(wstring),
        (true, Some(_)) => quote!(bounded_wstring),
    };
    let bound = bound.map(Literal::u32_unsuffixed).into_iter();
    (method, quote!(#(, #bound)*))
}

/// Returns the codec method for one value of a basic type.
pub(super) fn method(basic: Basic) -> TokenStream {
    match basic {
        Basic::Octet | Basic::UInt8 => quote!(octet),
        Basic::Int8 => quote!(int8),
        Basic::Boolean => quote!(boolean),
        Basic::Char => quote!(char),
        Basic::WChar => quote!(wchar),
        Basic::Short => quote!(short),
        Basic::UShort => quote!(ushort),
        Basic::Long => quote!(long),
        Basic::ULong => quote!(ulong),
        Basic::LongLong => quote!(longlong),
        Basic::ULongLong => quote!(ulonglong),
        Basic::Float => quote!(float),
        Basic::Double => quote!(double),
        Basic::LongDouble => quote!(long_double),
    }
}

/// Returns the codec method for a run of values.
pub(super) fn block_method(basic: Basic) -> TokenStream {
    match basic {
        Basic::Octet | Basic::UInt8 => quote!(octets),
        Basic::Boolean => quote!(booleans),
        Basic::Short => quote!(shorts),
        Basic::UShort => quote!(ushorts),
        Basic::Long => quote!(longs),
        Basic::ULong => quote!(ulongs),
        Basic::LongLong => quote!(longlongs),
        Basic::ULongLong => quote!(ulonglongs),
        Basic::Float => quote!(floats),
        Basic::Double => quote!(doubles),
        Basic::Int8 | Basic::Char | Basic::WChar | Basic::LongDouble => {
            unreachable!("never a block")
        }
    }
}
