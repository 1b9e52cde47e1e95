//! Operations with annotations in IDL, such as
//! `@rt(wcet = "2 ms", period = "20 Hz", criticality = HIGH, importance = LOW)`.

use std::path::PathBuf;

use oxorb_idl::model::{Annotation, AnnotationParam, AnnotationValue, DefKind, Export, Value};
use oxorb_idl::source::{SourceMap, Span};
use oxorb_sched::repository::Characteristics;

use super::load::Loaded;
use oxorb_terminal::output::{Failed, because};

/// Reads annotated operations and read-only attributes, under their scoped names.
pub(super) fn read(
    files: &[&PathBuf],
    include: &[PathBuf],
    loaded: &mut Loaded,
) -> Result<(), Failed> {
    let options =
        oxorb_idl::Options { include_dirs: include.to_vec(), ..oxorb_idl::Options::default() };
    let compiled = match oxorb_idl::compile(files, &options) {
        Ok(compiled) => compiled,
        Err(failed) => {
            anstream::eprint!("{}", failed.report.text(true));
            return Err(Failed::Told);
        }
    };
    let sources = &compiled.report.sources;
    for def in compiled.model.defs() {
        nothing_said(&def.annotations, &def.scoped_name, sources, def.span)?;
        let DefKind::Interface(interface) = &def.kind else {
            continue;
        };
        for export in &interface.exports {
            let (name, span, annotations) = match export {
                Export::Operation(it) => (&it.name, it.span, &it.annotations),
                Export::Attribute(it) => (&it.name, it.span, &it.annotations),
            };
            let mut name = format!("{}::{name}", def.scoped_name);
            if let Export::Operation(operation) = export {
                for param in &operation.params {
                    let what = format!("{name} {}", param.name);
                    nothing_said(&param.annotations, &what, sources, param.span)?;
                }
            }
            let Some(found) = rt(annotations) else {
                continue;
            };
            let place = place(sources, span);
            let wrong = |why: String| because(format!("{place}: @rt of {name}: {why}"));
            let said = characteristics(found).map_err(wrong)?;
            if let Export::Attribute(attribute) = export {
                if !attribute.readonly {
                    let why = "an attribute that can be set has two operations; declare its _get_ and _set_ operations \
                               in TOML";
                    return Err(wrong(why.into()));
                }
                // Use the name that requests for the attribute have on the wire.
                name = format!("{}::_get_{}", def.scoped_name, attribute.name);
            }
            loaded.add(&name, place, said)?;
        }
    }
    Ok(())
}

fn rt(annotations: &[Annotation]) -> Option<&Annotation> {
    annotations.iter().find(|one| one.name == "rt")
}

/// Rejects an annotation without effect.
fn nothing_said(
    annotations: &[Annotation],
    what: &str,
    sources: &SourceMap,
    span: Span,
) -> Result<(), Failed> {
    match rt(annotations) {
        None => Ok(()),
        Some(_) => {
            let place = place(sources, span);
            let why = "write it before an operation, or before a readonly attribute";
            Err(because(format!("{place}: @rt of {what}: {why}")))
        }
    }
}

fn place(sources: &SourceMap, span: Span) -> String {
    let found = sources.location(span);
    format!("{}:{}:{}", found.file, found.line, found.column)
}

fn characteristics(annotation: &Annotation) -> Result<Characteristics, String> {
    let mut params = Vec::new();
    for param in &annotation.params {
        let value = match param.name.as_str() {
            "threads" => number(param)?.to_string(),
            _ => text(param)?,
        };
        params.push((param.name.as_str(), value));
    }
    let params = params.iter().map(|(name, value)| (*name, value.as_str()));
    oxorb_sched::annotation::characteristics(params)
}

fn text(param: &AnnotationParam) -> Result<String, String> {
    match &param.value {
        AnnotationValue::Name(name) => Ok(name.clone()),
        AnnotationValue::Constant(Value::String(text)) => Ok(text.to_string()),
        AnnotationValue::Constant(_) => {
            Err(format!("{} must be a text with a unit, as in {0} = \"2 ms\"", param.name))
        }
    }
}

fn number(param: &AnnotationParam) -> Result<u32, String> {
    match &param.value {
        AnnotationValue::Constant(Value::Integer(number)) => u32::try_from(*number).ok(),
        _ => None,
    }
    .ok_or_else(|| format!("{} must be a number, 0 or greater", param.name))
}
