//! Skeleton: conversion from an upcall to the servant's method and back.

use oxorb_idl::model::{Def, DefId, DefKind, Direction, Interface};
use oxorb_perfect::PerfectHash;
use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::super::Rust;
use super::super::codec::{Place, Step, Vars, fresh, reader, writer};
use super::super::scope::Scope;
use super::super::types::ident;
use super::later::Answers;
use super::signature::{parameter_names, tuple};
use super::{Method, OBJECT_ID};
use crate::OperationLookup;
use crate::plan::{Arg, Plan};
use crate::sizes::room_for_results;

impl<'m> Rust<'m> {
    /// Generates the untyped servant around a typed one.
    pub(super) fn skeleton(
        &self,
        inner: &Scope<'_>,
        def: &Def,
        interface: &Interface,
        answers: Answers,
    ) -> TokenStream {
        let (r, arc) = (&inner.runtime, inner.std("Arc"));
        let item = self.names.item(def.id);
        let servant = self.servant(inner, def.id, answers);
        let bases = self.model.all_bases(interface);
        let owners: Vec<_> = [def.id].into_iter().chain(bases).collect();
        let id = &def.repository_id;
        let ids = owners.iter().map(|owner| &*self.model.def(*owner).repository_id);
        let ids: Vec<_> = ids.chain([OBJECT_ID]).collect();
        let (mut wire_names, mut arms) = (Vec::new(), Vec::new());
        let this = match answers {
            Answers::Now => quote!(servant),
            Answers::Later | Answers::Confined => quote!(&*self.0),
        };
        for owner in self.declaring_order(def.id) {
            let DefKind::Interface(declaring) = &self.model.def(owner).kind else {
                continue;
            };
            let serve = self.path(inner, Some(owner), self.serve_name(owner, answers));
            let Ok(own) = self.calls(owner, declaring) else {
                continue;
            };
            for method in self.own_methods(owner, &own) {
                let (place, name) = (Literal::usize_unsuffixed(arms.len()), ident(method.name));
                arms.push(quote!(#place => #serve::#name(#this, upcall)));
                wire_names.push(method.call.wire_name.clone().into_owned());
            }
        }
        let dispatch = match arms.is_empty() {
            true => quote!(upcall.unknown_operation()),
            false => {
                let operations = self.operations(inner, &wire_names);
                quote! {
                    static OPERATIONS: #r::Operations = #operations;
                    match upcall.find(&OPERATIONS) {
                        #(#arms,)*
                        _ => upcall.unknown_operation(),
                    }
                }
            }
        };
        let what = quote! {
            /// The servant as the object adapter sees it.
            #[doc(hidden)]
            #[derive(Debug)]
        };
        match answers {
            Answers::Now => {
                let reference = self.reference(inner, def.id);
                quote! {
                    impl<T: #servant + ?Sized> #r::Dispatch<T> for #reference {
                        const REPOSITORY_IDS: &'static [&'static str] = &[#(#ids),*];
                        fn dispatch(servant: &T, upcall: #r::Upcall<'_>) -> #r::Outcome {
                            #dispatch
                        }
                    }
                }
            }
            Answers::Later => {
                let skeleton = ident(&item.skeleton_later);
                quote! {
                    #what
                    pub struct #skeleton<T: ?Sized>(pub(super) #arc<T>);
                    impl<T: #servant + ?Sized> #r::Servant for #skeleton<T> {
                        fn repository_id(&self) -> &str { #id }
                        fn is_a(&self, id: &str) -> bool { [#(#ids),*].contains(&id) }
                        fn identity(&self) -> usize {
                            #arc::as_ptr(&self.0).cast::<()>() as usize
                        }
                        fn dispatch(&self, upcall: #r::Upcall<'_>) -> #r::Outcome {
                            #dispatch
                        }
                    }
                }
            }
            Answers::Confined => {
                let skeleton = ident(&item.skeleton_confined);
                let (rc, string, vec) =
                    (quote!(::std::rc::Rc), inner.std("String"), inner.std("Vec"));
                quote! {
                    #what
                    pub struct #skeleton<T: ?Sized>(pub(super) #rc<T>);
                    impl<T: #servant + ?Sized> #r::ConfinedServant for #skeleton<T> {
                        fn interfaces(&self) -> #vec<#string> {
                            [#(#ids),*].map(#string::from).into()
                        }
                        fn dispatch(&self, upcall: #r::Upcall<'_>) -> #r::Outcome {
                            #dispatch
                        }
                    }
                }
            }
        }
    }

    /// Returns the name of an interface's module of upcall functions.
    fn serve_name(&self, id: DefId, answers: Answers) -> &str {
        let item = self.names.item(id);
        match answers {
            Answers::Now => &item.serve,
            Answers::Later => &item.serve_later,
            Answers::Confined => &item.serve_confined,
        }
    }

    /// Returns the servant trait, seen from `scope`.
    fn servant(&self, scope: &Scope<'_>, id: DefId, answers: Answers) -> TokenStream {
        let item = self.names.item(id);
        let name = match answers {
            Answers::Now => &item.name,
            Answers::Later => &item.later,
            Answers::Confined => &item.confined,
        };
        self.path(scope, self.model.def(id).parent, name)
    }

    /// Returns the table by which operations are found.
    fn operations(&self, inner: &Scope<'_>, names: &[String]) -> TokenStream {
        let r = &inner.runtime;
        let perfect = PerfectHash::build(names);
        match (self.choices.operation_lookup, perfect) {
            (OperationLookup::Perfect, Ok(hash)) => {
                let (seed, displacements, cells) = hash.tables();
                let seed = Literal::u64_unsuffixed(seed);
                let displacements = displacements.iter().copied().map(Literal::u16_unsuffixed);
                let cells = cells.iter().copied().map(Literal::u32_unsuffixed);
                quote! {
                    #r::Operations::perfect(
                        &[#(#names),*],
                        #r::PerfectHash::from_tables(#seed, &[#(#displacements),*], &[#(#cells),*]),
                    )
                }
            }
            (OperationLookup::Binary, _) => {
                let mut order: Vec<u16> = (0..names.len() as u16).collect();
                order.sort_by_key(|place| &names[usize::from(*place)]);
                let order = order.into_iter().map(Literal::u16_unsuffixed);
                quote!(#r::Operations::binary(&[#(#names),*], &[#(#order),*]))
            }
            // No perfect hash exists if a name occurs twice, which lenient front ends accept; linear search finds the
            // first one.
            (OperationLookup::Linear, _) | (OperationLookup::Perfect, Err(_)) => {
                quote!(#r::Operations::linear(&[#(#names),*]))
            }
        }
    }

    /// Generates a function for each call, shared with the skeletons of derived interfaces.
    pub(super) fn serve(
        &self,
        inner: &Scope<'_>,
        def: &Def,
        methods: &[Method<'_, 'm>],
        answers: Answers,
    ) -> TokenStream {
        if methods.is_empty() {
            return TokenStream::new();
        }
        let module = self.serve_name(def.id, answers);
        let scope = self.nested(inner, module);
        let module = ident(module);
        let servant = self.servant(&scope, def.id, answers);
        let functions = methods.iter().map(|method| self.upcall(&scope, &servant, method, answers));
        let functions: TokenStream = functions.collect();
        let imports = self.imports(&functions);
        quote! {
            /// Functions, one for each operation, that read the request, call the servant and write the answer.
            #[doc(hidden)]
            pub mod #module { #imports #functions }
        }
    }

    fn upcall(
        &self,
        scope: &Scope<'_>,
        servant: &TokenStream,
        method: &Method<'_, 'm>,
        answers: Answers,
    ) -> TokenStream {
        let r = &scope.runtime;
        let name = ident(method.name);
        let names = parameter_names(method);
        let local = |wish: &str| fresh(wish, names.iter().map(String::as_str));
        let (this, upcall, rejected) = (local("servant"), local("upcall"), local("rejected"));
        let (result, error, args) = (local("result"), local("error"), local("args"));
        let vars = Vars::beside(names.iter().map(String::as_str))
            .interpreted(self.interpreted.contains(&method.owner));

        let lent = answers.at_once() && method.call.args.iter().any(|arg| arg.borrowed);
        let arena = local("arena");
        let lend = lent.then(|| {
            quote! {
                let #arena = #upcall.arena();
                let #arena = &*#arena;
            }
        });
        let (bindings, read) =
            self.received_arguments(scope, method, &names, &vars, (answers, &arena));
        let passed = self.passed_arguments(method, &names, answers);
        let call = quote!(#servant::#name(#this #(, #passed)*));
        let read = match bindings.is_empty() {
            true => quote! {
                if let Err(#rejected) = #upcall.args(|_| Ok(())) {
                    return #upcall.reject(#rejected);
                }
            },
            false => {
                let bindings = tuple(bindings);
                let in_place = method.call.args.iter().any(|arg| arg.plan == Plan::InPlace);
                let decode = match in_place {
                    true => quote!(args_in_place),
                    false => quote!(args),
                };
                quote! {
                    let #bindings = match #upcall.#decode(#read) {
                        Ok(#args) => #args,
                        Err(#rejected) => return #upcall.reject(#rejected),
                    };
                }
            }
        };
        let answer = if method.silent {
            quote!(#call; #upcall.done())
        } else if method.call.oneway {
            quote! {
                match #call {
                    Ok(()) => #upcall.done(),
                    Err(#error) => #upcall.fail(#error),
                }
            }
        } else if let (Answers::Later, Some(answer)) = (answers, method.answer) {
            let (later, answer) = (local("later"), self.path(scope, Some(method.owner), answer));
            quote!(#upcall.later(|#later| #servant::#name(#this #(, #passed)* , #answer(#later))))
        } else {
            let (pattern, write) = self.written_results(scope, method, &names, &vars, &result);
            quote! {
                match #call {
                    Ok(#pattern) => #upcall.reply(#write),
                    Err(#error) => #upcall.raise(&#error),
                }
            }
        };
        quote! {
            pub fn #name<T: #servant + ?Sized>(#this: &T, mut #upcall: #r::Upcall<'_>) -> #r::Outcome {
                #lend
                #read
                #answer
            }
        }
    }

    /// Returns patterns for the arguments in the request, and the closure that reads them.
    fn received_arguments(
        &self,
        scope: &Scope<'_>,
        method: &Method<'_, 'm>,
        names: &[String],
        vars: &Vars,
        (answers, arena): (Answers, &TokenStream),
    ) -> (Vec<TokenStream>, TokenStream) {
        let (mut bindings, mut steps) = (Vec::new(), Vec::new());
        for (arg, name) in method.call.args.iter().zip(names) {
            let name = ident(name);
            match arg.direction {
                Direction::Out => continue,
                Direction::InOut if answers.at_once() => {
                    bindings.push(quote!(mut #name));
                    steps.push(self.decode(scope, vars, arg.ty, &arg.plan));
                }
                Direction::In if arg.borrowed && answers.at_once() => {
                    bindings.push(quote!(#name));
                    steps.push(self.decode_view(scope, vars, arg.ty, &arg.plan, arena));
                }
                Direction::In | Direction::InOut => {
                    bindings.push(quote!(#name));
                    steps.push(self.decode_borrowed(scope, vars, arg.ty, &arg.plan));
                }
            }
        }
        if !method.call.context.is_empty() {
            let (name, d, r) = (ident(names.last().expect("named")), &vars.d, &scope.runtime);
            bindings.push(quote!(#name));
            steps.push(Step::Fallible(quote!(#r::decode_context(#d))));
        }
        (bindings, reader(vars, steps))
    }

    /// Returns the arguments in the form of the servant's method.
    fn passed_arguments(
        &self,
        method: &Method<'_, '_>,
        names: &[String],
        answers: Answers,
    ) -> Vec<TokenStream> {
        let mut passed = Vec::new();
        for (arg, name) in method.call.args.iter().zip(names) {
            let name = ident(name);
            passed.push(match arg.direction {
                Direction::Out => continue,
                Direction::InOut if answers.at_once() => quote!(&mut #name),
                Direction::In if arg.borrowed && answers.at_once() => match &arg.plan {
                    Plan::Text { .. } | Plan::Block { .. } | Plan::List { .. } => quote!(#name),
                    _ => quote!(&#name),
                },
                Direction::In | Direction::InOut => self.passed(arg, &quote!(#name)),
            });
        }
        if !method.call.context.is_empty() {
            let context = ident(names.last().expect("named"));
            passed.push(quote!(&#context));
        }
        passed
    }

    fn passed(&self, arg: &Arg<'_>, name: &TokenStream) -> TokenStream {
        use oxorb_idl::model::Basic;
        match &arg.plan {
            plan if plan.is_scalar(self.model) => name.clone(),
            Plan::Reference(_) => quote!(#name.as_ref()),
            Plan::InPlace => name.clone(),
            // The argument is a slice of the receive buffer already.
            Plan::Block { element: Basic::Octet, .. } => name.clone(),
            _ => quote!(&#name),
        }
    }

    /// Returns the pattern for the servant's result, and the closure that writes the reply: return value, then `out`
    /// and `inout` as declared.
    pub(super) fn written_results(
        &self,
        scope: &Scope<'_>,
        method: &Method<'_, 'm>,
        names: &[String],
        vars: &Vars,
        result: &TokenStream,
    ) -> (TokenStream, TokenStream) {
        let (mut pattern, mut steps) = (Vec::new(), Vec::new());
        if let Some((_, plan)) = &method.call.returns {
            pattern.push(result.clone());
            steps.push(self.encode(scope, vars, plan, &Place::Owned(result.clone())));
        }
        for (arg, name) in method.call.args.iter().zip(names) {
            let name = ident(name);
            match arg.direction {
                Direction::In => continue,
                Direction::Out => pattern.push(quote!(#name)),
                Direction::InOut => {}
            }
            steps.push(self.encode(scope, vars, &arg.plan, &Place::Owned(quote!(#name))));
        }
        // Several steps share one reservation; a single step reserves space itself.
        if steps.len() > 1
            && let Some(octets) = room_for_results(self.model, method.call)
        {
            let (e, octets) = (&vars.e, Literal::u32_unsuffixed(octets));
            steps.insert(0, Step::Plain(quote!(#e.reserve(#octets))));
        }
        (tuple(pattern), writer(vars, steps))
    }
}
