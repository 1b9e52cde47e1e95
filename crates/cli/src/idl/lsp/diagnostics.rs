//! Diagnostics of a document.

use oxorb_idl::diagnostic::{Diagnostic, Severity};
use oxorb_idl::source::Span;
use serde_json::{Value, json};

use super::documents::{Document, Documents};
use super::unit::{Ranges, Unit};

/// Returns the parameters of the notification with all diagnostics of a document. A diagnostic of an included file is
/// at the `#include`; the file has its own diagnostics once it is open.
pub(super) fn of_document(
    document: &Document,
    unit: &Unit,
    documents: &Documents,
    mut ranges: Ranges<'_>,
    with_related: bool,
) -> Value {
    let mut found = Vec::new();
    for diagnostic in &unit.report.diagnostics {
        let place = unit.place_in_document(diagnostic.span);
        let mut item = json!({
            "range": ranges.range(place),
            "severity": severity(diagnostic.problem.severity()),
            "code": diagnostic.problem.code().0,
            "source": "oxorb",
            "message": message(unit, diagnostic, place != diagnostic.span),
        });
        if with_related {
            let mut related = diagnostic.problem.related();
            if place != diagnostic.span {
                related.insert(0, (diagnostic.span, diagnostic.problem.message()));
            }
            let related = related.into_iter().filter_map(|(span, message)| {
                let location = location(unit, documents, &mut ranges, span)?;
                Some(json!({ "location": location, "message": message }))
            });
            item["relatedInformation"] = related.collect();
        }
        found.push(item);
    }
    let suppressed = unit.report.diagnostics.suppressed();
    if suppressed > 0 {
        let start = Span { file: unit.main, ..Span::default() };
        found.push(json!({
            "range": ranges.range(start),
            "severity": INFORMATION,
            "source": "oxorb",
            "message": format!("{suppressed} more problems are not shown"),
        }));
    }
    let mut params = json!({ "uri": document.uri, "diagnostics": found });
    if let Some(version) = document.version {
        params["version"] = version.into();
    }
    params
}

/// Returns the location of a span; `None` in files built into OxORB.
pub(super) fn location(
    unit: &Unit,
    documents: &Documents,
    ranges: &mut Ranges<'_>,
    span: Span,
) -> Option<Value> {
    let uri = documents.uri_of(unit.identity(span.file)?);
    Some(json!({ "uri": uri, "range": ranges.range(span) }))
}

/// Severity of remarks in the protocol.
const INFORMATION: u8 = 3;

fn severity(severity: Severity) -> u8 {
    match severity {
        Severity::Error => 1,
        Severity::Warning => 2,
    }
}

fn message(unit: &Unit, diagnostic: &Diagnostic, elsewhere: bool) -> String {
    let problem = &diagnostic.problem;
    let mut text = problem.message();
    if elsewhere {
        text = format!("{}: {text}", unit.sources().location(diagnostic.span));
    }
    let label = problem.label();
    if !label.is_empty() {
        text += &format!("\n{label}");
    }
    if let Some(help) = problem.help() {
        text += &format!("\nhelp: {help}");
    }
    text
}
