//! The Rust back end: prints plans as Rust items.

mod case;
mod codec;
mod consts;
mod docs;
mod enums;
mod interfaces;
mod layout;
mod names;
mod scope;
mod structs;
mod types;
mod unions;

use std::collections::BTreeSet;

use oxorb_idl::model::{Def, DefId, DefKind, Interface, InterfaceKind, Model};
use proc_macro2::TokenStream;
use quote::quote;

use crate::plan::NotYet;
use crate::reach::reachable;
use names::Names;
use scope::Scope;

/// Lints that generated code may trip and its owner could do nothing about.
const ALLOWED: &[&str] = &[
    "dead_code",
    "missing_docs",
    "unreachable_pub",
    "unused_imports",
    "unused_mut",
    "unused_variables",
    "clippy::all",
    "clippy::pedantic",
];

/// A definition that has no mapping yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unmapped {
    /// The definition that uses the construct.
    pub def: DefId,
    /// The construct.
    pub what: NotYet,
}

/// The text of one Rust file for a model.
///
/// `runtime` is the path of the module that generated code may name.
pub fn generate(model: &Model, runtime: &str, header: &str) -> Result<String, Unmapped> {
    let reach = reachable(model);
    let names = Names::new(model, &reach).map_err(|(def, what)| Unmapped { def, what })?;
    let runtime = syn::parse_str(runtime).expect("the builder checked the path");
    let rust = Rust {
        model,
        names,
        reach,
        runtime,
    };
    let file = rust.file()?;
    Ok(format!("{header}\n{}", layout::air(&prettyplease::unparse(&file))))
}

/// Everything printing needs to know.
struct Rust<'m> {
    model: &'m Model,
    names: Names,
    reach: BTreeSet<DefId>,
    runtime: syn::Path,
}

type Printed = Result<TokenStream, Unmapped>;

impl<'m> Rust<'m> {
    /// File scope: no inner attributes, because the text is `include!`d.
    fn file(&self) -> Result<syn::File, Unmapped> {
        let scope = self.scope(None);
        let mut tokens = TokenStream::new();
        let mut bare = false;
        for def in self.children(None) {
            tokens.extend(self.def(&scope, def)?);
            bare |= !matches!(def.kind, DefKind::Module(_));
        }
        if bare {
            let r = &scope.runtime;
            tokens = quote!(use #r::{Decode as _, Encode as _, Fixed as _}; #tokens);
        }
        let mut file: syn::File = syn::parse2(tokens).expect("the generator prints Rust");
        file.items.iter_mut().for_each(allow);
        Ok(file)
    }

    /// The items for one definition.
    fn def(&self, scope: &Scope<'_>, def: &'m Def) -> Result<Vec<TokenStream>, Unmapped> {
        let fail = |what| Unmapped { def: def.id, what };
        let mut items = match &def.kind {
            DefKind::Module(_) => return Ok(vec![self.module(def)?]),
            DefKind::Interface(interface) => return self.interface(scope, def, interface),
            DefKind::ForwardInterface(kind) => {
                let opaque = Interface {
                    kind: *kind,
                    ..Interface::default()
                };
                vec![self.reference_only(scope, def, &opaque)]
            }
            DefKind::Struct(body) => self.structure(scope, def, body).map_err(fail)?,
            DefKind::Exception(body) => self.exception(scope, def, body).map_err(fail)?,
            DefKind::Union(body) => self.union(scope, def, body).map_err(fail)?,
            DefKind::Enum(body) => self.enumeration(scope, def, body),
            DefKind::Typedef(alias) => vec![self.alias(scope, def, alias).map_err(fail)?],
            DefKind::Const(constant) => vec![self.constant(scope, def, constant).map_err(fail)?],
            // Nothing can be said about a native type; its uses are refused.
            DefKind::Native => Vec::new(),
        };
        let extra = self.union_labels(scope, def).map_err(fail)?;
        items.extend(self.inner_module(def, extra)?);
        Ok(items)
    }

    /// `module`.
    fn module(&self, def: &'m Def) -> Printed {
        let name = types::ident(&self.names.item(def.id).name);
        let docs = docs::item(&def.doc, "module", def);
        let body = self.body(def, quote!())?;
        Ok(quote! {
            #docs
            pub mod #name { #body }
        })
    }

    /// The module beside a type that holds what belongs to it; none if empty.
    fn inner_module(&self, def: &'m Def, extra: TokenStream) -> Result<Option<TokenStream>, Unmapped> {
        if extra.is_empty() && self.children(Some(def.id)).next().is_none() {
            return Ok(None);
        }
        let item = self.names.item(def.id);
        let name = types::ident(&item.inner);
        let docs = docs::lines(&format!("What belongs to [`{}`].", item.name));
        let body = self.body(def, extra)?;
        Ok(Some(quote! {
            #docs
            pub mod #name { #body }
        }))
    }

    fn body(&self, def: &'m Def, extra: TokenStream) -> Printed {
        let scope = self.scope(Some(def.id));
        let mut items = TokenStream::new();
        for child in self.children(Some(def.id)) {
            items.extend(self.def(&scope, child)?);
        }
        let runtime = &self.runtime;
        let system_exception = (!self.names.shadows("SystemException")).then(|| quote!(, SystemException));
        let import = match runtime.segments.last() {
            Some(last) if last.ident == "__gen" => quote!(use #runtime;),
            _ => quote!(use #runtime as __gen;),
        };
        Ok(quote! {
            #import
            use __gen::{Decode as _, Encode as _, Fixed as _ #system_exception};
            #items
            #extra
        })
    }

    fn children(&self, parent: Option<DefId>) -> impl Iterator<Item = &'m Def> {
        self.reach
            .iter()
            .map(|id| self.model.def(*id))
            .filter(move |def| def.parent == parent)
    }
}

/// Puts the one list of allowed lints on an item at file scope.
fn allow(item: &mut syn::Item) {
    let attributes = match item {
        syn::Item::Const(item) => &mut item.attrs,
        syn::Item::Enum(item) => &mut item.attrs,
        syn::Item::Impl(item) => &mut item.attrs,
        syn::Item::Mod(item) => &mut item.attrs,
        syn::Item::Struct(item) => &mut item.attrs,
        syn::Item::Trait(item) => &mut item.attrs,
        syn::Item::Type(item) => &mut item.attrs,
        syn::Item::Use(item) => &mut item.attrs,
        _ => return,
    };
    let lints = ALLOWED.iter().map(|lint| -> syn::Path {
        syn::parse_str(lint).expect("lint names are paths")
    });
    attributes.push(syn::parse_quote!(#[allow(#(#lints),*)]));
    attributes.push(syn::parse_quote!(#[rustfmt::skip]));
}

/// Whether an interface has stubs and skeletons.
fn is_remote(interface: &Interface) -> bool {
    interface.kind != InterfaceKind::Local
}
