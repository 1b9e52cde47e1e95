//! Printing of components and homes as written, or as their equivalent interfaces (CORBA 3.3 part 3, 6.4 to 6.7).

use super::Printer;
use super::names::escaped;
use crate::model::{
    Component, ComponentExport, DefId, DefKind, Home, Port, PortKind, PortType, Type,
};

impl Printer<'_> {
    pub(super) fn idl3(&mut self, id: DefId) {
        let name = self.model.def(id).name.clone();
        match (&self.model.def(id).kind, self.equivalent) {
            (DefKind::Component(body), false) => self.component("component", &name, body),
            (DefKind::Connector(body), false) => self.component("connector", &name, body),
            (DefKind::PortType(PortType { exports }), false) => {
                self.open_brace(&format!("porttype {}", escaped(&name)));
                self.ports(exports);
                self.close();
            }
            (DefKind::Home(body), false) => self.home(&name, body),
            (DefKind::Component(body) | DefKind::Connector(body), true) => {
                self.equivalent_component(&name, body);
            }
            (DefKind::Home(body), true) => self.equivalent_home(id, &name, body),
            _ => {}
        }
    }

    fn component(&mut self, word: &str, name: &str, body: &Component) {
        let base = self.list(" : ", body.base.as_slice());
        let supports = self.list(" supports ", &body.supports);
        self.open_brace(&format!("{word} {}{base}{supports}", escaped(name)));
        self.ports(&body.exports);
        self.close();
    }

    fn ports(&mut self, exports: &[ComponentExport]) {
        for export in exports {
            match export {
                ComponentExport::Attribute(attribute) => self.attribute("", attribute),
                ComponentExport::Port(port) => {
                    let kind = match &port.kind {
                        PortKind::Provides(ty) => format!("provides {}", self.ty(ty)),
                        PortKind::Uses { ty, multiple } => {
                            let multiple = if *multiple { "multiple " } else { "" };
                            format!("uses {multiple}{}", self.ty(ty))
                        }
                        PortKind::Emits(event) => format!("emits {}", self.name(*event)),
                        PortKind::Publishes(event) => format!("publishes {}", self.name(*event)),
                        PortKind::Consumes(event) => format!("consumes {}", self.name(*event)),
                        PortKind::Extended { port_type, mirror } => {
                            let word = if *mirror { "mirrorport" } else { "port" };
                            format!("{word} {}", self.name(*port_type))
                        }
                    };
                    self.line(&format!("{kind} {};", escaped(&port.name)));
                }
            }
        }
    }

    fn home(&mut self, name: &str, body: &Home) {
        let base = self.list(" : ", body.base.as_slice());
        let supports = self.list(" supports ", &body.supports);
        let key = self.list(" primarykey ", body.primary_key.as_slice());
        let manages = self.name(body.manages);
        let name = escaped(name);
        self.open_brace(&format!("home {name}{base}{supports} manages {manages}{key}"));
        self.inside(&body.members, &body.exports);
        for factory in &body.factories {
            self.factory("factory", factory);
        }
        for finder in &body.finders {
            self.factory("finder", finder);
        }
        self.close();
    }

    /// Prints `interface EConsumer` after the event type `E`.
    pub(super) fn consumer(&mut self, event: DefId) {
        let def = self.model.def(event);
        let DefKind::ValueType(body) = &def.kind else {
            return;
        };
        let bases: Vec<String> = body
            .bases
            .iter()
            .filter(|base| self.is_event(**base))
            .map(|base| self.consumer_name(*base))
            .collect();
        let bases = match bases.is_empty() {
            true => "::Components::EventConsumerBase".into(),
            false => bases.join(", "),
        };
        let (plain, name) = (&def.name, self.name(event));
        self.open_brace(&format!("interface {plain}Consumer : {bases}"));
        self.line(&format!("void push_{plain}(in {name} the_{plain});"));
        self.close();
    }

    fn consumer_name(&self, event: DefId) -> String {
        let scope = match self.model.def(event).parent {
            Some(parent) => self.name(parent),
            None => String::new(),
        };
        format!("{scope}::{}Consumer", self.model.def(event).name)
    }

    fn equivalent_component(&mut self, name: &str, body: &Component) {
        let mut bases: Vec<String> = match body.base {
            Some(base) => vec![self.name(base)],
            None => vec!["::Components::CCMObject".into()],
        };
        bases.extend(body.supports.iter().map(|id| self.name(*id)));
        self.open_brace(&format!("interface {} : {}", escaped(name), bases.join(", ")));
        self.equivalent_ports("", false, &body.exports);
        self.close();
    }

    /// Prints the operations of ports; `before` is the prefix of their names in an extended port.
    fn equivalent_ports(&mut self, before: &str, mirror: bool, exports: &[ComponentExport]) {
        for export in exports {
            match export {
                ComponentExport::Attribute(attribute) => self.attribute(before, attribute),
                ComponentExport::Port(port) => self.equivalent_port(before, mirror, port),
            }
        }
    }

    fn equivalent_port(&mut self, before: &str, mirrored: bool, port: &Port) {
        let name = format!("{before}{}", port.name);
        match &port.kind {
            PortKind::Provides(ty) if mirrored => self.receptacle(&name, ty, false),
            PortKind::Uses { ty, .. } if mirrored => self.facet(&name, ty),
            PortKind::Provides(ty) => self.facet(&name, ty),
            PortKind::Uses { ty, multiple } => self.receptacle(&name, ty, *multiple),
            PortKind::Publishes(event) => {
                let consumer = self.consumer_name(*event);
                self.line(&format!(
                    "::Components::Cookie subscribe_{name}(in {consumer} consumer) \
                     raises (::Components::ExceededConnectionLimit);"
                ));
                self.line(&format!(
                    "{consumer} unsubscribe_{name}(in ::Components::Cookie ck) \
                     raises (::Components::InvalidConnection);"
                ));
            }
            PortKind::Emits(event) => {
                let consumer = self.consumer_name(*event);
                self.line(&format!(
                    "void connect_{name}(in {consumer} consumer) \
                     raises (::Components::AlreadyConnected);"
                ));
                self.line(&format!(
                    "{consumer} disconnect_{name}() raises (::Components::NoConnection);"
                ));
            }
            PortKind::Consumes(event) => {
                let consumer = self.consumer_name(*event);
                self.line(&format!("{consumer} get_consumer_{name}();"));
            }
            PortKind::Extended { port_type, mirror } => {
                if let DefKind::PortType(body) = &self.model.def(*port_type).kind {
                    self.equivalent_ports(&format!("{name}_"), *mirror, &body.exports);
                }
            }
        }
    }

    fn facet(&mut self, name: &str, ty: &Type) {
        let ty = self.ty(ty);
        self.line(&format!("{ty} provide_{name}();"));
    }

    fn receptacle(&mut self, name: &str, ty: &Type, multiple: bool) {
        let ty = self.ty(ty);
        if !multiple {
            self.line(&format!(
                "void connect_{name}(in {ty} conxn) \
                 raises (::Components::AlreadyConnected, ::Components::InvalidConnection);"
            ));
            self.line(&format!("{ty} disconnect_{name}() raises (::Components::NoConnection);"));
            self.line(&format!("{ty} get_connection_{name}();"));
            return;
        }
        self.open_brace(&format!("struct {name}Connection"));
        self.line(&format!("{ty} objref;"));
        self.line("::Components::Cookie ck;");
        self.close();
        self.line(&format!("typedef sequence<{name}Connection> {name}Connections;"));
        self.line(&format!(
            "::Components::Cookie connect_{name}(in {ty} connection) \
             raises (::Components::ExceededConnectionLimit, ::Components::InvalidConnection);"
        ));
        self.line(&format!(
            "{ty} disconnect_{name}(in ::Components::Cookie ck) \
             raises (::Components::InvalidConnection);"
        ));
        self.line(&format!("{name}Connections get_connections_{name}();"));
    }

    fn equivalent_home(&mut self, id: DefId, name: &str, body: &Home) {
        let component = self.name(body.manages);
        let mut bases: Vec<String> = match body.base {
            Some(base) => vec![self.name(base) + "Explicit"],
            None => vec!["::Components::CCMHome".into()],
        };
        bases.extend(body.supports.iter().map(|id| self.name(*id)));
        self.open_brace(&format!("interface {name}Explicit : {}", bases.join(", ")));
        self.inside(&body.members, &body.exports);
        for factory in &body.factories {
            self.creation(&component, "::Components::CreateFailure", factory);
        }
        for finder in &body.finders {
            self.creation(&component, "::Components::FinderFailure", finder);
        }
        self.close();
        self.implicit_home(name, &component, body);
        self.open_brace(&format!("interface {} : {name}Explicit, {name}Implicit", escaped(name)));
        self.close();
        self.done.insert(id);
    }

    fn creation(&mut self, component: &str, failure: &str, of: &crate::model::Factory) {
        let mut raises = vec![failure.to_owned()];
        raises.extend(of.raises.iter().map(|id| self.name(*id)));
        let (name, params) = (escaped(&of.name), self.params(&of.params));
        self.line(&format!("{component} {name}{params} raises ({});", raises.join(", ")));
    }

    fn implicit_home(&mut self, name: &str, component: &str, body: &Home) {
        let Some(key) = body.primary_key else {
            self.open_brace(&format!("interface {name}Implicit : ::Components::KeylessCCMHome"));
            self.line(&format!("{component} create() raises (::Components::CreateFailure);"));
            self.close();
            return;
        };
        let key = self.name(key);
        self.open_brace(&format!("interface {name}Implicit"));
        self.line(&format!(
            "{component} create(in {key} key) raises (::Components::CreateFailure, \
             ::Components::DuplicateKeyValue, ::Components::InvalidKey);"
        ));
        self.line(&format!(
            "{component} find_by_primary_key(in {key} key) raises (::Components::FinderFailure, \
             ::Components::UnknownKeyValue, ::Components::InvalidKey);"
        ));
        self.line(&format!(
            "void remove(in {key} key) raises (::Components::RemoveFailure, \
             ::Components::UnknownKeyValue, ::Components::InvalidKey);"
        ));
        self.line(&format!("{key} get_primary_key(in {component} comp);"));
        self.close();
    }
}
