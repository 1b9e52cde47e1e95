//! Behaviour of values: traits for the operations and factories of valuetypes, and calls through handles.
//!
//! Each valuetype with operations has a trait that the application implements for the state. A handle implements all
//! traits of its type and of the supported interfaces: it calls the implementation of the value's actual type, or the
//! one inherited from its base.

use std::collections::{BTreeSet, HashSet};

use oxorb_idl::model::{Def, DefId, DefKind, ValueType};
use proc_macro2::TokenStream;
use quote::quote;

use super::super::codec::fresh;
use super::super::scope::Scope;
use super::super::types::ident;
use super::super::{Rust, Unmapped, docs};
use super::Method;
use super::signature::parameter_names;
use crate::plan::{Call, factory_calls, value_calls};

impl<'m> Rust<'m> {
    /// Generates the traits of a valuetype, and the impls through which a handle forwards calls to its value.
    pub(in crate::rust) fn value_traits(
        &self,
        scope: &Scope<'_>,
        def: &'m Def,
        value: &'m ValueType,
    ) -> Result<Vec<TokenStream>, Unmapped> {
        let mut items = Vec::new();
        if !value.exports.is_empty() {
            let own = self.own_calls(def.id)?;
            items.push(self.operations_trait(scope, def, &self.methods_of(def.id, &own)));
        }
        if !value.factories.is_empty() {
            items.push(self.factory_trait(scope, def, value)?);
        }
        let name = ident(&self.names.item(def.id).name);
        for owner in self.behaviours(def.id) {
            items.push(self.calls_through(scope, &name, owner)?);
        }
        Ok(items)
    }

    /// Generates the contents of a valuetype's module for its traits.
    pub(in crate::rust) fn value_inner(
        &self,
        def: &'m Def,
        value: &'m ValueType,
    ) -> Result<TokenStream, Unmapped> {
        let inner = self.scope(Some(def.id));
        let operations = self.own_calls(def.id)?;
        let factories = self.factory_calls(def.id, value)?;
        let mut inside = self.errors(&inner, &self.methods_of(def.id, &operations));
        inside.extend(self.errors(&inner, &self.factory_methods(def.id, &factories)));
        if !value.exports.is_empty() {
            let operations = self.behaviour_trait(&inner, def.id);
            inside.extend(self.implementers(&inner, def, &operations));
        }
        Ok(inside)
    }

    /// Generates the operations of an abstract interface for its values.
    pub(super) fn calls_through_abstract(
        &self,
        scope: &Scope<'_>,
        def: &'m Def,
    ) -> Result<Vec<TokenStream>, Unmapped> {
        let name = ident(&self.names.item(def.id).reference);
        let owners = self.declaring_order(def.id).into_iter();
        owners.map(|owner| self.calls_through(scope, &name, owner)).collect()
    }

    /// Generates `ValueState::behaviour`: looks up the traits that a state may implement, then those of its base.
    pub(in crate::rust) fn find_behaviour(
        &self,
        scope: &Scope<'_>,
        id: DefId,
        base: Option<&TokenStream>,
    ) -> Option<TokenStream> {
        let r = &scope.runtime;
        let own = self.behaviours(id).into_iter().map(|owner| {
            let item = self.names.item(owner);
            let implementers = self.path(scope, Some(owner), &item.behaviour);
            quote!(#implementers::<Self>::find)
        });
        let base = base.map(|base| quote!(<#base as #r::ValueState>::behaviour));
        let places: Vec<_> = own.chain(base).collect();
        let option = scope.std("Option");
        (!places.is_empty()).then(|| {
            quote! {
                fn behaviour(of: ::core::any::TypeId) -> #option<&'static dyn ::core::any::Any> {
                    #[allow(unused_imports)]
                    use #r::NoBehaviour as _;
                    #r::first_behaviour(of, &[#(#places),*])
                }
            }
        })
    }

    /// Generates a type that detects at compile time whether another type implements a trait.
    pub(super) fn implementers(
        &self,
        inner: &Scope<'_>,
        def: &Def,
        implemented: &TokenStream,
    ) -> TokenStream {
        let (r, option) = (&inner.runtime, inner.std("Option"));
        let name = ident(&self.names.item(def.id).behaviour);
        quote! {
            /// Finder of the trait's implementation for a type of states.
            #[doc(hidden)]
            #[derive(Debug)]
            pub struct #name<T>(::core::marker::PhantomData<T>);
            impl<T: #implemented + 'static> #name<T> {
                pub fn find(of: ::core::any::TypeId) -> #option<&'static dyn ::core::any::Any> {
                    match of == ::core::any::TypeId::of::<dyn #implemented>() {
                        true => Some(const {
                            &#r::Behaviour::<dyn #implemented>::new(
                                ::core::any::TypeId::of::<T>,
                                |state| Some(state.downcast_ref::<T>()?),
                                |state| Some(state.downcast_mut::<T>()?),
                            )
                        }),
                        false => None,
                    }
                }
            }
            impl<T> #r::NoBehaviour for #name<T> {}
        }
    }

    /// Returns the interfaces that valuetypes of this file support, with their bases.
    pub(in crate::rust) fn all_supported(&self) -> HashSet<DefId> {
        let all = self.children.values().flatten();
        let supported = all.filter_map(|id| match &self.model.def(*id).kind {
            DefKind::ValueType(value) => Some(self.supported(value)),
            _ => None,
        });
        supported.flatten().collect()
    }

    /// Returns the types that declare behaviour of a value: valuetypes with operations and interfaces, including bases.
    fn behaviours(&self, id: DefId) -> BTreeSet<DefId> {
        let bases = self.value_bases(id).into_iter().chain([id]);
        let mut found = BTreeSet::new();
        for one in bases {
            if let DefKind::ValueType(value) = &self.model.def(one).kind {
                found.extend((!value.exports.is_empty()).then_some(one));
                found.extend(self.supported(value));
            }
        }
        found
    }

    fn operations_trait(
        &self,
        scope: &Scope<'_>,
        def: &Def,
        methods: &[Method<'_, 'm>],
    ) -> TokenStream {
        let item = self.names.item(def.id);
        let (name, operations) = (&item.name, ident(&item.operations));
        let docs = docs::lines(&format!(
            "Behaviour of a [`{name}`].\n\n\
            The application implements it for [`{name}`] or the types derived from it, in the crate that includes this \
            code. A handle to such a value has these methods, too, and calls what the real type of the value \
            implements, or the nearest of its bases that does; if none does, `NO_IMPLEMENT`. Nothing is sent.\n\n\
            IDL: the operations and attributes of `{}`.",
            def.scoped_name
        ));
        let methods = methods.iter().map(|method| {
            let docs = self.method_docs(method);
            let signature = self.servant_signature(scope, method);
            quote!(#docs #signature;)
        });
        quote! {
            #docs
            pub trait #operations { #(#methods)* }
        }
    }

    fn factory_trait(
        &self,
        scope: &Scope<'_>,
        def: &'m Def,
        value: &'m ValueType,
    ) -> Result<TokenStream, Unmapped> {
        let r = &scope.runtime;
        let item = self.names.item(def.id);
        let (name, factory) = (ident(&item.name), ident(&item.factory));
        let docs = docs::lines(&format!(
            "Factories of values of the type [`{0}`].\n\n\
            The application implements it for [`{0}`] itself or any other type, which callers name. Nothing is sent.\n\
            \n\
            IDL: the factories of `{1}`.",
            item.name, def.scoped_name
        ));
        let calls = self.factory_calls(def.id, value)?;
        let methods = self.factory_methods(def.id, &calls);
        let methods = methods.iter().map(|method| {
            let docs = docs::or(method.call.doc, &format!("The factory `{}`.", method.call.name));
            let (function, params) = (ident(method.name), self.parameters(scope, method, None));
            let (result, error) = (scope.std("Result"), self.error(scope, method));
            quote!(#docs fn #function(#(#params),*) -> #result<#r::Value<#name>, #error>;)
        });
        Ok(quote! {
            #docs
            pub trait #factory { #(#methods)* }
        })
    }

    /// Generates a trait implementation of a handle that calls the value it refers to.
    fn calls_through(
        &self,
        scope: &Scope<'_>,
        formal: &proc_macro2::Ident,
        owner: DefId,
    ) -> Result<TokenStream, Unmapped> {
        let r = &scope.runtime;
        let implemented = self.behaviour_trait(scope, owner);
        let own = self.own_calls(owner)?;
        let methods = self.methods_of(owner, &own);
        let methods = methods.iter().map(|method| {
            let signature = self.servant_signature(scope, method);
            let (name, args) = (ident(method.name), parameter_names(method));
            let local = fresh("found", args.iter().map(String::as_str));
            let args = self.lent_arguments(method, &args);
            let find = match method.mutating {
                true => quote!(#r::behaves_mut),
                false => quote!(#r::behaves),
            };
            let found = quote!(#find::<dyn #implemented, _>(self));
            let body = match method.silent {
                true => quote! {
                    if let Ok(#local) = #found {
                        #implemented::#name(#local #(, #args)*);
                    }
                },
                false => quote!(#implemented::#name(#found? #(, #args)*)),
            };
            quote!(#signature { #body })
        });
        Ok(quote! {
            impl #implemented for #r::Value<#formal> { #(#methods)* }
        })
    }

    /// Returns the parameters of a method in the form to pass on.
    fn lent_arguments(&self, method: &Method<'_, '_>, names: &[String]) -> Vec<TokenStream> {
        use oxorb_idl::model::Direction;
        let directions = method.call.args.iter().map(|arg| arg.direction);
        // The context is the last parameter, and is passed like an `in` parameter.
        let directions = directions.chain([Direction::In]);
        let passed = names.iter().zip(directions);
        let passed = passed.filter(|(_, direction)| *direction != Direction::Out);
        passed
            .map(|(name, _)| {
                let name = ident(name);
                quote!(#name)
            })
            .collect()
    }

    /// Returns the trait for the behaviour of a valuetype or interface.
    fn behaviour_trait(&self, scope: &Scope<'_>, id: DefId) -> TokenStream {
        let (def, item) = (self.model.def(id), self.names.item(id));
        match &def.kind {
            DefKind::ValueType(_) => self.path(scope, def.parent, &item.operations),
            _ => self.named(scope, id),
        }
    }

    fn own_calls(&self, id: DefId) -> Result<Vec<Call<'m>>, Unmapped> {
        match &self.model.def(id).kind {
            DefKind::Interface(interface) => self.calls(id, interface),
            DefKind::ValueType(value) => {
                value_calls(self.model, value).map_err(|what| Unmapped { def: id, what })
            }
            _ => Ok(Vec::new()),
        }
    }

    /// Returns the methods of the trait of an interface or valuetype; those of valuetypes may change the value.
    fn methods_of<'r>(&'r self, id: DefId, own: &'r [Call<'m>]) -> Vec<Method<'r, 'm>> {
        let mut methods = self.own_methods(id, own);
        if let DefKind::ValueType(_) = self.model.def(id).kind {
            for method in &mut methods {
                method.mutating = method.call.mutating;
            }
        }
        methods
    }

    fn factory_calls(&self, id: DefId, value: &'m ValueType) -> Result<Vec<Call<'m>>, Unmapped> {
        factory_calls(self.model, value).map_err(|what| Unmapped { def: id, what })
    }

    fn factory_methods<'r>(&'r self, id: DefId, own: &'r [Call<'m>]) -> Vec<Method<'r, 'm>> {
        self.named_methods(id, own, self.names.factories(id))
    }
}
