//! Printing of a model as IDL text.
//!
//! The text is guaranteed only to have the meaning of the model: comments are lost, constants are values, needed
//! definitions of included files are repeated, and instances of templates are ordinary modules.

mod body;
mod component;
mod names;
mod refs;

pub use names::escaped;
pub(crate) use names::{type_text, value_text};

use crate::model::{Def, DefId, DefKind, Model};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Prints the definitions of the main files, and all definitions that they refer to, as IDL.
///
/// Definitions of `CORBA` and `Components` are included, not repeated.
///
/// ```
/// use oxorb_idl::source::{Memory, SourceMap};
/// let text = b"module m { interface i; struct s { i a; }; interface i { s f(); }; };";
/// let files = Memory([("a.idl".into(), text.to_vec())].into());
/// let compiled = oxorb_idl::compile_from(SourceMap::new(files), &["a.idl"], &Default::default())?;
/// assert_eq!(
///     oxorb_idl::print::print(&compiled.model),
///     "module m {\n    interface i;\n    struct s {\n        ::m::i a;\n    };\n    \
///      interface i {\n        ::m::s f();\n    };\n};\n"
/// );
/// # Ok::<(), oxorb_idl::Failed>(())
/// ```
pub fn print(model: &Model) -> String {
    Printer::new(model, false).text()
}

/// Prints a definition alone.
pub(crate) fn one(model: &Model, id: DefId) -> String {
    let mut printer = Printer::new(model, false);
    printer.def(id);
    printer.out
}

pub(crate) struct Printer<'m> {
    model: &'m Model,
    /// Whether the equivalent CORBA 2 IDL is printed: without components, homes and event types.
    equivalent: bool,
    out: String,
    /// Open modules, outermost first.
    open: Vec<DefId>,
    /// Prefixes in force in the file and in each open scope.
    prefixes: Vec<String>,
    done: BTreeSet<DefId>,
    announced: BTreeSet<DefId>,
    indent: usize,
}

impl<'m> Printer<'m> {
    pub(crate) fn new(model: &'m Model, equivalent: bool) -> Self {
        Printer {
            model,
            equivalent,
            out: String::new(),
            open: Vec::new(),
            prefixes: vec![String::new()],
            done: BTreeSet::new(),
            announced: BTreeSet::new(),
            indent: 0,
        }
    }

    pub(crate) fn text(mut self) -> String {
        let needed = self.needed();
        self.includes(&needed);
        let mut all: Vec<DefId> = needed.into_iter().filter(|id| self.is_printed(*id)).collect();
        all.sort_by_key(|id| self.model.order(*id));
        for id in all {
            self.announce_what_it_needs(id);
            self.go_to(self.model.def(id).parent);
            self.scoped_def(id);
        }
        self.go_to(None);
        self.out
    }

    /// Returns the definitions of main files and all that they refer to.
    fn needed(&self) -> BTreeSet<DefId> {
        let mut needed = BTreeSet::new();
        let main = self.model.defs().filter(|def| def.in_main_file);
        let mut todo: Vec<DefId> = main.map(|def| def.id).collect();
        while let Some(id) = todo.pop() {
            let id = self.outermost(id);
            if !self.model.holds(id) || !needed.insert(id) {
                continue;
            }
            if self.library(id).is_none() {
                todo.extend(self.refers_to(id));
            }
        }
        needed
    }

    /// Returns the enclosing definition at file or module scope.
    fn outermost(&self, id: DefId) -> DefId {
        let mut id = id;
        while let Some(parent) = self.model.def(id).parent {
            if matches!(self.model.def(parent).kind, DefKind::Module(_)) {
                break;
            }
            id = parent;
        }
        id
    }

    /// Reports whether a definition is printed at file or module scope.
    fn is_printed(&self, id: DefId) -> bool {
        !matches!(self.model.def(id).kind, DefKind::Module(_) | DefKind::TemplateModule(_))
            && self.library(id).is_none()
    }

    /// Returns the standard IDL file that declares `id` (`orb.idl`, `Components.idl`); `None` if the definition is not
    /// a standard one.
    fn library(&self, id: DefId) -> Option<&'static str> {
        let def = self.model.def(id);
        if def.in_main_file {
            return None;
        }
        match def.scoped_name.split("::").next() {
            Some("CORBA") if crate::preprocess::orb_has(&def.scoped_name) => Some("orb.idl"),
            Some("Components") => Some("Components.idl"),
            _ => None,
        }
    }

    fn includes(&mut self, needed: &BTreeSet<DefId>) {
        let mut files: BTreeSet<&str> = needed.iter().filter_map(|id| self.library(*id)).collect();
        let typecode = needed.iter().any(|id| self.uses_type_code(*id));
        if typecode {
            files.insert("orb.idl");
        }
        let ccm = |id: &DefId| {
            let def = self.model.def(*id);
            def.in_main_file && is_idl3(&def.kind)
        };
        let defines = |def: &Def| def.in_main_file && def.scoped_name == "Components";
        if self.equivalent && needed.iter().any(ccm) && !self.model.defs().any(defines) {
            files.insert("Components.idl");
        }
        for file in &files {
            writeln!(self.out, "#include <{file}>").expect("writes to a string");
        }
        if !files.is_empty() {
            self.out.push('\n');
        }
    }

    /// Prints forward declarations of the types that are defined later.
    fn announce_what_it_needs(&mut self, id: DefId) {
        for other in self.refers_to(id) {
            let other = self.outermost(other);
            let later = other != id && !self.done.contains(&other);
            if !later || !self.is_printed(other) || !self.announced.insert(other) {
                continue;
            }
            let Some(words) = self.forward_words(other) else {
                continue;
            };
            let def = self.model.def(other);
            self.go_to(def.parent);
            self.prefix_for(other);
            self.line(&format!("{words} {};", escaped(&def.name)));
        }
    }

    fn forward_words(&self, id: DefId) -> Option<&'static str> {
        use crate::model::{InterfaceKind, ValueKind};
        Some(match &self.model.def(id).kind {
            DefKind::Interface(body) => match body.kind {
                InterfaceKind::Unconstrained => "interface",
                InterfaceKind::Local => "local interface",
                InterfaceKind::Abstract => "abstract interface",
            },
            DefKind::Struct(_) => "struct",
            DefKind::Union(_) => "union",
            DefKind::ValueType(body) => {
                let event = body.event && !self.equivalent;
                match (body.kind, event) {
                    (ValueKind::Abstract, false) => "abstract valuetype",
                    (_, false) => "valuetype",
                    (ValueKind::Abstract, true) => "abstract eventtype",
                    (_, true) => "eventtype",
                }
            }
            DefKind::Component(_) | DefKind::Home(_) if self.equivalent => "interface",
            DefKind::Component(_) => "component",
            DefKind::PortType(_) if !self.equivalent => "porttype",
            _ => return None,
        })
    }

    /// Closes and opens modules until `module`, or none, is open.
    fn go_to(&mut self, module: Option<DefId>) {
        let mut way: Vec<DefId> =
            std::iter::successors(module, |id| self.model.def(*id).parent).collect();
        way.reverse();
        while !way.starts_with(&self.open) {
            self.open.pop();
            self.close();
        }
        for id in &way[self.open.len()..] {
            let name = escaped(&self.model.def(*id).name);
            self.prefix_for(*id);
            self.open_brace(&format!("module {name}"));
            self.open.push(*id);
        }
    }

    /// Prints a definition and the pragmas that set its id.
    pub(super) fn scoped_def(&mut self, id: DefId) {
        self.prefix_for(id);
        self.def(id);
        self.done.insert(id);
        let def = self.model.def(id);
        let name = escaped(&def.name);
        let (given, version) = split_id(def);
        match given {
            None => self.pragma(&format!("ID {name} \"{}\"", def.repository_id)),
            Some(_) if version != "1.0" => self.pragma(&format!("version {name} {version}")),
            Some(_) => {}
        }
        self.ids_inside(id, &name);
    }

    /// Prints pragmas for the ids of types defined within the definition, where no pragma is possible.
    fn ids_inside(&mut self, id: DefId, name: &str) {
        let members = match &self.model.def(id).kind {
            DefKind::Struct(body) | DefKind::Exception(body) => &body.members,
            DefKind::Union(body) => &body.members,
            _ => return,
        };
        let prefix = self.prefixes.last().cloned().unwrap_or_default();
        for member in members {
            let def = self.model.def(*member);
            let name = format!("{name}::{}", escaped(&def.name));
            if split_id(def) != (Some(&*prefix), "1.0") {
                self.pragma(&format!("ID {name} \"{}\"", def.repository_id));
            }
            self.ids_inside(*member, &name);
        }
    }

    /// Changes the prefix if the next definition has another.
    fn prefix_for(&mut self, id: DefId) {
        let def = self.model.def(id);
        let (Some(prefix), _) = split_id(def) else {
            return;
        };
        let current = self.prefixes.last_mut().expect("one for the file");
        if current != prefix {
            prefix.clone_into(current);
            self.pragma(&format!("prefix \"{prefix}\""));
        }
    }

    fn pragma(&mut self, text: &str) {
        writeln!(self.out, "#pragma {text}").expect("writes to a string");
    }

    pub(super) fn open_brace(&mut self, head: &str) {
        self.line(&format!("{head} {{"));
        self.indent += 1;
        let inner = self.prefixes.last().cloned().unwrap_or_default();
        self.prefixes.push(inner);
    }

    pub(super) fn close(&mut self) {
        self.indent -= 1;
        self.prefixes.pop();
        self.line("};");
    }

    pub(super) fn line(&mut self, text: &str) {
        writeln!(self.out, "{:1$}{text}", "", 4 * self.indent).expect("writes to a string");
    }
}

/// Reports whether the kind of definition exists only since CORBA 3.
fn is_idl3(kind: &DefKind) -> bool {
    match kind {
        DefKind::ValueType(body) => body.event,
        DefKind::Component(_) | DefKind::Connector(_) | DefKind::PortType(_) | DefKind::Home(_) => {
            true
        }
        _ => false,
    }
}

/// Returns the prefix in a repository id, `None` if the rest is not the default, and the version.
fn split_id(def: &Def) -> (Option<&str>, &str) {
    let Some((rest, version)) =
        def.repository_id.strip_prefix("IDL:").and_then(|rest| rest.rsplit_once(':'))
    else {
        return (None, "");
    };
    let path = def.scoped_name.replace("::", "/");
    let prefix = match rest.strip_suffix(&path) {
        Some("") => Some(""),
        Some(prefix) => prefix.strip_suffix('/'),
        None => None,
    };
    (prefix, version)
}
