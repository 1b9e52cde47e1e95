//! Resolution of components, connectors, port types, ports and homes.

use super::Resolver;
use super::annotation::Target;
use super::interface::MAX_BASES;
use super::scope::Entity;
use crate::ast::{self, Ident, Item, Notes, ScopedName, TypeKind, TypeSpec};
use crate::check::component::{ComponentProblem, KeyFault};
use crate::check::wrong_kind::Wanted;
use crate::model::{
    Component, ComponentExport, DefId, DefKind, Home, Port, PortKind, PortType, Type, ValueKind,
};

impl Resolver<'_> {
    pub(super) fn forward_component(&mut self, notes: &Notes, name: &Ident) {
        let kind = DefKind::Component(Component::default());
        self.announce(notes, name, "a component", kind);
    }

    pub(super) fn forward_port_type(&mut self, notes: &Notes, name: &Ident) {
        let kind = DefKind::PortType(PortType::default());
        self.announce(notes, name, "a port type", kind);
    }

    pub(super) fn component(&mut self, notes: &Notes, body: &ast::Component) {
        let (what, wanted) = match body.connector {
            true => ("a connector", Wanted::Connector),
            false => ("a component", Wanted::Component),
        };
        let base = self.only_base(&body.bases, what, wanted);
        let supports = self.supported(&body.supports);
        let made = Component {
            base,
            supports: supports.iter().map(|(def, _)| *def).collect(),
            exports: Vec::new(),
        };
        let def = match body.connector {
            true => self.define(notes, &body.name, DefKind::Connector(made)),
            false => self.begin(notes, &body.name, what, DefKind::Component(made)),
        };
        let inherited = base.into_iter().chain(supports.iter().map(|(def, _)| *def));
        let written = body.bases.len() + body.supports.len();
        self.ports_inside(def, &body.name, inherited, written, &body.body);
    }

    pub(super) fn port_type(&mut self, notes: &Notes, name: &Ident, body: &[Item]) {
        let kind = DefKind::PortType(PortType::default());
        let def = self.begin(notes, name, "a port type", kind);
        self.ports_inside(def, name, std::iter::empty(), 0, body);
    }

    fn ports_inside(
        &mut self,
        def: Option<DefId>,
        name: &Ident,
        inherited: impl Iterator<Item = DefId>,
        written: usize,
        body: &[Item],
    ) {
        if let Some(def) = def {
            self.incomplete.remove(&def);
        }
        let scope = self.open_body(def, inherited, written);
        self.check_bases(scope, name.span);
        self.inside(scope, |r| r.items(body));
    }

    fn only_base(
        &mut self,
        names: &[ScopedName],
        what: &'static str,
        wanted: Wanted,
    ) -> Option<DefId> {
        if let Some(second) = names.get(1) {
            self.report(second.span(), ComponentProblem::SecondBase { what });
        }
        self.complete(names.first()?, wanted)
    }

    /// Returns a definition of the wanted kind that is not only declared forward.
    fn complete(&mut self, name: &ScopedName, wanted: Wanted) -> Option<DefId> {
        let def = self.look_up_def(name, wanted)?;
        if self.incomplete.contains_key(&def) {
            let problem =
                ComponentProblem::Incomplete { name: name.text(), at: self.model.def(def).span };
            self.report(name.span(), problem);
            return None;
        }
        Some(def)
    }

    pub(super) fn port(&mut self, notes: &Notes, port: &ast::Port) {
        let kind = self.port_kind(port);
        self.declare(&port.name, Entity::Port);
        let (Some(kind), Some(around)) = (kind, self.interface_around()) else {
            return;
        };
        let made = Port {
            name: port.name.name.to_string(),
            span: port.name.span,
            doc: notes.doc(),
            annotations: self.annotations(&notes.annotations, Target::Other),
            kind,
        };
        if let DefKind::Component(Component { exports, .. })
        | DefKind::Connector(Component { exports, .. })
        | DefKind::PortType(PortType { exports }) = &mut self.model.def_mut(around).kind
        {
            exports.push(ComponentExport::Port(made));
        }
    }

    fn port_kind(&mut self, port: &ast::Port) -> Option<PortKind> {
        Some(match port.kind {
            ast::PortKind::Provides => PortKind::Provides(self.port_interface(&port.ty)?),
            ast::PortKind::Uses { multiple } => {
                PortKind::Uses { ty: self.port_interface(&port.ty)?, multiple }
            }
            ast::PortKind::Emits => PortKind::Emits(self.port_named(&port.ty, Wanted::EventType)?),
            ast::PortKind::Publishes => {
                PortKind::Publishes(self.port_named(&port.ty, Wanted::EventType)?)
            }
            ast::PortKind::Consumes => {
                PortKind::Consumes(self.port_named(&port.ty, Wanted::EventType)?)
            }
            ast::PortKind::Extended { mirror } => {
                let TypeKind::Named(name) = &port.ty.kind else {
                    return self.not_an_interface(&port.ty);
                };
                PortKind::Extended { port_type: self.complete(name, Wanted::PortType)?, mirror }
            }
        })
    }

    fn port_named(&mut self, spec: &TypeSpec, wanted: Wanted) -> Option<DefId> {
        match &spec.kind {
            TypeKind::Named(name) => self.look_up_def(name, wanted),
            _ => self.not_an_interface(spec),
        }
    }

    /// Returns the interface of facets and receptacles.
    fn port_interface(&mut self, spec: &TypeSpec) -> Option<Type> {
        let ty = self.named_type(spec)?;
        let plain = self.plain(&ty).clone();
        let fine = match &plain {
            Type::Object => true,
            Type::Named(def) => matches!(
                self.model.def(*def).kind,
                DefKind::Interface(_) | DefKind::ForwardInterface(_)
            ),
            _ => false,
        };
        match fine {
            true => Some(plain),
            false => self.not_an_interface(spec),
        }
    }

    fn not_an_interface<T>(&mut self, spec: &TypeSpec) -> Option<T> {
        let ty = self.named_type(spec)?;
        let found = self.describe(self.plain(&ty));
        self.report(spec.span, ComponentProblem::PortInterface { found });
        None
    }

    pub(super) fn home(&mut self, notes: &Notes, body: &ast::Home) {
        let base = self.only_base(&body.bases, "a home", Wanted::Home);
        let supports = self.supported(&body.supports);
        let manages = self.complete(&body.manages, Wanted::Component);
        let primary_key = body.primary_key.as_ref().and_then(|name| {
            let key = self.look_up_def(name, Wanted::ValueType)?;
            self.check_key(name, key);
            Some(key)
        });
        if let (Some(base), Some(manages)) = (base, manages) {
            self.check_base_home(body, base, manages, primary_key);
        }
        let Some(manages) = manages else {
            self.poison(&body.name);
            return;
        };
        let kind = DefKind::Home(Home {
            base,
            supports: supports.iter().map(|(def, _)| *def).collect(),
            manages,
            primary_key,
            members: Vec::new(),
            exports: Vec::new(),
            factories: Vec::new(),
            finders: Vec::new(),
        });
        let def = self.define(notes, &body.name, kind);
        let inherited = base.into_iter().chain(supports.iter().map(|(def, _)| *def));
        let written = body.bases.len() + body.supports.len();
        self.ports_inside(def, &body.name, inherited, written, &body.body);
    }

    /// Checks that a key is a value with public members only, none of them a reference.
    fn check_key(&mut self, name: &ScopedName, key: DefId) {
        let DefKind::ValueType(value) = &self.model.def(key).kind else {
            return;
        };
        let state = self.model.all_state(value);
        let private = state.iter().find(|member| !member.public);
        let reference = state.iter().find(|member| self.is_reference(&member.field.ty));
        let why = if value.kind == ValueKind::Abstract {
            KeyFault::Abstract
        } else if let Some(member) = private {
            KeyFault::Private(member.field.name.clone())
        } else if let Some(member) = reference {
            KeyFault::Reference(member.field.name.clone())
        } else if !self.derives_from_key_base(key) {
            KeyFault::NotDerived
        } else {
            return;
        };
        let problem =
            ComponentProblem::PrimaryKey { name: name.text(), why, at: self.model.def(key).span };
        self.report(name.span(), problem);
    }

    fn is_reference(&self, ty: &Type) -> bool {
        match self.plain(ty) {
            Type::Object => true,
            Type::Named(def) => matches!(
                self.model.def(*def).kind,
                DefKind::Interface(_)
                    | DefKind::ForwardInterface(_)
                    | DefKind::Component(_)
                    | DefKind::Home(_)
            ),
            _ => false,
        }
    }

    fn derives_from_key_base(&self, key: DefId) -> bool {
        let mut all = self.value_ancestors(key).into_iter();
        all.any(|def| self.model.def(def).scoped_name == "Components::PrimaryKeyBase")
    }

    fn check_base_home(
        &mut self,
        body: &ast::Home,
        base: DefId,
        manages: DefId,
        key: Option<DefId>,
    ) {
        let at = self.model.def(base).span;
        let DefKind::Home(home) = &self.model.def(base).kind else {
            return;
        };
        let (base_manages, base_key) = (home.manages, home.primary_key);
        let base_of = |def: &DefId| match &self.model.def(*def).kind {
            DefKind::Component(body) => body.base,
            _ => None,
        };
        let derived = std::iter::successors(Some(manages), base_of)
            .take(MAX_BASES)
            .any(|def| def == base_manages);
        if !derived {
            let problem = ComponentProblem::Manages {
                manages: self.model.def(manages).name.clone(),
                base: self.model.def(base_manages).name.clone(),
                at,
            };
            self.report(body.manages.span(), problem);
        }
        if let (Some(key), Some(base_key), Some(name)) = (key, base_key, &body.primary_key) {
            let related = self.value_ancestors(key).contains(&base_key);
            if !related {
                self.report(name.span(), ComponentProblem::OtherKey { at });
            }
        }
    }
}
