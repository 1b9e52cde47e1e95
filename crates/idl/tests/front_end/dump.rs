//! Text form of a model, for comparison by people.

use oxorb_idl::model::{
    Annotation, AnnotationValue, Attribute, Case, ComponentExport, Def, DefId, DefKind, Direction,
    Enum, Export, Factory, Field, Home, InterfaceKind, Model, Operation, Param, PortKind, Type,
    Value, ValueKind, ValueType,
};
use oxorb_idl::source::SourceMap;
use std::fmt::Write;

/// Returns all definitions of the main file, one line each, with their contents below.
pub(crate) fn dump(model: &Model, map: &SourceMap) -> String {
    let mut text = String::new();
    for def in model.defs() {
        if !in_instance(model, def) {
            let main = map.is_main(def.span.file);
            assert_eq!(def.in_main_file, main, "{}", def.scoped_name);
        }
        if def.in_main_file {
            self::def(model, def, &mut text);
        }
    }
    for annotation in model.annotations() {
        writeln!(text, "@annotation {}", annotation.scoped_name).unwrap();
        for member in &annotation.members {
            let ty = member.ty.as_ref().map_or("any".into(), |of| ty(model, of));
            let default = member.default.as_ref();
            let default =
                default.map_or(String::new(), |of| format!(" default {}", value(model, of)));
            line(&mut text, &format!("{ty} {}{default}", member.name));
        }
    }
    text
}

fn in_instance(model: &Model, def: &Def) -> bool {
    std::iter::successors(Some(def), |def| Some(model.def(def.parent?)))
        .any(|def| matches!(&def.kind, DefKind::Module(of) if of.template.is_some()))
}

fn def(model: &Model, def: &Def, text: &mut String) {
    let kind = match &def.kind {
        DefKind::Module(_) => "module",
        DefKind::Interface(interface) => interface_kind(interface.kind),
        DefKind::ForwardInterface(_) => "forward interface",
        DefKind::Struct(_) => "struct",
        DefKind::Union(_) => "union",
        DefKind::Enum(_) => "enum",
        DefKind::Typedef(_) => "typedef",
        DefKind::Const(_) => "const",
        DefKind::Exception(_) => "exception",
        DefKind::Native => "native",
        DefKind::ValueType(of) => value_kind(of),
        DefKind::ValueBox(_) => "box",
        DefKind::BitMask(_) => "bitmask",
        DefKind::BitSet(_) => "bitset",
        DefKind::Component(_) => "component",
        DefKind::Connector(_) => "connector",
        DefKind::PortType(_) => "porttype",
        DefKind::Home(_) => "home",
        DefKind::TemplateModule(_) => "template",
    };
    let annotations = annotations(model, &def.annotations);
    write!(text, "{annotations}{kind} {} {:?}", def.scoped_name, def.repository_id).unwrap();
    if !def.doc.is_empty() {
        write!(text, " /** {} */", def.doc.replace('\n', " | ")).unwrap();
    }
    text.push('\n');
    match &def.kind {
        DefKind::Interface(interface) => {
            list(model, ":", &interface.bases, text);
            exports(model, &interface.exports, text);
        }
        DefKind::Struct(fields) | DefKind::Exception(fields) => {
            list(model, ":", fields.base.as_slice(), text);
            for field in &fields.fields {
                line(text, &self::field(model, field));
            }
        }
        DefKind::Union(union) => {
            line(text, &format!("switch {}", ty(model, &union.discriminator)));
            for case in &union.cases {
                line(text, &self::case(model, case));
            }
        }
        DefKind::Enum(of) => enumeration(model, of, text),
        DefKind::Typedef(alias) => line(text, &ty(model, &alias.ty)),
        DefKind::Const(of) => {
            line(text, &format!("{} = {}", ty(model, &of.ty), value(model, &of.value)));
        }
        DefKind::ValueType(of) => value_type(model, of, text),
        DefKind::ValueBox(of) => line(text, &ty(model, of)),
        DefKind::BitMask(of) => {
            let flags = of.flags.iter().map(|f| format!("{}={}", f.name, f.position));
            let flags: Vec<_> = flags.collect();
            line(text, &format!("{} bits: {}", of.bit_bound, flags.join(", ")));
        }
        DefKind::BitSet(of) => {
            list(model, ":", of.base.as_slice(), text);
            for field in &of.fields {
                let name = field.name.as_deref().unwrap_or("-");
                line(text, &format!("{}:{} {:?}", name, field.bits, field.ty));
            }
        }
        DefKind::Component(of) | DefKind::Connector(of) => {
            list(model, ":", of.base.as_slice(), text);
            list(model, "supports", &of.supports, text);
            component_exports(model, &of.exports, text);
        }
        DefKind::PortType(of) => component_exports(model, &of.exports, text),
        DefKind::Home(of) => home(model, of, text),
        DefKind::TemplateModule(of) => line(text, &of.params.join(", ")),
        DefKind::Module(of) => list(model, "instance of", of.template.as_slice(), text),
        DefKind::ForwardInterface(_) | DefKind::Native => {}
    }
}

fn list(model: &Model, word: &str, ids: &[DefId], text: &mut String) {
    if !ids.is_empty() {
        let names: Vec<_> = ids.iter().map(|id| name(model, *id)).collect();
        line(text, &format!("{word} {}", names.join(", ")));
    }
}

fn enumeration(model: &Model, of: &Enum, text: &mut String) {
    if let Some(bits) = of.bit_bound {
        line(text, &format!("{bits} bits"));
    }
    let mut all = of.enumerators.iter().zip(0..).map(|(e, ordinal)| {
        let mut text = annotations(model, &e.annotations) + &e.name;
        if e.value != ordinal {
            write!(text, "={}", e.value).unwrap();
        }
        if of.default == Some(ordinal) {
            text += " (default)";
        }
        text
    });
    let first = all.next().unwrap_or_default();
    line(text, &all.fold(first, |list, one| list + ", " + &one));
}

fn value_type(model: &Model, of: &ValueType, text: &mut String) {
    let word = if of.truncatable { ": truncatable" } else { ":" };
    list(model, word, &of.bases, text);
    list(model, "supports", &of.supports, text);
    for member in &of.state {
        let access = if member.public { "public" } else { "private" };
        line(text, &format!("{access} {}", field(model, &member.field)));
    }
    factories(model, "factory", &of.factories, text);
    exports(model, &of.exports, text);
}

fn home(model: &Model, of: &Home, text: &mut String) {
    list(model, ":", of.base.as_slice(), text);
    list(model, "supports", &of.supports, text);
    list(model, "manages", &[of.manages], text);
    list(model, "primarykey", of.primary_key.as_slice(), text);
    factories(model, "factory", &of.factories, text);
    factories(model, "finder", &of.finders, text);
    exports(model, &of.exports, text);
}

fn factories(model: &Model, word: &str, all: &[Factory], text: &mut String) {
    for of in all {
        let mut out = format!("{word} {}({})", of.name, params(model, &of.params));
        raises(model, "raises", &of.raises, &mut out);
        line(text, &out);
    }
}

fn component_exports(model: &Model, all: &[ComponentExport], text: &mut String) {
    for export in all {
        let port = match export {
            ComponentExport::Attribute(of) => {
                line(text, &attribute(model, of));
                continue;
            }
            ComponentExport::Port(port) => port,
        };
        let kind = match &port.kind {
            PortKind::Provides(of) => format!("provides {}", ty(model, of)),
            PortKind::Uses { ty: of, multiple } => {
                let multiple = if *multiple { "multiple " } else { "" };
                format!("uses {multiple}{}", ty(model, of))
            }
            PortKind::Emits(of) => format!("emits {}", name(model, *of)),
            PortKind::Publishes(of) => format!("publishes {}", name(model, *of)),
            PortKind::Consumes(of) => format!("consumes {}", name(model, *of)),
            PortKind::Extended { port_type, mirror } => {
                let word = if *mirror { "mirrorport" } else { "port" };
                format!("{word} {}", name(model, *port_type))
            }
        };
        line(text, &format!("{kind} {}", port.name));
    }
}

fn exports(model: &Model, all: &[Export], text: &mut String) {
    for export in all {
        match export {
            Export::Operation(of) => line(text, &operation(model, of)),
            Export::Attribute(of) => line(text, &attribute(model, of)),
        }
    }
}

fn attribute(model: &Model, of: &Attribute) -> String {
    let mut out = annotations(model, &of.annotations);
    if of.readonly {
        out += "readonly ";
    }
    write!(out, "attribute {} {}", ty(model, &of.ty), of.name).unwrap();
    raises(model, "getraises", &of.get_raises, &mut out);
    raises(model, "setraises", &of.set_raises, &mut out);
    out
}

fn annotations(model: &Model, all: &[Annotation]) -> String {
    let mut out = String::new();
    for one in all {
        write!(out, "@{}", one.name).unwrap();
        let params = one.params.iter().map(|param| match &param.value {
            AnnotationValue::Constant(of) => format!("{}={}", param.name, value(model, of)),
            AnnotationValue::Name(text) => format!("{}=:{text}", param.name),
        });
        let params: Vec<_> = params.collect();
        if !params.is_empty() {
            write!(out, "({})", params.join(", ")).unwrap();
        }
        out.push(' ');
    }
    out
}

fn operation(model: &Model, of: &Operation) -> String {
    let mut out = annotations(model, &of.annotations);
    if of.oneway {
        out += "oneway ";
    }
    out += &of.returns.as_ref().map_or("void".into(), |of| ty(model, of));
    write!(out, " {}({})", of.name, params(model, &of.params)).unwrap();
    raises(model, "raises", &of.raises, &mut out);
    if !of.context.is_empty() {
        write!(out, " context {:?}", of.context).unwrap();
    }
    out
}

fn params(model: &Model, all: &[Param]) -> String {
    let params = all.iter().map(|param| {
        let direction = match param.direction {
            Direction::In => "in",
            Direction::Out => "out",
            Direction::InOut => "inout",
        };
        let annotations = annotations(model, &param.annotations);
        format!("{annotations}{direction} {} {}", ty(model, &param.ty), param.name)
    });
    params.collect::<Vec<_>>().join(", ")
}

fn raises(model: &Model, word: &str, ids: &[DefId], out: &mut String) {
    if !ids.is_empty() {
        let names: Vec<_> = ids.iter().map(|id| name(model, *id)).collect();
        write!(out, " {word}({})", names.join(", ")).unwrap();
    }
}

fn case(model: &Model, of: &Case) -> String {
    let mut labels: Vec<_> = of.labels.iter().map(|label| value(model, label)).collect();
    if of.is_default {
        labels.push("default".into());
    }
    format!("{}: {}", labels.join(", "), field(model, &of.field))
}

fn field(model: &Model, of: &Field) -> String {
    let mut out = annotations(model, &of.annotations);
    if of.optional {
        out += "optional ";
    }
    if of.key {
        out += "key ";
    }
    write!(out, "{} {}", ty(model, &of.ty), of.name).unwrap();
    if let Some(default) = &of.default {
        write!(out, " = {}", value(model, default)).unwrap();
    }
    out
}

fn value(model: &Model, of: &Value) -> String {
    match of {
        Value::Enumerator(id, ordinal) => match &model.def(*id).kind {
            DefKind::Enum(of) => of.enumerators[*ordinal as usize].name.clone(),
            other => panic!("an enumerator of {other:?}"),
        },
        Value::Integer(n) => n.to_string(),
        Value::Float(n) => format!("{n:?}"),
        Value::LongDouble(n) => n.to_string(),
        Value::Boolean(b) => b.to_string(),
        Value::Char(c) => format!("{c:?}"),
        Value::String(s) => format!("{s:?}"),
        Value::Fixed(digits) => format!("{digits}d"),
    }
}

fn ty(model: &Model, of: &Type) -> String {
    let bound = |bound: &Option<u32>| bound.map_or(String::new(), |n| format!("<{n}>"));
    match of {
        Type::Basic(basic) => format!("{basic:?}").to_lowercase(),
        Type::String(n) => format!("string{}", bound(n)),
        Type::WString(n) => format!("wstring{}", bound(n)),
        Type::Sequence(of, None) => format!("sequence<{}>", ty(model, of)),
        Type::Sequence(of, Some(n)) => format!("sequence<{}, {n}>", ty(model, of)),
        Type::Array(of, sizes) => sizes.iter().fold(ty(model, of), |t, n| format!("{t}[{n}]")),
        Type::Fixed(digits, scale) => format!("fixed<{digits}, {scale}>"),
        Type::Map(key, of, n) => {
            let n = n.map_or(String::new(), |n| format!(", {n}"));
            format!("map<{}, {}{n}>", ty(model, key), ty(model, of))
        }
        Type::Named(id) => name(model, *id),
        other => format!("{other:?}"),
    }
}

fn name(model: &Model, id: DefId) -> String {
    model.def(id).scoped_name.clone()
}

fn value_kind(of: &ValueType) -> &'static str {
    match (of.kind, of.event) {
        (ValueKind::Stateful, false) => "valuetype",
        (ValueKind::Custom, false) => "custom valuetype",
        (ValueKind::Abstract, false) => "abstract valuetype",
        (ValueKind::Stateful, true) => "eventtype",
        (ValueKind::Custom, true) => "custom eventtype",
        (ValueKind::Abstract, true) => "abstract eventtype",
    }
}

fn interface_kind(kind: InterfaceKind) -> &'static str {
    match kind {
        InterfaceKind::Unconstrained => "interface",
        InterfaceKind::Local => "local interface",
        InterfaceKind::Abstract => "abstract interface",
    }
}

fn line(text: &mut String, content: &str) {
    writeln!(text, "    {content}").unwrap();
}
