//! Rust names of the definitions.
//!
//! Rules, in order: IDL definitions keep their (respelled) names; what the
//! mapping adds beside them (`AccountRef`, module `account`, `WithdrawError`)
//! comes second; whoever comes later and finds its name taken in the same Rust
//! scope gets a trailing underscore. Within a scope, order is that of the IDL,
//! so names change only where the IDL changes.

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

/// The names of one definition.
#[derive(Debug, Clone, Default)]
pub(super) struct ItemNames {
    /// The type, trait, constant or module.
    pub name: String,
    /// Interfaces: the reference type (`AccountRef`).
    pub reference: String,
    /// The module for what belongs to it (`account`).
    pub inner: String,
    /// Interfaces: the module of operation descriptors inside `inner`.
    pub op: String,
    /// Interfaces: the module of upcall functions inside `inner`.
    pub serve: String,
    /// Valuetypes: the trait of the operations (`PersonOperations`).
    pub operations: String,
    /// Valuetypes: the trait of the factories (`PersonFactory`).
    pub factory: String,
    /// Interfaces and valuetypes: inside `inner`, who implements the trait.
    pub behaviour: String,
    /// Interfaces with servants that answer later: their trait (`AmhAccount`), and what goes with it inside `inner`.
    pub later: String,
    /// Counterpart of `serve`.
    pub serve_later: String,
    /// The untyped servant inside `inner`.
    pub skeleton_later: String,
    /// Interfaces with servants that belong to one thread: their trait (`AccountConfined`), and what goes with it inside
    /// `inner`.
    pub confined: String,
    /// Counterpart of `serve`.
    pub serve_confined: String,
    /// The untyped servant inside `inner`.
    pub skeleton_confined: String,
    /// Structs and unions that servants see views of: the view (`BookingView`).
    pub view: String,
    /// Components and homes: the executor's trait (`GpsExecutor`).
    pub executor: String,
    /// Components, homes and consumers, inside `inner`: the servant around the executor.
    pub adapter: String,
    /// Components, inside `inner`: the ports, and what the executor sees of them in each phase.
    pub ports: String,
    /// Names like `ports`, one for each phase.
    pub phases: [String; 3],
}

/// The names made from one operation or half an attribute.
#[derive(Debug, Clone)]
pub(super) struct MethodNames {
    /// The method itself.
    pub method: String,
    /// The descriptor in `op`.
    pub descriptor: String,
    /// The error enum in the interface's module; `None` without `raises`.
    pub error: Option<String>,
    /// Type that answers it later, in the interface's module; `None` where nothing does.
    pub answer: Option<String>,
}

/// A method of a reference type.
#[derive(Debug, Clone)]
pub(super) struct Inherent {
    /// The interface that declares it.
    pub owner: DefId,
    /// Index among its calls.
    pub index: usize,
    pub method: String,
    pub method_async: String,
    /// The one that hands the answer to a reply handler, where that is wanted.
    pub sendc: Option<String>,
}

/// The names a union needs beyond its variants.
#[derive(Debug, Clone, Default)]
pub(super) struct UnionNames {
    /// The variant for values that no label names, if there are such.
    pub other: String,
    /// Per case, then for `other`: the label type in the inner module.
    pub labels: Vec<String>,
    /// Per case, then for `other`: the constructor.
    pub constructors: Vec<String>,
}

/// Definitions that get more names than others.
pub(super) struct Asked<'a> {
    /// Interfaces with servants that answer later.
    pub(super) amh: &'a HashSet<DefId>,
    /// Interfaces with servants that belong to one thread.
    pub(super) confined: &'a HashSet<DefId>,
    /// Structs and unions of which servants see views.
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
        // Last: whoever asks for more finds all else under the same names.
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

    /// Names for executors.
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

    /// Names of fields, variants or enumerators, in order.
    pub(super) fn parts(&self, id: DefId) -> &[String] {
        &self.parts[&id]
    }

    /// Names for the own calls of an interface or valuetype, in the order of [`calls`] or [`value_calls`].
    pub(super) fn methods(&self, id: DefId) -> &[MethodNames] {
        &self.methods[&id]
    }

    /// Names for the factories of a valuetype, in the order of [`factory_calls`].
    pub(super) fn factories(&self, id: DefId) -> &[MethodNames] {
        &self.factories[&id]
    }

    /// All methods of the reference type, own ones first.
    pub(super) fn inherent(&self, id: DefId) -> &[Inherent] {
        &self.inherent[&id]
    }

    pub(super) fn union(&self, id: DefId) -> &UnionNames {
        &self.labels[&id]
    }

    /// Whether some scope of this file gives `name` another meaning.
    pub(super) fn shadows(&self, name: &str) -> bool {
        self.everywhere.contains(name)
    }

    /// The module for definitions outside of any IDL module.
    pub(super) fn file_scope(&self) -> &str {
        &self.file_scope
    }

    /// The module with the hash of all interfaces, where executors are wanted.
    pub(super) fn interfaces(&self) -> &str {
        &self.interfaces
    }

    /// The Rust module that stands for an IDL scope, as segments from the file.
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
                // Whatever the state is called, there may be a base before it.
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

    /// Names for servants that answer later.
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

    /// Names for servants that belong to one thread.
    fn confined(&mut self, model: &Model, id: DefId) {
        let def = model.def(id);
        let confined = self.claim(def.parent, camel(&def.name) + "Confined");
        let serve = self.claim(Some(id), "serve_confined".to_owned());
        let skeleton = self.claim(Some(id), "SkeletonConfined".to_owned());
        let item = self.items.entry(id).or_default();
        (item.confined, item.serve_confined, item.skeleton_confined) = (confined, serve, skeleton);
    }

    /// Names of trait methods: operations first, attributes give way.
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

    /// Names of reference methods: as in the traits, unless two traits or an
    /// `_async` twin collide.
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
        // Methods that gave way once give way again.
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

/// Takes `wish`, escaped, or with as many underscores as it needs to be new.
fn claim(taken: &mut HashSet<String>, wish: String) -> String {
    let mut name = escape(wish.trim_start_matches("r#"));
    while !taken.insert(name.clone()) {
        name = format!("{}_", name.trim_start_matches("r#"));
    }
    name
}

/// A file name with everything that no identifier may hold replaced.
fn identifier(file: &str) -> String {
    let fits = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = file.chars().map(fits).collect();
    match name.starts_with(|c: char| c.is_ascii_digit()) {
        true => format!("file_{name}"),
        false => name,
    }
}

/// Makes names that live together differ.
pub(super) fn distinct(wishes: impl Iterator<Item = String>) -> Vec<String> {
    let mut taken = HashSet::new();
    wishes.map(|wish| claim(&mut taken, wish)).collect()
}
