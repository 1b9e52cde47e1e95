//! Servants that belong to one thread: a trait without `Send` and `Sync`.

use oxorb_idl::model::{Def, Interface};
use proc_macro2::TokenStream;
use quote::quote;

use super::super::scope::Scope;
use super::super::types::ident;
use super::super::{Rust, docs};
use super::Method;

impl<'m> Rust<'m> {
    /// Generates the trait, and the implementation by which `poa.activate_confined(|| servant)` finds the skeleton.
    pub(super) fn confined_trait(
        &self,
        scope: &Scope<'_>,
        def: &'m Def,
        interface: &Interface,
        methods: &[Method<'_, 'm>],
    ) -> TokenStream {
        let r = &scope.runtime;
        let item = self.names.item(def.id);
        let (name, reference) = (ident(&item.confined), ident(&item.reference));
        let docs = docs::lines(&format!(
            "[`{}`] for servants that belong to one thread, the only one of a lane: neither `Send` nor `Sync`.\n\n\
             Activate the servant with `poa.activate_confined(|| servant)`.",
            item.name
        ));
        let bases = interface.bases.iter();
        let bases: Vec<_> = bases
            .map(|base| {
                let parent = self.model.def(*base).parent;
                self.path(scope, parent, &self.names.item(*base).confined)
            })
            .collect();
        let bounds = match bases.is_empty() {
            true => quote!('static),
            false => quote!(#(#bases)+*),
        };
        let signatures = methods.iter().map(|method| {
            let docs = self.method_docs(method);
            let signature = self.servant_signature(scope, method);
            quote!(#docs #signature;)
        });
        let (inner, skeleton) = (ident(&item.inner), ident(&item.skeleton_confined));
        let rc = quote!(::std::rc::Rc);
        quote! {
            #docs
            pub trait #name: #bounds { #(#signatures)* }
            impl<T: #name> #r::ConfinedBy<T> for #reference {
                fn confined(servant: T) -> #rc<dyn #r::ConfinedServant> {
                    #rc::new(#inner::#skeleton(#rc::new(servant)))
                }
            }
            impl<T: #name + ?Sized> #r::ConfinedBy<#rc<T>> for #reference {
                fn confined(servant: #rc<T>) -> #rc<dyn #r::ConfinedServant> {
                    #rc::new(#inner::#skeleton(servant))
                }
            }
        }
    }
}
