//! Interfaces: servant trait, reference type, errors, skeleton.

mod ami;
mod attributes;
mod behaviour;
mod client;
mod confined;
mod direct;
mod errors;
mod executor;
mod home;
mod later;
mod server;
mod signature;

use oxorb_idl::model::{Def, DefId, DefKind, Interface};
use proc_macro2::{Literal, TokenStream};
use quote::quote;

use self::later::Answers;
use self::signature::forwarded;
use super::names::MethodNames;
use super::scope::Scope;
use super::types::ident;
use super::{Rust, Unmapped, docs, is_remote};
use crate::plan::{Call, calls};
use crate::sizes::room;

/// Repository id that every object supports.
const OBJECT_ID: &str = "IDL:omg.org/CORBA/Object:1.0";

/// Call with its Rust names.
struct Method<'r, 'm> {
    /// Definition that declares the call.
    owner: DefId,
    call: &'r Call<'m>,
    /// Name in the servant trait.
    name: &'r str,
    /// Name of the descriptor.
    descriptor: &'r str,
    /// Error enum, if the call raises user exceptions.
    error: Option<&'r str>,
    /// Whether the method takes `&mut self`: it changes the state of a value.
    mutating: bool,
    /// Whether the servant's method returns nothing: a oneway that is not `@fallible`.
    silent: bool,
    /// Answer type for a later reply, if requested.
    answer: Option<&'r str>,
}

impl<'m> Rust<'m> {
    /// Generates an `interface`: all its items, including the inner module.
    pub(super) fn interface(
        &self,
        scope: &Scope<'_>,
        def: &'m Def,
        interface: &'m Interface,
    ) -> Result<Vec<TokenStream>, Unmapped> {
        let own = self.calls(def.id, interface)?;
        let methods = self.own_methods(def.id, &own);
        let mut items = vec![self.servant_trait(scope, def, interface, &methods)];
        let inner = self.scope(Some(def.id));
        let mut inside = self.errors(&inner, &methods);
        if is_remote(interface) {
            items.push(self.reference_only(scope, def, interface));
            items.push(self.typed(scope, def));
            if self.is_abstract(def.id) {
                items.push(self.abstract_interface(scope, def));
                items.extend(self.calls_through_abstract(scope, def)?);
            }
            items.push(self.client_methods(scope, def, interface)?);
            items.push(self.served_by(scope, def));
            inside.extend(self.descriptors(def, &methods));
            inside.extend(self.skeleton(&inner, def, interface, Answers::Now));
            inside.extend(self.serve(&inner, def, &methods, Answers::Now));
            if self.handlers.contains_key(&def.id) {
                inside.extend(self.held_errors(&inner, &methods));
            }
            if self.answers_later(def) {
                items.push(self.later_trait(scope, def, interface, &methods));
                inside.extend(self.answers(&inner, &methods));
                inside.extend(self.skeleton(&inner, def, interface, Answers::Later));
                inside.extend(self.serve(&inner, def, &methods, Answers::Later));
            }
        }
        if is_remote(interface) && self.confined.contains(&def.id) {
            items.push(self.confined_trait(scope, def, interface, &methods));
            inside.extend(self.skeleton(&inner, def, interface, Answers::Confined));
            inside.extend(self.serve(&inner, def, &methods, Answers::Confined));
        }
        if let Some(executors) = self.executors.filter(|_| is_remote(interface)) {
            let name = &def.scoped_name;
            if let Some(component) = executors.component(name) {
                let (executor, adapter) = self.component_executor(scope, &inner, def, component)?;
                items.push(executor);
                inside.extend(adapter);
            }
            if let Some(home) = executors.home(name) {
                let (executor, adapter) = self.home_executor(scope, &inner, def, home)?;
                items.push(executor);
                inside.extend(adapter);
            }
            if let Some(event) = executors.event_of(name) {
                inside.extend(self.event_consumer(&inner, def, interface, event));
            }
        }
        if self.supported.contains(&def.id) {
            let servant = self.named(&inner, def.id);
            inside.extend(self.implementers(&inner, def, &servant));
        }
        items.extend(self.inner_module(def, inside)?);
        Ok(items)
    }

    /// Generates the reference type and its conversions.
    pub(super) fn reference_only(
        &self,
        scope: &Scope<'_>,
        def: &Def,
        interface: &Interface,
    ) -> TokenStream {
        let r = &scope.runtime;
        let item = self.names.item(def.id);
        let name = ident(&item.reference);
        let id = &def.repository_id;
        let docs = docs::lines(&format!(
            "A reference to an object with the interface [`{}`].\n\nIDL: `interface {}`.",
            item.name, def.scoped_name
        ));
        let docs = match interface.exports.is_empty() && interface.bases.is_empty() {
            true => docs::lines(&format!(
                "A reference to an object.\n\nIDL: `interface {}`.",
                def.scoped_name
            )),
            false => docs,
        };
        let (from, option) = (scope.std("From"), scope.std("Option"));
        let shared = self.shared_base(interface);
        let untyped = self.untyped(scope, interface);
        let (holds, shares, made) = match shared {
            None => (quote!(#r::Ref), None, quote!(Self(reference))),
            Some(base) => {
                let base = self.reference(scope, base);
                let shares = quote! {
                    impl ::core::ops::Deref for #name {
                        type Target = #base;
                        fn deref(&self) -> &#base { &self.0 }
                    }
                };
                let made = quote!(Self(#r::Interface::from_ref(reference)));
                (base, Some(shares), made)
            }
        };
        let bases = self.model.all_bases(interface);
        let bases = bases.iter().filter(|base| self.is_remote(**base)).map(|id| {
            let base = self.reference(scope, *id);
            let of_base = match shared {
                None => quote!(#r::Interface::from_ref(derived.0)),
                Some(shared) if shared == *id => quote!(derived.0),
                Some(_) => quote!(#r::Interface::unchecked_narrow(&derived.0)),
            };
            quote! {
                impl #from<#name> for #base {
                    fn from(derived: #name) -> Self { #of_base }
                }
            }
        });
        let untyped = match shared {
            None => quote!(&#untyped),
            Some(_) => untyped,
        };
        quote! {
            #docs
            #[derive(Debug, Clone, PartialEq, Eq, Hash)]
            pub struct #name(#holds);
            #shares
            impl #r::Interface for #name {
                const REPOSITORY_ID: &'static str = #id;
                fn from_ref(reference: #r::Ref) -> Self { #made }
                fn reference(&self) -> &#r::Ref { #untyped }
            }
            impl #r::Nilable for #name {
                fn encode_nilable<'a>(
                    reference: #option<&'a Self>,
                    e: &mut #r::Encoder<'a>,
                ) -> #r::CdrResult<()> {
                    #r::encode_ref(e, reference)
                }
                fn decode_nilable(d: &mut #r::Decoder<'_>) -> #r::CdrResult<#option<Self>> {
                    #r::decode_ref(d)
                }
            }
            impl #r::Passes for #name {
                fn passes(&self, orb: &#r::Orb) -> bool { #r::Passes::passes(&self.0, orb) }
            }
            #(#bases)*
        }
    }

    /// Returns the base whose reference a reference contains and dereferences to, so that the stubs of that base exist
    /// once: the base with the largest number of operations.
    pub(super) fn shared_base(&self, interface: &Interface) -> Option<DefId> {
        let bases = self.model.all_bases(interface).into_iter();
        let bases = bases.filter(|id| self.is_remote(*id));
        bases.max_by_key(|id| self.names.inherent(*id).len())
    }

    /// Returns the untyped reference within a reference.
    pub(super) fn untyped(&self, scope: &Scope<'_>, interface: &Interface) -> TokenStream {
        let r = &scope.runtime;
        match self.shared_base(interface) {
            None => quote!(self.0),
            Some(_) => quote!(#r::Interface::reference(&self.0)),
        }
    }

    fn is_remote(&self, id: DefId) -> bool {
        match &self.model.def(id).kind {
            DefKind::Interface(interface) => is_remote(interface),
            _ => true,
        }
    }

    /// Generates the trait that servants implement.
    fn servant_trait(
        &self,
        scope: &Scope<'_>,
        def: &Def,
        interface: &Interface,
        methods: &[Method<'_, '_>],
    ) -> TokenStream {
        let name = ident(&self.names.item(def.id).name);
        let docs = docs::item(&def.doc, "interface", def);
        let bounds = match interface.bases.is_empty() {
            true => {
                let (send, sync) = (scope.std("Send"), scope.std("Sync"));
                quote!(#send + #sync + 'static)
            }
            false => {
                let bases = interface.bases.iter().map(|base| self.named(scope, *base));
                quote!(#(#bases)+*)
            }
        };
        let declared = methods.iter().map(|method| {
            let docs = self.method_docs(method);
            let signature = self.servant_signature(scope, method);
            quote!(#docs #signature;)
        });
        let delegated = (is_remote(interface)).then(|| {
            let r = &scope.runtime;
            let methods = methods.iter().map(|method| {
                let signature = self.servant_signature(scope, method);
                let (method_name, args) = (ident(method.name), forwarded(method));
                quote! {
                    #signature {
                        let servant = #r::DelegatesTo::<dyn #name>::delegate(self);
                        <dyn #name as #name>::#method_name(servant #(, #args)*)
                    }
                }
            });
            quote! {
                impl<T: #r::DelegatesTo<dyn #name> + #bounds> #name for T { #(#methods)* }
            }
        });
        quote! {
            #docs
            pub trait #name: #bounds { #(#declared)* }
            #delegated
        }
    }

    /// Generates the implementation by which `poa.activate(servant)` finds the skeleton.
    fn served_by(&self, scope: &Scope<'_>, def: &Def) -> TokenStream {
        let r = &scope.runtime;
        let item = self.names.item(def.id);
        let (name, reference) = (ident(&item.name), ident(&item.reference));
        let arc = scope.std("Arc");
        let DefKind::Interface(interface) = &def.kind else {
            return TokenStream::new();
        };
        let bases = self.model.all_bases(interface);
        let handles: Vec<_> = [def.id]
            .into_iter()
            .chain(bases)
            .map(|id| {
                let name = &self.names.item(id).name;
                let servant = self.path(scope, self.model.def(id).parent, name);
                quote!(#r::handle::<dyn #servant>(servant.clone()))
            })
            .collect();
        quote! {
            impl<T: #name> #r::ServedBy<T> for #reference {
                fn servant(servant: T) -> #arc<dyn #r::Servant> {
                    <Self as #r::ServedBy<#arc<T>>>::servant(#arc::new(servant))
                }
            }
            impl<T: #name> #r::ServedBy<#arc<T>> for #reference {
                fn servant(servant: #arc<T>) -> #arc<dyn #r::Servant> {
                    let handles = #r::handles([#(#handles),*]);
                    #r::skeleton::<T, Self>(servant, handles)
                }
            }
            impl #r::ServedBy<#arc<dyn #name>> for #reference {
                #[inline]
                fn servant(servant: #arc<dyn #name>) -> #arc<dyn #r::Servant> {
                    let handles = #r::handles([#(#handles),*]);
                    #r::skeleton::<dyn #name, Self>(servant, handles)
                }
            }
        }
    }

    /// Generates the operation descriptors that stub, skeleton and trace share.
    fn descriptors(&self, def: &Def, methods: &[Method<'_, '_>]) -> TokenStream {
        let item = self.names.item(def.id);
        let (module, runtime) = (ident(&item.op), &self.runtime);
        let first = self.inherited_calls(def.id);
        let descriptors = methods.iter().zip(first..).map(|(method, place)| {
            let (name, wire) = (ident(method.descriptor), &*method.call.wire_name);
            let place = u16::try_from(place).unwrap_or(u16::MAX);
            let place = Literal::u16_unsuffixed(place);
            let kind = match method.call.oneway {
                true => quote!(oneway),
                false => quote!(twoway),
            };
            let sized = room(self.model, method.call).map(|octets| {
                let octets = Literal::u32_unsuffixed(octets);
                quote!(.sized(#octets))
            });
            quote!(pub static #name: Op = Op::#kind(#wire).at(#place) #sized;)
        });
        if methods.is_empty() {
            return TokenStream::new();
        }
        quote! {
            /// Descriptors, one for each operation.
            #[doc(hidden)]
            pub mod #module {
                use #runtime::Op;
                #(#descriptors)*
            }
        }
    }

    /// Returns an interface and all its bases, most basic first: the operations of an interface with one base have the
    /// same indices as in the base.
    fn declaring_order(&self, id: DefId) -> Vec<DefId> {
        let mut order = Vec::new();
        self.add_declaring(id, &mut order);
        order
    }

    fn add_declaring(&self, id: DefId, order: &mut Vec<DefId>) {
        if order.contains(&id) {
            return;
        }
        if let DefKind::Interface(interface) = &self.model.def(id).kind {
            for base in &interface.bases {
                self.add_declaring(*base, order);
            }
        }
        order.push(id);
    }

    /// Counts the calls that an interface inherits.
    fn inherited_calls(&self, id: DefId) -> usize {
        let order = self.declaring_order(id);
        let bases = order.iter().filter(|owner| **owner != id);
        let counts = bases.map(|owner| match &self.model.def(*owner).kind {
            DefKind::Interface(interface) => {
                self.calls(*owner, interface).map_or(0, |calls| calls.len())
            }
            _ => 0,
        });
        counts.sum()
    }

    fn method_docs(&self, method: &Method<'_, '_>) -> TokenStream {
        let call = method.call;
        match (call.attribute, call.wire_name.strip_prefix("_set_")) {
            (true, Some(name)) => docs::after(&format!("Sets the attribute `{name}`."), call.doc),
            (true, None) => docs::or(call.doc, &format!("The attribute `{}`.", call.name)),
            (false, _) => docs::or(call.doc, &format!("The operation `{}`.", call.name)),
        }
    }

    fn calls(&self, id: DefId, interface: &'m Interface) -> Result<Vec<Call<'m>>, Unmapped> {
        calls(self.model, interface).map_err(|what| Unmapped { def: id, what })
    }

    fn own_methods<'r>(&'r self, id: DefId, own: &'r [Call<'m>]) -> Vec<Method<'r, 'm>> {
        self.named_methods(id, own, self.names.methods(id))
    }

    /// Reports whether the servant's method of a oneway operation returns a result.
    fn is_fallible(&self, id: DefId, call: &Call<'_>) -> bool {
        self.fallible.contains(&(id, call.wire_name.as_ref().to_owned()))
    }

    fn named_methods<'r>(
        &'r self,
        id: DefId,
        own: &'r [Call<'m>],
        names: &'r [MethodNames],
    ) -> Vec<Method<'r, 'm>> {
        let pairs = own.iter().zip(names);
        let methods = pairs.map(|(call, names)| Method {
            owner: id,
            call,
            name: &names.method,
            descriptor: &names.descriptor,
            error: names.error.as_deref(),
            mutating: false,
            silent: call.oneway && !self.is_fallible(id, call),
            answer: names.answer.as_deref(),
        });
        methods.collect()
    }
}
