//! Table of the `@rt(...)` annotations on operations.

use std::fmt::Write as _;

use oxorb_idl::model::{Annotation, AnnotationValue, DefKind, Export, Model, Value};

/// Returns the module with the table, for the interfaces that the main files define; the table may be empty.
pub(crate) fn table(model: &Model) -> String {
    let mut rows = String::new();
    for def in model.defs().filter(|def| def.in_main_file) {
        let DefKind::Interface(interface) = &def.kind else {
            continue;
        };
        for export in &interface.exports {
            let (name, annotations) = match export {
                Export::Operation(operation) => (operation.name.clone(), &operation.annotations),
                // The request on the wire has this name.
                Export::Attribute(attribute) if attribute.readonly => {
                    (format!("_get_{}", attribute.name), &attribute.annotations)
                }
                Export::Attribute(_) => continue,
            };
            if let Some(rt) = annotations.iter().find(|one| one.name == "rt") {
                let operation = format!("{}::{name}", def.scoped_name);
                let _ = writeln!(rows, "        ({operation:?}, &[{}]),", params(rt));
            }
        }
    }
    format!(
        "\n/// Parameters of the `@rt(...)` annotations of operations, for `oxorb_sched::annotation::declare`.\n\
         pub mod rt_infos {{\n    /// Operations, each with the parameters of its annotation.\n    \
         #[rustfmt::skip]\n    pub const RT_INFOS: &[(&str, &[(&str, &str)])] = &[\n{rows}    ];\n}}\n"
    )
}

fn params(annotation: &Annotation) -> String {
    let param = annotation.params.iter().map(|param| {
        let value = match &param.value {
            AnnotationValue::Name(name) => name.clone(),
            AnnotationValue::Constant(Value::String(text)) => text.to_string(),
            AnnotationValue::Constant(Value::Integer(number)) => number.to_string(),
            // No `@rt` parameter has another type. The reader of the table rejects the empty text, and reports the
            // parameter by name.
            AnnotationValue::Constant(_) => String::new(),
        };
        format!("({:?}, {value:?})", param.name)
    });
    param.collect::<Vec<_>>().join(", ")
}
