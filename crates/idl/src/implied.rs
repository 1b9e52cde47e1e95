//! Implied IDL of interfaces for asynchronous calls with callbacks (AMI; CORBA 3.3 part 1, 17.8):
//! reply handlers and `sendc_` operations.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use crate::model::{
    Annotation, Attribute, Basic, Def, DefId, DefKind, Direction, Export, Field, Interface,
    InterfaceKind, Model, Module, Operation, Param, StateMember, Type, ValueType,
};
use crate::print::Printer;
use crate::source::Span;

/// Reply handler of each interface.
pub type Handlers = BTreeMap<DefId, DefId>;

/// Adds the reply handlers of these interfaces to the model: for `Account`, an interface `AMI_AccountHandler` in the
/// same scope, with further `AMI_` prefixes if that name is taken. Also adds `Messaging::ReplyHandler` and
/// `Messaging::ExceptionHolder` if they are missing.
///
/// `of` must contain all bases of its interfaces. Interfaces that cannot be called remotely get no handler.
pub fn add_handlers(model: &mut Model, of: impl IntoIterator<Item = DefId>) -> Handlers {
    let mut of: Vec<DefId> = of.into_iter().collect();
    of.sort_by_key(|id| model.order(*id));
    if of.is_empty() {
        return Handlers::new();
    }
    let base = messaging(model, "ReplyHandler", || DefKind::Interface(Interface::default()));
    let holder = messaging(model, "ExceptionHolder", exception_holder);
    let mut handlers = Handlers::new();
    let mut names = Names::of(model);
    for id in of {
        let DefKind::Interface(interface) = &model.def(id).kind else {
            continue;
        };
        let bases: Vec<DefId> =
            interface.bases.iter().filter_map(|base| handlers.get(base).copied()).collect();
        let handler = Interface {
            bases: match bases.is_empty() {
                true => vec![base],
                false => bases,
            },
            exports: answers(interface, holder),
            ..Interface::default()
        };
        let doc =
            format!("Handler of the answers to asynchronous calls of `{}`.", model.def(id).name);
        let parent = model.def(id).parent;
        let name = names.handler(parent, &model.def(id).name);
        let handler = beside(model, id, name, parent, doc, DefKind::Interface(handler));
        handlers.insert(id, handler);
    }
    handlers
}

/// Returns the interfaces of the main files that can be called remotely, and all their bases.
pub fn all(model: &Model) -> Vec<DefId> {
    let mut all = Vec::new();
    for def in model.defs().filter(|def| def.in_main_file) {
        if let DefKind::Interface(interface) = &def.kind
            && interface.kind != InterfaceKind::Local
        {
            all.push(def.id);
            all.extend(model.all_bases(interface));
        }
    }
    all.sort_unstable();
    all.dedup();
    all
}

/// Prints the model as IDL, with the reply handlers and the `sendc_` operations implied by these interfaces and their
/// bases.
///
/// ```
/// use oxorb_idl::source::{Memory, SourceMap};
/// let text = b"interface I { long f(in long a, out short b); };";
/// let files = Memory([("a.idl".into(), text.to_vec())].into());
/// let compiled = oxorb_idl::compile_from(SourceMap::new(files), &["a.idl"], &Default::default())?;
/// let of = oxorb_idl::implied::all(&compiled.model);
/// let text = oxorb_idl::implied::print(&compiled.model, of);
/// assert!(text.contains("void sendc_f(in ::AMI_IHandler ami_handler, in long a);"));
/// assert!(text.contains("void f(in long ami_return_val, in short b);"));
/// assert!(text.contains("void f_excep(in ::Messaging::ExceptionHolder excep_holder);"));
/// # Ok::<(), oxorb_idl::Failed>(())
/// ```
pub fn print(model: &Model, of: impl IntoIterator<Item = DefId>) -> String {
    let mut model = model.clone();
    for (interface, handler) in add_handlers(&mut model, of) {
        if let DefKind::Interface(body) = &mut model.def_mut(interface).kind {
            let sent: Vec<Export> =
                body.exports.iter().flat_map(|export| sends(export, handler)).collect();
            body.exports.extend(sent);
        }
    }
    Printer::new(&model, false).text()
}

/// Names in use, by scope and in lower case.
struct Names(HashSet<(Option<DefId>, String)>);

impl Names {
    fn of(model: &Model) -> Self {
        let taken = model.defs();
        Names(taken.map(|def| (def.parent, def.name.to_ascii_lowercase())).collect())
    }

    /// Reserves `AMI_AccountHandler`, or a longer name if that one is taken.
    fn handler(&mut self, scope: Option<DefId>, interface: &str) -> String {
        let mut name = format!("AMI_{interface}Handler");
        while !self.0.insert((scope, name.to_ascii_lowercase())) {
            name.insert_str(0, "AMI_");
        }
        name
    }
}

/// Returns the operations of a handler: for each operation, and for the getter and setter of each attribute, one that
/// receives the results and one that receives an exception.
fn answers(of: &Interface, holder: DefId) -> Vec<Export> {
    let mut all = Vec::new();
    for export in &of.exports {
        match export {
            Export::Operation(operation) if operation.oneway => {}
            Export::Operation(operation) => {
                let received = operation.params.iter();
                let received = received.filter(|param| param.direction != Direction::In);
                let marks = in_place(&operation.annotations);
                let returned = operation.returns.iter().map(|ty| returned(ty, &marks));
                let params = returned.chain(received.map(told)).collect();
                all.push(void(&operation.name, params));
                all.push(excep(&operation.name, holder));
            }
            Export::Attribute(Attribute { name, ty, readonly, annotations, .. }) => {
                let get = format!("get_{name}");
                all.push(void(&get, vec![returned(ty, &in_place(annotations))]));
                all.push(excep(&get, holder));
                if !readonly {
                    let set = format!("set_{name}");
                    all.push(void(&set, Vec::new()));
                    all.push(excep(&set, holder));
                }
            }
        }
    }
    all
}

/// Returns the `sendc_` operations, which send a request without waiting for its reply.
fn sends(export: &Export, handler: DefId) -> Vec<Export> {
    let to = param("ami_handler", Type::Named(handler));
    match export {
        Export::Operation(operation) if operation.oneway => Vec::new(),
        Export::Operation(operation) => {
            let params = operation.params.iter();
            let params = params.filter(|param| param.direction != Direction::Out);
            let params = [to].into_iter().chain(params.map(sent)).collect();
            vec![void(&format!("sendc_{}", operation.name), params)]
        }
        Export::Attribute(attribute) => {
            let name = &attribute.name;
            let get = void(&format!("sendc_get_{name}"), vec![to.clone()]);
            let value = param(&format!("attr_{name}"), attribute.ty.clone());
            let set = void(&format!("sendc_set_{name}"), vec![to, value]);
            match attribute.readonly {
                true => vec![get],
                false => vec![get, set],
            }
        }
    }
}

fn excep(name: &str, holder: DefId) -> Export {
    let holder = param("excep_holder", Type::Named(holder));
    void(&format!("{name}_excep"), vec![holder])
}

fn void(name: &str, params: Vec<Param>) -> Export {
    Export::Operation(Operation {
        name: name.to_owned(),
        span: Span::default(),
        doc: Arc::default(),
        annotations: Arc::default(),
        oneway: false,
        mutating: false,
        returns: None,
        params,
        raises: Vec::new(),
        context: Vec::new(),
    })
}

fn returned(ty: &Type, marks: &Arc<[Annotation]>) -> Param {
    Param { annotations: Arc::clone(marks), ..param("ami_return_val", ty.clone()) }
}

/// Returns the handler's parameter for a result.
fn told(of: &Param) -> Param {
    Param { annotations: in_place(&of.annotations), ..sent(of) }
}

/// Returns the annotations that decide how octets are passed: a handler has those of the synchronous call.
fn in_place(annotations: &[Annotation]) -> Arc<[Annotation]> {
    let marks = annotations.iter();
    marks.filter(|mark| mark.name == "in_place").cloned().collect()
}

fn sent(of: &Param) -> Param {
    param(&of.name, of.ty.clone())
}

fn param(name: &str, ty: Type) -> Param {
    Param {
        name: name.to_owned(),
        span: Span::default(),
        annotations: Arc::default(),
        direction: Direction::In,
        ty,
    }
}

/// Returns a definition of the module `Messaging`, which an ORB provides; adds it if missing.
fn messaging(model: &mut Model, name: &str, kind: impl FnOnce() -> DefKind) -> DefId {
    let scoped = format!("Messaging::{name}");
    if let Some(known) = model.defs().find(|def| def.scoped_name == scoped) {
        return known.id;
    }
    let module = model.defs().find(|def| def.scoped_name == "Messaging");
    let module = module.map(|def| def.id).unwrap_or_else(|| {
        let module = library(None, "Messaging", DefKind::Module(Module::default()));
        let id = model.add(module);
        model.roots_mut().push(id);
        id
    });
    let id = model.add(library(Some(module), name, kind()));
    if let DefKind::Module(body) = &mut model.def_mut(module).kind {
        body.members.push(id);
    }
    id
}

/// Returns `Messaging::ExceptionHolder` with the state of CORBA 3.3 part 1, 17.8.2.1.
fn exception_holder() -> DefKind {
    let member = |name: &str, ty| StateMember {
        public: false,
        field: Field {
            name: name.to_owned(),
            span: Span::default(),
            doc: Arc::default(),
            annotations: Arc::default(),
            ty,
            optional: false,
            key: false,
            default: None,
        },
    };
    let octets = Type::Sequence(Box::new(Type::Basic(Basic::Octet)), None);
    DefKind::ValueType(ValueType {
        state: vec![
            member("is_system_exception", Type::Basic(Basic::Boolean)),
            member("byte_order", Type::Basic(Basic::Boolean)),
            member("marshaled_exception", octets),
        ],
        ..ValueType::default()
    })
}

fn library(parent: Option<DefId>, name: &str, kind: DefKind) -> Def {
    let scope = match parent {
        Some(_) => "Messaging::",
        None => "",
    };
    let scoped_name = format!("{scope}{name}");
    Def {
        id: DefId(0),
        name: name.to_owned(),
        parent,
        repository_id: format!("IDL:omg.org/{}:1.0", scoped_name.replace("::", "/")),
        scoped_name,
        span: Span::default(),
        in_main_file: false,
        doc: Arc::default(),
        annotations: Arc::default(),
        kind,
    }
}

/// Adds a definition in the scope of another, with an id under the same prefix.
fn beside(
    model: &mut Model,
    of: DefId,
    name: String,
    parent: Option<DefId>,
    doc: String,
    kind: DefKind,
) -> DefId {
    let def = model.def(of);
    let in_scope = |path: &str, last: &str| {
        let end = path.len() - def.name.len();
        path.ends_with(&def.name).then(|| format!("{}{last}", &path[..end]))
    };
    let scoped_name = in_scope(&def.scoped_name, &name).unwrap_or_else(|| name.clone());
    let path = def.repository_id.strip_prefix("IDL:");
    let path = path.and_then(|path| path.rsplit_once(':'));
    let repository_id = path.and_then(|(path, _)| in_scope(path, &name));
    let repository_id = repository_id.unwrap_or_else(|| scoped_name.replace("::", "/"));
    let def = Def {
        id: of,
        repository_id: format!("IDL:{repository_id}:1.0"),
        scoped_name,
        name,
        parent,
        span: def.span,
        in_main_file: true,
        doc: doc.into(),
        annotations: Arc::default(),
        kind,
    };
    let id = model.add(def);
    match parent {
        None => model.roots_mut().push(id),
        Some(parent) => {
            if let DefKind::Module(body) = &mut model.def_mut(parent).kind {
                body.members.push(id);
            }
        }
    }
    id
}
