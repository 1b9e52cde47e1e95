//! Methods of a reference: stubs, blocking and asynchronous.

use oxorb_idl::model::{Def, DefKind, Direction, Interface};
use proc_macro2::TokenStream;
use quote::quote;

use super::super::codec::{Place, Step, Vars, fresh, reader, writer};
use super::super::names::Inherent;
use super::super::scope::Scope;
use super::super::types::ident;
use super::super::{Rust, Unmapped, docs};
use super::Method;
use super::signature::{parameter_names, tuple};
use crate::plan::Plan;

impl<'m> Rust<'m> {
    /// Generates `impl AccountRef`: own and inherited calls, except those of the base to which the reference
    /// dereferences.
    pub(super) fn client_methods(
        &self,
        scope: &Scope<'_>,
        def: &'m Def,
        interface: &'m Interface,
    ) -> Result<TokenStream, Unmapped> {
        let name = ident(&self.names.item(def.id).reference);
        let mut stubs = TokenStream::new();
        let untyped = self.untyped(scope, interface);
        let shared = self.shared_base(interface);
        let shared = shared.map_or(&[][..], |base| self.names.inherent(base));
        let is_shared = |one: &Inherent| {
            let same = |other: &Inherent| {
                (other.owner, other.index, &other.method, &other.method_async)
                    == (one.owner, one.index, &one.method, &one.method_async)
            };
            shared.iter().any(same)
        };
        for owner in [def.id].into_iter().chain(self.model.all_bases(interface)) {
            let DefKind::Interface(declaring) = &self.model.def(owner).kind else {
                continue;
            };
            let own = self.calls(owner, declaring)?;
            let methods = self.own_methods(owner, &own);
            let named = self.names.inherent(def.id).iter().filter(|one| one.owner == owner);
            for one in named {
                let method = &methods[one.index];
                if !is_shared(one) {
                    stubs.extend(self.stub(scope, method, &one.method, &untyped));
                }
                if !method.call.oneway && !is_shared(one) {
                    stubs.extend(self.stub_async(scope, method, one, &untyped));
                }
                if let Some(name) = &one.sendc {
                    stubs.extend(self.stub_sendc(scope, method, name, &one.method_async));
                }
            }
        }
        if stubs.is_empty() {
            return Ok(stubs);
        }
        Ok(quote! {
            impl #name { #stubs }
        })
    }

    /// Generates the method that calls and waits; for oneway operations, sends.
    fn stub(
        &self,
        scope: &Scope<'_>,
        method: &Method<'_, 'm>,
        name: &str,
        untyped: &TokenStream,
    ) -> TokenStream {
        let (name, docs) = (ident(name), self.method_docs(method));
        let params = self.parameters(scope, method, None);
        let op = self.op(scope, method);
        let vars = self.vars(method);
        let args = self.arguments(scope, method, &vars, true);
        let (result, error) = (scope.std("Result"), self.error(scope, method));
        let direct = self.direct(scope, method, &op, untyped);
        let (output, body) = if method.call.oneway {
            (quote!(()), quote!(#direct #untyped.send(&#op, #args)))
        } else if self.is_octets_only(method) {
            let r = &scope.runtime;
            (quote!(#r::OctetSeq), quote!(#direct #untyped.invoke_octets(&#op, #args)))
        } else if self.is_only(method, &Plan::InPlace) {
            let r = &scope.runtime;
            (
                quote!(#r::Octets<'static>),
                quote!(#direct #untyped.invoke_octets_in_place(&#op, #args)),
            )
        } else {
            let results = self.reply(scope, method, &vars);
            let update = self.update(method);
            let output = self.results(method);
            let output = output.map(|(ty, plan)| self.received_ty(scope, ty, plan));
            let output = tuple(output.collect());
            let invoke = match self.receives_in_place(method) {
                true => quote!(invoke_in_place),
                false => quote!(invoke),
            };
            let call = quote!(#direct #untyped.#invoke(&#op, #args, #results) #update);
            (output, call)
        };
        let inline = self.inline();
        quote! {
            #docs
            #inline
            pub fn #name(&self #(, #params)*) -> #result<#output, #error> { #body }
        }
    }

    /// Generates the method that sends and returns a future; `inout` parameters are part of its output.
    fn stub_async(
        &self,
        scope: &Scope<'_>,
        method: &Method<'_, 'm>,
        names: &Inherent,
        untyped: &TokenStream,
    ) -> TokenStream {
        let name = ident(&names.method_async);
        // rustdoc cannot link to raw identifiers.
        let waiting = match names.method.strip_prefix("r#") {
            Some(name) => format!("`{name}`"),
            None => format!("[`{0}`](Self::{0})", names.method),
        };
        let docs = docs::lines(&format!("{waiting} without waiting for the answer."));
        let params = self.parameters_lent(scope, method);
        let op = self.op(scope, method);
        let vars = self.vars(method);
        let args = self.arguments(scope, method, &vars, false);
        let results = self.reply(scope, method, &vars);
        let returns = method.call.returns.iter().map(|(ty, plan)| (*ty, plan));
        let received = method.call.received().map(|arg| (arg.ty, &arg.plan));
        let output = returns.chain(received);
        let output = output.map(|(ty, plan)| self.received_ty(scope, ty, plan));
        let output = tuple(output.collect());
        let invoke = match self.receives_in_place(method) {
            true => quote!(invoke_async_in_place),
            false => quote!(invoke_async),
        };
        let (r, error) = (&scope.runtime, self.error(scope, method));
        let inline = self.inline();
        quote! {
            #docs
            #inline
            pub fn #name(&self #(, #params)*) -> #r::AsyncReply<#output, #error> {
                #untyped.#invoke(&#op, #args, #results)
            }
        }
    }

    /// Returns the attribute of stubs, if they may be inlined in other crates.
    fn inline(&self) -> Option<TokenStream> {
        self.choices.inline_stubs.then(|| quote!(#[inline]))
    }

    pub(super) fn vars(&self, method: &Method<'_, '_>) -> Vars {
        let names = parameter_names(method);
        let vars = Vars::beside(names.iter().map(String::as_str));
        vars.interpreted(self.interpreted.contains(&method.owner))
    }

    fn op(&self, scope: &Scope<'_>, method: &Method<'_, '_>) -> TokenStream {
        let item = self.names.item(method.owner);
        let module = self.path(scope, Some(method.owner), &item.op);
        let descriptor = ident(method.descriptor);
        quote!(#module::#descriptor)
    }

    /// Returns the closure that writes the arguments.
    fn arguments(
        &self,
        scope: &Scope<'_>,
        method: &Method<'_, 'm>,
        vars: &Vars,
        updated: bool,
    ) -> TokenStream {
        let names = parameter_names(method);
        let mut steps = Vec::new();
        for (arg, name) in method.call.args.iter().zip(&names) {
            let name = ident(name);
            let place = match arg.direction {
                Direction::Out => continue,
                Direction::InOut if updated => Place::BehindMut(quote!(#name)),
                Direction::In | Direction::InOut => Place::Param(quote!(#name)),
            };
            steps.push(self.encode(scope, vars, &arg.plan, &place));
        }
        if !method.call.context.is_empty() {
            let (e, r) = (&vars.e, &scope.runtime);
            let (context, clause) = (ident(names.last().expect("named")), method.call.context);
            steps.push(Step::Fallible(quote!(#r::encode_context(#e, #context, &[#(#clause),*]))));
        }
        writer(vars, steps)
    }

    /// Returns the closure that reads the reply: return value, then `out` and `inout` as declared.
    pub(super) fn reply(
        &self,
        scope: &Scope<'_>,
        method: &Method<'_, 'm>,
        vars: &Vars,
    ) -> TokenStream {
        let returns = method.call.returns.iter().map(|(ty, plan)| (*ty, plan));
        let received = method.call.received().map(|arg| (arg.ty, &arg.plan));
        let all = returns.chain(received);
        reader(vars, all.map(|(ty, plan)| self.decode(scope, vars, ty, plan)).collect())
    }

    /// Returns the code that moves new values into `inout` parameters and returns the rest.
    pub(super) fn update(&self, method: &Method<'_, '_>) -> TokenStream {
        let call = method.call;
        if !call.args.iter().any(|arg| arg.direction == Direction::InOut) {
            return TokenStream::new();
        }
        let names = parameter_names(method);
        let taken = || names.iter().map(String::as_str);
        let (mut all, mut kept, mut moves) = (Vec::new(), Vec::new(), Vec::new());
        if call.returns.is_some() {
            let result = fresh("result", taken());
            all.push(result.clone());
            kept.push(result);
        }
        for (arg, name) in call.args.iter().zip(&names) {
            let param = ident(name);
            match arg.direction {
                Direction::In => {}
                Direction::Out => {
                    all.push(quote!(#param));
                    kept.push(quote!(#param));
                }
                Direction::InOut => {
                    let new = fresh(&format!("new_{}", name.trim_start_matches("r#")), taken());
                    all.push(new.clone());
                    moves.push(quote!(*#param = #new;));
                }
            }
        }
        let (all, kept) = (tuple(all), tuple(kept));
        let kept = match kept.to_string().as_str() {
            "()" => None,
            _ => Some(kept),
        };
        quote!(.map(|#all| { #(#moves)* #kept }))
    }
}
