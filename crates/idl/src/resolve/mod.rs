//! Tree to model: what every name means, in order of appearance.
//!
//! IDL is declared before it is used, so one walk over the tree suffices: it
//! keeps the scopes that are open, declares what it meets and checks it on the
//! spot. A definition that is wrong is declared nevertheless and remembered as
//! poisoned: nothing more is said about it or about what uses it.

mod constructed;
mod declare;
mod interface;
mod lookup;
mod poison;
mod pragma;
mod scope;
mod types;
mod value;

use crate::ast::{
    Constructed, Declarator, Definition, DefinitionKind, Doc, Ident, Item, Tree, TypeSpec,
};
use crate::check::forward::Forward;
use crate::check::not_yet::NotYet;
use crate::diagnostic::{Diagnostics, Problem, Severity};
use crate::model::{Const, DefId, DefKind, Model, Module, Type, Typedef};
use crate::source::{SourceMap, Span};
use crate::{Lenient, Options};
use poison::{Need, Poison};
use pragma::Ids;
use scope::{Entity, Entry, ScopeId, ScopeKind, Scopes};
use std::collections::BTreeMap;

/// Resolves and checks a tree. `None` if there is any error, from this stage
/// or an earlier one.
pub(crate) fn resolve(
    tree: &Tree,
    map: &SourceMap,
    options: &Options,
    out: &mut Diagnostics,
) -> Option<Model> {
    let mut resolver = Resolver {
        map,
        lenient: options.lenient,
        out,
        model: Model::default(),
        scopes: Scopes::new(),
        here: Scopes::FILE,
        poisoned: BTreeMap::new(),
        needs: None,
        incomplete: BTreeMap::new(),
        last_typedefs: BTreeMap::new(),
        locals: BTreeMap::new(),
        announced: BTreeMap::new(),
        ids: Ids::default(),
    };
    resolver.items(&tree.items);
    resolver.report_never_defined();
    resolver.leave_out_poisoned();
    let model = resolver.model;
    (!out.has_errors()).then_some(model)
}

struct Resolver<'a> {
    map: &'a SourceMap,
    lenient: Lenient,
    out: &'a mut Diagnostics,
    model: Model,
    scopes: Scopes,
    here: ScopeId,
    /// Declared, but so wrong that nothing can be said about them.
    poisoned: BTreeMap<DefId, Poison>,
    /// What the definition being read needs and is not supported.
    needs: Option<Need>,
    /// Structs and unions whose members are not known, or not all of them.
    incomplete: BTreeMap<DefId, Completeness>,
    /// Typedefs of typedefs, and the typedef each chain ends in.
    last_typedefs: BTreeMap<DefId, DefId>,
    /// Types with a local interface in them, and that interface.
    locals: BTreeMap<DefId, DefId>,
    /// First forward declarations.
    announced: BTreeMap<DefId, Announced>,
    ids: Ids,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Completeness {
    Announced,
    BeingDefined,
}

/// What a forward declaration promised.
#[derive(Debug, Clone)]
struct Announced {
    what: &'static str,
    span: Span,
    prefix: String,
}

/// What a name is needed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Base,
    Exception,
    Scope,
    Type,
}

impl Wanted {
    fn accepts(self, kind: &DefKind) -> bool {
        match self {
            Wanted::Base => matches!(kind, DefKind::Interface(_) | DefKind::ForwardInterface(_)),
            Wanted::Exception => matches!(kind, DefKind::Exception(_)),
            Wanted::Scope => true,
            Wanted::Type => !matches!(
                kind,
                DefKind::Module(_) | DefKind::Const(_) | DefKind::Exception(_)
            ),
        }
    }

    fn text(self) -> &'static str {
        match self {
            Wanted::Base => "an interface",
            Wanted::Exception => "an exception",
            Wanted::Scope => "a scope with names in it",
            Wanted::Type => "a type",
        }
    }
}

impl Resolver<'_> {
    fn items<'t>(&mut self, items: impl IntoIterator<Item = &'t Item>) {
        for item in items {
            match item {
                Item::Definition(definition) => self.definition(definition),
                Item::Pragma(pragma, span) => self.pragma(pragma, *span),
                Item::FileStart => self.ids.enter_file(),
                Item::FileEnd => self.ids.leave_file(),
            }
        }
    }

    fn definition(&mut self, definition: &Definition) {
        let part_of_interface = matches!(
            definition.kind,
            DefinitionKind::Operation(_) | DefinitionKind::Attribute(_)
        );
        if part_of_interface {
            self.declaration(definition);
        } else {
            let outer = self.needs.take();
            self.declaration(definition);
            self.needs = outer;
        }
    }

    fn declaration(&mut self, definition: &Definition) {
        let doc = &definition.doc;
        match &definition.kind {
            DefinitionKind::Module { name, body } => self.module(doc, name, body),
            DefinitionKind::Interface(interface) => self.interface(doc, interface),
            DefinitionKind::ForwardInterface { kind, name } => {
                self.forward_interface(doc, *kind, name);
            }
            DefinitionKind::Constructed(constructed) => {
                self.constructed(doc, constructed);
            }
            DefinitionKind::ForwardStruct(name) => self.forward_struct(doc, name),
            DefinitionKind::ForwardUnion(name) => self.forward_union(doc, name),
            DefinitionKind::Exception(exception) => self.exception(doc, exception),
            DefinitionKind::Typedef { ty, declarators } => self.typedef(doc, ty, declarators),
            DefinitionKind::Const { ty, name, value } => self.constant(doc, ty, name, value),
            DefinitionKind::Native(name) => {
                self.define(doc, name, DefKind::Native);
            }
            DefinitionKind::Operation(operation) => self.operation(doc, operation),
            DefinitionKind::Attribute(attribute) => self.attribute(doc, attribute),
            DefinitionKind::Unusable(name) => self.poison(name),
            DefinitionKind::NotYet {
                construct,
                span,
                name,
            } => {
                if let Some(name) = name {
                    self.needs_not_yet(*span, construct);
                    self.poison(name);
                } else {
                    // What it changes cannot be told apart from what it does not.
                    self.report(*span, NotYet::new(construct));
                }
            }
        }
    }

    fn module(&mut self, doc: &Doc, name: &Ident, body: &[Item]) {
        let def = match self.reopened(name) {
            Some(def) => Some(def),
            None => self.define(doc, name, DefKind::Module(Module::default())),
        };
        if let Some(def) = def {
            self.opens_module(def, name.span);
        }
        // A module whose name is taken is looked at all the same.
        let scope = match def.and_then(|def| self.scopes.of_def(def)) {
            Some(scope) => scope,
            None => self.scopes.add(self.here, ScopeKind::Module, def),
        };
        self.inside(scope, |r| r.items(body));
    }

    /// The module of that name that is in this scope already.
    fn reopened(&mut self, name: &Ident) -> Option<DefId> {
        let entry = self.scopes.scope(self.here).own(&name.name)?;
        match entry.entity {
            Entity::Def(def)
                if entry.name == name.name
                    && matches!(self.model.def(def).kind, DefKind::Module(_)) =>
            {
                Some(def)
            }
            _ => None,
        }
    }

    /// Runs `f` with another scope open.
    fn inside<T>(&mut self, scope: ScopeId, f: impl FnOnce(&mut Self) -> T) -> T {
        let outer = std::mem::replace(&mut self.here, scope);
        self.ids.enter_scope();
        let result = f(self);
        self.ids.leave_scope();
        self.here = outer;
        result
    }

    fn constructed(&mut self, doc: &Doc, constructed: &Constructed) -> Option<DefId> {
        match constructed {
            Constructed::Struct(body) => self.struct_type(doc, body),
            Constructed::Union(body) => self.union_type(doc, body),
            Constructed::Enum(body) => self.enum_type(doc, body),
        }
    }

    fn typedef(&mut self, doc: &Doc, ty: &TypeSpec, declarators: &[Declarator]) {
        let base = self.named_type(ty);
        for declarator in declarators {
            let ty = base
                .clone()
                .and_then(|base| self.with_dimensions(base, declarator));
            match ty {
                Some(ty) => {
                    let alias = DefKind::Typedef(Typedef { ty: ty.clone() });
                    if let Some(def) = self.define(doc, &declarator.name, alias) {
                        self.new_typedef(def, &ty);
                    }
                }
                None => self.poison(&declarator.name),
            }
        }
    }

    fn constant(&mut self, doc: &Doc, ty: &TypeSpec, name: &Ident, value: &crate::ast::Expr) {
        let evaluated = self.constant_type(ty).and_then(|ty| {
            let value = self.value(value, &ty)?;
            Some((ty, value))
        });
        match evaluated {
            Some((ty, value)) => {
                self.define(doc, name, DefKind::Const(Const { ty, value }));
            }
            None => self.poison(name),
        }
    }

    fn report_never_defined(&mut self) {
        for (def, announced) in std::mem::take(&mut self.announced) {
            let name = self.model.def(def).scoped_name.clone();
            if self.incomplete.contains_key(&def) {
                let what = announced.what;
                let what = what.strip_prefix("a ").unwrap_or(what);
                self.report(announced.span, Forward::NeverDefined { what, name });
            } else if matches!(self.model.def(def).kind, DefKind::ForwardInterface(_)) {
                self.report(announced.span, Forward::InterfaceNeverDefined { name });
            }
        }
    }

    /// Warnings about included files are for those who wrote them.
    fn report(&mut self, span: Span, problem: impl Problem + 'static) {
        if problem.severity() == Severity::Error || self.map.is_main(span.file) {
            self.out.push(span, problem);
        }
    }

    /// Follows typedefs; in one step, however long the chain.
    fn plain<'m>(&'m self, ty: &'m Type) -> &'m Type {
        let Type::Named(def) = ty else { return ty };
        let last = self.last_typedefs.get(def).unwrap_or(def);
        match &self.model.def(*last).kind {
            DefKind::Typedef(alias) => &alias.ty,
            _ => ty,
        }
    }

    fn new_typedef(&mut self, def: DefId, ty: &Type) {
        self.made_of(def, [ty].into_iter());
        if let Type::Named(next) = ty
            && matches!(self.model.def(*next).kind, DefKind::Typedef(_))
        {
            let last = self.last_typedefs.get(next).copied().unwrap_or(*next);
            self.last_typedefs.insert(def, last);
        }
    }
}

/// Where an entry in a scope comes from.
fn entry(name: &Ident, entity: Entity) -> Entry {
    Entry {
        name: name.name.clone(),
        span: name.span,
        entity,
    }
}
