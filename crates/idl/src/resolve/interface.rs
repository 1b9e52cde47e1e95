//! Resolution of interfaces, their bases, operations and attributes.

use super::Resolver;
use super::annotation::Target;
use super::scope::{Entity, ScopeId, ScopeKind};
use crate::ast::{self, Ident, Notes, ScopedName, TypeSpec};
use crate::check::anonymous::Position;
use crate::check::bases::Bases;
use crate::check::local_type::LocalType;
use crate::check::operation::oneway;
use crate::check::wrong_kind::Wanted;
use crate::model::{
    Attribute, Component, ComponentExport, DefId, DefKind, Export, Interface, InterfaceKind,
    Operation, Param, PortType, Type,
};
use crate::source::Span;
use std::collections::BTreeMap;

/// Maximum number of bases of an interface, direct and indirect; every lookup may visit them all.
pub(super) const MAX_BASES: usize = 500;

impl Resolver<'_> {
    pub(super) fn forward_interface(&mut self, notes: &Notes, kind: InterfaceKind, name: &Ident) {
        let forward = DefKind::ForwardInterface(kind);
        self.announce(notes, name, kind_text(kind), forward);
    }

    pub(super) fn interface(&mut self, notes: &Notes, interface: &ast::Interface) {
        // The bases are looked up before the interface is declared, so that none can be the interface itself.
        let bases = self.bases(interface);
        let kind = DefKind::Interface(Interface {
            kind: interface.kind,
            bases: bases.clone(),
            ..Interface::default()
        });
        let def = self.begin(notes, &interface.name, kind_text(interface.kind), kind);
        let scope = self.scopes.add(self.here, ScopeKind::Interface, def);
        let base_scopes: Vec<ScopeId> =
            bases.iter().filter_map(|base| self.scopes.of_def(*base)).collect();
        let inner = self.scopes.scope_mut(scope);
        inner.open_ended = base_scopes.len() < interface.bases.len();
        inner.bases = base_scopes;
        self.check_bases(scope, interface.name.span);
        self.inside(scope, |r| r.items(&interface.body));
    }

    fn bases(&mut self, interface: &ast::Interface) -> Vec<DefId> {
        let mut bases: Vec<(DefId, Span)> = Vec::new();
        for name in &interface.bases {
            let Some(def) = self.look_up_def(name, Wanted::Base) else {
                continue;
            };
            let at = self.model.def(def).span;
            let text = name.text();
            let problem = match &self.model.def(def).kind {
                DefKind::ForwardInterface(_) => Some(Bases::Incomplete { name: text, at }),
                DefKind::Interface(base) => match (interface.kind, base.kind) {
                    (InterfaceKind::Abstract, InterfaceKind::Unconstrained) => {
                        Some(Bases::AbstractFromConcrete { name: text, at })
                    }
                    (
                        InterfaceKind::Abstract | InterfaceKind::Unconstrained,
                        InterfaceKind::Local,
                    ) => Some(Bases::UnconstrainedFromLocal { name: text, at }),
                    _ => {
                        let earlier = bases.iter().find(|(base, _)| *base == def);
                        earlier.map(|(_, at)| Bases::Twice { name: text, at: *at })
                    }
                },
                _ => None,
            };
            match problem {
                Some(problem) => self.report(name.span(), problem),
                None => bases.push((def, name.span())),
            }
        }
        bases.into_iter().map(|(def, _)| def).collect()
    }

    /// Checks all bases together: their number, and operations or attributes of equal names.
    pub(super) fn check_bases(&mut self, scope: ScopeId, span: Span) {
        let bases = self.scopes.scope(scope).bases.clone();
        let all = self.scopes.with_bases(scope);
        if all.len() > MAX_BASES {
            self.report(span, Bases::TooMany { limit: MAX_BASES });
            // Forgets the bases, so that derived interfaces do not cause the same error.
            let inner = self.scopes.scope_mut(scope);
            inner.bases.clear();
            inner.open_ended = true;
        }
        if bases.len() < 2 {
            return;
        }
        let mut clashes = Vec::new();
        let mut features: BTreeMap<String, (ScopeId, Span)> = BTreeMap::new();
        for base in &all[1..] {
            for entry in self.scopes.scope(*base).entries() {
                if !entry.entity.is_feature() {
                    continue;
                }
                let (other, at) =
                    *features.entry(entry.name.to_lowercase()).or_insert((*base, entry.span));
                // If one direct base has both features, the clash was reported at that base.
                let together = |direct: &ScopeId| {
                    let all = self.scopes.with_bases(*direct);
                    all.contains(base) && all.contains(&other)
                };
                if other != *base && !bases.iter().any(together) {
                    clashes.push(Bases::Clash {
                        name: entry.name.to_string(),
                        first: (self.scope_name(other), at),
                        second: (self.scope_name(*base), entry.span),
                    });
                }
            }
        }
        for clash in clashes {
            self.report(span, clash);
        }
    }

    pub(super) fn operation(&mut self, notes: &Notes, operation: &ast::Operation) {
        // An operation is oneway by the keyword, or by the annotation of IDL 4.2.
        let says_so = operation.oneway.or_else(|| self.set_at(&notes.annotations, "oneway"));
        if let Some(says_so) = says_so {
            oneway(operation, says_so, self.out);
        }
        let returns =
            operation.returns.as_ref().map(|ty| self.signature_type(ty, Position::Operation));
        self.declare(&operation.name, Entity::Operation);
        let scope = self.scopes.add(self.here, ScopeKind::Operation, None);
        let (params, raises) = self.inside(scope, |r| {
            let params: Vec<Option<Param>> =
                operation.params.iter().map(|param| r.param(param)).collect();
            (params, r.exceptions(&operation.raises))
        });
        let Some(params) = params.into_iter().collect::<Option<Vec<Param>>>() else {
            return;
        };
        let returns = match returns {
            Some(None) => return,
            Some(Some(ty)) => Some(ty),
            None => None,
        };
        let annotations = self.annotations(&notes.annotations, Target::Operation);
        self.export(Export::Operation(Operation {
            name: operation.name.name.to_string(),
            span: operation.name.span,
            doc: notes.doc(),
            annotations,
            oneway: says_so.is_some(),
            mutating: self.is_set(&notes.annotations, "mutating"),
            returns,
            params,
            raises,
            context: operation.context.iter().map(|text| text.to_string()).collect(),
        }));
    }

    pub(super) fn param(&mut self, param: &ast::Param) -> Option<Param> {
        let ty = self.signature_type(&param.ty, Position::Operation);
        let whole = param.direction_span.to(param.name.span);
        let outer = self.enter_declaration(whole, &param.notes);
        self.declare(&param.name, Entity::Param);
        self.leave_declaration(outer);
        Some(Param {
            name: param.name.name.to_string(),
            span: param.name.span,
            annotations: self.annotations(&param.notes.annotations, Target::Other),
            direction: param.direction,
            ty: ty?,
        })
    }

    pub(super) fn attribute(&mut self, notes: &Notes, attribute: &ast::Attribute) {
        let ty = self.signature_type(&attribute.ty, Position::Attribute);
        let get_raises = self.exceptions(&attribute.get_raises);
        let set_raises = self.exceptions(&attribute.set_raises);
        let annotations = self.annotations(&notes.annotations, Target::Other);
        for name in &attribute.names {
            self.declare(name, Entity::Attribute);
            let Some(ty) = &ty else { continue };
            self.export(Export::Attribute(Attribute {
                name: name.name.to_string(),
                span: name.span,
                doc: notes.doc(),
                annotations: annotations.clone(),
                readonly: attribute.readonly,
                ty: ty.clone(),
                get_raises: get_raises.clone(),
                set_raises: set_raises.clone(),
            }));
        }
    }

    /// Returns each exception once, in order.
    pub(super) fn exceptions(&mut self, names: &[ScopedName]) -> Vec<DefId> {
        let mut found = Vec::new();
        for name in names {
            if self.is_any_exception(name) {
                continue;
            }
            if let Some(def) = self.look_up_def(name, Wanted::Exception)
                && !found.contains(&def)
            {
                found.push(def);
            }
        }
        found
    }

    /// Reports whether the name is `native UserExceptionBase`, which CORBA itself uses where any exception may occur
    /// (CORBA 3.3 part 1, 17.9).
    fn is_any_exception(&self, name: &ScopedName) -> bool {
        let named = name.parts.last();
        if named.is_none_or(|last| &*last.name != "UserExceptionBase") {
            return false;
        }
        match self.find(name) {
            Some(Entity::Def(def)) => matches!(self.model.def(def).kind, DefKind::Native),
            _ => false,
        }
    }

    fn export(&mut self, export: Export) {
        let Some(def) = self.interface_around() else {
            return;
        };
        match &mut self.model.def_mut(def).kind {
            DefKind::Interface(body) => body.exports.push(export),
            DefKind::ValueType(body) => body.exports.push(export),
            DefKind::Home(body) => body.exports.push(export),
            DefKind::Component(Component { exports, .. })
            | DefKind::Connector(Component { exports, .. })
            | DefKind::PortType(PortType { exports }) => {
                if let Export::Attribute(attribute) = export {
                    exports.push(ComponentExport::Attribute(attribute));
                }
            }
            _ => {}
        }
    }

    /// Returns the interface, valuetype or component whose body is being resolved.
    pub(super) fn interface_around(&self) -> Option<DefId> {
        let mut outwards = self.scopes.outwards(self.here);
        outwards
            .find(|scope| self.scopes.scope(*scope).kind == ScopeKind::Interface)
            .and_then(|scope| self.scopes.scope(scope).def)
    }

    /// Returns a type that is transferred in calls.
    fn signature_type(&mut self, spec: &TypeSpec, position: Position) -> Option<Type> {
        let ty = self.used_type(spec, position)?;
        self.check_local(&ty, spec.span);
        Some(ty)
    }

    fn check_local(&mut self, ty: &Type, span: Span) {
        let Some(around) = self.interface_around() else {
            return;
        };
        let DefKind::Interface(interface) = &self.model.def(around).kind else {
            return;
        };
        if interface.kind == InterfaceKind::Local {
            return;
        }
        if let Some(local) = self.local_in(ty) {
            let problem = LocalType {
                local: self.model.def(local).scoped_name.clone(),
                interface: self.model.def(around).name.clone(),
                at: self.model.def(local).span,
            };
            self.report(span, problem);
        }
    }

    /// Returns a local interface that a type is or contains.
    fn local_in(&self, ty: &Type) -> Option<DefId> {
        match ty {
            Type::Sequence(element, _) | Type::Array(element, _) => self.local_in(element),
            Type::Map(key, value, _) => self.local_in(key).or_else(|| self.local_in(value)),
            Type::Named(def) => match &self.model.def(*def).kind {
                DefKind::Interface(interface) => {
                    (interface.kind == InterfaceKind::Local).then_some(*def)
                }
                DefKind::ForwardInterface(kind) => (*kind == InterfaceKind::Local).then_some(*def),
                _ => self.locals.get(def).copied(),
            },
            _ => None,
        }
    }

    /// Records that a definition contains `types`, for [`Self::local_in`].
    pub(super) fn made_of<'t>(&mut self, def: DefId, types: impl Iterator<Item = &'t Type>) {
        let local = types.filter_map(|ty| self.local_in(ty)).next();
        if let Some(local) = local {
            self.locals.insert(def, local);
        }
    }
}

/// Describes the kind: "a local interface" ...
pub(super) fn kind_text(kind: InterfaceKind) -> &'static str {
    match kind {
        InterfaceKind::Unconstrained => "an interface",
        InterfaceKind::Local => "a local interface",
        InterfaceKind::Abstract => "an abstract interface",
    }
}
