//! Imports of the generated modules, limited to names in use.

use std::collections::HashSet;

use proc_macro2::{TokenStream, TokenTree};
use quote::quote;

use super::Rust;

impl Rust<'_> {
    /// Returns the imports of a module with these items.
    pub(super) fn imports(&self, items: &TokenStream) -> TokenStream {
        let used = Used::by(items);
        let short = |name: &str| used.words.contains(name) && !self.names.shadows(name);
        let arc = short("Arc").then(|| import(quote!(::std::sync::Arc)));
        let cow = short("Cow").then(|| import(quote!(::std::borrow::Cow)));
        let names = [
            used.decode.then(|| quote!(Decode as _)),
            used.encode.then(|| quote!(Encode as _)),
            short("SystemException").then(|| quote!(SystemException)),
        ];
        let names: Vec<_> = names.into_iter().flatten().collect();
        let names = match names.as_slice() {
            [] => None,
            [one] => Some(import(quote!(__gen::#one))),
            _ => Some(import(quote!(__gen::{#(#names),*}))),
        };
        let runtime = &self.runtime;
        let runtime = match runtime.segments.last() {
            Some(last) if last.ident == "__gen" => import(quote!(#runtime)),
            _ => import(quote!(#runtime as __gen)),
        };
        let runtime = (used.runtime || names.is_some()).then_some(runtime);
        quote!(#cow #arc #runtime #names)
    }
}

fn import(what: TokenStream) -> TokenStream {
    quote!(use #what;)
}

/// Names that a module's own items use, excluding inner modules.
#[derive(Default)]
struct Used {
    runtime: bool,
    /// Whether methods of this trait are used outside its implementations, where they need no import.
    decode: bool,
    encode: bool,
    words: HashSet<String>,
}

impl Used {
    fn by(items: &TokenStream) -> Used {
        let mut used = Used::default();
        let file: syn::File = syn::parse2(items.clone()).expect("the generator prints Rust");
        for item in file.items {
            if let syn::Item::Mod(_) = item {
                continue;
            }
            let mut words = HashSet::new();
            collect(quote!(#item), &mut words);
            used.runtime |= words.contains("__gen");
            used.decode |= words.contains("decode") && !implements(&item, "Decode");
            used.encode |= words.contains("encode") && !implements(&item, "Encode");
            used.words.extend(words);
        }
        used
    }
}

fn implements(item: &syn::Item, name: &str) -> bool {
    let syn::Item::Impl(item) = item else {
        return false;
    };
    let path = item.trait_.as_ref().map(|(path, _)| path);
    path.and_then(|path| path.segments.last()).is_some_and(|last| last.ident == name)
}

/// Collects all identifiers, excluding comments and literals.
fn collect(tokens: TokenStream, words: &mut HashSet<String>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => collect(group.stream(), words),
            TokenTree::Ident(word) => {
                words.insert(word.to_string());
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}
