//! Template modules: checked at their definition, as far as that is independent of arguments, and resolved again for
//! each instance.

use super::scope::{Entity, Entry, ScopeId, ScopeKind};
use super::{Resolver, entry};
use crate::ast::{
    Expr, ExprKind, Ident, Instance, Item, Notes, Template, TemplateArg, TemplateParam,
    TemplateParamKind, TypeKind, TypeSpec,
};
use crate::check::template::TemplateProblem;
use crate::check::wrong_kind::Wanted;
use crate::model::{Const, DefId, DefKind, Module, TemplateModule, Type, Typedef};
use crate::source::Span;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Maximum number of levels of templates that instantiate others.
const MAX_DEPTH: usize = 8;

/// Maximum number of definitions that may exist when a template is instantiated.
const MAX_DEFINITIONS: usize = 100_000;

/// Known templates, and state of instantiation.
#[derive(Debug, Default)]
pub(super) struct Templates {
    /// Templates, each with the scope of its definition.
    known: BTreeMap<DefId, (Rc<Template>, ScopeId)>,
    /// Arguments that are unnamed types, by the definition that stands in for them.
    types: BTreeMap<DefId, Type>,
    /// Arguments that are values.
    values: BTreeSet<DefId>,
    /// Whether each open instance is in a main file; innermost last.
    open: Vec<bool>,
    /// Octets of the bodies of all instances so far, and their maximum number.
    octets: usize,
    max_octets: usize,
    /// Whether too many or too large instances were reported.
    too_many: bool,
}

impl Templates {
    pub(super) fn with_limit(max_octets: usize) -> Templates {
        Templates { max_octets, ..Templates::default() }
    }

    /// Returns the type that a stand-in represents.
    pub(super) fn argument(&self, def: DefId) -> Option<&Type> {
        self.types.get(&def)
    }

    /// Returns all stand-ins, which do not belong to the model.
    pub(super) fn arguments(&self) -> impl Iterator<Item = DefId> + '_ {
        self.types.keys().chain(&self.values).copied()
    }

    /// Reports whether a template is being instantiated.
    pub(super) fn is_instantiating(&self) -> bool {
        !self.open.is_empty()
    }

    /// Reports whether the present definition counts as part of a main file, if an instance decides that.
    pub(super) fn in_main_file(&self) -> Option<bool> {
        self.open.last().copied()
    }
}

impl Resolver<'_> {
    pub(super) fn template(&mut self, notes: &Notes, template: &Rc<Template>) {
        let mut seen = Seen::default();
        for param in &template.params {
            self.check_param(param, &seen);
            seen.add(&param.name);
        }
        let kind = DefKind::TemplateModule(TemplateModule {
            params: template.params.iter().map(text).collect(),
        });
        let Some(def) = self.define(notes, &template.name, kind) else {
            return;
        };
        self.try_out(template);
        self.templates.known.insert(def, (template.clone(), self.here));
    }

    fn check_param(&mut self, param: &TemplateParam, seen: &Seen<'_>) {
        let name = &param.name;
        if let Some(at) = seen.like(name) {
            let problem = TemplateProblem::ParamTwice { name: name.name.to_string(), at };
            self.report(name.span, problem);
        }
        let TemplateParamKind::Sequence(of) = &param.kind else { return };
        match seen.like(of) {
            Some(declared) if seen.exact.contains(&*of.name) => self.note_param_use(of, declared),
            _ => {
                let name = of.name.to_string();
                self.report(of.span, TemplateProblem::UnknownParam { name });
            }
        }
    }

    /// Resolves the body once with unknown parameters: skips everything that depends on these parameters, and checks
    /// the rest.
    fn try_out(&mut self, template: &Template) {
        let hidden = self.new_def(&template.name, DefKind::Module(Module::default()));
        self.poisoned.insert(hidden);
        let bindings = self.scopes.add(self.here, ScopeKind::Module, None);
        let here = std::mem::replace(&mut self.here, bindings);
        for param in &template.params {
            let outer = self.enter_declaration(param.name.span, Notes::NONE);
            self.poison(&param.name);
            self.leave_declaration(outer);
        }
        self.here = here;
        self.template_body(bindings, hidden, &template.body);
    }

    fn template_body(&mut self, bindings: ScopeId, module: DefId, body: &[Item]) {
        let scope = self.scopes.add(bindings, ScopeKind::Module, Some(module));
        self.inside(scope, |r| r.items(body));
    }

    pub(super) fn instance(&mut self, notes: &Notes, instance: &Instance) {
        if let Some(span) = instance.alias
            && !self.in_template()
        {
            self.report(span, TemplateProblem::AliasOutside);
        }
        let Some(def) = self.look_up_def(&instance.template, Wanted::Template) else {
            self.poison(&instance.name);
            return;
        };
        let declared = self.model.def(def).span;
        let name = self.model.def(def).name.clone();
        let Some((template, around)) = self.templates.known.get(&def).cloned() else {
            let problem = TemplateProblem::Itself { template: name, at: declared };
            self.report(instance.template.span(), problem);
            self.poison(&instance.name);
            return;
        };
        if template.params.len() != instance.args.len() {
            let problem = TemplateProblem::Count {
                template: name,
                wanted: template.params.len(),
                found: instance.args.len(),
                at: declared,
            };
            self.report(instance.template.span(), problem);
            self.poison(&instance.name);
            return;
        }
        let octets = self.templates.octets.saturating_add(template.octets);
        if let Some(problem) = self.beyond_limits(octets) {
            if !std::mem::replace(&mut self.templates.too_many, true) {
                self.report(instance.name.span, problem);
            }
            self.poison(&instance.name);
            return;
        }
        self.templates.octets = octets;
        let bindings = self.scopes.add(around, ScopeKind::Module, None);
        if !self.bind(&template.params, &instance.args, bindings) {
            self.poison(&instance.name);
            return;
        }
        let kind = DefKind::Module(Module { members: Vec::new(), template: Some(def) });
        let reopened = self.reopened(&instance.name);
        if let Some(def) = reopened {
            self.note_declaration(&instance.name, Entity::Def(def));
        }
        let Some(module) = reopened.or_else(|| self.define(notes, &instance.name, kind)) else {
            return;
        };
        self.opens_module(module, instance.name.span);
        let main = self.is_main(instance.name.span);
        self.templates.open.push(main);
        self.template_body(bindings, module, &template.body);
        self.templates.open.pop();
    }

    /// Returns the limit that one more instance would exceed, if any. `octets`: those of all instances then.
    fn beyond_limits(&self, octets: usize) -> Option<TemplateProblem> {
        if self.templates.open.len() >= MAX_DEPTH || self.model.len() > MAX_DEFINITIONS {
            return Some(TemplateProblem::TooMany { limit: MAX_DEFINITIONS });
        }
        let limit = self.templates.max_octets;
        (octets > limit).then_some(TemplateProblem::TooLarge { limit })
    }

    /// Reports whether a template is being checked or instantiated around here.
    fn in_template(&self) -> bool {
        let mut around = self.scopes.outwards(self.here);
        // The scope of a template's parameters is the only module scope, except the file, without a definition.
        around.any(|scope| {
            scope != super::Scopes::FILE
                && self.scopes.scope(scope).kind == ScopeKind::Module
                && self.scopes.scope(scope).def.is_none()
        })
    }

    /// Binds parameters to their arguments; returns false after reporting an argument that does not fit.
    fn bind(&mut self, params: &[TemplateParam], args: &[TemplateArg], to: ScopeId) -> bool {
        let mut fine = true;
        let mut bound: BTreeMap<&str, Type> = BTreeMap::new();
        for (param, arg) in params.iter().zip(args) {
            let found = match &param.kind {
                TemplateParamKind::Const(ty) => self.value_argument(param, ty, arg, to),
                TemplateParamKind::Exception => self.named_argument(param, arg, Wanted::Exception),
                TemplateParamKind::Interface => self.named_argument(param, arg, Wanted::Base),
                _ => self.type_argument(param, arg, &bound).map(|ty| match &ty {
                    Type::Named(def) => {
                        let entity = Entity::Def(*def);
                        bound.entry(&param.name.name).or_insert(ty);
                        entity
                    }
                    _ => {
                        bound.entry(&param.name.name).or_insert_with(|| ty.clone());
                        self.stand_in(&param.name, ty)
                    }
                }),
            };
            match found {
                Some(entity) => {
                    let entry: Entry = entry(&param.name, entity);
                    self.scopes.scope_mut(to).insert(entry);
                }
                None => fine = false,
            }
        }
        fine
    }

    /// Declares a named stand-in for an unnamed type.
    fn stand_in(&mut self, name: &Ident, ty: Type) -> Entity {
        let kind = DefKind::Typedef(Typedef { ty: ty.clone() });
        let def = self.new_def(name, kind);
        self.templates.types.insert(def, ty);
        Entity::Def(def)
    }

    fn named_argument(
        &mut self,
        param: &TemplateParam,
        arg: &TemplateArg,
        wanted: Wanted,
    ) -> Option<Entity> {
        if let TemplateArg::Type(TypeSpec { kind: TypeKind::Named(name), .. }) = arg {
            return self.look_up_def(name, wanted).map(Entity::Def);
        }
        let problem = TemplateProblem::Kind {
            param: param.name.name.to_string(),
            wanted: wanted.text().to_owned(),
            found: "something without a name".into(),
            at: param.name.span,
        };
        self.report(arg.span(), problem);
        None
    }

    fn value_argument(
        &mut self,
        param: &TemplateParam,
        ty: &TypeSpec,
        arg: &TemplateArg,
        bindings: ScopeId,
    ) -> Option<Entity> {
        let here = std::mem::replace(&mut self.here, bindings);
        let ty = self.constant_type(ty);
        self.here = here;
        let ty = ty?;
        let named;
        let expr = match arg {
            TemplateArg::Value(expr) => expr,
            TemplateArg::Type(TypeSpec { kind: TypeKind::Named(name), span }) => {
                named = Expr { kind: ExprKind::Name(name.clone()), span: *span };
                &named
            }
            TemplateArg::Type(spec) => {
                self.wrong_argument(param, "a type".into(), spec);
                return None;
            }
        };
        let value = self.value(expr, &ty)?;
        let kind = DefKind::Const(Const { ty, value });
        let def = self.new_def(&param.name, kind);
        self.templates.values.insert(def);
        Some(Entity::Def(def))
    }

    fn type_argument(
        &mut self,
        param: &TemplateParam,
        arg: &TemplateArg,
        bound: &BTreeMap<&str, Type>,
    ) -> Option<Type> {
        let TemplateArg::Type(spec) = arg else {
            let problem = TemplateProblem::Kind {
                param: param.name.name.to_string(),
                wanted: wanted(&param.kind),
                found: "a value".into(),
                at: param.name.span,
            };
            self.report(arg.span(), problem);
            return None;
        };
        let ty = self.named_type(spec)?;
        let plain = self.plain(&ty).clone();
        let def = match &plain {
            Type::Named(def) => Some(&self.model.def(*def).kind),
            _ => None,
        };
        let fits = match (&param.kind, def) {
            (TemplateParamKind::Typename, _) => true,
            (TemplateParamKind::ValueType, Some(DefKind::ValueType(_) | DefKind::ValueBox(_))) => {
                true
            }
            (TemplateParamKind::EventType, Some(DefKind::ValueType(value))) => value.event,
            (TemplateParamKind::Struct, Some(DefKind::Struct(_))) => true,
            (TemplateParamKind::Union, Some(DefKind::Union(_))) => true,
            (TemplateParamKind::Enum, Some(DefKind::Enum(_))) => true,
            (TemplateParamKind::Sequence(of), _) => match (&plain, bound.get(&*of.name)) {
                (Type::Sequence(found, _), Some(wanted)) => self.plain(found) == self.plain(wanted),
                _ => false,
            },
            _ => false,
        };
        if !fits {
            let found = self.describe(&plain);
            self.wrong_argument(param, found, spec);
            return None;
        }
        Some(ty)
    }

    fn wrong_argument(&mut self, param: &TemplateParam, found: String, spec: &TypeSpec) {
        let problem = TemplateProblem::Kind {
            param: param.name.name.to_string(),
            wanted: wanted(&param.kind),
            found,
            at: param.name.span,
        };
        self.report(spec.span, problem);
    }
}

/// Parameters of a template so far. Each is looked up, not compared with all others.
#[derive(Debug, Default)]
struct Seen<'t> {
    /// Names as written.
    exact: BTreeSet<&'t str>,
    /// Names in lower case: those that differ only in case are equal.
    lower: BTreeMap<String, Span>,
}

impl<'t> Seen<'t> {
    fn add(&mut self, name: &'t Ident) {
        self.exact.insert(&name.name);
        self.lower.entry(name.name.to_ascii_lowercase()).or_insert(name.span);
    }

    /// Returns the place of the first parameter of that name.
    fn like(&self, name: &Ident) -> Option<Span> {
        self.lower.get(&name.name.to_ascii_lowercase()).copied()
    }
}

/// Describes the kind: "a struct" ...
fn wanted(kind: &TemplateParamKind) -> String {
    match kind {
        TemplateParamKind::Typename => "a type".into(),
        TemplateParamKind::Interface => "an interface".into(),
        TemplateParamKind::ValueType => "a valuetype".into(),
        TemplateParamKind::EventType => "an event type".into(),
        TemplateParamKind::Struct => "a struct".into(),
        TemplateParamKind::Union => "a union".into(),
        TemplateParamKind::Exception => "an exception".into(),
        TemplateParamKind::Enum => "an enum".into(),
        TemplateParamKind::Sequence(of) => format!("a sequence of `{}`", of.name),
        TemplateParamKind::Const(_) => "a constant value".into(),
    }
}

/// Returns a parameter as written.
fn text(param: &TemplateParam) -> String {
    let kind = match &param.kind {
        TemplateParamKind::Typename => "typename".into(),
        TemplateParamKind::Interface => "interface".into(),
        TemplateParamKind::ValueType => "valuetype".into(),
        TemplateParamKind::EventType => "eventtype".into(),
        TemplateParamKind::Struct => "struct".into(),
        TemplateParamKind::Union => "union".into(),
        TemplateParamKind::Exception => "exception".into(),
        TemplateParamKind::Enum => "enum".into(),
        TemplateParamKind::Sequence(of) => format!("sequence<{}>", of.name),
        TemplateParamKind::Const(_) => "const".into(),
    };
    format!("{kind} {}", param.name.name)
}
