//! A model as text, for people to compare.

use oxorb_idl::model::{
    Case, Def, DefKind, Direction, Export, Field, Interface, InterfaceKind, Model, Operation, Type,
    Value,
};
use oxorb_idl::source::SourceMap;
use std::fmt::Write;

/// All definitions of the main file, one line each, what they hold below.
pub(crate) fn dump(model: &Model, map: &SourceMap) -> String {
    let mut text = String::new();
    for def in model.defs() {
        assert_eq!(
            def.in_main_file,
            map.is_main(def.span.file),
            "{}",
            def.scoped_name
        );
        if def.in_main_file {
            self::def(model, def, &mut text);
        }
    }
    text
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
    };
    write!(text, "{kind} {} {:?}", def.scoped_name, def.repository_id).unwrap();
    if !def.doc.is_empty() {
        write!(text, " /** {} */", def.doc.replace('\n', " | ")).unwrap();
    }
    text.push('\n');
    match &def.kind {
        DefKind::Interface(interface) => self::interface(model, interface, text),
        DefKind::Struct(fields) | DefKind::Exception(fields) => {
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
        DefKind::Enum(of) => {
            let names: Vec<_> = of.enumerators.iter().map(|e| e.name.as_str()).collect();
            line(text, &names.join(", "));
        }
        DefKind::Typedef(alias) => line(text, &ty(model, &alias.ty)),
        DefKind::Const(of) => {
            line(
                text,
                &format!("{} = {}", ty(model, &of.ty), value(model, &of.value)),
            );
        }
        DefKind::Module(_) | DefKind::ForwardInterface(_) | DefKind::Native => {}
    }
}

fn interface(model: &Model, of: &Interface, text: &mut String) {
    if !of.bases.is_empty() {
        let bases: Vec<_> = of.bases.iter().map(|id| name(model, *id)).collect();
        line(text, &format!(": {}", bases.join(", ")));
    }
    for export in &of.exports {
        match export {
            Export::Operation(operation) => line(text, &self::operation(model, operation)),
            Export::Attribute(of) => {
                let mut out = String::new();
                if of.readonly {
                    out += "readonly ";
                }
                write!(out, "attribute {} {}", ty(model, &of.ty), of.name).unwrap();
                raises(model, "getraises", &of.get_raises, &mut out);
                raises(model, "setraises", &of.set_raises, &mut out);
                line(text, &out);
            }
        }
    }
}

fn operation(model: &Model, of: &Operation) -> String {
    let mut out = String::new();
    if of.oneway {
        out += "oneway ";
    }
    out += &of
        .returns
        .as_ref()
        .map_or("void".into(), |of| ty(model, of));
    let params = of.params.iter().map(|param| {
        let direction = match param.direction {
            Direction::In => "in",
            Direction::Out => "out",
            Direction::InOut => "inout",
        };
        format!("{direction} {} {}", ty(model, &param.ty), param.name)
    });
    let params: Vec<_> = params.collect();
    write!(out, " {}({})", of.name, params.join(", ")).unwrap();
    raises(model, "raises", &of.raises, &mut out);
    if !of.context.is_empty() {
        write!(out, " context {:?}", of.context).unwrap();
    }
    out
}

fn raises(model: &Model, word: &str, ids: &[oxorb_idl::model::DefId], out: &mut String) {
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
    format!("{} {}", ty(model, &of.ty), of.name)
}

fn value(model: &Model, of: &Value) -> String {
    match of {
        Value::Enumerator(id, ordinal) => match &model.def(*id).kind {
            DefKind::Enum(of) => of.enumerators[*ordinal as usize].name.clone(),
            other => panic!("an enumerator of {other:?}"),
        },
        Value::Integer(n) => n.to_string(),
        Value::Float(n) => format!("{n:?}"),
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
        Type::Named(id) => name(model, *id),
        other => format!("{other:?}"),
    }
}

fn name(model: &Model, id: oxorb_idl::model::DefId) -> String {
    model.def(id).scoped_name.clone()
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
