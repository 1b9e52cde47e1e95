//! Unions: a Rust enum whose variants determine their labels.
//!
//! A case with one label is a variant with the value. If the variant does not imply the label (several labels,
//! `default`, or values that no label names), it also contains the label, in a type that holds only labels of the
//! variant: a value that contradicts its label cannot be built.

use oxorb_idl::model::{Case, Def, DefKind, Field, Type, Union, Value};
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::codec::{Place, Vars, sequence};
use super::passing::all_of;
use super::scope::Scope;
use super::types::ident;
use super::{Rust, docs};
use crate::plan::{NotYet, Plan, size};

/// Variant, ready to print.
struct Variant<'m> {
    name: Ident,
    /// Name of the label type, if the variant contains its label.
    label: Option<Ident>,
    constructor: Ident,
    /// Value of the variant; none for labels that no case names.
    value: Option<(&'m Field, Plan)>,
    labels: &'m [Value],
    takes_rest: bool,
    docs: TokenStream,
}

impl<'m> Rust<'m> {
    /// Generates a `union`.
    pub(super) fn union(
        &self,
        scope: &Scope<'_>,
        def: &'m Def,
        body: &'m Union,
    ) -> Result<Vec<TokenStream>, NotYet> {
        let variants = self.variants(def, body)?;
        let mut items = vec![
            self.union_declaration(scope, def, &variants),
            self.union_methods(scope, def, body, &variants)?,
            self.union_codec(scope, def, body, &variants)?,
        ];
        items.extend(self.union_view(scope, def, body, &variants)?);
        Ok(items)
    }

    /// Generates the view of a union, if servants receive a view.
    fn union_view(
        &self,
        scope: &Scope<'_>,
        def: &Def,
        body: &Union,
        variants: &[Variant<'_>],
    ) -> Result<Option<TokenStream>, NotYet> {
        if !self.views.contains(&def.id) {
            return Ok(None);
        }
        let item = self.names.item(def.id);
        let (view, inner) = (ident(&item.view), ident(&item.inner));
        let vars = Vars::beside([].into_iter());
        let (life, arena) = (quote!('a), quote!(arena));
        let head = Plan::of(self.model, &body.discriminator)?;
        let (mut declared, mut reads, mut rest, mut owned) =
            (Vec::new(), Vec::new(), None, Vec::new());
        for variant in variants {
            let (name, docs) = (&variant.name, &variant.docs);
            let label_ty = variant.label.iter().map(|label| quote!(#inner::#label));
            let value_ty = variant.value.iter();
            let value_ty =
                value_ty.map(|(field, plan)| self.view_ty(scope, &field.ty, plan, &life));
            let carried: Vec<_> = label_ty.chain(value_ty).collect();
            declared.push(quote!(#docs #name(#(#carried),*)));
            let label = variant.label.iter().map(|label| quote!(#inner::#label(discriminant)));
            let value = variant.value.iter().map(|(field, plan)| {
                self.decode_view(scope, &vars, &field.ty, plan, &arena).tried()
            });
            let carried: Vec<_> = label.chain(value).collect();
            let read = quote!(Ok(Self::#name(#(#carried),*)));
            if variant.takes_rest {
                rest = Some(quote!(_ => #read));
            } else {
                let labels = self.labels(scope, body, variant.labels)?;
                reads.push(quote!(#(#labels)|* => #read));
            }
            let label = variant.label.iter().map(|_| quote!(label));
            let value = variant.value.iter().map(|_| quote!(value));
            let bound: Vec<_> = label.clone().chain(value).collect();
            let value = variant.value.iter().map(|(_, plan)| self.owned(plan, &quote!(value)));
            let made: Vec<_> = label.chain(value).collect();
            owned.push(quote!(#view::#name(#(#bound),*) => Self::#name(#(#made),*)));
        }
        reads.extend(rest);
        let head = self.decode(scope, &vars, &body.discriminator, &head).tried();
        let declared = quote!(enum #view<'a> { #(#declared),* });
        let read = quote! {
            let discriminant = #head;
            match discriminant { #(#reads),* }
        };
        let owned = quote!(match view { #(#owned),* });
        Ok(Some(self.view_items(scope, def, &declared, &read, &owned)))
    }

    fn variants(&self, def: &Def, body: &'m Union) -> Result<Vec<Variant<'m>>, NotYet> {
        let names = self.names.union(def.id);
        let mut variants = Vec::new();
        for (index, case) in body.cases.iter().enumerate() {
            let carries = case.is_default || case.labels.len() > 1;
            variants.push(Variant {
                name: ident(&self.names.parts(def.id)[index]),
                label: carries.then(|| ident(&names.labels[index])),
                constructor: ident(&names.constructors[index]),
                value: Some((&case.field, Plan::of_field(self.model, &case.field)?)),
                labels: &case.labels,
                takes_rest: case.is_default,
                docs: docs::after(
                    &self.case_text(case),
                    &docs::member(&case.field.doc, &case.field.annotations),
                ),
            });
        }
        if self.leaves_rest(body) {
            let last = body.cases.len();
            variants.push(Variant {
                name: ident(&names.other),
                label: Some(ident(&names.labels[last])),
                constructor: ident(&names.constructors[last]),
                value: None,
                labels: &[],
                takes_rest: true,
                docs: docs::lines("Any value without a case; no member follows."),
            });
        }
        Ok(variants)
    }

    /// Returns the labels of a case, and the name of its member.
    fn case_text(&self, case: &Case) -> String {
        let labels = case.labels.iter().map(|label| format!("`case {}`", self.label_text(label)));
        let default = case.is_default.then(|| "`default`".to_owned());
        let all: Vec<_> = labels.chain(default).collect();
        format!("{}: `{}`.", all.join(", "), case.field.name)
    }

    /// Returns a label in IDL notation.
    fn label_text(&self, label: &Value) -> String {
        match label {
            Value::Integer(number) => number.to_string(),
            Value::Boolean(true) => "TRUE".to_owned(),
            Value::Boolean(false) => "FALSE".to_owned(),
            Value::Char(c) => format!("'{}'", c.escape_default()),
            Value::Enumerator(id, ordinal) => match &self.model.def(*id).kind {
                DefKind::Enum(body) => body.enumerators[*ordinal as usize].name.clone(),
                _ => ordinal.to_string(),
            },
            other => format!("{other:?}"),
        }
    }

    /// Reports whether some value of the discriminator selects no case.
    fn leaves_rest(&self, body: &Union) -> bool {
        if body.cases.iter().any(|case| case.is_default) {
            return false;
        }
        let labels: usize = body.cases.iter().map(|case| case.labels.len()).sum();
        match self.values(&body.discriminator) {
            Some(values) => labels < values,
            None => true,
        }
    }

    /// Returns the number of values of a discriminator type, if labels could name them all.
    fn values(&self, ty: &Type) -> Option<usize> {
        use oxorb_idl::model::Basic;
        match self.model.resolve(ty) {
            Type::Basic(Basic::Boolean) => Some(2),
            Type::Basic(Basic::Octet | Basic::Int8 | Basic::UInt8) => Some(256),
            Type::Basic(Basic::Short | Basic::UShort) => Some(1 << 16),
            Type::Named(id) => match &self.model.def(*id).kind {
                DefKind::Enum(body) => Some(body.enumerators.len()),
                _ => None,
            },
            _ => None,
        }
    }

    fn union_declaration(
        &self,
        scope: &Scope<'_>,
        def: &Def,
        variants: &[Variant<'_>],
    ) -> TokenStream {
        let item = self.names.item(def.id);
        let (name, inner) = (ident(&item.name), ident(&item.inner));
        let docs = docs::item(&def.doc, "union", def);
        let (derives, debug) = self.derives(def.id);
        let variants = variants.iter().map(|variant| {
            let (name, docs) = (&variant.name, &variant.docs);
            let label = variant.label.iter().map(|label| quote!(#inner::#label));
            let value = variant.value.iter().map(|(field, _)| self.field_ty(scope, field));
            let carried = label.chain(value);
            quote!(#docs #name(#(#carried),*))
        });
        quote! {
            #docs
            #derives
            pub enum #name { #(#variants),* }
            #debug
        }
    }

    /// Generates `discriminant`, and constructors for variants that contain a label.
    fn union_methods(
        &self,
        scope: &Scope<'_>,
        def: &Def,
        body: &Union,
        variants: &[Variant<'_>],
    ) -> Result<TokenStream, NotYet> {
        let item = self.names.item(def.id);
        let (name, inner) = (ident(&item.name), ident(&item.inner));
        let discriminator = self.ty(scope, &body.discriminator);
        let mut arms = Vec::new();
        let mut constructors = Vec::new();
        for variant in variants {
            let variant_name = &variant.name;
            let Some(label) = &variant.label else {
                let value = self.value(scope, &body.discriminator, &variant.labels[0])?;
                arms.push(quote!(Self::#variant_name(..) => #value));
                continue;
            };
            arms.push(quote!(Self::#variant_name(label, ..) => label.get()));
            let constructor = &variant.constructor;
            let docs = docs::lines(&format!(
                "`{variant_name}` with the label [`{inner}::{label}`] has by default."
            ));
            let ty = variant.value.iter().map(|(field, _)| self.field_ty(scope, field));
            let value = variant.value.iter().map(|_| quote!(value));
            let default = match self.names.shadows("Default") {
                true => quote!(<#inner::#label as ::core::default::Default>::default()),
                false => quote!(#inner::#label::default()),
            };
            let carried = [default].into_iter().chain(value);
            constructors.push(quote! {
                #docs
                pub fn #constructor(#(value: #ty)*) -> Self { Self::#variant_name(#(#carried),*) }
            });
        }
        Ok(quote! {
            impl #name {
                /// The label on the wire.
                pub fn discriminant(&self) -> #discriminator {
                    match self { #(#arms),* }
                }
                #(#constructors)*
            }
        })
    }

    fn union_codec(
        &self,
        scope: &Scope<'_>,
        def: &Def,
        body: &Union,
        variants: &[Variant<'_>],
    ) -> Result<TokenStream, NotYet> {
        if !self.travels(def.id) {
            return Ok(TokenStream::new());
        }
        let inner = ident(&self.names.item(def.id).inner);
        let interpreted = self.interpreted.contains(&def.id);
        let vars = Vars::beside([].into_iter()).interpreted(interpreted);
        let head = Plan::of(self.model, &body.discriminator)?;
        let (mut writes, mut reads, mut rest) = (Vec::new(), Vec::new(), None);
        for variant in variants {
            let name = &variant.name;
            let steps = variant.value.iter().map(|(_, plan)| {
                let part = self.interpreted_part(scope, &vars, plan);
                part.unwrap_or_else(|| {
                    self.encode(scope, &vars, plan, &Place::Behind(quote!(value)))
                })
            });
            let steps = sequence(steps.collect());
            let read = variant
                .value
                .iter()
                .map(|(field, plan)| self.decode(scope, &vars, &field.ty, plan).tried());
            let label = variant.label.iter().map(|label| quote!(#inner::#label(discriminant)));
            let carried: Vec<_> = label.chain(read).collect();
            // Each arm creates its own `Result`, because a value that is wrapped after the `match` would be moved once
            // more, in pieces.
            let read = quote!(Ok(Self::#name(#(#carried),*)));
            let bindings = variant.label.iter().map(|_| quote!(_));
            let bindings = bindings.chain(variant.value.iter().map(|_| quote!(value)));
            writes.push(quote!(Self::#name(#(#bindings),*) => { #steps }));
            if variant.takes_rest {
                rest = Some(quote!(_ => #read));
            } else {
                let labels = self.labels(scope, body, variant.labels)?;
                reads.push(quote!(#(#labels)|* => #read));
            }
        }
        reads.extend(rest);
        let discriminant = Place::Owned(quote!(self.discriminant()));
        let head_write = self.encode(scope, &vars, &head, &discriminant).tried();
        let head_read = self.decode(scope, &vars, &body.discriminator, &head).tried();
        let write = quote! {
            #head_write;
            match self { #(#writes)* }
        };
        let read = quote! {
            let discriminant = #head_read;
            match discriminant { #(#reads),* }
        };
        let whole = size(self.model, &Plan::Named(def.id));
        let mut codec = match interpreted {
            true => self.interpreted_union(scope, def, body, write, read, whole)?,
            false => self.codec(scope, def, write, read, whole),
        };
        codec.extend(self.union_passes(scope, def, &head, variants));
        Ok(codec)
    }

    /// Generates the condition under which a union passes unmarshalled to a servant of the same process.
    fn union_passes(
        &self,
        scope: &Scope<'_>,
        def: &Def,
        head: &Plan,
        variants: &[Variant<'_>],
    ) -> Option<TokenStream> {
        self.passes_impl(scope, def, |orb| {
            let discriminant = Place::Owned(quote!(self.discriminant()));
            let head = self.passes(scope, head, &discriminant, orb);
            let arms = variants.iter().filter_map(|variant| {
                let (_, plan) = variant.value.as_ref()?;
                let passes = self.passes(scope, plan, &Place::Behind(quote!(value)), orb)?;
                let name = &variant.name;
                let label = variant.label.iter().map(|_| quote!(_));
                let bindings = label.chain([quote!(value)]);
                Some(quote!(Self::#name(#(#bindings),*) => #passes,))
            });
            let arms: Vec<_> = arms.collect();
            let rest = (arms.len() < variants.len()).then(|| quote!(_ => true,));
            let value = (!arms.is_empty()).then(|| quote!(match self { #(#arms)* #rest }));
            all_of(head.into_iter().chain(value))
        })
    }

    fn labels(
        &self,
        scope: &Scope<'_>,
        body: &Union,
        labels: &[Value],
    ) -> Result<Vec<TokenStream>, NotYet> {
        labels.iter().map(|label| self.value(scope, &body.discriminator, label)).collect()
    }

    /// Generates the label types, for the module next to the union; nothing for other definitions.
    pub(super) fn union_labels(&self, _: &Scope<'_>, def: &'m Def) -> Result<TokenStream, NotYet> {
        let DefKind::Union(body) = &def.kind else {
            return Ok(TokenStream::new());
        };
        let scope = self.scope(Some(def.id));
        let mut out = TokenStream::new();
        for variant in self.variants(def, body)? {
            if let Some(label) = &variant.label {
                out.extend(self.label_type(&scope, body, &variant, label)?);
            }
        }
        Ok(out)
    }

    fn label_type(
        &self,
        scope: &Scope<'_>,
        body: &Union,
        variant: &Variant<'_>,
        label: &Ident,
    ) -> Result<TokenStream, NotYet> {
        let (option, trait_default) = (scope.std("Option"), scope.std("Default"));
        let discriminator = self.ty(scope, &body.discriminator);
        let default = match variant.labels.first() {
            Some(label) => self.value(scope, &body.discriminator, label)?,
            None => self.value(scope, &body.discriminator, &self.unnamed(body))?,
        };
        let (yes, no) = (quote!(Some(Self(discriminant))), quote!(None));
        let arms = if variant.takes_rest {
            let others = body.cases.iter().filter(|case| !case.is_default);
            let others: Vec<_> = others.flat_map(|case| case.labels.iter().cloned()).collect();
            let others = self.labels(scope, body, &others)?;
            let others = (!others.is_empty()).then(|| quote!(#(#others)|* => #no,));
            quote!(#others _ => #yes)
        } else {
            let own = self.labels(scope, body, variant.labels)?;
            let rest = self.values(&body.discriminator) != Some(own.len());
            let rest = rest.then(|| quote!(_ => #no));
            quote!(#(#own)|* => #yes, #rest)
        };
        let docs = docs::lines(&format!("A label that selects `{}`.", variant.name));
        Ok(quote! {
            #docs
            #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
            pub struct #label(pub(super) #discriminator);
            impl #label {
                /// The label, if it selects this variant.
                pub fn new(discriminant: #discriminator) -> #option<Self> {
                    match discriminant { #arms }
                }
                /// The label itself.
                pub fn get(self) -> #discriminator { self.0 }
            }
            impl #trait_default for #label {
                fn default() -> Self { Self(#default) }
            }
        })
    }

    /// Returns the first value of the discriminator that no label names; negative values come last.
    fn unnamed(&self, body: &Union) -> Value {
        let named = |value: &Value| body.cases.iter().any(|case| case.labels.contains(value));
        let candidates: Box<dyn Iterator<Item = Value>> = match self
            .model
            .resolve(&body.discriminator)
        {
            Type::Basic(basic) => {
                use oxorb_idl::model::Basic;
                match basic {
                    Basic::Boolean => Box::new([false, true].map(Value::Boolean).into_iter()),
                    Basic::Char | Basic::WChar => Box::new(('\0'..).map(Value::Char)),
                    Basic::Int8 => Box::new((0..128).chain((-128..0).rev()).map(Value::Integer)),
                    Basic::Short | Basic::Long | Basic::LongLong => {
                        Box::new((0..0x8000).chain((-0x8000..0).rev()).map(Value::Integer))
                    }
                    _ => Box::new((0..).map(Value::Integer)),
                }
            }
            Type::Named(id) => {
                let id = *id;
                Box::new((0..).map(move |ordinal| Value::Enumerator(id, ordinal)))
            }
            _ => Box::new((0..).map(Value::Integer)),
        };
        let mut candidates = candidates;
        candidates.find(|value| !named(value)).expect("a default case leaves a value free")
    }
}
