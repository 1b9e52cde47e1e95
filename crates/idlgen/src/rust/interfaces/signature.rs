//! Signatures of the methods of traits and references.

use oxorb_idl::model::{Basic, Direction, Type};
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::super::scope::Scope;
use super::super::types::ident;
use super::super::{Rust, names};
use super::Method;
use crate::plan::{Arg, Plan};

/// Returns the parameter names of a call, in order; `context` is last if there is one.
pub(super) fn parameter_names(method: &Method<'_, '_>) -> Vec<String> {
    let context = (!method.call.context.is_empty()).then_some("context");
    let wishes = method.call.args.iter().map(|arg| super::super::case::snake(arg.name));
    names::distinct(wishes.chain(context.map(String::from)))
}

/// Returns the names of the parameters of a servant's method, to pass them on.
pub(super) fn forwarded(method: &Method<'_, '_>) -> Vec<Ident> {
    let names = parameter_names(method);
    let out = |at: usize| {
        let arg = method.call.args.get(at);
        arg.is_some_and(|arg| arg.direction == Direction::Out)
    };
    let names = names.iter().enumerate().filter(|(at, _)| !out(*at));
    names.map(|(_, name)| ident(name)).collect()
}

impl<'m> Rust<'m> {
    /// Returns the signature of the servant trait: `fn withdraw(&self, amount: u32) -> Result<i64,
    /// account::WithdrawError>`.
    pub(super) fn servant_signature(
        &self,
        scope: &Scope<'_>,
        method: &Method<'_, '_>,
    ) -> TokenStream {
        let call = method.call;
        let name = ident(method.name);
        let lends = self.results(method).any(|(_, plan)| is_lendable(plan));
        let borrows = call
            .args
            .iter()
            .any(|arg| arg.direction == Direction::In && !arg.plan.is_scalar(self.model));
        // A result that may borrow from the arguments needs a named lifetime.
        let life = (lends && borrows).then(|| quote!('a));
        let generics = life.as_ref().map(|life| quote!(<#life>));
        let (named, mutable) = (life.iter(), method.mutating.then(|| quote!(mut)));
        let this = quote!(&#(#named)* #mutable self);
        let params = self.servant_parameters(scope, method, life.as_ref());
        if method.silent {
            return quote!(fn #name #generics(#this #(, #params)*));
        }
        let result_life = life.unwrap_or_else(|| quote!('_));
        let results = self.results(method).map(|(ty, plan)| match plan {
            Plan::Block { element, .. } => {
                let element = super::super::types::basic(scope, *element);
                let cow = scope.std("Cow");
                quote!(#cow<#result_life, [#element]>)
            }
            _ => self.result_ty(scope, ty, plan, &result_life),
        });
        let output = tuple(results.collect());
        let (result, error) = (scope.std("Result"), self.error(scope, method));
        quote!(fn #name #generics(#this #(, #params)*) -> #result<#output, #error>)
    }

    /// Returns the parameters for servants and callers: `in` borrowed, `inout` as `&mut`, without `out`.
    pub(super) fn parameters(
        &self,
        scope: &Scope<'_>,
        method: &Method<'_, '_>,
        life: Option<&TokenStream>,
    ) -> Vec<TokenStream> {
        self.parameters_with(scope, method, life, (true, false))
    }

    /// Returns the parameters for servants: those that are `@borrowed` as views.
    fn servant_parameters(
        &self,
        scope: &Scope<'_>,
        method: &Method<'_, '_>,
        life: Option<&TokenStream>,
    ) -> Vec<TokenStream> {
        self.parameters_with(scope, method, life, (true, true))
    }

    /// Returns the parameters as `parameters()` does, but `inout` ones like `in`.
    pub(super) fn parameters_lent(
        &self,
        scope: &Scope<'_>,
        method: &Method<'_, '_>,
    ) -> Vec<TokenStream> {
        self.parameters_with(scope, method, None, (false, false))
    }

    fn parameters_with(
        &self,
        scope: &Scope<'_>,
        method: &Method<'_, '_>,
        life: Option<&TokenStream>,
        (updated, viewed): (bool, bool),
    ) -> Vec<TokenStream> {
        let names = parameter_names(method);
        let mut params = Vec::new();
        for (arg, name) in method.call.args.iter().zip(&names) {
            let name = ident(name);
            match arg.direction {
                Direction::Out => {}
                Direction::InOut if updated => {
                    let ty = self.ty(scope, arg.ty);
                    params.push(quote!(#name: &mut #ty));
                }
                Direction::In if viewed && arg.borrowed => {
                    let ty = self.view_parameter(scope, arg.ty, &arg.plan, life);
                    params.push(quote!(#name: #ty));
                }
                Direction::In | Direction::InOut => {
                    let ty = self.borrowed(scope, arg.ty, &arg.plan, life);
                    params.push(quote!(#name: #ty));
                }
            }
        }
        if !method.call.context.is_empty() {
            let (name, r) = (ident(names.last().expect("the context is named")), &scope.runtime);
            let life = life.into_iter();
            params.push(quote!(#name: &#(#life)* #r::Context));
        }
        params
    }

    /// Returns the type of a result of a call, according to its plan.
    pub(super) fn result_ty(
        &self,
        scope: &Scope<'_>,
        ty: &Type,
        plan: &Plan,
        life: &TokenStream,
    ) -> TokenStream {
        match plan {
            Plan::InPlace => {
                let r = &scope.runtime;
                quote!(#r::Octets<#life>)
            }
            _ => self.ty(scope, ty),
        }
    }

    /// Returns the type of a result for callers.
    pub(super) fn received_ty(&self, scope: &Scope<'_>, ty: &Type, plan: &Plan) -> TokenStream {
        self.result_ty(scope, ty, plan, &quote!('static))
    }

    /// Reports whether a result stays where the server wrote it.
    pub(super) fn receives_in_place(&self, method: &Method<'_, 'm>) -> bool {
        self.results(method).any(|(_, plan)| *plan == Plan::InPlace)
    }

    /// Returns the results of a call other than `inout` parameters: return value, then `out`.
    pub(super) fn results<'r>(
        &self,
        method: &'r Method<'_, 'm>,
    ) -> impl Iterator<Item = (&'m Type, &'r Plan)> {
        let returns = method.call.returns.iter().map(|(ty, plan)| (*ty, plan));
        let outs = method.call.args.iter().filter(|arg| arg.direction == Direction::Out);
        returns.chain(outs.map(|arg: &'r Arg<'m>| (arg.ty, &arg.plan)))
    }

    /// Returns the error type of a call.
    pub(super) fn error(&self, scope: &Scope<'_>, method: &Method<'_, '_>) -> TokenStream {
        match method.error {
            Some(error) => self.path(scope, Some(method.owner), error),
            None => scope.system_exception.clone(),
        }
    }

    /// Reports whether the reply consists of one unbounded `sequence<octet>`.
    pub(super) fn is_octets_only(&self, method: &Method<'_, 'm>) -> bool {
        let octets = Plan::Block { element: Basic::Octet, bound: None };
        self.is_only(method, &octets)
    }

    /// Reports whether the reply consists of one value with this plan.
    pub(super) fn is_only(&self, method: &Method<'_, 'm>, result: &Plan) -> bool {
        let all: Vec<_> = self.results(method).collect();
        let one = matches!(all.as_slice(), [(_, plan)] if *plan == result);
        one && method.call.received().all(|arg| arg.direction == Direction::Out)
    }
}

/// Reports whether a servant may answer with memory that it does not own.
fn is_lendable(plan: &Plan) -> bool {
    matches!(plan, Plan::Block { .. } | Plan::InPlace)
}

/// Returns nothing, one type, or a tuple.
pub(super) fn tuple(types: Vec<TokenStream>) -> TokenStream {
    match types.as_slice() {
        [one] => one.clone(),
        _ => quote!((#(#types),*)),
    }
}
