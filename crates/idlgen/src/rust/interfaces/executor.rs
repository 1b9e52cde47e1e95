//! Components: the executor's trait, its context in each phase, and the servant that joins it to a container.

use std::collections::HashMap;

use oxorb_idl::model::{Def, DefId, DefKind, Interface};
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::super::case::snake;
use super::super::scope::Scope;
use super::super::types::ident;
use super::super::{Rust, Unmapped, docs, names};
use super::signature::forwarded;
use crate::executors::{ComponentExecutor, PlainKind, PlainPort};

/// Methods of each executor, in the order of its life cycle.
const LIFE: [&str; 5] =
    ["set_session_context", "configuration_complete", "activate", "passivate", "remove"];

/// Port with its Rust names and types.
struct Named<'p> {
    port: &'p PlainPort,
    /// Name of field and accessor.
    field: Ident,
    /// Method of the executor, for facets and sinks.
    method: Ident,
    /// Reference type or event type, seen from inside the component's module.
    ty: TokenStream,
}

impl<'m> Rust<'m> {
    /// Returns the executor's trait, and the contents of the component's module.
    pub(super) fn component_executor(
        &self,
        scope: &Scope<'_>,
        inner: &Scope<'_>,
        def: &'m Def,
        component: &ComponentExecutor,
    ) -> Result<(TokenStream, TokenStream), Unmapped> {
        let r = &scope.runtime;
        let c = quote!(#r::components);
        let item = self.names.item(def.id);
        let (executor, module) = (ident(&item.executor), ident(&item.inner));
        let [installed, configured, context] = item.phases.each_ref().map(|name| ident(name));
        let (result, arc) = (scope.std("Result"), scope.std("Arc"));
        let (send, sync) = (scope.std("Send"), scope.std("Sync"));
        let error = &scope.system_exception;

        let chain = self.defs_named(&component.chain);
        let mut attributes = TokenStream::new();
        let mut taken: Vec<String> = Vec::new();
        for (owner, interface) in &chain {
            let own = self.calls(owner.id, interface)?;
            for method in self.own_methods(owner.id, &own) {
                if method.call.attribute {
                    let docs = self.method_docs(&method);
                    let signature = self.servant_signature(scope, &method);
                    attributes.extend(quote!(#docs #signature;));
                    taken.push(method.name.to_owned());
                }
            }
        }
        let ports = self.named_ports(inner, component, &taken);
        let life: Vec<Ident> = self.life_methods(component, &taken);
        let [set_session_context, configuration_complete, activate, passivate, remove] =
            life.as_slice()
        else {
            unreachable!("five names")
        };

        let supports = self.defs_named(&component.supports);
        let supports = supports.iter().map(|(def, _)| self.named(scope, def.id));
        let bounds = supports.chain([quote!(#send), quote!(#sync), quote!(Sized), quote!('static)]);
        let ports_of_trait = ports.iter().filter_map(|port| {
            let method = &port.method;
            let about = |text: String| docs::or(&port.port.doc, &text);
            let name = &port.port.name;
            match &port.port.kind {
                PlainKind::Facet(None) => {
                    let docs = about(format!("Returns the servant of the facet `{name}`; called once."));
                    Some(quote! {
                        #docs
                        fn #method(self: &#arc<Self>, context: &#module::#context) -> #arc<dyn #r::Servant>;
                    })
                }
                PlainKind::Facet(Some(interface)) => {
                    let docs = about(format!("Returns the servant of the facet `{name}`; called once."));
                    let servant = self.named(scope, self.def_named(interface)?.id);
                    Some(quote! {
                        #docs
                        fn #method(self: &#arc<Self>, context: &#module::#context) -> #arc<dyn #servant>;
                    })
                }
                PlainKind::Sink(event) => {
                    let docs = about(format!("Takes an event of the sink `{name}`."));
                    let event = self.named(scope, self.def_named(event)?.id);
                    Some(quote! {
                        #docs
                        fn #method(
                            &self,
                            context: &#module::#context,
                            event: &#r::Value<#event>,
                        ) -> #result<(), #error>;
                    })
                }
                _ => None,
            }
        });
        let docs = docs::lines(&format!(
            "Executor of the component [`{}`].\n\nIDL: `component {}`.",
            item.name, def.scoped_name
        ));
        let executor_trait = quote! {
            #docs
            pub trait #executor: #(#bounds)+* {
                #attributes
                #(#ports_of_trait)*
                /// Begins the life of the component: no port is connected.
                fn #set_session_context(&self, context: &#module::#installed) -> #result<(), #c::CcmException> {
                    Ok(())
                }
                /// Ends the configuration: attributes are set, and ports are connected.
                fn #configuration_complete(
                    &self,
                    context: &#module::#configured,
                ) -> #result<(), #c::InvalidConfiguration> {
                    Ok(())
                }
                /// Starts to take events.
                fn #activate(&self, context: &#module::#context) -> #result<(), #c::CcmException> {
                    Ok(())
                }
                /// Stops to take events, until activated again.
                fn #passivate(&self, context: &#module::#context) -> #result<(), #c::CcmException> {
                    Ok(())
                }
                /// Ends the life of the component.
                fn #remove(&self, context: &#module::#installed) -> #result<(), #c::CcmException> {
                    Ok(())
                }
            }
        };
        let mut inside = self.phases(inner, def, &ports);
        inside.extend(self.component_adapter(inner, def, component, &ports, &life)?);
        Ok((executor_trait, inside))
    }

    /// Generates the ports, and the executor's view of them in each phase.
    fn phases(&self, inner: &Scope<'_>, def: &Def, ports: &[Named<'_>]) -> TokenStream {
        let r = &inner.runtime;
        let c = quote!(#r::components);
        let item = self.names.item(def.id);
        let all = ident(&item.ports);
        let [installed, configured, context] = item.phases.each_ref().map(|name| ident(name));
        let (result, arc, option) = (inner.std("Result"), inner.std("Arc"), inner.std("Option"));
        let own = self.reference(inner, def.id);
        let fields = ports.iter().map(|port| {
            let (field, ty) = (&port.field, &port.ty);
            let ty = match &port.port.kind {
                PlainKind::Facet(_) => quote!(#c::Facet<#ty>),
                PlainKind::Sink(_) => quote!(#c::Facet<<#ty as #c::EventType>::Consumer>),
                PlainKind::Receptacle(_) => quote!(#c::Receptacle<#ty>),
                PlainKind::Multiple(_) => quote!(#c::MultipleReceptacle<#ty>),
                PlainKind::Emitter(_) => quote!(#c::Emitter<#ty>),
                PlainKind::Publisher(_) => quote!(#c::Publisher<#ty>),
            };
            quote!(#field: #ty)
        });
        let taken = ports.iter().map(|port| port.field.to_string());
        let mut fixed =
            names::distinct(taken.chain(["component", "instance_name"].map(String::from)));
        let (instance_name, component) = (fixed.pop(), fixed.pop());
        let instance_name = ident(&instance_name.expect("two were added"));
        let component = ident(&component.expect("two were added"));
        let (mut facets, mut receptacles, mut events) =
            (TokenStream::new(), TokenStream::new(), TokenStream::new());
        for Named { port, field, ty, .. } in ports {
            let name = &port.name;
            match &port.kind {
                PlainKind::Facet(_) => {
                    let docs = docs::lines(&format!(
                        "Returns the reference of the facet `{name}`, nil until its servant exists."
                    ));
                    facets.extend(quote! {
                        #docs
                        pub fn #field(&self) -> #option<#ty> { self.0.#field.get() }
                    });
                }
                PlainKind::Receptacle(_) => {
                    let docs = docs::lines(&format!(
                        "Returns the object that is connected to the receptacle `{name}`."
                    ));
                    receptacles.extend(quote! {
                        #docs
                        pub fn #field(&self) -> #result<#c::Used<'_, #ty>, #c::NotConnected> { self.0.0.#field.get() }
                    });
                }
                PlainKind::Multiple(_) => {
                    let docs = docs::lines(&format!(
                        "Returns all objects that are connected to the receptacle `{name}`."
                    ));
                    receptacles.extend(quote! {
                        #docs
                        pub fn #field(&self) -> #c::Connected<#ty> { self.0.0.#field.get() }
                    });
                }
                PlainKind::Emitter(_) | PlainKind::Publisher(_) => {
                    let push = ident(&format!("push_{}", snake(name).trim_start_matches("r#")));
                    let docs =
                        docs::lines(&format!("Pushes an event from `{name}` to each consumer."));
                    events.extend(quote! {
                        #docs
                        pub fn #push(&self, event: impl Into<#r::ValueLink<#ty>>) -> #c::Pushed {
                            self.0.0.0.#field.push(&event.into())
                        }
                    });
                }
                PlainKind::Sink(_) => {}
            }
        }
        quote! {
            #[doc(hidden)]
            pub struct #all {
                instance: #c::Instance,
                #(#fields,)*
            }
            /// The component before it is connected, and after it is removed. Cheap to clone.
            #[derive(Clone)]
            pub struct #installed(#arc<#all>);
            impl #installed {
                /// Returns the component's own reference.
                pub fn #component(&self) -> #own { self.0.instance.reference() }
                /// Returns the name under which it was installed.
                pub fn #instance_name(&self) -> &str { self.0.instance.name() }
                #facets
            }
            /// The component once it is connected: receptacles as well. Cheap to clone.
            #[derive(Clone)]
            pub struct #configured(#installed);
            impl ::core::ops::Deref for #configured {
                type Target = #installed;
                fn deref(&self) -> &#installed { &self.0 }
            }
            impl #configured { #receptacles }
            /// The component at work: event sources as well. Cheap to clone.
            #[derive(Clone)]
            pub struct #context(#configured);
            impl ::core::ops::Deref for #context {
                type Target = #configured;
                fn deref(&self) -> &#configured { &self.0 }
            }
            impl #context { #events }
        }
    }

    /// Generates the servant around an executor.
    fn component_adapter(
        &self,
        inner: &Scope<'_>,
        def: &'m Def,
        component: &ComponentExecutor,
        ports: &[Named<'_>],
        life: &[Ident],
    ) -> Result<TokenStream, Unmapped> {
        let r = &inner.runtime;
        let c = quote!(#r::components);
        let item = self.names.item(def.id);
        let (adapter, all) = (ident(&item.adapter), ident(&item.ports));
        let [installed, configured, context] = item.phases.each_ref().map(|name| ident(name));
        let executor = self.path(inner, def.parent, &item.executor);
        let own = self.reference(inner, def.id);
        let (result, arc) = (inner.std("Result"), inner.std("Arc"));

        let wired = self.wired(inner, def, component, ports);
        let mut interfaces = TokenStream::new();
        for (owner, interface) in self.defs_named(&component.chain) {
            let servant = self.named(inner, owner.id);
            let calls = self.calls(owner.id, interface)?;
            let methods = self.own_methods(owner.id, &calls);
            let methods = methods.iter().map(|method| {
                let signature = self.servant_signature(inner, method);
                let args = forwarded(method);
                let body = match wired.get(&*method.call.wire_name) {
                    Some(body) => body(&args),
                    None => {
                        let name = ident(method.name);
                        quote!(<E as #executor>::#name(&self.executor #(, #args)*))
                    }
                };
                quote!(#signature { #body })
            });
            interfaces.extend(quote! {
                impl<E: #executor> #servant for #adapter<E> { #(#methods)* }
            });
        }
        for (supported, _) in self.with_bases(&self.defs_named(&component.supports)) {
            let supported = self.named(inner, supported.id);
            interfaces.extend(quote! {
                impl<E: #executor> #r::DelegatesTo<dyn #supported> for #adapter<E> {
                    fn delegate(&self) -> &(dyn #supported + 'static) { &*self.executor }
                }
            });
        }
        let generic = ["Navigation", "Receptacles", "Events", "CcmObject"].map(ident);
        let declared = ports.iter().map(|port| {
            let (field, name, ty) = (&port.field, &port.port.name, &port.ty);
            match &port.port.kind {
                PlainKind::Facet(_) => quote!(#field: assembly.facet(#name)),
                PlainKind::Sink(_) => quote!(#field: assembly.sink::<#ty>(#name)),
                PlainKind::Receptacle(_) => quote!(#field: assembly.receptacle(#name)),
                PlainKind::Multiple(_) => quote!(#field: assembly.multiple(#name)),
                PlainKind::Emitter(_) => quote!(#field: assembly.emitter(#name)),
                PlainKind::Publisher(_) => quote!(#field: assembly.publisher(#name)),
            }
        });
        let provided = ports.iter().filter_map(|port| {
            let (field, method) = (&port.field, &port.method);
            Some(match &port.port.kind {
                PlainKind::Facet(interface) => {
                    let provide = match interface {
                        Some(_) => quote!(provide),
                        None => quote!(provide_servant),
                    };
                    quote! {
                        let facet = <E as #executor>::#method(&servant.executor, &servant.context);
                        assembly.#provide(&servant.ports.#field, facet)?;
                    }
                }
                PlainKind::Sink(_) => quote! {
                    let (executor, context) = (servant.executor.clone(), servant.context.clone());
                    assembly.consume(&servant.ports.#field, move |event| {
                        <E as #executor>::#method(&executor, &context, event)
                    })?;
                },
                _ => return None,
            })
        });
        let provided: Vec<_> = provided.collect();
        let mut with_attributes = self.defs_named(&component.chain);
        with_attributes.extend(self.defs_named(&component.supports));
        let attributes = self.declared_attributes(inner, &with_attributes, &quote!(assembly));
        let [set_session_context, configuration_complete, activate, passivate, remove] = life
        else {
            unreachable!("five names")
        };
        Ok(quote! {
            /// The servant around an executor.
            #[doc(hidden)]
            pub struct #adapter<E> {
                executor: #arc<E>,
                ports: #arc<#all>,
                context: #context,
                component: #arc<#c::Component>,
            }
            #interfaces
            #(
                impl<E: #executor> #r::DelegatesTo<dyn #c::#generic> for #adapter<E> {
                    fn delegate(&self) -> &(dyn #c::#generic + 'static) { &*self.component }
                }
            )*
            impl<E: #executor> #c::LifeCycle for #adapter<E> {
                fn set_session_context(&self) -> #result<(), #c::CcmException> {
                    <E as #executor>::#set_session_context(&self.executor, &self.context)
                }
                fn configuration_complete(&self) -> #result<(), #c::InvalidConfiguration> {
                    <E as #executor>::#configuration_complete(&self.executor, &self.context)
                }
                fn activate(&self) -> #result<(), #c::CcmException> {
                    <E as #executor>::#activate(&self.executor, &self.context)
                }
                fn passivate(&self) -> #result<(), #c::CcmException> {
                    <E as #executor>::#passivate(&self.executor, &self.context)
                }
                fn remove(&self) -> #result<(), #c::CcmException> {
                    <E as #executor>::#remove(&self.executor, &self.context)
                }
            }
            impl<E: #executor> #c::ComposedOf<E> for #own {
                fn assemble(executor: E, assembly: &mut #c::Assembly) -> #result<(), #c::InstallError> {
                    #attributes
                    let ports = #arc::new(#all {
                        instance: assembly.instance(),
                        #(#declared,)*
                    });
                    let servant = #arc::new(#adapter {
                        executor: #arc::new(executor),
                        context: #context(#configured(#installed(ports.clone()))),
                        ports,
                        component: assembly.component(),
                    });
                    assembly.activate::<#own, _>(&servant)?;
                    #(#provided)*
                    Ok(())
                }
            }
        })
    }

    /// Returns the bodies of the ports' operations, by operation name.
    #[allow(clippy::type_complexity, reason = "a table of closures")]
    fn wired<'p>(
        &'p self,
        inner: &'p Scope<'_>,
        def: &Def,
        component: &'p ComponentExecutor,
        ports: &'p [Named<'p>],
    ) -> HashMap<String, Box<dyn Fn(&[Ident]) -> TokenStream + 'p>> {
        let mut wired: HashMap<String, Box<dyn Fn(&[Ident]) -> TokenStream + 'p>> = HashMap::new();
        let _ = def;
        for Named { port, field, .. } in ports {
            let name = &port.name;
            let mut operation = |operation: String, method: &'static str, plain: bool| {
                let method = ident(method);
                let body = move |args: &[Ident]| match plain {
                    true => quote!(Ok(self.ports.#field.#method(#(#args),*))),
                    false => quote!(self.ports.#field.#method(#(#args),*)),
                };
                wired.insert(operation, Box::new(body));
            };
            match &port.kind {
                PlainKind::Facet(_) => operation(format!("provide_{name}"), "get", true),
                PlainKind::Sink(_) => operation(format!("get_consumer_{name}"), "get", true),
                PlainKind::Receptacle(_) => {
                    operation(format!("connect_{name}"), "connect", false);
                    operation(format!("disconnect_{name}"), "disconnect", false);
                    operation(format!("get_connection_{name}"), "connection", true);
                }
                PlainKind::Multiple(_) => {
                    operation(format!("connect_{name}"), "connect", false);
                    operation(format!("disconnect_{name}"), "disconnect", false);
                    let wanted = component.chain.iter();
                    let wanted = wanted.map(|owner| format!("{owner}::{name}Connection"));
                    let pair = wanted.filter_map(|name| self.def_named(&name)).next();
                    let Some(pair) = pair else { continue };
                    let (pair, parts) = (self.named(inner, pair.id), self.names.parts(pair.id));
                    let (object, cookie) = (ident(&parts[0]), ident(&parts[1]));
                    let body = move |_: &[Ident]| {
                        quote! {
                            Ok(self.ports.#field.connections(|object, cookie| #pair {
                                #object: object,
                                #cookie: cookie,
                            }))
                        }
                    };
                    wired.insert(format!("get_connections_{name}"), Box::new(body));
                }
                PlainKind::Emitter(_) => {
                    operation(format!("connect_{name}"), "connect", false);
                    operation(format!("disconnect_{name}"), "disconnect", false);
                }
                PlainKind::Publisher(_) => {
                    operation(format!("subscribe_{name}"), "subscribe", false);
                    operation(format!("unsubscribe_{name}"), "unsubscribe", false);
                }
            }
        }
        wired
    }

    /// Generates the additions of a consumer interface to its event type.
    pub(super) fn event_consumer(
        &self,
        inner: &Scope<'_>,
        def: &Def,
        interface: &Interface,
        event: &str,
    ) -> TokenStream {
        let r = &inner.runtime;
        let c = quote!(#r::components);
        let Some(event) = self.def_named(event) else {
            return TokenStream::new();
        };
        let (event, error) = (self.named(inner, event.id), &inner.system_exception);
        let adapter = ident(&self.names.item(def.id).adapter);
        let consumer = self.reference(inner, def.id);
        let (result, arc) = (inner.std("Result"), inner.std("Arc"));
        let push = |id: DefId| ident(&self.names.methods(id)[0].method);
        let own = push(def.id);
        let servants = [def.id].into_iter().chain(self.model.all_bases(interface));
        let servants = servants.filter(|id| !self.is_external(*id)).map(|id| {
            let (servant, push) = (self.named(inner, id), push(id));
            let name = &self.model.def(id).scoped_name;
            let pushed = name.strip_suffix("Consumer").and_then(|name| self.def_named(name));
            let pushed = pushed.map(|pushed| self.named(inner, pushed.id));
            let body = match id == def.id {
                true => quote!(self.0.push(event)),
                false => quote!(self.0.push_base(event)),
            };
            quote! {
                impl #servant for #adapter {
                    fn #push(&self, event: &#r::ValueLink<#pushed>) -> #result<(), #error> { #body }
                }
            }
        });
        quote! {
            /// The consumer of an event sink.
            #[doc(hidden)]
            pub struct #adapter(#c::Sink<#event>);
            #(#servants)*
            impl #c::EventConsumerBase for #adapter {
                fn push_event(
                    &self,
                    event: &#r::ValueLink<#c::EventBase>,
                ) -> #result<(), #c::event_consumer_base::PushEventError> {
                    self.0.push_event(event)
                }
            }
            impl #c::EventType for #event {
                type Consumer = #consumer;
                fn push(consumer: &#consumer, event: &#r::ValueLink<Self>) -> #result<(), #error> {
                    consumer.#own(event)
                }
                fn consumer(sink: #c::Sink<Self>) -> #arc<dyn #r::Servant> {
                    <#consumer as #r::ServedBy<#adapter>>::servant(#adapter(sink))
                }
            }
        }
    }

    fn named_ports<'p>(
        &self,
        inner: &Scope<'_>,
        component: &'p ComponentExecutor,
        taken: &[String],
    ) -> Vec<Named<'p>> {
        let ports = &component.ports;
        let fields = ["instance".to_owned()].into_iter();
        let fields = names::distinct(fields.chain(ports.iter().map(|port| snake(&port.name))));
        let methods = ports.iter().map(|port| match &port.kind {
            PlainKind::Sink(_) => format!("push_{}", snake(&port.name).trim_start_matches("r#")),
            _ => snake(&port.name),
        });
        let methods = names::distinct(taken.iter().cloned().chain(methods));
        let named = ports.iter().zip(&fields[1..]).zip(&methods[taken.len()..]);
        let named = named.filter_map(|((port, field), method)| {
            let ty = match &port.kind {
                PlainKind::Facet(None)
                | PlainKind::Receptacle(None)
                | PlainKind::Multiple(None) => {
                    let r = &inner.runtime;
                    quote!(#r::ObjectRef)
                }
                PlainKind::Facet(Some(ty))
                | PlainKind::Receptacle(Some(ty))
                | PlainKind::Multiple(Some(ty)) => self.reference(inner, self.def_named(ty)?.id),
                PlainKind::Emitter(event)
                | PlainKind::Publisher(event)
                | PlainKind::Sink(event) => self.named(inner, self.def_named(event)?.id),
            };
            Some(Named { port, field: ident(field), method: ident(method), ty })
        });
        named.collect()
    }

    /// Returns the names of the life-cycle methods; attributes, facets and sinks keep theirs.
    fn life_methods(&self, component: &ComponentExecutor, taken: &[String]) -> Vec<Ident> {
        let ports = component.ports.iter().map(|port| match &port.kind {
            PlainKind::Sink(_) => format!("push_{}", snake(&port.name).trim_start_matches("r#")),
            _ => snake(&port.name),
        });
        let before = names::distinct(taken.iter().cloned().chain(ports));
        let all = names::distinct(before.iter().cloned().chain(LIFE.map(String::from)));
        all[before.len()..].iter().map(|name| ident(name)).collect()
    }

    /// Returns the definition of this name.
    pub(super) fn def_named(&self, scoped_name: &str) -> Option<&'m Def> {
        let mut defs = self.model.defs();
        let is_forward = |def: &&Def| !matches!(def.kind, DefKind::ForwardInterface(_));
        defs.find(|def| def.scoped_name == scoped_name && is_forward(def))
    }

    /// Returns the interfaces of these names.
    pub(super) fn defs_named(&self, names: &[String]) -> Vec<(&'m Def, &'m Interface)> {
        let defs = names.iter().filter_map(|name| self.def_named(name));
        let interfaces = defs.filter_map(|def| match &def.kind {
            DefKind::Interface(interface) => Some((def, interface)),
            _ => None,
        });
        interfaces.collect()
    }

    /// Returns interfaces and all their bases, each once.
    pub(super) fn with_bases(
        &self,
        of: &[(&'m Def, &'m Interface)],
    ) -> Vec<(&'m Def, &'m Interface)> {
        let mut all: Vec<(&'m Def, &'m Interface)> = Vec::new();
        for (def, interface) in of {
            let bases = self.model.all_bases(interface).into_iter();
            for id in [def.id].into_iter().chain(bases) {
                let def = self.model.def(id);
                let known = all.iter().any(|(known, _)| known.id == id);
                if let (false, DefKind::Interface(interface)) = (known, &def.kind) {
                    all.push((def, interface));
                }
            }
        }
        all
    }
}
