//! Servants that reply later (AMH): a trait whose methods receive the answer object, and the code that creates it.

use oxorb_idl::model::{Def, Direction, Interface};
use proc_macro2::TokenStream;
use quote::quote;

use super::super::codec::{Vars, fresh};
use super::super::scope::Scope;
use super::super::types::ident;
use super::super::{Rust, docs};
use super::Method;
use super::signature::parameter_names;

/// Time at which the servants of a skeleton reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answers {
    /// Servants reply before the method returns.
    Now,
    /// Servants reply at any time.
    Later,
    /// Servants reply before the method returns, in the thread to which they belong.
    Confined,
}

impl Answers {
    /// Reports whether the method returns the answer.
    pub(super) fn at_once(self) -> bool {
        self != Answers::Later
    }
}

impl<'m> Rust<'m> {
    /// Reports whether an interface has servants that reply later.
    pub(super) fn answers_later(&self, def: &Def) -> bool {
        self.amh.contains(&def.id)
    }

    /// Generates the trait, and the implementation by which `poa.activate(Amh(servant))` finds the skeleton.
    pub(super) fn later_trait(
        &self,
        scope: &Scope<'_>,
        def: &'m Def,
        interface: &Interface,
        methods: &[Method<'_, 'm>],
    ) -> TokenStream {
        let (r, arc) = (&scope.runtime, scope.std("Arc"));
        let item = self.names.item(def.id);
        let (name, reference) = (ident(&item.later), ident(&item.reference));
        let docs = docs::lines(&format!(
            "[`{}`] for servants that answer later, from any thread.\n\n\
             Each method receives the answer object. If the object is dropped unanswered, the caller is notified. \
             Activate the servant as `Amh(servant)`.\n\nCORBA: `AMH_{}`.",
            item.name, def.name
        ));
        let bases = interface.bases.iter();
        let bases: Vec<_> = bases
            .map(|base| {
                let parent = self.model.def(*base).parent;
                self.path(scope, parent, &self.names.item(*base).later)
            })
            .collect();
        let bounds = match bases.is_empty() {
            true => {
                let (send, sync) = (scope.std("Send"), scope.std("Sync"));
                quote!(#send + #sync + 'static)
            }
            false => quote!(#(#bases)+*),
        };
        let signatures = methods.iter().map(|method| {
            let docs = self.method_docs(method);
            let (name, params) = (ident(method.name), self.parameters_lent(scope, method));
            let answer = method.answer.map(|answer| {
                let names = parameter_names(method);
                let name = fresh("answer", names.iter().map(String::as_str));
                let answer = self.path(scope, Some(def.id), answer);
                quote!(, #name: #answer)
            });
            let output = (method.call.oneway && !method.silent).then(|| {
                let (result, error) = (scope.std("Result"), self.error(scope, method));
                quote!(-> #result<(), #error>)
            });
            quote!(#docs fn #name(&self #(, #params)* #answer) #output;)
        });
        let (inner, skeleton) = (ident(&item.inner), ident(&item.skeleton_later));
        quote! {
            #docs
            pub trait #name: #bounds { #(#signatures)* }
            impl<T: #name> #r::ServedBy<#r::Amh<T>> for #reference {
                fn servant(servant: #r::Amh<T>) -> #arc<dyn #r::Servant> {
                    #arc::new(#inner::#skeleton(#arc::new(servant.0)))
                }
            }
            impl<T: #name + ?Sized> #r::ServedBy<#r::Amh<#arc<T>>> for #reference {
                fn servant(servant: #r::Amh<#arc<T>>) -> #arc<dyn #r::Servant> {
                    #arc::new(#inner::#skeleton(servant.0))
                }
            }
        }
    }

    /// Generates an answer type for each call with a reply.
    pub(super) fn answers(&self, inner: &Scope<'_>, methods: &[Method<'_, 'm>]) -> TokenStream {
        let answered = methods.iter().filter_map(|method| Some((method, method.answer?)));
        answered.map(|(method, name)| self.answer(inner, method, name)).collect()
    }

    fn answer(&self, inner: &Scope<'_>, method: &Method<'_, 'm>, name: &str) -> TokenStream {
        let r = &inner.runtime;
        let name = ident(name);
        let names = parameter_names(method);
        let result = fresh("result", names.iter().map(String::as_str));
        let vars = Vars::beside(names.iter().map(String::as_str))
            .interpreted(self.interpreted.contains(&method.owner));
        let (_, write) = self.written_results(inner, method, &names, &vars, &result);
        let mut params = Vec::new();
        let anonymous = quote!('_);
        if let Some((ty, plan)) = &method.call.returns {
            let ty = self.result_ty(inner, ty, plan, &anonymous);
            params.push(quote!(#result: #ty));
        }
        for (arg, name) in method.call.args.iter().zip(&names) {
            if arg.direction != Direction::In {
                let ty = self.result_ty(inner, arg.ty, &arg.plan, &anonymous);
                let name = ident(name);
                params.push(quote!(#name: #ty));
            }
        }
        let error = self.error(inner, method);
        let raise = match method.error {
            Some(_) => quote! {
                pub fn raise(self, error: impl Into<#error>) { self.0.raise(&error.into()); }
            },
            None => quote!(pub fn raise(self, error: #error) { self.0.fail(error); }),
        };
        let (wire, what) = (&method.call.wire_name, "Answers");
        let docs = docs::lines(&format!(
            "{what} `{wire}`, once, from any thread.\n\nIf it is dropped, the caller gets NO_RESPONSE."
        ));
        quote! {
            #docs
            #[derive(Debug)]
            #[must_use = "the caller waits for the answer"]
            pub struct #name(pub(super) #r::ResponseHandler);
            impl #name {
                /// Answers with the results.
                pub fn reply(self #(, #params)*) { self.0.reply(#write); }
                /// Answers with an exception.
                #raise
                /// Sends the caller to another object.
                pub fn forward(self, target: &#r::Ref) { self.0.forward(target); }
            }
            impl ::core::ops::Deref for #name {
                type Target = #r::ResponseHandler;
                fn deref(&self) -> &#r::ResponseHandler { &self.0 }
            }
        }
    }
}
