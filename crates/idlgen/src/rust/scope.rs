//! Module in which an item is printed, and the paths of names from there.

use oxorb_idl::model::DefId;
use proc_macro2::TokenStream;
use quote::quote;

use super::Rust;
use super::types::ident;

/// Rust module of the generated file.
pub(super) struct Scope<'r> {
    module: Vec<&'r str>,
    /// Path of the runtime module.
    pub runtime: TokenStream,
    /// Path of `SystemException`.
    pub system_exception: TokenStream,
    shadowed: Vec<&'static str>,
}

/// Names of the standard library that generated signatures use: imported, or in the prelude.
const PRELUDE: &[(&str, &str)] = &[
    ("Arc", "::std::sync::Arc"),
    ("Cow", "::std::borrow::Cow"),
    ("Default", "::core::default::Default"),
    ("From", "::core::convert::From"),
    ("Option", "::core::option::Option"),
    ("Result", "::core::result::Result"),
    ("Send", "::core::marker::Send"),
    ("String", "::std::string::String"),
    ("Sync", "::core::marker::Sync"),
    ("Vec", "::std::vec::Vec"),
];

/// Rust module of `Components`.
const COMPONENTS: &str = "components";

impl Rust<'_> {
    /// Reports whether a definition is in the module `Components` that the run time provides.
    pub(super) fn is_external(&self, id: DefId) -> bool {
        let def = self.model.def(id);
        self.executors.is_some()
            && !def.in_main_file
            && def.scoped_name.split("::").next() == Some("Components")
    }

    /// Returns the module for an IDL scope.
    pub(super) fn scope(&self, scope: Option<DefId>) -> Scope<'_> {
        self.scope_at(self.names.module(self.model, scope))
    }

    fn scope_at<'r>(&'r self, module: Vec<&'r str>) -> Scope<'r> {
        let runtime = quote!(__gen);
        let system_exception = match self.names.shadows("SystemException") {
            true => quote!(__gen::SystemException),
            false => quote!(SystemException),
        };
        let shadowed =
            PRELUDE.iter().map(|(name, _)| *name).filter(|name| self.names.shadows(name));
        Scope { module, runtime, system_exception, shadowed: shadowed.collect() }
    }

    /// Returns a module inside this one that the mapping adds.
    pub(super) fn nested<'r>(&'r self, scope: &Scope<'r>, name: &'r str) -> Scope<'r> {
        let mut module = scope.module.clone();
        module.push(name);
        self.scope_at(module)
    }

    /// Returns the path of `name` in the module of `owner`, seen from `scope`.
    pub(super) fn path(&self, scope: &Scope<'_>, owner: Option<DefId>, name: &str) -> TokenStream {
        let target = self.names.module(self.model, owner);
        if let (true, Some(owner)) = (target.first() == Some(&COMPONENTS), owner)
            && self.is_external(owner)
        {
            let (r, name) = (&scope.runtime, ident(name));
            let downs = target[1..].iter().map(|segment| ident(segment));
            return quote!(#r::components::#(#downs::)* #name);
        }
        let shared = target.iter().zip(&scope.module).take_while(|(a, b)| a == b).count();
        let ups = scope.module[shared..].iter().map(|_| quote!(super::));
        let downs = target[shared..].iter().map(|segment| {
            let segment = ident(segment);
            quote!(#segment::)
        });
        let name = ident(name);
        quote!(#(#ups)* #(#downs)* #name)
    }

    /// Returns the type, trait or constant of a definition, seen from `scope`.
    pub(super) fn named(&self, scope: &Scope<'_>, id: DefId) -> TokenStream {
        self.path(scope, self.model.def(id).parent, &self.names.item(id).name)
    }

    /// Returns the reference type of an interface, seen from `scope`.
    pub(super) fn reference(&self, scope: &Scope<'_>, id: DefId) -> TokenStream {
        self.path(scope, self.model.def(id).parent, &self.names.item(id).reference)
    }
}

impl Scope<'_> {
    /// Returns a name of the standard library, in full if a definition of the file shadows it.
    pub(super) fn std(&self, name: &str) -> TokenStream {
        let (_, full) = PRELUDE.iter().find(|(short, _)| *short == name).expect("one of the table");
        let text = if self.shadowed.contains(&name) { full } else { name };
        syn::parse_str::<syn::Path>(text).map(|path| quote!(#path)).expect("a path")
    }
}
