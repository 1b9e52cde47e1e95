//! Direct calls of the servant within the process, where the types allow them.

use oxorb_idl::model::Direction;
use proc_macro2::TokenStream;
use quote::quote;

use super::super::Rust;
use super::super::codec::{Place, fresh};
use super::super::passing::{all_of, parameter};
use super::super::scope::Scope;
use super::super::types::ident;
use super::Method;
use super::signature::{parameter_names, tuple};
use crate::plan::{Passing, Plan, passing};

impl<'m> Rust<'m> {
    /// Returns the code that calls the servant directly if it is in this process and no message is needed. Returns no
    /// code if a direct call would share a value that a message would copy, because its semantics would then differ.
    pub(super) fn direct(
        &self,
        scope: &Scope<'_>,
        method: &Method<'_, 'm>,
        op: &TokenStream,
        untyped: &TokenStream,
    ) -> TokenStream {
        if !self.may_be_direct(method) {
            return TokenStream::new();
        }
        let names = parameter_names(method);
        let local = |wish: &str| fresh(wish, names.iter().map(String::as_str));
        let conditions = self.arguments_pass(scope, method, &names, untyped);
        let near = quote!(#untyped.is_near());
        let near = all_of([near].into_iter().chain(conditions));
        let (servant, done) = (local("servant"), local("done"));
        let item = self.names.item(method.owner);
        let interface = self.path(scope, self.model.def(method.owner).parent, &item.name);
        let name = ident(method.name);
        let mut passed = Vec::new();
        let mut copies = Vec::new();
        for (arg, name) in method.call.args.iter().zip(&names) {
            let param = ident(name);
            passed.push(match arg.direction {
                Direction::Out => continue,
                Direction::In if arg.plan == Plan::InPlace => quote!(#param.borrowed()),
                Direction::In => quote!(#param),
                Direction::InOut => {
                    // The servant changes a copy, so that the caller's value stays unchanged if the servant raises an
                    // exception.
                    let new = new_value(name, &names);
                    copies.push(match arg.plan.is_scalar(self.model) {
                        true => quote!(let mut #new = *#param;),
                        false => quote!(let mut #new = (*#param).clone();),
                    });
                    quote!(&mut #new)
                }
            });
        }
        let call = quote!(#interface::#name(#servant #(, #passed)*));
        if method.call.oneway {
            let call = match method.silent {
                true => call,
                false => quote!(let _ = #call),
            };
            return quote! {
                if #near && #untyped.direct_oneway(&#op, |#servant: &dyn #interface| { #call; }) {
                    return Ok(());
                }
            };
        }
        let call = match self.rearranged(scope, method, &names) {
            Some(map) => quote!(#call.map(#map)),
            None => call,
        };
        let call = match copies.is_empty() {
            true => call,
            false => quote!({ #(#copies)* #call }),
        };
        let checked = self.result_check(scope, method, &names);
        let function = match checked {
            Some(_) => quote!(direct_checked),
            None => quote!(direct),
        };
        let update = self.update(method);
        quote! {
            if #near && let Some(#done) = #untyped.#function(&#op, |#servant: &dyn #interface| #call #checked) {
                return #done #update;
            }
        }
    }

    fn may_be_direct(&self, method: &Method<'_, 'm>) -> bool {
        let call = method.call;
        let passes = |plan: &Plan| passing(self.model, plan) != Passing::Never;
        call.context.is_empty()
            && !call.args.iter().any(|arg| arg.borrowed)
            && call.args.iter().all(|arg| passes(&arg.plan))
            && call.returns.iter().all(|(_, plan)| passes(plan))
            && call.raises.iter().all(|id| passes(&Plan::Named(*id)))
    }

    /// Returns the conditions under which the arguments can be passed without marshalling.
    fn arguments_pass(
        &self,
        scope: &Scope<'_>,
        method: &Method<'_, 'm>,
        names: &[String],
        untyped: &TokenStream,
    ) -> Vec<TokenStream> {
        let orb = quote!(#untyped.orb());
        let conditions = method.call.args.iter().zip(names).map(|(arg, name)| {
            let name = ident(name);
            let place = match arg.direction {
                Direction::Out => return None,
                Direction::In => Place::Param(quote!(#name)),
                Direction::InOut => Place::BehindMut(quote!(#name)),
            };
            // Parameters that are references already are checked as they are, without a further reference.
            self.passes(scope, &arg.plan, &place, &orb)
        });
        conditions.flatten().collect()
    }

    /// Returns the code that converts the servant's result to that of a reply: return value, then `out` and `inout` as
    /// declared, all owned. `None` if no conversion is needed.
    fn rearranged(
        &self,
        scope: &Scope<'_>,
        method: &Method<'_, 'm>,
        names: &[String],
    ) -> Option<TokenStream> {
        let octets = self.is_octets_only(method);
        let r = &scope.runtime;
        let owned = |plan: &Plan, name: &TokenStream| match plan {
            Plan::Block { .. } if octets => quote!(#r::OctetSeq::from(#name.into_owned())),
            Plan::Block { .. } | Plan::InPlace => quote!(#name.into_owned()),
            _ => name.clone(),
        };
        let (mut got, mut wanted) = (Vec::new(), Vec::new());
        if let Some((_, plan)) = &method.call.returns {
            let result = fresh("result", names.iter().map(String::as_str));
            wanted.push(owned(plan, &result));
            got.push(result);
        }
        for (arg, name) in method.call.args.iter().zip(names) {
            match arg.direction {
                Direction::In => {}
                Direction::Out => {
                    let name = ident(name);
                    let name = quote!(#name);
                    wanted.push(owned(&arg.plan, &name));
                    got.push(name);
                }
                Direction::InOut => wanted.push(new_value(name, names)),
            }
        }
        let (got, wanted) = (tuple(got), tuple(wanted));
        (got.to_string() != wanted.to_string()).then(|| quote!(|#got| #wanted))
    }

    /// Returns the condition under which the results can be passed without marshalling, and the code that marshals them
    /// otherwise; `None` if they can always be passed.
    fn result_check(
        &self,
        scope: &Scope<'_>,
        method: &Method<'_, 'm>,
        names: &[String],
    ) -> Option<TokenStream> {
        let local = |wish: &str| fresh(wish, names.iter().map(String::as_str));
        let (orb, mut pattern, mut conditions, mut steps) =
            (local("orb"), Vec::new(), Vec::new(), Vec::new());
        let vars = self.vars(method);
        let returned = method.call.returns.iter();
        let returned = returned.map(|(_, plan)| (plan, local("result")));
        let received = method.call.args.iter().zip(names);
        let received =
            received.filter(|(arg, _)| arg.direction != Direction::In).map(|(arg, name)| {
                let name = ident(name);
                (&arg.plan, quote!(#name))
            });
        for (plan, name) in returned.chain(received) {
            let place = Place::Behind(name.clone());
            let condition = self.passes(scope, plan, &place, &orb);
            pattern.push((name, condition.is_some()));
            conditions.extend(condition);
            steps.push(self.encode(scope, &vars, plan, &place));
        }
        if conditions.is_empty() {
            return None;
        }
        let looked_at = pattern.iter().map(|(name, looked_at)| match looked_at {
            true => name.clone(),
            false => quote!(_),
        });
        let looked_at = tuple(looked_at.collect());
        let all = tuple(pattern.iter().map(|(name, _)| name.clone()).collect());
        let condition = all_of(conditions.into_iter());
        let (e, body) = (&vars.e, super::super::codec::sequence(steps));
        let read = self.reply(scope, method, &vars);
        let orb = parameter(orb, &condition);
        Some(quote!(, |#looked_at, #orb| #condition, |#all, #e| { #body }, #read))
    }
}

/// Returns the copy of an `inout` parameter that the servant may change.
fn new_value(name: &str, names: &[String]) -> TokenStream {
    let wish = format!("new_{}", name.trim_start_matches("r#"));
    fresh(&wish, names.iter().map(String::as_str))
}
