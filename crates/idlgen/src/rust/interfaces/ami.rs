//! `sendc_` stubs, which pass the answer to a reply handler (AMI, callback model).

use oxorb_idl::model::{DefId, DefKind, Direction};
use proc_macro2::TokenStream;
use quote::quote;

use super::super::codec::fresh;
use super::super::scope::Scope;
use super::super::types::ident;
use super::super::{Rust, docs};
use super::Method;
use super::errors::shared;
use super::signature::{parameter_names, tuple};
use crate::plan::Plan;

impl<'m> Rust<'m> {
    /// Generates the method that sends a request and passes the answer to a handler; `None` if not requested.
    pub(super) fn stub_sendc(
        &self,
        scope: &Scope<'_>,
        method: &Method<'_, 'm>,
        name: &str,
        method_async: &str,
    ) -> Option<TokenStream> {
        let handler = *self.handlers.get(&method.owner)?;
        let DefKind::Interface(interface) = &self.model.def(handler).kind else {
            return None;
        };
        let r = &scope.runtime;
        let own = self.calls(handler, interface).ok()?;
        let told = self.own_methods(handler, &own);
        let operation = method.call.wire_name.trim_start_matches('_');
        let named = |wanted: &str| {
            let place = told.iter().position(|told| told.call.name == wanted)?;
            let inherent = self.names.inherent(handler).iter();
            let mut inherent = inherent.filter(|one| one.owner == handler && one.index == place);
            Some((&told[place], ident(&inherent.next()?.method_async)))
        };
        let (results, on_object) = named(operation)?;
        let (failed, fail_object) = named(&format!("{operation}_excep"))?;
        let (on_local, fail_local) = (ident(results.name), ident(failed.name));

        let given = parameter_names(method);
        let received = parameter_names(results);
        let local = |wish: &str| fresh(wish, given.iter().chain(&received).map(String::as_str));
        let (to, answer, error) = (local("handler"), local("answer"), local("error"));
        let args = method.call.args.iter().map(Some).chain([None]);
        let args = given.iter().zip(args).filter_map(|(name, arg)| {
            let name = ident(name);
            let sent = arg.is_none_or(|arg| arg.direction != Direction::Out);
            sent.then(|| quote!(#name))
        });
        let pattern = tuple(
            received
                .iter()
                .map(|name| {
                    let name = ident(name);
                    quote!(#name)
                })
                .collect(),
        );
        let told = results.call.args.iter().zip(&received);
        let passed: Vec<_> = told
            .map(|(arg, name)| {
                let name = ident(name);
                match &arg.plan {
                    plan if plan.is_scalar(self.model) => quote!(#name),
                    Plan::InPlace => quote!(#name),
                    Plan::Reference(_) => quote!(#name.as_ref()),
                    _ => quote!(&#name),
                }
            })
            .collect();
        let holder = self.holder(scope)?;
        let holder = quote!(&#r::ValueLink::from(#r::Value::new(#holder::from(&#error))));
        let (object, servant) = (self.reference(scope, handler), self.named(scope, handler));
        let params = self.parameters_lent(scope, method);
        let (name, method_async) = (ident(name), ident(method_async));
        let wire = &method.call.wire_name;
        let docs = docs::lines(&format!(
            "Calls `{wire}` without waiting; its answer goes to `{to}`.\n\n\
             A failure to send the request also goes there."
        ));
        Some(quote! {
            #docs
            pub fn #name(&self, #to: #r::ReplyTo<#object, dyn #servant> #(, #params)*) {
                self.#method_async(#(#args),*).then(move |#answer| {
                    let _ = match (#answer, #to) {
                        (_, #r::ReplyTo::Nobody) => Ok(()),
                        (Ok(#pattern), #r::ReplyTo::Object(#to)) => {
                            #r::deliver(#to, move |#to| #to.#on_object(#(#passed),*));
                            Ok(())
                        }
                        (Ok(#pattern), #r::ReplyTo::Local(#to)) => #servant::#on_local(&*#to #(, #passed)*),
                        (Err(#error), #r::ReplyTo::Object(#to)) => {
                            #r::deliver(#to, move |#to| #to.#fail_object(#holder));
                            Ok(())
                        }
                        (Err(#error), #r::ReplyTo::Local(#to)) => #servant::#fail_local(&*#to, #holder),
                    };
                });
            }
        })
    }

    /// Generates the conversions of error enums to and from exception holders.
    pub(super) fn held_errors(&self, inner: &Scope<'_>, methods: &[Method<'_, 'm>]) -> TokenStream {
        let errors = shared(methods).into_iter().filter(|(_, _, first)| first.is_none());
        errors
            .map(|(_, error, _)| error)
            .filter_map(|error| {
                let error = ident(error);
                self.held(inner, &quote!(#error))
            })
            .collect()
    }

    /// Generates the conversions of system exceptions to and from the holder, once in a file.
    pub(in crate::rust) fn held_system_exceptions(&self, scope: &Scope<'_>) -> TokenStream {
        self.held(scope, &scope.system_exception).unwrap_or_default()
    }

    fn held(&self, scope: &Scope<'_>, error: &TokenStream) -> Option<TokenStream> {
        let (r, from, holder) = (&scope.runtime, scope.std("From"), self.holder(scope)?);
        Some(quote! {
            impl #from<&#error> for #holder {
                fn from(error: &#error) -> Self {
                    let (is_system_exception, byte_order, marshaled_exception) = #r::hold_exception(error);
                    Self { is_system_exception, byte_order, marshaled_exception }
                }
            }
            impl #from<&#holder> for #error {
                /// The exception that a reply handler was told.
                fn from(holder: &#holder) -> Self {
                    #r::held_exception(
                        holder.is_system_exception,
                        holder.byte_order,
                        &holder.marshaled_exception,
                    )
                }
            }
        })
    }

    /// Returns the path of `Messaging::ExceptionHolder`.
    fn holder(&self, scope: &Scope<'_>) -> Option<TokenStream> {
        let holder: DefId = self.exception_holder?;
        Some(self.named(scope, holder))
    }
}
