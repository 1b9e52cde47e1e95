//! Resolution of valuetypes, boxed types and event types.

use super::Resolver;
use super::annotation::Target;
use super::interface::MAX_BASES;
use super::scope::{Entity, ScopeId, ScopeKind};
use crate::ast::{self, Declarator, Ident, Notes, ScopedName, TypeSpec, ValueWords};
use crate::check::anonymous::Position;
use crate::check::bases::Bases;
use crate::check::value::ValueProblem;
use crate::check::wrong_kind::Wanted;
use crate::model::{
    DefId, DefKind, Direction, Factory, InterfaceKind, Param, StateMember, Type, ValueKind,
    ValueType,
};
use crate::source::Span;

impl Resolver<'_> {
    pub(super) fn forward_value(&mut self, notes: &Notes, what: ValueWords, name: &Ident) {
        let kind = DefKind::ValueType(ValueType {
            kind: what.kind,
            event: what.event,
            ..ValueType::default()
        });
        self.announce(notes, name, kind_text(what.kind, what.event), kind);
    }

    pub(super) fn value_box(&mut self, notes: &Notes, name: &Ident, ty: &TypeSpec) {
        let Some(boxed) = self.named_type(ty) else {
            self.poison(name);
            return;
        };
        let plain = self.plain(&boxed);
        let is_value = match plain {
            Type::ValueBase => true,
            Type::Named(def) => {
                matches!(self.model.def(*def).kind, DefKind::ValueType(_) | DefKind::ValueBox(_))
            }
            _ => false,
        };
        if is_value {
            let name = self.describe(plain);
            self.report(ty.span, ValueProblem::BoxOfValue { name });
        }
        if let Some(def) = self.define(notes, name, DefKind::ValueBox(boxed.clone())) {
            self.made_of(def, [boxed].iter());
        }
    }

    pub(super) fn value_type(&mut self, notes: &Notes, value: &ast::ValueType) {
        // The bases are looked up before the valuetype is declared, so that none can be the valuetype itself.
        let bases = self.value_bases(value);
        let supports = self.supported(&value.supports);
        self.check_supported(&bases, &supports);
        let what = value.what;
        if let Some(span) = value.truncatable {
            let concrete =
                bases.first().is_some_and(|base| self.value_kind(*base) != ValueKind::Abstract);
            if what.kind == ValueKind::Custom {
                let name = value.name.name.to_string();
                self.report(span, ValueProblem::TruncatableCustom { name });
            } else if !concrete && bases.len() == value.bases.len() {
                self.report(span, ValueProblem::TruncatableAbstract);
            }
        }
        let kind = DefKind::ValueType(ValueType {
            kind: what.kind,
            event: what.event,
            truncatable: value.truncatable.is_some(),
            bases: bases.clone(),
            supports: supports.iter().map(|(def, _)| *def).collect(),
            ..ValueType::default()
        });
        let def = self.begin(notes, &value.name, kind_text(what.kind, what.event), kind);
        if let Some(def) = def {
            self.incomplete.remove(&def);
        }
        let inherited = bases.into_iter().chain(supports.iter().map(|(def, _)| *def));
        let known = value.bases.len() + value.supports.len();
        let scope = self.open_body(def, inherited, known);
        self.check_bases(scope, value.name.span);
        self.inside(scope, |r| r.items(&value.body));
    }

    /// Opens the scope of a body that inherits from `bases`. `written` is the number of bases in the source; if some of
    /// them are unknown, any name may be inherited from them.
    pub(super) fn open_body(
        &mut self,
        def: Option<DefId>,
        bases: impl Iterator<Item = DefId>,
        written: usize,
    ) -> ScopeId {
        let scope = self.scopes.add(self.here, ScopeKind::Interface, def);
        let bases: Vec<ScopeId> = bases.filter_map(|base| self.scopes.of_def(base)).collect();
        let inner = self.scopes.scope_mut(scope);
        inner.open_ended = bases.len() < written;
        inner.bases = bases;
        scope
    }

    fn value_bases(&mut self, value: &ast::ValueType) -> Vec<DefId> {
        let mut bases: Vec<(DefId, Span)> = Vec::new();
        for name in &value.bases {
            let Some(def) = self.look_up_def(name, Wanted::ValueType) else {
                continue;
            };
            let at = self.model.def(def).span;
            let text = name.text();
            if self.incomplete.contains_key(&def) {
                self.report(name.span(), Bases::Incomplete { name: text, at });
                continue;
            }
            if let Some((_, at)) = bases.iter().find(|(base, _)| *base == def) {
                let at = *at;
                self.report(name.span(), Bases::Twice { name: text, at });
                continue;
            }
            let problem = match (value.what.kind, self.value_kind(def)) {
                (_, ValueKind::Abstract) => None,
                (ValueKind::Abstract, _) => {
                    Some(ValueProblem::AbstractFromConcrete { name: text, at })
                }
                _ if !bases.is_empty() => Some(ValueProblem::ConcreteNotFirst { name: text, at }),
                (ValueKind::Stateful, ValueKind::Custom) => {
                    Some(ValueProblem::FromCustom { name: text, at })
                }
                _ => None,
            };
            match problem {
                Some(problem) => self.report(name.span(), problem),
                None => bases.push((def, name.span())),
            }
        }
        bases.into_iter().map(|(def, _)| def).collect()
    }

    fn value_kind(&self, def: DefId) -> ValueKind {
        match &self.model.def(def).kind {
            DefKind::ValueType(value) => value.kind,
            _ => ValueKind::default(),
        }
    }

    /// Returns the interfaces that a valuetype, component or home supports.
    pub(super) fn supported(&mut self, names: &[ScopedName]) -> Vec<(DefId, Span)> {
        let mut found: Vec<(DefId, Span)> = Vec::new();
        for name in names {
            let Some(def) = self.look_up_def(name, Wanted::Base) else {
                continue;
            };
            let (text, declared) = (name.text(), self.model.def(def).span);
            let earlier = found.iter().find(|(other, _)| *other == def);
            let problem = match (&self.model.def(def).kind, earlier) {
                (DefKind::ForwardInterface(_), _) => {
                    Some(Bases::Incomplete { name: text, at: declared })
                }
                (_, Some((_, at))) => Some(Bases::Twice { name: text, at: *at }),
                _ => None,
            };
            match problem {
                Some(problem) => self.report(name.span(), problem),
                None => found.push((def, name.span())),
            }
        }
        found
    }

    /// Checks that at most one supported interface is not abstract, and that it derives from what
    /// bases support.
    fn check_supported(&mut self, bases: &[DefId], supports: &[(DefId, Span)]) {
        let concrete: Vec<(DefId, Span)> =
            supports.iter().copied().filter(|(def, _)| self.is_concrete(*def)).collect();
        for (second, span) in concrete.iter().skip(1) {
            let problem = ValueProblem::SupportsTwo {
                name: self.model.def(*second).name.clone(),
                first: self.model.def(concrete[0].0).name.clone(),
            };
            self.report(*span, problem);
        }
        let Some((own, span)) = concrete.first() else {
            return;
        };
        let Some(inherited) = self.inherited_support(bases) else {
            return;
        };
        let scopes = (self.scopes.of_def(*own), self.scopes.of_def(inherited));
        let (Some(own_scope), Some(inherited_scope)) = scopes else {
            return;
        };
        let all = self.scopes.with_bases(own_scope);
        if !all.contains(&inherited_scope) && !self.scopes.is_open_ended(own_scope) {
            let problem = ValueProblem::SupportsUnrelated {
                name: self.model.def(*own).name.clone(),
                inherited: self.model.def(inherited).name.clone(),
                at: self.model.def(inherited).span,
            };
            self.report(*span, problem);
        }
    }

    fn is_concrete(&self, def: DefId) -> bool {
        match &self.model.def(def).kind {
            DefKind::Interface(interface) => interface.kind != InterfaceKind::Abstract,
            _ => false,
        }
    }

    /// Returns the concrete interface that these bases support.
    fn inherited_support(&self, bases: &[DefId]) -> Option<DefId> {
        bases.iter().flat_map(|base| self.value_ancestors(*base)).find_map(|def| {
            match &self.model.def(def).kind {
                DefKind::ValueType(value) => {
                    let mut all = value.supports.iter();
                    all.find(|def| self.is_concrete(**def)).copied()
                }
                _ => None,
            }
        })
    }

    /// Returns a valuetype and all its bases, nearest first, up to a limit.
    pub(super) fn value_ancestors(&self, def: DefId) -> Vec<DefId> {
        let mut all = vec![def];
        let mut next = 0;
        while let Some(def) = all.get(next)
            && all.len() <= MAX_BASES
        {
            if let DefKind::ValueType(value) = &self.model.def(*def).kind {
                for base in &value.bases {
                    if !all.contains(base) {
                        all.push(*base);
                    }
                }
            }
            next += 1;
        }
        all
    }

    pub(super) fn state(
        &mut self,
        notes: &Notes,
        public: bool,
        ty: &TypeSpec,
        declarators: &[Declarator],
    ) {
        let base = self.used_type(ty, Position::Member);
        let around = self.interface_around();
        if let Some(def) = around
            && let DefKind::ValueType(value) = &self.model.def(def).kind
            && value.kind == ValueKind::Abstract
        {
            self.report(ty.span, ValueProblem::AbstractState);
        }
        let mut annotations = None;
        for declarator in declarators {
            self.declare(&declarator.name, Entity::State);
            let field = self.declared_field(base.clone(), notes, declarator, &mut annotations);
            let Some(field) = field else { continue };
            if let Some(def) = around
                && let DefKind::ValueType(value) = &mut self.model.def_mut(def).kind
            {
                value.state.push(StateMember { public, field });
            }
        }
    }

    pub(super) fn factory(&mut self, notes: &Notes, factory: &ast::Factory) {
        self.declare(&factory.name, Entity::Factory);
        for param in &factory.params {
            if param.direction != Direction::In {
                self.report(param.direction_span, ValueProblem::FactoryOut);
            }
        }
        let scope = self.scopes.add(self.here, ScopeKind::Operation, None);
        let (params, raises) = self.inside(scope, |r| {
            let params: Vec<Option<Param>> = factory.params.iter().map(|p| r.param(p)).collect();
            (params, r.exceptions(&factory.raises))
        });
        let (Some(params), Some(around)) =
            (params.into_iter().collect::<Option<Vec<Param>>>(), self.interface_around())
        else {
            return;
        };
        let made = Factory {
            name: factory.name.name.to_string(),
            span: factory.name.span,
            doc: notes.doc(),
            annotations: self.annotations(&notes.annotations, Target::Other),
            params,
            raises,
        };
        match &mut self.model.def_mut(around).kind {
            DefKind::ValueType(value) => {
                let is_abstract = value.kind == ValueKind::Abstract;
                value.factories.push(made);
                if is_abstract {
                    self.report(factory.name.span, ValueProblem::AbstractFactory);
                }
            }
            DefKind::Home(home) if factory.finder => home.finders.push(made),
            DefKind::Home(home) => home.factories.push(made),
            _ => {}
        }
    }
}

/// Describes the kind: "an abstract valuetype" ...; custom valuetypes are declared forward like plain ones.
pub(super) fn kind_text(kind: ValueKind, event: bool) -> &'static str {
    match (kind, event) {
        (ValueKind::Abstract, false) => "an abstract valuetype",
        (_, false) => "a valuetype",
        (ValueKind::Abstract, true) => "an abstract eventtype",
        (_, true) => "an eventtype",
    }
}
