//! Resolver: tree to model, in order of appearance.
//!
//! IDL is declared before it is used, so one pass over the tree suffices: it keeps the open scopes, and declares and
//! checks each definition at once. An erroneous definition is declared nevertheless and recorded as poisoned: neither
//! it nor its uses are reported again.

mod annotation;
mod bits;
mod builtin;
mod component;
mod constructed;
mod declare;
mod enumeration;
mod expression;
mod interface;
mod lookup;
mod names;
mod pragma;
mod record;
mod scope;
mod template;
mod types;
mod value;

use crate::ast::{
    Constructed, Declarator, Definition, DefinitionKind, Expr, Ident, Item, Notes, Tree, TypeKind,
    TypeSpec,
};
use crate::check::forward::Forward;
use crate::diagnostic::{Diagnostics, Problem, Severity};
use crate::index::Index;
use crate::model::{
    AnnotationDef, Const, DefId, DefKind, Interface, InterfaceKind, Model, Module, Type, Typedef,
    ValueKind,
};
use crate::source::{SourceMap, Span};
use crate::{Lenient, Options};
use pragma::Ids;
use record::Record;
use scope::{Entity, Entry, ScopeId, ScopeKind, Scopes};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use template::Templates;

/// Resolves and checks a tree. `None` if there is any error, from this stage
/// or an earlier one. Fills `index`, in any case.
pub(crate) fn resolve(
    tree: &Tree,
    map: &SourceMap,
    options: &Options,
    out: &mut Diagnostics,
    index: Option<&mut Index>,
) -> Option<Model> {
    let mut resolver = Resolver {
        map,
        lenient: options.lenient,
        out,
        model: Model::default(),
        scopes: Scopes::new(),
        here: Scopes::FILE,
        poisoned: BTreeSet::new(),
        incomplete: BTreeMap::new(),
        external: Vec::new(),
        last_typedefs: BTreeMap::new(),
        locals: BTreeMap::new(),
        announced: BTreeMap::new(),
        ids: Ids::default(),
        user_annotations: BTreeMap::new(),
        templates: Templates::with_limit(options.limits.instance_octets),
        has_long_name: false,
        record: index.is_some().then(Record::default),
    };
    resolver.items(&tree.items);
    resolver.report_never_defined();
    resolver.report_endless();
    resolver.apply_type_prefixes();
    resolver.leave_out_poisoned();
    if let (Some(index), Some(record)) = (index, resolver.record.take()) {
        *index = resolver.index(&record);
    }
    let mut model = resolver.model;
    model.sort_members();
    (!out.has_errors()).then_some(model)
}

struct Resolver<'a> {
    map: &'a SourceMap,
    lenient: Lenient,
    out: &'a mut Diagnostics,
    model: Model,
    scopes: Scopes,
    here: ScopeId,
    /// Definitions that are declared, but cause no further errors.
    poisoned: BTreeSet<DefId>,
    /// Structs and unions whose members are unknown or incomplete.
    incomplete: BTreeMap<DefId, Completeness>,
    /// Structs and unions that an `@external` member contains before their definition, and the place.
    external: Vec<(DefId, Span)>,
    /// Typedefs of typedefs, and the last typedef of each chain.
    last_typedefs: BTreeMap<DefId, DefId>,
    /// Types that contain a local interface, and that interface.
    locals: BTreeMap<DefId, DefId>,
    /// First forward declarations.
    announced: BTreeMap<DefId, Announced>,
    ids: Ids,
    /// User-defined annotations, by full name.
    user_annotations: BTreeMap<String, Rc<AnnotationDef>>,
    templates: Templates,
    /// Whether a scoped name that is too long was reported.
    has_long_name: bool,
    /// Names for the index, if one is made.
    record: Option<Record>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Completeness {
    Announced,
    BeingDefined,
}

/// Properties of a forward declaration.
#[derive(Debug, Clone)]
struct Announced {
    what: &'static str,
    span: Span,
    prefix: String,
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
        if self.every_orb_has(definition) {
            return;
        }
        let notes = &definition.notes;
        let outer = self.enter_declaration(definition.span, notes);
        match &definition.kind {
            DefinitionKind::Module { name, body } => self.module(notes, name, body),
            DefinitionKind::Interface(interface) => self.interface(notes, interface),
            DefinitionKind::ForwardInterface { kind, name } => {
                self.forward_interface(notes, *kind, name);
            }
            DefinitionKind::Constructed(constructed) => {
                self.constructed(notes, constructed);
            }
            DefinitionKind::ForwardStruct(name) => self.forward_struct(notes, name),
            DefinitionKind::ForwardUnion(name) => self.forward_union(notes, name),
            DefinitionKind::Exception(exception) => self.exception(notes, exception),
            DefinitionKind::Typedef { ty, declarators } => self.typedef(notes, ty, declarators),
            DefinitionKind::Const { ty, name, value } => self.constant(notes, ty, name, value),
            DefinitionKind::Native(name) => {
                self.define(notes, name, DefKind::Native);
            }
            DefinitionKind::Operation(operation) => self.operation(notes, operation),
            DefinitionKind::Attribute(attribute) => self.attribute(notes, attribute),
            DefinitionKind::ValueType(body) => self.value_type(notes, body),
            DefinitionKind::ForwardValue { what, name } => self.forward_value(notes, *what, name),
            DefinitionKind::ValueBox { name, ty } => self.value_box(notes, name, ty),
            DefinitionKind::State { public, ty, declarators } => {
                self.state(notes, *public, ty, declarators)
            }
            DefinitionKind::Factory(factory) => self.factory(notes, factory),
            DefinitionKind::BitMask { name, flags } => self.bitmask(notes, name, flags),
            DefinitionKind::BitSet(body) => self.bitset(notes, body),
            DefinitionKind::Component(body) => self.component(notes, body),
            DefinitionKind::ForwardComponent(name) => self.forward_component(notes, name),
            DefinitionKind::PortType { name, body } => self.port_type(notes, name, body),
            DefinitionKind::ForwardPortType(name) => self.forward_port_type(notes, name),
            DefinitionKind::Port(port) => self.port(notes, port),
            DefinitionKind::Home(body) => self.home(notes, body),
            DefinitionKind::TypeId { name, id, id_span } => self.type_id(name, id, *id_span),
            DefinitionKind::TypePrefix { name, prefix, prefix_span } => {
                self.type_prefix(name, prefix, *prefix_span)
            }
            DefinitionKind::Import(name) => self.import(name.as_ref()),
            DefinitionKind::Annotation(body) => self.annotation_definition(body),
            DefinitionKind::Template(template) => self.template(notes, template),
            DefinitionKind::Instance(instance) => self.instance(notes, instance),
            DefinitionKind::Unusable(name) => self.poison(name),
        }
        self.leave_declaration(outer);
    }

    fn module(&mut self, notes: &Notes, name: &Ident, body: &[Item]) {
        let def = match self.reopened(name) {
            Some(def) => {
                self.note_declaration(name, Entity::Def(def));
                Some(def)
            }
            None => self.define(notes, name, DefKind::Module(Module::default())),
        };
        if let Some(def) = def {
            self.opens_module(def, name.span);
        }
        // If the name is taken, the body is resolved in a scope of its own, to report the errors in it.
        let scope = match def.and_then(|def| self.scopes.of_def(def)) {
            Some(scope) => scope,
            None => self.scopes.add(self.here, ScopeKind::Module, def),
        };
        self.inside(scope, |r| r.items(body));
    }

    /// Returns the module of that name that this scope already has.
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

    fn constructed(&mut self, notes: &Notes, constructed: &Constructed) -> Option<DefId> {
        match constructed {
            Constructed::Struct(body) => self.struct_type(notes, body),
            Constructed::Union(body) => self.union_type(notes, body),
            Constructed::Enum(body) => self.enum_type(notes, body),
        }
    }

    fn typedef(&mut self, notes: &Notes, ty: &TypeSpec, declarators: &[Declarator]) {
        let base = self.named_type(ty);
        let mut annotations = None;
        for declarator in declarators {
            let ty = base.clone().and_then(|base| self.with_dimensions(base, declarator));
            match ty {
                Some(ty) => {
                    let alias = DefKind::Typedef(Typedef { ty: ty.clone() });
                    let name = &declarator.name;
                    if let Some(def) = self.define_one(notes, name, alias, &mut annotations) {
                        self.new_typedef(def, &ty);
                    }
                }
                None => self.poison(&declarator.name),
            }
        }
    }

    fn constant(&mut self, notes: &Notes, ty: &TypeSpec, name: &Ident, value: &Expr) {
        let evaluated = match &ty.kind {
            TypeKind::Fixed(shape) => self.fixed_constant(ty.span, shape.is_some(), value),
            _ => self.constant_type(ty).and_then(|ty| {
                let value = self.value(value, &ty)?;
                Some((ty, value))
            }),
        };
        match evaluated {
            Some((ty, value)) => {
                self.define(notes, name, DefKind::Const(Const { ty, value }));
            }
            None => self.poison(name),
        }
    }

    fn report_never_defined(&mut self) {
        for (def, announced) in std::mem::take(&mut self.announced) {
            let name = self.model.def(def).scoped_name.clone();
            let incomplete = self.incomplete.contains_key(&def);
            if let DefKind::ValueType(value) = &mut self.model.def_mut(def).kind
                && incomplete
            {
                value.kind = ValueKind::Abstract;
                self.report(announced.span, Forward::ValueNeverDefined { name });
            } else if incomplete {
                let what = announced.what;
                let what = what.split_once(' ').map_or(what, |(_, what)| what);
                self.report(announced.span, Forward::NeverDefined { what, name });
            } else if let DefKind::ForwardInterface(kind) = self.model.def(def).kind {
                if kind == InterfaceKind::Local {
                    // References to objects of a local interface never leave the process, so the interface can be
                    // compiled without its operations.
                    self.model.def_mut(def).kind =
                        DefKind::Interface(Interface { kind, ..Interface::default() });
                }
                self.report(announced.span, Forward::InterfaceNeverDefined { name });
            }
        }
    }

    /// Reports a problem. Drops warnings about included files, which concern the authors of those files.
    fn report(&mut self, span: Span, problem: impl Problem + 'static) {
        if problem.severity() == Severity::Error || self.map.is_main(span.file) {
            self.out.push(span, problem);
        }
    }

    /// Reports whether a definition counts as one of a main file.
    fn is_main(&self, span: Span) -> bool {
        let instance = self.templates.in_main_file();
        instance.unwrap_or_else(|| self.map.is_main(span.file))
    }

    /// Removes poisoned definitions, and all inside them, from the model. Without errors, these are stand-ins for
    /// template parameters.
    fn leave_out_poisoned(&mut self) {
        let mut left_out = std::mem::take(&mut self.poisoned);
        left_out.extend(self.templates.arguments());
        // One pass suffices, because parents precede their contents.
        for def in self.model.defs() {
            if def.parent.is_some_and(|parent| left_out.contains(&parent)) {
                left_out.insert(def.id);
            }
        }
        self.model.leave_out(left_out);
    }

    /// Follows typedefs, in one step for a chain of any length.
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

/// Returns an entry of a scope.
fn entry(name: &Ident, entity: Entity) -> Entry {
    Entry { name: name.name.clone(), span: name.span, entity }
}
