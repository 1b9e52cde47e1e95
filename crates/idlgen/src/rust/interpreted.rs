//! Tables for the interpreter, for types without compiled codecs.

use oxorb_idl::model::{Def, DefKind, Union};
use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::Rust;
use super::codec::{Place, Step, Vars, is_canonical};
use super::scope::Scope;
use super::structs::{Field, max_size};
use super::types::ident;
use crate::plan::{NotYet, Plan, Size};

impl Rust<'_> {
    /// Generates a struct whose values all have one layout: two tables, for any alignment.
    pub(super) fn interpreted_fixed(
        &self,
        scope: &Scope<'_>,
        def: &Def,
        fields: &[Field<'_>],
    ) -> Result<TokenStream, NotYet> {
        let r = &scope.runtime;
        let name = ident(&self.names.item(def.id).name);
        let types = fields.iter().map(|field| self.field_ty(scope, field.declared));
        let fields: Vec<_> = fields.iter().map(|field| &field.name).collect();
        let blank = self.blank(scope, def)?;
        let codec = quote! {
            impl #r::Fixed for #name {
                const LAYOUT: #r::Layout = #r::Layout::EMPTY #(.then::<#types>())*;
                fn put(&self, w: &mut #r::FixedWriter<'_>) {
                    #r::interpreted::put(&[#(&self.#fields),*], w);
                }
                fn take(r: &mut #r::FixedReader<'_>) -> #r::CdrResult<Self> {
                    let mut value = <Self as #r::interpreted::Blank>::blank();
                    #r::interpreted::take(&mut [#(&mut value.#fields),*], r)?;
                    Ok(value)
                }
            }
            #r::interpreted_fixed!(#name);
        };
        Ok(quote!(#codec #blank))
    }

    /// Generates any other struct: a table for each run of members that the interpreter supports, with single steps
    /// between.
    pub(super) fn interpreted_variable(
        &self,
        scope: &Scope<'_>,
        def: &Def,
        fields: &[Field<'_>],
        whole: Size,
    ) -> Result<TokenStream, NotYet> {
        let r = &scope.runtime;
        let vars = Vars::beside([].into_iter()).interpreted(true);
        let (mut writes, mut reads) = (Vec::new(), Vec::new());
        for run in fields.chunk_by(|a, b| self.is_part(&a.plan) && self.is_part(&b.plan)) {
            if self.is_part(&run[0].plan) {
                let names: Vec<_> = run.iter().map(|field| &field.name).collect();
                writes.push(quote!(#r::interpreted::write(&[#(&self.#names),*], e)?;));
                reads.push(quote!(#r::interpreted::read(&mut [#(&mut self.#names),*], d)?;));
                continue;
            }
            let Field { declared, name, plan } = &run[0];
            let write = self.encode(scope, &vars, plan, &Place::Owned(quote!(self.#name)));
            let write = write.tried();
            let read = self.decode(scope, &vars, &declared.ty, plan).tried();
            writes.push(quote!(#write;));
            reads.push(quote!(self.#name = #read;));
        }
        let tables = self.tables(scope, def, quote!(#(#writes)* Ok(())), quote!(#(#reads)* Ok(())));
        let (whole, blank) = (self.whole(scope, def, whole), self.blank(scope, def)?);
        Ok(quote!(#tables #whole #blank))
    }

    /// Generates a union, with its steps called and not inlined.
    pub(super) fn interpreted_union(
        &self,
        scope: &Scope<'_>,
        def: &Def,
        body: &Union,
        write: TokenStream,
        read: TokenStream,
        whole: Size,
    ) -> Result<TokenStream, NotYet> {
        let r = &scope.runtime;
        let name = ident(&self.names.item(def.id).name);
        let read = quote! {
            let value: #r::CdrResult<Self> = { #read };
            *self = value?;
            Ok(())
        };
        let tables = self.tables(scope, def, write, read);
        let whole = self.whole(scope, def, whole);
        let blank = match body.cases.is_empty() {
            true => {
                let other = ident(self.names.union(def.id).constructors.last().expect("one"));
                let blank = quote!(Self::#other());
                quote! {
                    impl #r::interpreted::Blank for #name { fn blank() -> Self { #blank } }
                }
            }
            false => self.blank(scope, def)?,
        };
        Ok(quote!(#tables #whole #blank))
    }

    /// Generates the codec around an implementation of [`Fixed`](oxorb_cdr::Fixed); `blank` is a value for the
    /// interpreter to fill.
    pub(super) fn fixed_codec(
        &self,
        scope: &Scope<'_>,
        def: &Def,
        blank: impl FnOnce() -> Result<TokenStream, NotYet>,
    ) -> TokenStream {
        let r = &scope.runtime;
        let name = ident(&self.names.item(def.id).name);
        if !self.interpreted.contains(&def.id) {
            return quote!(#r::fixed!(#name););
        }
        let blank = blank().expect("numbers have values");
        quote! {
            #r::interpreted_fixed!(#name);
            impl #r::interpreted::Blank for #name { fn blank() -> Self { #blank } }
        }
    }

    /// Generates the entry by which tables of other types call a type with its own codec.
    pub(super) fn called_whole(&self, scope: &Scope<'_>, def: &Def) -> TokenStream {
        let r = &scope.runtime;
        self.tables(
            scope,
            def,
            quote!(#r::Encode::encode(self, e)),
            quote! {
                *self = <Self as #r::Decode>::decode(d)?;
                Ok(())
            },
        )
    }

    /// Returns the value of a union's case as the interpreter writes it; nothing in compiled code.
    pub(super) fn interpreted_part(
        &self,
        scope: &Scope<'_>,
        vars: &Vars,
        plan: &Plan,
    ) -> Option<Step> {
        let (e, r) = (&vars.e, &scope.runtime);
        let part = vars.interpreted && self.is_part(plan);
        part.then(|| Step::Fallible(quote!(#r::interpreted::Part::write(value, #e))))
    }

    fn tables(
        &self,
        scope: &Scope<'_>,
        def: &Def,
        write: TokenStream,
        read: TokenStream,
    ) -> TokenStream {
        let r = &scope.runtime;
        let name = ident(&self.names.item(def.id).name);
        quote! {
            impl #r::interpreted::Part for #name {
                fn write<'a>(&'a self, e: &mut #r::Encoder<'a>) -> #r::CdrResult<()> { #write }
            }
            impl #r::interpreted::Slot for #name {
                fn read(&mut self, d: &mut #r::Decoder<'_>) -> #r::CdrResult<()> { #read }
            }
        }
    }

    fn whole(&self, scope: &Scope<'_>, def: &Def, whole: Size) -> TokenStream {
        let r = &scope.runtime;
        let name = ident(&self.names.item(def.id).name);
        let max = match max_size(whole) {
            Some(max) => quote!(Some(#max)),
            None => quote!(None),
        };
        let min = Literal::u64_unsuffixed(whole.min);
        quote!(#r::interpreted!(#name, #max, #min);)
    }

    fn blank(&self, scope: &Scope<'_>, def: &Def) -> Result<TokenStream, NotYet> {
        let r = &scope.runtime;
        let name = ident(&self.names.item(def.id).name);
        let blank = match &def.kind {
            DefKind::Struct(_) | DefKind::Exception(_) => {
                let members = self.default_members(scope, def)?;
                quote!(Self #members)
            }
            _ => self.default_value(scope, &oxorb_idl::model::Type::Named(def.id))?,
        };
        Ok(quote! {
            impl #r::interpreted::Blank for #name { fn blank() -> Self { #blank } }
        })
    }

    /// Reports whether a table may list such a member: its Rust type alone decides the encoding, and the interpreter
    /// supports it.
    fn is_part(&self, plan: &Plan) -> bool {
        match plan {
            Plan::Named(id) => self.interpreted.contains(id),
            Plan::Value | Plan::Abstract => false,
            _ => is_canonical(plan),
        }
    }
}
