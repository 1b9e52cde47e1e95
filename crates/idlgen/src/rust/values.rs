//! Valuetypes: structs for the state, and their descriptions for the runtime.

use std::collections::BTreeSet;

use oxorb_idl::model::{Def, DefId, DefKind, Field, InterfaceKind, Type, ValueKind, ValueType};
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::codec::{Place, Step, Vars, sequence};
use super::scope::Scope;
use super::types::ident;
use super::{Rust, docs};
use crate::plan::{NotYet, Plan};

/// State member, ready to print.
struct Member<'m> {
    doc: String,
    name: Ident,
    declared: &'m Field,
    plan: Plan,
}

impl<'m> Rust<'m> {
    /// Generates a `valuetype` or `eventtype`.
    pub(super) fn valuetype(
        &self,
        scope: &Scope<'_>,
        def: &'m Def,
        value: &'m ValueType,
    ) -> Result<Vec<TokenStream>, NotYet> {
        let kind = match (value.event, value.kind) {
            (true, _) => "eventtype",
            (false, ValueKind::Abstract) => "abstract valuetype",
            (false, ValueKind::Custom) => "custom valuetype",
            (false, ValueKind::Stateful) => "valuetype",
        };
        let docs = docs::item(&def.doc, kind, def);
        let mut items = match value.kind {
            ValueKind::Abstract => {
                let name = ident(&self.names.item(def.id).name);
                vec![quote! {
                    #docs
                    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
                    pub enum #name {}
                }]
            }
            _ => self.state(scope, def, value, &docs)?,
        };
        items.push(self.value_info(scope, def, value));
        Ok(items)
    }

    /// Generates a `valuetype Name content;`.
    pub(super) fn boxed(
        &self,
        scope: &Scope<'_>,
        def: &'m Def,
        content: &'m Type,
    ) -> Result<TokenStream, NotYet> {
        let plan = Plan::of(self.model, content)?;
        if !plan.travels(self.model) {
            return Err(NotYet::new("a boxed value that cannot be sent"));
        }
        let (r, name) = (&scope.runtime, ident(&self.names.item(def.id).name));
        let docs = docs::item(&def.doc, "valuetype", def);
        let (ty, id) = (self.ty(scope, content), &def.repository_id);
        let vars = Vars::beside([].into_iter());
        let write = sequence(vec![self.encode(scope, &vars, &plan, &Place::Owned(quote!(self.0)))]);
        let read = self.decode(scope, &vars, content, &plan).tried();
        Ok(quote! {
            #docs
            #[derive(Debug, Clone, PartialEq)]
            pub struct #name(pub #ty);
            impl #r::Valuetype for #name {
                const INFO: &'static #r::ValueInfo = &#r::ValueInfo::new(#id);
                fn factories() -> &'static [#r::Factory] {
                    static ALL: &[#r::Factory] = &[#r::Factory::of::<#name>()];
                    ALL
                }
            }
            impl #r::Inherits<#r::ValueBase> for #name {}
            impl #r::ValueState for #name {
                fn encode_state<'a>(&'a self, e: &mut #r::Encoder<'a>) -> #r::CdrResult<()> { #write }
                fn decode_state(d: &mut #r::Decoder<'_>) -> #r::CdrResult<Self> { Ok(Self(#read)) }
            }
        })
    }

    /// Generates the value side of an abstract interface.
    pub(super) fn abstract_interface(&self, scope: &Scope<'_>, def: &Def) -> TokenStream {
        let (r, name) = (&scope.runtime, ident(&self.names.item(def.id).reference));
        let (id, factories) = (&def.repository_id, self.factories(scope, def.id));
        quote! {
            impl #r::Valuetype for #name {
                const INFO: &'static #r::ValueInfo = &#r::ValueInfo::new(#id);
                #factories
            }
        }
    }

    /// Reports whether a definition is an abstract interface.
    pub(super) fn is_abstract(&self, id: DefId) -> bool {
        match &self.model.def(id).kind {
            DefKind::Interface(interface) => interface.kind == InterfaceKind::Abstract,
            DefKind::ForwardInterface(kind) => *kind == InterfaceKind::Abstract,
            _ => false,
        }
    }

    /// Returns the base from which a valuetype inherits state.
    pub(super) fn state_base(&self, value: &ValueType) -> Option<DefId> {
        value.bases.first().copied().filter(|base| {
            matches!(&self.model.def(*base).kind, DefKind::ValueType(base) if base.kind != ValueKind::Abstract)
        })
    }

    /// Generates the struct of the state, and its codec.
    fn state(
        &self,
        scope: &Scope<'_>,
        def: &'m Def,
        value: &'m ValueType,
        docs: &TokenStream,
    ) -> Result<Vec<TokenStream>, NotYet> {
        let r = &scope.runtime;
        let name = ident(&self.names.item(def.id).name);
        let members = self.state_members(def, value)?;
        let base = self.state_base(value).map(|base| {
            let field = self.names.parts(def.id).last().expect("named");
            (ident(field), self.named(scope, base))
        });
        let base_field = base.iter().map(|(field, ty)| {
            quote! {
                #[doc = " The state of the base."]
                pub #field: #ty
            }
        });
        let fields = members.iter().map(|member| {
            let (name, ty) = (&member.name, self.field_ty(scope, member.declared));
            let docs = docs::or(&member.doc, "");
            quote!(#docs pub #name: #ty)
        });
        let fields = base_field.chain(fields);
        let codec = match value.kind {
            ValueKind::Custom => quote! {
                fn encode_state<'a>(&'a self, e: &mut #r::Encoder<'a>) -> #r::CdrResult<()> {
                    #[allow(unused_imports)]
                    use #r::NotByHand as _;
                    #r::ByHand::<Self>::marshal(self, e)
                }
                fn decode_state(d: &mut #r::Decoder<'_>) -> #r::CdrResult<Self> {
                    #[allow(unused_imports)]
                    use #r::NotByHand as _;
                    #r::ByHand::<Self>::unmarshal(d)
                }
            },
            _ => self.state_codec(scope, &members, base.as_ref()),
        };
        let part = base.iter().map(|(field, _)| {
            let option = scope.std("Option");
            quote! {
                fn part(&self, of: ::core::any::TypeId) -> #option<&dyn ::core::any::Any> {
                    match of == ::core::any::TypeId::of::<Self>() {
                        true => Some(self),
                        false => #r::ValueState::part(&self.#field, of),
                    }
                }
                fn part_mut(
                    &mut self,
                    of: ::core::any::TypeId,
                ) -> #option<&mut dyn ::core::any::Any> {
                    match of == ::core::any::TypeId::of::<Self>() {
                        true => Some(self),
                        false => #r::ValueState::part_mut(&mut self.#field, of),
                    }
                }
            }
        });
        let behaviour = self.find_behaviour(scope, def.id, base.as_ref().map(|(_, ty)| ty));
        Ok(vec![
            quote! {
                #docs
                #[derive(Debug, Clone, PartialEq)]
                pub struct #name { #(#fields),* }
            },
            quote! {
                impl #r::ValueState for #name {
                    #codec
                    #(#part)*
                    #behaviour
                }
            },
        ])
    }

    fn state_codec(
        &self,
        scope: &Scope<'_>,
        members: &[Member<'_>],
        base: Option<&(Ident, TokenStream)>,
    ) -> TokenStream {
        let r = &scope.runtime;
        let vars = Vars::beside([].into_iter());
        let base_write = base.map(|(field, _)| {
            Step::Fallible(quote!(#r::ValueState::encode_state(&self.#field, e)))
        });
        let write = members.iter().map(|member| {
            let name = &member.name;
            self.encode(scope, &vars, &member.plan, &Place::Owned(quote!(self.#name)))
        });
        let write = sequence(base_write.into_iter().chain(write).collect());
        let base_read = base.map(|(field, _)| quote!(#field: #r::ValueState::decode_state(d)?));
        let read = members.iter().map(|member| {
            let name = &member.name;
            let value = self.decode(scope, &vars, &member.declared.ty, &member.plan).tried();
            quote!(#name: #value)
        });
        let read = base_read.into_iter().chain(read);
        quote! {
            fn encode_state<'a>(&'a self, e: &mut #r::Encoder<'a>) -> #r::CdrResult<()> { #write }
            fn decode_state(d: &mut #r::Decoder<'_>) -> #r::CdrResult<Self> {
                Ok(Self { #(#read),* })
            }
        }
    }

    fn state_members(&self, def: &Def, value: &'m ValueType) -> Result<Vec<Member<'m>>, NotYet> {
        let names = self.names.parts(def.id).iter();
        let members = value.state.iter().zip(names).map(|(one, name)| {
            let field = &one.field;
            let doc = docs::member(&field.doc, &field.annotations);
            let doc = match one.public {
                true => doc,
                false => docs_of_private(&doc),
            };
            Ok(Member {
                doc,
                name: ident(name),
                declared: field,
                plan: Plan::of_state(self.model, field)?,
            })
        });
        members.collect()
    }

    /// Generates the description of a valuetype, and the factories of its values.
    fn value_info(&self, scope: &Scope<'_>, def: &Def, value: &ValueType) -> TokenStream {
        let (r, name) = (&scope.runtime, ident(&self.names.item(def.id).name));
        let (id, factories) = (&def.repository_id, self.factories(scope, def.id));
        let bases = value.bases.iter().map(|base| {
            let base = self.named(scope, *base);
            quote!(<#base as #r::Valuetype>::INFO)
        });
        let bases = (!value.bases.is_empty()).then(|| quote!(bases: &[#(#bases),*],));
        let supports = self.supported(value);
        let supports = supports.iter().map(|id| &self.model.def(*id).repository_id);
        let supports = (!value.supports.is_empty()).then(|| quote!(supports: &[#(#supports),*],));
        let truncatable = value.truncatable.then(|| quote!(truncatable: true,));
        let custom = (value.kind == ValueKind::Custom).then(|| quote!(custom: true,));
        let inherits = self.value_bases(def.id);
        let inherits = inherits.iter().map(|base| {
            let base = match self.model.def(*base).kind {
                DefKind::Interface(_) => self.reference(scope, *base),
                _ => self.named(scope, *base),
            };
            quote!(impl #r::Inherits<#base> for #name {})
        });
        let special = quote!(#bases #supports #truncatable #custom);
        let info = match special.is_empty() {
            true => quote!(#r::ValueInfo::new(#id)),
            false => quote!(#r::ValueInfo { #special ..#r::ValueInfo::new(#id) }),
        };
        quote! {
            impl #r::Valuetype for #name {
                const INFO: &'static #r::ValueInfo = &#info;
                #factories
            }
            impl #r::Inherits<#r::ValueBase> for #name {}
            #(#inherits)*
        }
    }

    /// Returns the types with state whose values are allowed where `id` is declared.
    fn factories(&self, scope: &Scope<'_>, id: DefId) -> TokenStream {
        let r = &scope.runtime;
        let known = self.children.values().flatten().copied().collect::<BTreeSet<_>>();
        let known = known.into_iter().filter(|one| {
            let concrete = matches!(&self.model.def(*one).kind, DefKind::ValueType(value) if value.kind != ValueKind::Abstract);
            concrete && (*one == id || self.value_bases(*one).contains(&id))
        });
        let known = known.map(|one| {
            let one = self.named(scope, one);
            quote!(#r::Factory::of::<#one>())
        });
        quote! {
            fn factories() -> &'static [#r::Factory] {
                static ALL: &[#r::Factory] = &[#(#known),*];
                ALL
            }
        }
    }

    /// Returns all valuetypes and abstract interfaces that a value of a type may be used as, except the type itself.
    pub(super) fn value_bases(&self, id: DefId) -> BTreeSet<DefId> {
        let mut found = BTreeSet::new();
        let mut todo = vec![id];
        while let Some(one) = todo.pop() {
            let DefKind::ValueType(value) = &self.model.def(one).kind else {
                continue;
            };
            let supported = self.supported(value).into_iter();
            found.extend(supported.filter(|id| self.is_abstract(*id)));
            todo.extend(value.bases.iter().filter(|base| found.insert(**base)));
        }
        found
    }

    /// Returns the interfaces that a valuetype names in `supports`, and their bases.
    pub(super) fn supported(&self, value: &ValueType) -> BTreeSet<DefId> {
        let mut found = BTreeSet::new();
        for id in &value.supports {
            found.insert(*id);
            if let DefKind::Interface(interface) = &self.model.def(*id).kind {
                found.extend(self.model.all_bases(interface));
            }
        }
        found
    }
}

/// Returns the docs of a private member, which Rust cannot restrict to the implementation of its type.
fn docs_of_private(doc: &str) -> String {
    format!("{doc}\n\nPrivate in IDL: only for the implementation of the type.").trim().to_owned()
}
