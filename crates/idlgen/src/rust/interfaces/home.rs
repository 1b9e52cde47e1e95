//! Homes: the executor's trait, and the servant that joins it to a container.

use oxorb_idl::model::{Def, Interface};
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::super::scope::Scope;
use super::super::types::ident;
use super::super::{Rust, Unmapped, docs};
use super::signature::forwarded;
use crate::executors::HomeExecutor;

impl<'m> Rust<'m> {
    /// Returns the executor's trait, and the contents of the home's module.
    pub(super) fn home_executor(
        &self,
        scope: &Scope<'_>,
        inner: &Scope<'_>,
        def: &'m Def,
        home: &HomeExecutor,
    ) -> Result<(TokenStream, TokenStream), Unmapped> {
        let r = &scope.runtime;
        let c = quote!(#r::components);
        let item = self.names.item(def.id);
        let (name, adapter) = (ident(&item.executor), ident(&item.adapter));
        let (arc, result) = (scope.std("Arc"), scope.std("Result"));
        let (send, sync) = (scope.std("Send"), scope.std("Sync"));
        let executor = self.path(inner, def.parent, &item.executor);
        let Some(component) = self.def_named(&home.manages) else {
            return Ok(Default::default());
        };
        let managed = &self.names.item(component.id).executor;
        if managed.is_empty() {
            // The component was compiled for clients in another file, so the home has no executor to create.
            return Ok(Default::default());
        }
        let managed = self.path(scope, component.parent, managed);
        let (component_id, component) =
            (&component.repository_id, self.reference(inner, component.id));

        let key = home.key.as_ref().and_then(|key| self.def_named(key));
        let key = key.map(|key| self.named(scope, key.id));
        let explicit = home.chain.iter().map(|name| format!("{name}Explicit"));
        let explicit: Vec<String> = explicit.collect();
        let implicit = format!("{}Implicit", def.scoped_name);
        let (mut declared, mut interfaces) = (TokenStream::new(), TokenStream::new());
        for (owner, interface) in self.defs_named(&explicit) {
            let servant = self.named(inner, owner.id);
            let calls = self.calls(owner.id, interface)?;
            let mut methods = TokenStream::new();
            for method in self.own_methods(owner.id, &calls) {
                let (docs, args) = (self.method_docs(&method), forwarded(&method));
                let signature = self.servant_signature(inner, &method);
                let method_name = ident(method.name);
                let call = quote!(<H as #executor>::#method_name(&self.executor #(, #args)*));
                let is_one_of = |names: &[String]| {
                    !method.call.attribute
                        && names.iter().any(|name| *name == method.call.wire_name)
                };
                let error = self.error(inner, &method);
                // Return type of the executor's method, and the code that converts its result to a reference.
                let (returns, found) = match &key {
                    None if is_one_of(&home.factories) => (
                        quote!(Self::Component),
                        quote! {
                            let found = self.home.install::<#component, _, #error>(#call?)?;
                        },
                    ),
                    Some(key) if is_one_of(&home.factories) => (
                        quote!((#r::Value<#key>, Self::Component)),
                        quote! {
                            let (key, made) = #call?;
                            let found =
                                self.home.install_with_key::<#component, _, _, #error>(&key, made)?;
                        },
                    ),
                    Some(key) if is_one_of(&home.finders) => (
                        quote!(#r::Value<#key>),
                        quote! {
                            let found = self.home.found::<#component, _, #error>(&#call?)?;
                        },
                    ),
                    _ => {
                        let declared_as = self.servant_signature(scope, &method);
                        declared.extend(quote!(#docs #declared_as;));
                        methods.extend(quote!(#signature { #call }));
                        continue;
                    }
                };
                let (params, error) =
                    (self.parameters(scope, &method, None), self.error(scope, &method));
                declared.extend(quote! {
                    #docs
                    fn #method_name(&self #(, #params)*) -> #result<#returns, #error>;
                });
                methods.extend(quote! {
                    #signature {
                        #found
                        Ok(found.map(Into::into))
                    }
                });
            }
            interfaces.extend(quote!(impl<H: #executor> #servant for #adapter<H> { #methods }));
        }
        let mut create = TokenStream::new();
        for (owner, interface) in self.defs_named(&[implicit]) {
            let (declared, implemented) = match &key {
                Some(key) => {
                    self.keyed(scope, inner, (owner, interface), (&executor, &component, key))?
                }
                None => self.keyless(scope, inner, (owner, interface), (&executor, &component))?,
            };
            let servant = self.named(inner, owner.id);
            create = declared;
            interfaces.extend(quote!(impl<H: #executor> #servant for #adapter<H> { #implemented }));
            if key.is_none() {
                interfaces.extend(self.untyped_create(
                    inner,
                    (owner, interface),
                    (&executor, &adapter),
                )?);
            }
        }
        for (supported, _) in self.with_bases(&self.defs_named(&home.supports)) {
            let supported = self.named(inner, supported.id);
            interfaces.extend(quote! {
                impl<H: #executor> #r::DelegatesTo<dyn #supported> for #adapter<H> {
                    fn delegate(&self) -> &(dyn #supported + 'static) { &self.executor }
                }
            });
        }
        let supports = self.defs_named(&home.supports);
        let supports = supports.iter().map(|(def, _)| self.named(scope, def.id));
        let bounds = supports.chain([quote!(#send), quote!(#sync), quote!(Sized), quote!('static)]);
        let docs = docs::lines(&format!(
            "Executor of the home [`{}`].\n\nIDL: `home {}`.",
            item.name, def.scoped_name
        ));
        let executor_trait = quote! {
            #docs
            pub trait #name: #(#bounds)+* {
                /// Executor of the components that the home creates.
                type Component: #managed;
                #create
                #declared
            }
        };
        let mut with_attributes = self.defs_named(&explicit);
        with_attributes.extend(self.defs_named(&home.supports));
        let attributes = self.declared_attributes(inner, &with_attributes, &quote!(home));
        let (servant, own) = (self.named(inner, def.id), self.reference(inner, def.id));
        let inside = quote! {
            /// The servant around an executor.
            #[doc(hidden)]
            pub struct #adapter<H> {
                executor: H,
                home: #arc<#c::Home>,
            }
            #interfaces
            impl<H: #executor> #servant for #adapter<H> {}
            impl<H: #executor> #r::DelegatesTo<dyn #c::CcmHome> for #adapter<H> {
                fn delegate(&self) -> &(dyn #c::CcmHome + 'static) { &*self.home }
            }
            impl<H: #executor> #c::ManagedBy<H> for #own {
                const COMPONENT_ID: &'static str = #component_id;
                fn home_servant(executor: H, home: #arc<#c::Home>) -> #arc<dyn #r::Servant> {
                    #attributes
                    <Self as #r::ServedBy<#adapter<H>>>::servant(#adapter { executor, home })
                }
            }
        };
        Ok((executor_trait, inside))
    }

    /// Returns `create` of a home without keys: the executor's declaration and the servant's method.
    fn keyless(
        &self,
        scope: &Scope<'_>,
        inner: &Scope<'_>,
        (owner, interface): (&'m Def, &'m Interface),
        (executor, component): (&TokenStream, &TokenStream),
    ) -> Result<(TokenStream, TokenStream), Unmapped> {
        let result = scope.std("Result");
        let calls = self.calls(owner.id, interface)?;
        let (mut declared, mut implemented) = (TokenStream::new(), TokenStream::new());
        for method in self.own_methods(owner.id, &calls) {
            let (name, error) = (ident(method.name), self.error(scope, &method));
            declared.extend(quote! {
                /// Makes a component.
                fn #name(&self) -> #result<Self::Component, #error>;
            });
            let (error, signature) =
                (self.error(inner, &method), self.servant_signature(inner, &method));
            implemented.extend(quote! {
                #signature {
                    let made = <H as #executor>::#name(&self.executor)?;
                    self.home.install::<#component, _, #error>(made)
                }
            });
        }
        Ok((declared, implemented))
    }

    /// Returns `KeylessCCMHome::create_component`, which calls the typed method.
    fn untyped_create(
        &self,
        inner: &Scope<'_>,
        (owner, interface): (&'m Def, &'m Interface),
        (executor, adapter): (&TokenStream, &Ident),
    ) -> Result<TokenStream, Unmapped> {
        let (r, result) = (&inner.runtime, inner.std("Result"));
        let c = quote!(#r::components);
        let servant = self.named(inner, owner.id);
        let calls = self.calls(owner.id, interface)?;
        let methods = self.own_methods(owner.id, &calls);
        Ok(methods
            .iter()
            .map(|method| {
                let (name, error) = (ident(method.name), self.error(inner, method));
                quote! {
                    impl<H: #executor> #c::KeylessCcmHome for #adapter<H> {
                        fn create_component(
                            &self,
                        ) -> #result<Option<#c::CcmObjectRef>, #c::keyless_ccm_home::CreateComponentError> {
                            let made = <Self as #servant>::#name(self).map_err(|error| match error {
                                #error::System(exception) => {
                                    #c::keyless_ccm_home::CreateComponentError::from(exception)
                                }
                                #error::CreateFailure(exception) => exception.into(),
                            })?;
                            Ok(made.map(Into::into))
                        }
                    }
                }
            })
            .collect())
    }

    /// Returns the operations of a home with keys: the executor's declarations, with `create`, and the servant's
    /// methods. The run time maps keys to components.
    fn keyed(
        &self,
        scope: &Scope<'_>,
        inner: &Scope<'_>,
        (owner, interface): (&'m Def, &'m Interface),
        (executor, component, key): (&TokenStream, &TokenStream, &TokenStream),
    ) -> Result<(TokenStream, TokenStream), Unmapped> {
        let (r, result) = (&scope.runtime, scope.std("Result"));
        let calls = self.calls(owner.id, interface)?;
        let (mut declared, mut implemented) = (TokenStream::new(), TokenStream::new());
        for method in self.own_methods(owner.id, &calls) {
            let (name, args) = (ident(method.name), forwarded(&method));
            let signature = self.servant_signature(inner, &method);
            let body = match &*method.call.wire_name {
                "create" => {
                    let error = self.error(scope, &method);
                    declared.extend(quote! {
                        /// Makes the component of a key that no other has.
                        fn #name(&self, key: &#r::Value<#key>) -> #result<Self::Component, #error>;
                    });
                    let error = self.error(inner, &method);
                    quote! {
                        self.home.create::<#component, _, _, #error>(
                            #(#args,)*
                            |key| <H as #executor>::#name(&self.executor, key),
                        )
                    }
                }
                "find_by_primary_key" => quote!(self.home.find(#(#args),*)),
                "remove" => quote!(self.home.remove_by_key(#(#args),*)),
                _ => quote!(self.home.key_of(#(#args),*)),
            };
            implemented.extend(quote!(#signature { #body }));
        }
        Ok((declared, implemented))
    }
}
