//! Printing of definitions other than components and homes.

use super::Printer;
use super::names::{dimensions, escaped, full_name, type_text, value_text};
use crate::model::{
    Attribute, BitField, DefId, DefKind, Direction, Export, Factory, Field, Interface,
    InterfaceKind, Operation, Param, Struct, Type, Union, Value, ValueKind, ValueType,
};
use std::fmt::Write;

impl Printer<'_> {
    pub(super) fn def(&mut self, id: DefId) {
        let def = self.model.def(id);
        let name = escaped(&def.name);
        match &def.kind {
            DefKind::Interface(body) => self.interface(&name, body),
            DefKind::ForwardInterface(kind) => {
                self.line(&format!("{} {name};", interface_words(*kind)));
            }
            DefKind::Struct(_) | DefKind::Union(_) | DefKind::Enum(_) => {
                let text = self.constructed(id);
                self.lines(&(text + ";"));
            }
            DefKind::Exception(body) => {
                let text = self.members(body, id);
                self.lines(&format!("exception {name} {text};"));
            }
            DefKind::Typedef(alias) => {
                let (ty, dimensions) = (self.ty(&alias.ty), dimensions(&alias.ty));
                self.line(&format!("typedef {ty} {name}{dimensions};"));
            }
            DefKind::Const(constant) => {
                let ty = match &constant.ty {
                    Type::Fixed(..) => "fixed".into(),
                    ty => self.ty(ty),
                };
                let value = value_text(self.model, &constant.value, Some(&constant.ty));
                self.line(&format!("const {ty} {name} = {value};"));
            }
            DefKind::Native => self.line(&format!("native {name};")),
            DefKind::ValueType(body) => self.value_type(id, &name, body),
            DefKind::ValueBox(ty) => {
                let ty = self.ty(ty);
                self.line(&format!("valuetype {name} {ty};"));
            }
            DefKind::BitMask(body) => {
                let mut text = String::new();
                for (at, flag) in body.flags.iter().enumerate() {
                    let comma = if at == 0 { "" } else { ", " };
                    write!(text, "{comma}@position({}) {}", flag.position, escaped(&flag.name))
                        .expect("writes to a string");
                }
                let bound = body.bit_bound;
                self.line(&format!("@bit_bound({bound}) bitmask {name} {{ {text} }};"));
            }
            DefKind::BitSet(body) => {
                let base = body.base.map_or(String::new(), |base| {
                    format!(" : {}", full_name(self.model, base, false))
                });
                self.open_brace(&format!("bitset {name}{base}"));
                body.fields.iter().for_each(|field| self.bitfield(field));
                self.close();
            }
            DefKind::Component(_)
            | DefKind::Connector(_)
            | DefKind::PortType(_)
            | DefKind::Home(_) => self.idl3(id),
            DefKind::Module(_) | DefKind::TemplateModule(_) => {}
        }
    }

    fn bitfield(&mut self, field: &BitField) {
        let name =
            field.name.as_deref().map_or(String::new(), |name| format!(" {}", escaped(name)));
        let ty = field.ty.as_str();
        self.line(&format!("bitfield<{}, {ty}>{name};", field.bits));
    }

    fn interface(&mut self, name: &str, body: &Interface) {
        let bases = self.list(" : ", &body.bases);
        self.open_brace(&format!("{} {name}{bases}", interface_words(body.kind)));
        self.inside(&body.members, &body.exports);
        self.close();
    }

    /// Prints types in the order of their definition, then operations and attributes.
    pub(super) fn inside(&mut self, members: &[DefId], exports: &[Export]) {
        for member in members {
            self.scoped_def(*member);
        }
        for export in exports {
            match export {
                Export::Operation(operation) => self.operation(operation),
                Export::Attribute(attribute) => self.attribute("", attribute),
            }
        }
    }

    fn operation(&mut self, of: &Operation) {
        let oneway = if of.oneway { "oneway " } else { "" };
        let returns = match &of.returns {
            Some(ty) => self.ty(ty),
            None => "void".into(),
        };
        let mutating = if of.mutating { "@mutating " } else { "" };
        let mut text = format!("{mutating}{oneway}{returns} {}", escaped(&of.name));
        text += &self.params(&of.params);
        text += &self.raises("raises", &of.raises);
        if !of.context.is_empty() {
            let all: Vec<String> = of.context.iter().map(|text| format!("{text:?}")).collect();
            text += &format!(" context ({})", all.join(", "));
        }
        self.line(&(text + ";"));
    }

    pub(super) fn params(&self, params: &[Param]) -> String {
        let params = params.iter().map(|param| {
            let direction = match param.direction {
                Direction::In => "in",
                Direction::Out => "out",
                Direction::InOut => "inout",
            };
            format!("{direction} {} {}", self.ty(&param.ty), escaped(&param.name))
        });
        format!("({})", params.collect::<Vec<_>>().join(", "))
    }

    pub(super) fn raises(&self, word: &str, ids: &[DefId]) -> String {
        if ids.is_empty() {
            return String::new();
        }
        let names: Vec<String> = ids.iter().map(|id| self.name(*id)).collect();
        format!(" {word} ({})", names.join(", "))
    }

    /// Prints an attribute; `before` is the prefix of its name in an extended port.
    pub(super) fn attribute(&mut self, before: &str, of: &Attribute) {
        let readonly = if of.readonly { "readonly " } else { "" };
        let name = match before {
            "" => escaped(&of.name),
            _ => format!("{before}{}", of.name),
        };
        let mut text = format!("{readonly}attribute {} {name}", self.ty(&of.ty));
        match of.readonly {
            true => text += &self.raises("raises", &of.get_raises),
            false => {
                text += &self.raises("getraises", &of.get_raises);
                text += &self.raises("setraises", &of.set_raises);
            }
        }
        self.line(&(text + ";"));
    }

    fn value_type(&mut self, id: DefId, name: &str, body: &ValueType) {
        let event = body.event && !self.equivalent;
        let words = match (body.kind, event) {
            (ValueKind::Stateful, false) => "valuetype",
            (ValueKind::Custom, false) => "custom valuetype",
            (ValueKind::Abstract, false) => "abstract valuetype",
            (ValueKind::Stateful, true) => "eventtype",
            (ValueKind::Custom, true) => "custom eventtype",
            (ValueKind::Abstract, true) => "abstract eventtype",
        };
        let truncatable = if body.truncatable { "truncatable " } else { "" };
        let mut bases: Vec<String> = body.bases.iter().map(|id| self.name(*id)).collect();
        if body.event && self.equivalent && !body.bases.iter().any(|id| self.is_event(*id)) {
            bases.push("::Components::EventBase".into());
        }
        let bases = match bases.is_empty() {
            true => String::new(),
            false => format!(" : {truncatable}{}", bases.join(", ")),
        };
        let supports = self.list(" supports ", &body.supports);
        self.open_brace(&format!("{words} {name}{bases}{supports}"));
        for member in &body.members {
            self.scoped_def(*member);
        }
        for member in &body.state {
            let access = if member.public { "public" } else { "private" };
            let text = self.field(&member.field, None);
            self.lines(&format!("{access} {text}"));
        }
        for factory in &body.factories {
            self.factory("factory", factory);
        }
        self.inside(&[], &body.exports);
        self.close();
        if body.event && self.equivalent {
            self.consumer(id);
        }
    }

    pub(super) fn is_event(&self, id: DefId) -> bool {
        matches!(&self.model.def(id).kind, DefKind::ValueType(body) if body.event)
    }

    pub(super) fn factory(&mut self, word: &str, of: &Factory) {
        let mut text = format!("{word} {}", escaped(&of.name));
        text += &self.params(&of.params);
        text += &self.raises("raises", &of.raises);
        self.line(&(text + ";"));
    }

    /// Returns a struct, union or enum without the `;`.
    fn constructed(&mut self, id: DefId) -> String {
        let def = self.model.def(id);
        let name = escaped(&def.name);
        self.done.insert(id);
        match &def.kind {
            DefKind::Struct(body) => {
                let base =
                    body.base.map_or(String::new(), |base| format!(" : {}", self.name(base)));
                format!("struct {name}{base} {}", self.members(body, id))
            }
            DefKind::Union(body) => self.union(&name, body, id),
            DefKind::Enum(body) => {
                let bound =
                    body.bit_bound.map_or(String::new(), |bits| format!("@bit_bound({bits}) "));
                let all = body.enumerators.iter().zip(0..).map(|(one, ordinal)| {
                    let default = match body.default == Some(ordinal) {
                        true => "@default_literal ",
                        false => "",
                    };
                    let value = match one.value == ordinal {
                        true => String::new(),
                        false => format!("@value({}) ", one.value),
                    };
                    format!("{default}{value}{}", escaped(&one.name))
                });
                let all: Vec<String> = all.collect();
                format!("{bound}enum {name} {{ {} }}", all.join(", "))
            }
            _ => String::new(),
        }
    }

    fn members(&mut self, body: &Struct, id: DefId) -> String {
        if body.fields.is_empty() {
            return "{}".into();
        }
        let mut text = String::from("{\n");
        for field in &body.fields {
            let line = self.field(field, Some(id));
            text += &indented(&line);
        }
        text + "}"
    }

    /// Returns a member with its `;`. A type defined inside `around` is written where it is used first.
    fn field(&mut self, field: &Field, around: Option<DefId>) -> String {
        let base = match &field.ty {
            Type::Array(element, _) => element,
            ty => ty,
        };
        let passing = match base {
            Type::Named(id)
                if around.is_some()
                    && self.model.def(*id).parent == around
                    && !self.done.contains(id) =>
            {
                Some(*id)
            }
            _ => None,
        };
        let ty = match passing {
            Some(id) => self.constructed(id),
            None => self.ty(base),
        };
        let mut notes = String::new();
        if field.key {
            notes += "@key ";
        }
        if field.optional {
            notes += "@optional ";
        }
        let external = field.annotations.iter().find(|it| it.name == "external");
        if external.is_some_and(|it| it.value("value") != Some(&Value::Boolean(false))) {
            // `@external` permits a member type that is defined later.
            notes += "@external(TRUE) ";
        }
        if let Some(default) = &field.default {
            let value = value_text(self.model, default, Some(&field.ty));
            notes += &format!("@default({value}) ");
        }
        let dimensions = dimensions(&field.ty);
        format!("{notes}{ty} {}{dimensions};", escaped(&field.name))
    }

    fn union(&mut self, name: &str, body: &Union, id: DefId) -> String {
        let discriminator = match &body.discriminator {
            Type::Named(inner) if self.model.def(*inner).parent == Some(id) => {
                self.constructed(*inner)
            }
            ty => self.ty(ty),
        };
        let mut text = format!("union {name} switch ({discriminator}) {{\n");
        for case in &body.cases {
            let mut line = String::new();
            for label in &case.labels {
                line += &format!("case {}: ", self.label(label, body, id));
            }
            if case.is_default {
                line += "default: ";
            }
            line += &self.field(&case.field, Some(id));
            text += &indented(&line);
        }
        text + "}"
    }

    /// Returns a label: the bare name of an enumerator if its enum is defined in the head of the union, else the full
    /// name.
    fn label(&self, label: &Value, body: &Union, union: DefId) -> String {
        if let Value::Enumerator(id, ordinal) = label
            && self.model.def(*id).parent == Some(union)
            && let DefKind::Enum(body) = &self.model.def(*id).kind
        {
            return escaped(&body.enumerators[*ordinal as usize].name);
        }
        value_text(self.model, label, Some(&body.discriminator))
    }

    /// Returns `word` and the names, if there are any.
    pub(super) fn list(&self, word: &str, ids: &[DefId]) -> String {
        match ids.is_empty() {
            true => String::new(),
            false => {
                let names: Vec<String> = ids.iter().map(|id| self.name(*id)).collect();
                format!("{word}{}", names.join(", "))
            }
        }
    }

    pub(super) fn name(&self, id: DefId) -> String {
        full_name(self.model, id, self.equivalent)
    }

    pub(super) fn ty(&self, ty: &Type) -> String {
        type_text(self.model, ty, self.equivalent)
    }

    fn lines(&mut self, text: &str) {
        for line in text.lines() {
            self.line(line);
        }
    }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}

fn interface_words(kind: InterfaceKind) -> &'static str {
    match kind {
        InterfaceKind::Unconstrained => "interface",
        InterfaceKind::Local => "local interface",
        InterfaceKind::Abstract => "abstract interface",
    }
}
