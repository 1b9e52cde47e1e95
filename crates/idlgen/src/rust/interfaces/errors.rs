//! Error enums of calls with a `raises` clause; calls of one scope with the same exceptions share one.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};

use oxorb_idl::model::DefId;
use proc_macro2::TokenStream;
use quote::quote;

use super::super::scope::Scope;
use super::super::types::ident;
use super::super::{Rust, docs, names};
use super::Method;
use crate::plan::{Passing, Plan, passing};

/// Call with exceptions, the name of its error, and the first call of the scope that raises the same exceptions.
type Shared<'a, 'r, 'm> = (&'a Method<'r, 'm>, &'r str, Option<(&'a Method<'r, 'm>, &'r str)>);

/// Returns the calls that raise exceptions.
pub(super) fn shared<'a, 'r, 'm>(methods: &'a [Method<'r, 'm>]) -> Vec<Shared<'a, 'r, 'm>> {
    let mut first = HashMap::new();
    let raising = methods.iter().filter_map(|method| Some((method, method.error?)));
    raising
        .map(|(method, name)| {
            let exceptions: BTreeSet<DefId> = method.call.raises.iter().copied().collect();
            match first.entry(exceptions) {
                Entry::Occupied(known) => (method, name, Some(*known.get())),
                Entry::Vacant(new) => {
                    new.insert((method, name));
                    (method, name, None)
                }
            }
        })
        .collect()
}

impl<'m> Rust<'m> {
    pub(super) fn errors(&self, inner: &Scope<'_>, methods: &[Method<'_, 'm>]) -> TokenStream {
        let items = shared(methods).into_iter().map(|(method, name, first)| {
            let Some((first, first_name)) = first else {
                return self.error_enum(inner, method, name);
            };
            let (name, first_name) = (ident(name), ident(first_name));
            let docs = docs::lines(&format!(
                "Error of `{}`, which raises the exceptions of `{}`.",
                method.call.wire_name, first.call.wire_name
            ));
            quote!(#docs pub type #name = #first_name;)
        });
        items.collect()
    }

    fn error_enum(&self, inner: &Scope<'_>, method: &Method<'_, 'm>, name: &str) -> TokenStream {
        let (r, system_exception) = (&inner.runtime, &inner.system_exception);
        let (name, from, option) = (ident(name), inner.std("From"), inner.std("Option"));
        let raises = &method.call.raises;
        let ids: Vec<_> = raises.iter().map(|id| &self.model.def(*id).repository_id).collect();
        let types: Vec<_> = raises.iter().map(|id| self.named(inner, *id)).collect();
        // `System` is first, so that it gets this name even if an exception is called `System`, too.
        let wishes = raises.iter().map(|id| super::super::case::camel(&self.model.def(*id).name));
        let variants = names::distinct(["System".to_owned()].into_iter().chain(wishes));
        let variants: Vec<_> = variants[1..].iter().map(|name| ident(name)).collect();
        let docs = docs::lines(&format!("Error of `{}`.", method.call.wire_name));
        let variant_docs =
            raises.iter().map(|id| docs::lines(&format!("`{}`.", self.model.def(*id).scoped_name)));
        // Exceptions of a local interface may contain local objects, which cannot be compared.
        let travel = raises.iter().all(|id| self.travels(*id));
        let equality = travel.then(|| quote!(, PartialEq));
        let checked = raises
            .iter()
            .zip(&variants)
            .filter(|(id, _)| passing(self.model, &Plan::Named(**id)) == Passing::Checked);
        let checked: Vec<_> = checked.map(|(_, variant)| variant).collect();
        let passes = (!checked.is_empty()).then(|| {
            quote! {
                fn passes(&self, orb: &#r::Orb) -> bool {
                    match self {
                        #(Self::#checked(exception) => #r::Passes::passes(exception, orb),)*
                        _ => true,
                    }
                }
            }
        });
        let codec = travel.then(|| {
            quote! {
                impl #r::OperationError for #name {
                    fn read(id: &str, d: &mut #r::Decoder<'_>) -> #option<#r::CdrResult<Self>> {
                        match id {
                            #(#ids => Some(#types::decode(d).map(Self::#variants)),)*
                            _ => None,
                        }
                    }
                }
                impl #r::ServantError for #name {
                    fn system(&self) -> #option<#system_exception> {
                        match self {
                            Self::System(exception) => Some(*exception),
                            _ => None,
                        }
                    }
                    fn raise<'a>(&'a self, e: &mut #r::Encoder<'a>) -> #r::CdrResult<()> {
                        match self {
                            #(Self::#variants(exception) => {
                                e.string(#ids)?;
                                exception.encode(e)
                            })*
                            Self::System(_) => Ok(()),
                        }
                    }
                    #passes
                }
            }
        });
        quote! {
            #docs
            #[derive(Clone #equality)]
            pub enum #name {
                #(#variant_docs #variants(#types),)*
                /// System exception: a failure outside the operation itself.
                System(#system_exception),
            }
            #(impl #from<#types> for #name {
                fn from(exception: #types) -> Self { Self::#variants(exception) }
            })*
            impl #from<#system_exception> for #name {
                fn from(exception: #system_exception) -> Self { Self::System(exception) }
            }
            impl ::core::fmt::Display for #name {
                fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                    match self {
                        #(Self::#variants(exception) => exception.fmt(f),)*
                        Self::System(exception) => exception.fmt(f),
                    }
                }
            }
            impl ::core::fmt::Debug for #name {
                fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                    ::core::fmt::Display::fmt(self, f)
                }
            }
            impl ::core::error::Error for #name {}
            #(impl #r::Raises<#types> for #name {
                fn exception(&self) -> #option<&#types> {
                    match self {
                        Self::#variants(exception) => Some(exception),
                        _ => None,
                    }
                }
            })*
            impl #r::Raises<#system_exception> for #name {
                fn exception(&self) -> #option<&#system_exception> {
                    match self {
                        Self::System(exception) => Some(exception),
                        _ => None,
                    }
                }
            }
            #codec
        }
    }
}
