//! Rust back end: prints plans as Rust items.

mod bits;
pub mod case;
mod codec;
mod consts;
mod defaults;
mod docs;
mod enums;
mod imports;
mod interfaces;
mod interpreted;
mod layout;
mod names;
mod passing;
mod scope;
mod structs;
mod typecodes;
mod types;
mod unions;
mod values;
mod views;

use std::collections::{HashMap, HashSet};

use oxorb_idl::implied::{self, Handlers};
use oxorb_idl::model::{Def, DefId, DefKind, Interface, InterfaceKind, Model};
use proc_macro2::TokenStream;
use quote::quote;

use crate::OperationLookup;
use crate::executors::Executors;
use crate::extra::{Extra, fallible_oneways, wanted};
use crate::marshalling::{self, Choice};
use crate::plan::{NotYet, viewed};
use crate::reach::reachable;
use names::Names;
use scope::Scope;

/// Lints that generated code may trigger and that its users could not fix.
const ALLOWED: &[&str] = &[
    "dead_code",
    "missing_docs",
    "unreachable_pub",
    "unused_imports",
    "unused_mut",
    "unused_qualifications",
    "unused_variables",
    "clippy::all",
    "clippy::pedantic",
];

/// Definition without a mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unmapped {
    /// Definition that uses the construct.
    pub def: DefId,
    /// Unsupported construct.
    pub what: NotYet,
}

/// Choices about the generated code that change neither types nor octets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CodeChoices {
    pub(crate) operation_lookup: OperationLookup,
    /// Whether stubs have the attribute `#[inline]`.
    pub(crate) inline_stubs: bool,
}

impl Default for CodeChoices {
    fn default() -> Self {
        CodeChoices { operation_lookup: OperationLookup::default(), inline_stubs: true }
    }
}

/// Returns the text of one Rust file for a model.
///
/// `name` is that of the file, without extension. `runtime` is the path of the module that generated code may refer to.
/// The text starts with `header`.
pub(crate) fn generate(
    model: &Model,
    name: &str,
    runtime: &str,
    marshalling: &Choice,
    choices: CodeChoices,
    extra: &Extra,
    header: &str,
) -> Result<String, Unmapped> {
    let executors = extra.executors.as_ref();
    let mut with_handlers = model.clone();
    let ami = wanted(model, &reachable(model), "ami", &extra.ami);
    let handlers = implied::add_handlers(&mut with_handlers, ami);
    let model = &with_handlers;
    let mut defs = model.defs();
    let exception_holder = defs.find(|def| def.scoped_name == "Messaging::ExceptionHolder");
    let exception_holder = exception_holder.map(|def| def.id);
    let reach = reachable(model);
    let interpreted = marshalling::interpreted(model, &reach, marshalling);
    let amh = wanted(model, &reach, "amh", &extra.amh);
    let confined = wanted(model, &reach, "confined", &extra.confined);
    let views = viewed(model, &reach);
    if let (Some(_), Some(&def)) = (executors, views.iter().next()) {
        let what = NotYet::new("`@borrowed` in IDL whose components have executors");
        return Err(Unmapped { def, what });
    }
    let fallible = fallible_oneways(model, &reach, &extra.fallible_oneways);
    let asked = names::Asked { amh: &amh, confined: &confined, views: &views };
    let names = Names::new(model, &reach, &asked, &handlers, executors, name)
        .map_err(|(def, what)| Unmapped { def, what })?;
    let mut children: HashMap<_, Vec<_>> = HashMap::new();
    for id in reach {
        children.entry(model.def(id).parent).or_default().push(id);
    }
    let mut rust = Rust {
        model,
        names,
        children,
        interpreted,
        supported: HashSet::new(),
        amh,
        confined,
        views,
        fallible,
        handlers,
        exception_holder,
        runtime: syn::parse_str(runtime).expect("the builder checked the path"),
        choices,
        executors,
    };
    let external = |id: &DefId| rust.is_external(*id);
    let external: HashSet<DefId> =
        rust.children.values().flatten().copied().filter(external).collect();
    for ids in rust.children.values_mut() {
        ids.retain(|id| !external.contains(id));
    }
    rust.supported = rust.all_supported();
    let file =
        rust.file().map_err(|unmapped| Unmapped { def: rust.written(unmapped.def), ..unmapped })?;
    let file = syn::parse2(file).expect("the generator prints Rust");
    Ok(format!("{header}\n{}", layout::air(&prettyplease::unparse(&file))))
}

/// Printer of a file.
struct Rust<'m> {
    model: &'m Model,
    names: Names,
    /// Definitions to generate, by enclosing scope.
    children: HashMap<Option<DefId>, Vec<DefId>>,
    /// Definitions that the interpreter marshals.
    interpreted: HashSet<DefId>,
    /// Interfaces that valuetypes support, with their bases.
    supported: HashSet<DefId>,
    /// Interfaces with servants that reply later.
    amh: HashSet<DefId>,
    /// Interfaces with servants that belong to one thread.
    confined: HashSet<DefId>,
    /// Structs and unions that servants get views of.
    views: HashSet<DefId>,
    /// Oneway operations whose servants return a result, by interface and name.
    fallible: HashSet<(DefId, String)>,
    /// Reply handlers of interfaces, if any.
    handlers: Handlers,
    /// Definition of `Messaging::ExceptionHolder`, if present.
    exception_holder: Option<DefId>,
    runtime: syn::Path,
    choices: CodeChoices,
    /// Definitions with executors, if requested: the module `Components` is then that of the run time.
    executors: Option<&'m Executors>,
}

type Printed = Result<TokenStream, Unmapped>;

impl<'m> Rust<'m> {
    /// Generates the file: the modules of the IDL, and one more for definitions outside any module, as a single place
    /// for attributes and imports.
    fn file(&self) -> Printed {
        let allow = allow();
        let scope = self.scope(None);
        let (mut modules, mut loose) = (TokenStream::new(), TokenStream::new());
        for def in self.children(None) {
            let items = self.def(&scope, def)?;
            match def.kind {
                DefKind::Module(_) => modules.extend(items),
                _ => loose.extend(items),
            }
        }
        modules.extend(self.interfaces());
        if loose.is_empty() {
            return Ok(modules);
        }
        let name = types::ident(self.names.file_scope());
        let imports = self.imports(&loose);
        Ok(quote! {
            #modules
            #allow
            mod #name { #imports #loose }
            #[allow(unused_imports)]
            pub use #name::*;
        })
    }

    /// Generates the module with the hash of all interfaces.
    fn interfaces(&self) -> Option<TokenStream> {
        let hash = format!("{:016x}", self.executors?.hash);
        let name = types::ident(self.names.interfaces());
        let allow = allow();
        Some(quote! {
            #allow
            pub mod #name {
                /// Hash of all interfaces of the IDL, without comments and layout.
                pub const HASH: &::core::primitive::str = #hash;
            }
        })
    }

    /// Generates the items for one definition.
    fn def(&self, scope: &Scope<'_>, def: &'m Def) -> Result<Vec<TokenStream>, Unmapped> {
        let fail = |what| Unmapped { def: def.id, what };
        let mut items = match &def.kind {
            DefKind::Module(_) => return Ok(vec![self.module(def)?]),
            DefKind::Interface(interface) => return self.interface(scope, def, interface),
            DefKind::ForwardInterface(kind) => {
                let opaque = Interface { kind: *kind, ..Interface::default() };
                vec![self.reference_only(scope, def, &opaque)]
            }
            DefKind::Struct(body) => self.structure(scope, def, body).map_err(fail)?,
            DefKind::Exception(body) => self.exception(scope, def, body).map_err(fail)?,
            DefKind::Union(body) => self.union(scope, def, body).map_err(fail)?,
            DefKind::Enum(body) => self.enumeration(scope, def, body),
            DefKind::Typedef(alias) => vec![self.alias(scope, def, alias).map_err(fail)?],
            DefKind::Const(constant) => vec![self.constant(scope, def, constant).map_err(fail)?],
            DefKind::ValueType(value) => {
                let mut items = self.valuetype(scope, def, value).map_err(fail)?;
                items.extend(self.value_traits(scope, def, value)?);
                if self.exception_holder == Some(def.id) && !self.handlers.is_empty() {
                    items.push(self.held_system_exceptions(scope));
                }
                items
            }
            DefKind::ValueBox(content) => vec![self.boxed(scope, def, content).map_err(fail)?],
            DefKind::BitMask(body) => self.bitmask(scope, def, body),
            DefKind::BitSet(body) => self.bitset(scope, def, body),
            DefKind::Native => vec![self.native(scope, def)],
            // No code is generated for these: template modules exist only as instances, and components as their
            // equivalent interfaces.
            DefKind::TemplateModule(_)
            | DefKind::Component(_)
            | DefKind::Connector(_)
            | DefKind::PortType(_)
            | DefKind::Home(_) => Vec::new(),
        };
        if is_typed(&def.kind) && self.travels(def.id) {
            items.push(self.typed(scope, def));
        }
        let extra = match &def.kind {
            DefKind::Typedef(_) => self.alias_type_code(def),
            DefKind::ValueType(value) => self.value_inner(def, value)?,
            _ => self.union_labels(scope, def).map_err(fail)?,
        };
        items.extend(self.inner_module(def, extra)?);
        Ok(items)
    }

    /// Generates a `module`.
    fn module(&self, def: &'m Def) -> Printed {
        let name = types::ident(&self.names.item(def.id).name);
        let docs = docs::item(&def.doc, "module", def);
        let allow = def.parent.is_none().then(allow);
        let body = self.body(def, quote!())?;
        Ok(quote! {
            #docs
            #allow
            pub mod #name { #body }
        })
    }

    /// Generates the module next to a type for its auxiliary items; nothing if it would be empty.
    fn inner_module(
        &self,
        def: &'m Def,
        extra: TokenStream,
    ) -> Result<Option<TokenStream>, Unmapped> {
        if extra.is_empty() && self.children(Some(def.id)).next().is_none() {
            return Ok(None);
        }
        let item = self.names.item(def.id);
        let name = types::ident(&item.inner);
        let docs = docs::lines(&format!("Items that belong to [`{}`].", item.name));
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
        items.extend(extra);
        let imports = self.imports(&items);
        Ok(quote!(#imports #items))
    }

    /// Returns the definition in the IDL for which another one was made.
    fn written(&self, id: DefId) -> DefId {
        let mut handlers = self.handlers.iter();
        handlers.find(|(_, handler)| **handler == id).map_or(id, |(of, _)| *of)
    }

    /// Returns the definitions directly in a scope, in the order of the IDL.
    fn children(&self, parent: Option<DefId>) -> impl Iterator<Item = &'m Def> {
        let ids = self.children.get(&parent).into_iter().flatten();
        ids.map(|id| self.model.def(*id))
    }
}

/// Returns the attributes of a module at file scope. Not inner ones: the text is `include!`d, where these are not
/// allowed.
fn allow() -> TokenStream {
    let lints = ALLOWED
        .iter()
        .map(|lint| -> syn::Path { syn::parse_str(lint).expect("lint names are paths") });
    quote!(#[allow(#(#lints),*)] #[rustfmt::skip])
}

/// Reports whether a definition becomes a Rust type with values.
fn is_typed(kind: &DefKind) -> bool {
    matches!(
        kind,
        DefKind::Struct(_)
            | DefKind::Exception(_)
            | DefKind::Union(_)
            | DefKind::Enum(_)
            | DefKind::ValueType(_)
            | DefKind::ValueBox(_)
            | DefKind::BitMask(_)
            | DefKind::BitSet(_)
    ) || matches!(kind, DefKind::ForwardInterface(kind) if *kind == InterfaceKind::Unconstrained)
}

/// Reports whether an interface has stubs and skeletons.
fn is_remote(interface: &Interface) -> bool {
    interface.kind != InterfaceKind::Local
}
