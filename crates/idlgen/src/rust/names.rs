//! Rust names of the definitions.
//!
//! Rules, in order: IDL definitions keep their (respelled) names; names added by the mapping (`AccountRef`, module
//! `account`, `WithdrawError`) come second; a later name that is taken in its Rust scope gets a trailing underscore.
//! Within a scope, the order is that of the IDL, so that names change only where the IDL changes.

use std::collections::{BTreeSet, HashMap, HashSet};

use oxorb_idl::implied::Handlers;
use oxorb_idl::model::{DefId, DefKind, Model};

use super::case::{camel, escape, screaming, snake};
use crate::executors::Executors;
use crate::plan::{Call, NotYet, calls, factory_calls, value_calls};

/// All names of one generated file.
#[derive(Debug, Default)]
pub(super) struct Names {
    items: HashMap<DefId, ItemNames>,
    parts: HashMap<DefId, Vec<String>>,
    methods: HashMap<DefId, Vec<MethodNames>>,
    factories: HashMap<DefId, Vec<MethodNames>>,
    inherent: HashMap<DefId, Vec<Inherent>>,
    labels: HashMap<DefId, UnionNames>,
    taken: HashMap<Option<DefId>, HashSet<String>>,
    /// All names in all scopes.
    everywhere: HashSet<String>,
    file_scope: String,
    interfaces: String,
}

/// Names of one definition.
#[derive(Debug, Clone, Default)]
pub(super) struct ItemNames {
    /// Name of the type, trait, constant or module.
    pub name: String,
    /// Reference type of an interface (`AccountRef`).
    pub reference: String,
    /// Module for auxiliary items (`account`).
    pub inner: String,
    /// Module of an interface's operation descriptors inside `inner`.
    pub op: String,
    /// Module of an interface's upcall functions inside `inner`.
    pub serve: String,
    /// Trait of a valuetype's operations (`PersonOperations`).
    pub operations: String,
    /// Trait of a valuetype's factories (`PersonFactory`).
    pub factory: String,
    /// Type inside `inner` that detects implementers of an interface's or valuetype's trait.
    pub behaviour: String,
    /// Trait of an interface for servants that reply later (`AmhAccount`), and of its auxiliary items inside `inner`.
    pub later: String,
    /// Counterpart of `serve` for servants that reply later.
    pub serve_later: String,
    /// Untyped servant inside `inner` around a servant that replies later.
    pub skeleton_later: String,
    /// Trait of an interface for servants that belong to one thread (`AccountConfined`), and of its auxiliary items
    /// inside `inner`.
    pub confined: String,
    /// Counterpart of `serve` for servants that belong to one thread.
    pub serve_confined: String,
    /// Untyped servant inside `inner` around a servant that belongs to one thread.
    pub skeleton_confined: String,
    /// View of a struct or union for servants (`BookingView`).
    pub view: String,
    /// Trait of the executor of a component or home (`GpsExecutor`).
    pub executor: String,
    /// Servant around the executor of a component, home or consumer, inside `inner`.
    pub adapter: String,
    /// Ports of a component, and the executor's view of them in each phase, inside `inner`.
    pub ports: String,
    /// Names like `ports`, one for each phase.
    pub phases: [String; 3],
}

/// Names made from one operation or half an attribute.
#[derive(Debug, Clone)]
pub(super) struct MethodNames {
    /// Name of the method itself.
    pub method: String,
    /// Descriptor in `op`.
    pub descriptor: String,
    /// Error enum in the interface's module; `None` without `raises`.
    pub error: Option<String>,
    /// Answer type for a later reply, in the interface's module; `None` if not requested.
    pub answer: Option<String>,
}

/// Method of a reference type.
#[derive(Debug, Clone)]
pub(super) struct Inherent {
    /// Interface that declares it.
    pub owner: DefId,
    /// Index among the interface's calls.
    pub index: usize,
    pub method: String,
    pub method_async: String,
    /// Method that passes the answer to a reply handler, if requested.
    pub sendc: Option<String>,
}

/// Names of a union in addition to its variants.
#[derive(Debug, Clone, Default)]
pub(super) struct UnionNames {
    /// Variant for values that no label names, if there are any.
    pub other: String,
    /// Label type in the inner module, for each case and then for `other`.
    pub labels: Vec<String>,
    /// Constructor, for each case and then for `other`.
    pub constructors: Vec<String>,
}

/// Definitions with additional names.
pub(super) struct Asked<'a> {
    /// Interfaces with servants that reply later.
    pub(super) amh: &'a HashSet<DefId>,
    /// Interfaces with servants that belong to one thread.
    pub(super) confined: &'a HashSet<DefId>,
    /// Structs and unions that servants get views of.
    pub(super) views: &'a HashSet<DefId>,
}

impl Names {
    pub(super) fn new(
        model: &Model,
        reach: &BTreeSet<DefId>,
        asked: &Asked<'_>,
        handlers: &Handlers,
        executors: Option<&Executors>,
        file: &str,
    ) -> Result<Names, (DefId, NotYet)> {
        let mut names = Names::default();
        for id in reach {
            names.primary(model, *id);
        }
        for id in reach {
            names.secondary(model, *id);
        }
        names.file_scope = names.claim(None, snake(&identifier(file)) + "_idl");
        if executors.is_some() {
            names.interfaces = names.claim(None, snake(&identifier(file)) + "_interfaces");
        }
        for id in reach {
            names.inside(model, *id)?;
        }
        // These names are chosen last, so that requesting them does not change any other name.
        for id in reach.iter().filter(|id| asked.amh.contains(id)) {
            names.later(model, *id)?;
        }
        for id in reach.iter().filter(|id| asked.confined.contains(id)) {
            names.confined(model, *id);
        }
        for id in reach.iter().filter(|id| asked.views.contains(id)) {
            let def = model.def(*id);
            let view = names.claim(def.parent, camel(&def.name) + "View");
            names.items.entry(*id).or_default().view = view;
        }
        if let Some(executors) = executors {
            for id in reach {
                names.executor(model, *id, executors);
            }
        }
        for id in reach {
            names.inherited(model, *id, handlers)?;
        }
        Ok(names)
    }

    /// Chooses names for executors.
    fn executor(&mut self, model: &Model, id: DefId, executors: &Executors) {
        let def = model.def(id);
        let component = executors.component(&def.scoped_name).is_some();
        if component || executors.home(&def.scoped_name).is_some() {
            let executor = self.claim(def.parent, camel(&def.name) + "Executor");
            self.items.entry(id).or_default().executor = executor;
        } else if executors.event_of(&def.scoped_name).is_none() {
            return;
        }
        let adapter = self.claim(Some(id), "Adapter".to_owned());
        let ports = self.claim(Some(id), "Ports".to_owned());
        let phases = ["Installed", "Configured", "Context"].map(String::from);
        let phases = match component {
            true => phases.map(|phase| self.claim(Some(id), phase)),
            false => phases,
        };
        let item = self.items.entry(id).or_default();
        (item.adapter, item.ports, item.phases) = (adapter, ports, phases);
    }

    pub(super) fn item(&self, id: DefId) -> &ItemNames {
        &self.items[&id]
    }

    /// Returns the names of fields, variants or enumerators, in order.
    pub(super) fn parts(&self, id: DefId) -> &[String] {
        &self.parts[&id]
    }

    /// Returns names for the own calls of an interface or valuetype, in the order of [`calls`] or [`value_calls`].
    pub(super) fn methods(&self, id: DefId) -> &[MethodNames] {
        &self.methods[&id]
    }

    /// Returns names for the factories of a valuetype, in the order of [`factory_calls`].
    pub(super) fn factories(&self, id: DefId) -> &[MethodNames] {
        &self.factories[&id]
    }

    /// Returns all methods of the reference type, own ones first.
    pub(super) fn inherent(&self, id: DefId) -> &[Inherent] {
        &self.inherent[&id]
    }

    pub(super) fn union(&self, id: DefId) -> &UnionNames {
        &self.labels[&id]
    }

    /// Reports whether some scope of this file gives `name` another meaning.
    pub(super) fn shadows(&self, name: &str) -> bool {
        self.everywhere.contains(name)
    }

    /// Returns the module for definitions outside any IDL module.
    pub(super) fn file_scope(&self) -> &str {
        &self.file_scope
    }

    /// Returns the module with the hash of all interfaces, if executors are requested.
    pub(super) fn interfaces(&self) -> &str {
        &self.interfaces
    }

    /// Returns the Rust module for an IDL scope, as segments from the file.
    pub(super) fn module(&self, model: &Model, scope: Option<DefId>) -> Vec<&str> {
        let Some(id) = scope else {
            return vec![&self.file_scope];
        };
        let def = model.def(id);
        let is_module = matches!(def.kind, DefKind::Module(_));
        let mut path = match def.parent {
            None if is_module => Vec::new(),
            parent => self.module(model, parent),
        };
        path.push(match is_module {
            true => &self.items[&id].name,
            false => &self.items[&id].inner,
        });
        path
    }

    fn claim(&mut self, scope: Option<DefId>, wish: String) -> String {
        let name = claim(self.taken.entry(scope).or_default(), wish);
        self.everywhere.insert(name.clone());
        name
    }

    fn primary(&mut self, model: &Model, id: DefId) {
        let def = model.def(id);
        let wish = match def.kind {
            DefKind::Module(_) => snake(&def.name),
            DefKind::Const(_) => screaming(&def.name),
            _ => camel(&def.name),
        };
        let name = self.claim(def.parent, wish);
        self.items.entry(id).or_default().name = name;
    }

    fn secondary(&mut self, model: &Model, id: DefId) {
        let def = model.def(id);
        let has_reference =
            matches!(def.kind, DefKind::Interface(_) | DefKind::ForwardInterface(_));
        if has_reference {
            let reference = self.claim(def.parent, camel(&def.name) + "Ref");
            self.items.entry(id).or_default().reference = reference;
        }
        if !matches!(def.kind, DefKind::Module(_) | DefKind::Const(_) | DefKind::Enum(_)) {
            let inner = self.claim(def.parent, snake(&def.name));
            self.items.entry(id).or_default().inner = inner;
        }
        if let DefKind::Interface(_) = def.kind {
            let op = self.claim(Some(id), "op".to_owned());
            let serve = self.claim(Some(id), "serve".to_owned());
            let item = self.items.entry(id).or_default();
            (item.op, item.serve) = (op, serve);
        }
        if let DefKind::ValueType(value) = &def.kind {
            if !value.exports.is_empty() {
                let operations = self.claim(def.parent, camel(&def.name) + "Operations");
                self.items.entry(id).or_default().operations = operations;
            }
            if !value.factories.is_empty() {
                let factory = self.claim(def.parent, camel(&def.name) + "Factory");
                self.items.entry(id).or_default().factory = factory;
            }
        }
        if let DefKind::Interface(_) | DefKind::ValueType(_) = def.kind {
            let behaviour = self.claim(Some(id), "Behaviour".to_owned());
            self.items.entry(id).or_default().behaviour = behaviour;
        }
    }

    fn inside(&mut self, model: &Model, id: DefId) -> Result<(), (DefId, NotYet)> {
        match &model.def(id).kind {
            DefKind::Struct(body) | DefKind::Exception(body) => {
                let fields = model.all_fields(body);
                let fields = fields.into_iter().map(|field| snake(&field.name));
                self.parts.insert(id, distinct(fields));
            }
            DefKind::ValueType(value) => {
                let fields = value.state.iter().map(|one| snake(&one.field.name));
                // `base` is reserved, because it is the field for the state of the base.
                self.parts.insert(id, distinct(fields.chain(["base".to_owned()])));
                let fail = |not_yet| (id, not_yet);
                let own = value_calls(model, value).map_err(fail)?;
                let methods = self.own_methods(id, &own);
                self.methods.insert(id, methods);
                let factories = factory_calls(model, value).map_err(fail)?;
                let factories = self.own_methods(id, &factories);
                self.factories.insert(id, factories);
            }
            DefKind::Enum(body) => {
                let variants = body.enumerators.iter().map(|one| camel(&one.name));
                self.parts.insert(id, distinct(variants));
            }
            DefKind::BitMask(body) => {
                let flags = body.flags.iter().map(|flag| screaming(&flag.name));
                self.parts.insert(id, distinct(flags));
            }
            DefKind::BitSet(body) => {
                let fields = model.all_bits(body);
                let fields = fields.into_iter().filter_map(|field| field.name.as_deref());
                self.parts.insert(id, distinct(fields.map(snake)));
            }
            DefKind::Union(body) => {
                let mut taken = HashSet::new();
                let wishes = body.cases.iter().map(|case| camel(&case.field.name));
                let variants: Vec<_> = wishes.map(|wish| claim(&mut taken, wish)).collect();
                let other = claim(&mut taken, "Other".to_owned());
                let all: Vec<_> = variants.iter().chain([&other]).cloned().collect();
                let labels = all.iter().map(|variant| {
                    self.claim(Some(id), format!("{}Label", variant.trim_end_matches('_')))
                });
                let labels = labels.collect();
                let mut taken =
                    HashSet::from(["discriminant", "encode", "decode"].map(String::from));
                let constructors = all.iter().map(|variant| claim(&mut taken, snake(variant)));
                let constructors = constructors.collect();
                self.parts.insert(id, variants);
                self.labels.insert(id, UnionNames { other, labels, constructors });
            }
            DefKind::Interface(interface) => {
                let own = calls(model, interface).map_err(|not_yet| (id, not_yet))?;
                let methods = self.own_methods(id, &own);
                self.methods.insert(id, methods);
            }
            _ => {}
        }
        Ok(())
    }

    /// Chooses names for servants that reply later.
    fn later(&mut self, model: &Model, id: DefId) -> Result<(), (DefId, NotYet)> {
        let def = model.def(id);
        let DefKind::Interface(interface) = &def.kind else {
            return Ok(());
        };
        let later = self.claim(def.parent, format!("Amh{}", camel(&def.name)));
        let serve = self.claim(Some(id), "serve_later".to_owned());
        let skeleton = self.claim(Some(id), "SkeletonLater".to_owned());
        let item = self.items.entry(id).or_default();
        (item.later, item.serve_later, item.skeleton_later) = (later, serve, skeleton);
        let own = calls(model, interface).map_err(|not_yet| (id, not_yet))?;
        let mut methods = self.methods.remove(&id).unwrap_or_default();
        for (call, names) in own.iter().zip(&mut methods) {
            let wish = camel(&call.name) + "Answer";
            names.answer = (!call.oneway).then(|| self.claim(Some(id), wish));
        }
        self.methods.insert(id, methods);
        Ok(())
    }

    /// Chooses names for servants that belong to one thread.
    fn confined(&mut self, model: &Model, id: DefId) {
        let def = model.def(id);
        let confined = self.claim(def.parent, camel(&def.name) + "Confined");
        let serve = self.claim(Some(id), "serve_confined".to_owned());
        let skeleton = self.claim(Some(id), "SkeletonConfined".to_owned());
        let item = self.items.entry(id).or_default();
        (item.confined, item.serve_confined, item.skeleton_confined) = (confined, serve, skeleton);
    }

    /// Returns names of trait methods: operations take precedence over attributes.
    fn own_methods(&mut self, id: DefId, own: &[Call<'_>]) -> Vec<MethodNames> {
        let (mut methods, mut descriptors) = (HashSet::new(), HashSet::new());
        let mut names: Vec<Option<MethodNames>> = vec![None; own.len()];
        for attributes in [false, true] {
            for (call, slot) in own.iter().zip(&mut names) {
                if call.attribute != attributes {
                    continue;
                }
                let descriptor = screaming(&call.wire_name);
                *slot = Some(MethodNames {
                    method: claim(&mut methods, snake(&call.name)),
                    descriptor: claim(&mut descriptors, descriptor),
                    error: (!call.raises.is_empty())
                        .then(|| self.claim(Some(id), camel(&call.name) + "Error")),
                    answer: None,
                });
            }
        }
        names.into_iter().flatten().collect()
    }

    /// Returns names of reference methods: those of the traits, unless the names of two traits or an `_async` name
    /// collide.
    fn inherited(
        &mut self,
        model: &Model,
        id: DefId,
        handlers: &Handlers,
    ) -> Result<(), (DefId, NotYet)> {
        let DefKind::Interface(interface) = &model.def(id).kind else {
            return Ok(());
        };
        let owners = [id].into_iter().chain(model.all_bases(interface));
        let mut all: Vec<_> = owners
            .flat_map(|owner| {
                let methods = self.methods[&owner].iter().enumerate();
                methods.map(move |(index, names)| Inherent {
                    owner,
                    index,
                    method: names.method.clone(),
                    method_async: String::new(),
                    sendc: None,
                })
            })
            .collect();
        let mut taken = HashSet::new();
        for one in &mut all {
            one.method = claim(&mut taken, std::mem::take(&mut one.method));
        }
        // Methods that were renamed above choose their `_async` names last, so that the others keep theirs.
        for gave_way in [false, true] {
            let some = all.iter_mut().filter(|one| one.method.ends_with('_') == gave_way);
            for one in some {
                let base = one.method.trim_start_matches("r#").trim_end_matches('_');
                one.method_async = claim(&mut taken, format!("{base}_async"));
            }
        }
        for one in all.iter_mut().filter(|one| handlers.contains_key(&one.owner)) {
            let DefKind::Interface(owner) = &model.def(one.owner).kind else {
                continue;
            };
            let own = calls(model, owner).map_err(|not_yet| (one.owner, not_yet))?;
            let call = &own[one.index];
            let wish = format!("sendc_{}", snake(call.wire_name.trim_start_matches('_')));
            one.sendc = (!call.oneway).then(|| claim(&mut taken, wish));
        }
        self.inherent.insert(id, all);
        Ok(())
    }
}

/// Reserves `wish`, escaped, with as many underscores as make it unique.
fn claim(taken: &mut HashSet<String>, wish: String) -> String {
    let mut name = escape(wish.trim_start_matches("r#"));
    while !taken.insert(name.clone()) {
        name = format!("{}_", name.trim_start_matches("r#"));
    }
    name
}

/// Returns a file name with all characters replaced that identifiers cannot have.
fn identifier(file: &str) -> String {
    let fits = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = file.chars().map(fits).collect();
    match name.starts_with(|c: char| c.is_ascii_digit()) {
        true => format!("file_{name}"),
        false => name,
    }
}

/// Makes the names of one scope distinct.
pub(super) fn distinct(wishes: impl Iterator<Item = String>) -> Vec<String> {
    let mut taken = HashSet::new();
    wishes.map(|wish| claim(&mut taken, wish)).collect()
}
