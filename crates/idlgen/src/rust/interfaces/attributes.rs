//! Attributes that components and homes register with their container, so that deployers can set them by name.

use std::collections::BTreeSet;

use oxorb_idl::model::{Def, Export, Interface};
use proc_macro2::TokenStream;
use quote::quote;

use super::super::Rust;
use super::super::scope::Scope;

impl<'m> Rust<'m> {
    /// Returns the statements that register the attributes of these interfaces and all their bases at `to`.
    pub(super) fn declared_attributes(
        &self,
        scope: &Scope<'_>,
        of: &[(&'m Def, &'m Interface)],
        to: &TokenStream,
    ) -> TokenStream {
        let mut seen = BTreeSet::new();
        let mut declared = TokenStream::new();
        for (_, interface) in self.with_bases(of) {
            for export in &interface.exports {
                let Export::Attribute(attribute) = export else {
                    continue;
                };
                if !seen.insert(attribute.name.as_str()) {
                    continue;
                }
                let (name, settable) = (&attribute.name, !attribute.readonly);
                let type_code = self.used_type_code(scope, &attribute.ty);
                declared.extend(quote!(#to.attribute(#name, #settable, || #type_code);));
            }
        }
        declared
    }
}
