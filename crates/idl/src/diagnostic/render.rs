//! Diagnostics as text for people and as JSON for tools.

use super::{Diagnostic, Diagnostics, Severity};
use crate::source::{SourceMap, Span};
use annotate_snippets::{AnnotationKind, Element, Group, Level, Origin, Renderer, Snippet};
use std::ops::Range;

/// Renders the diagnostics with their source lines, for a terminal.
///
/// `colour`: with ANSI styles; to be set if the output is a terminal.
pub fn render_text(diagnostics: &Diagnostics, map: &SourceMap, colour: bool) -> String {
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    let mut text = String::new();
    for diagnostic in diagnostics {
        text += &renderer.render(&[group(diagnostic, map)]);
        text += "\n\n";
    }
    if diagnostics.suppressed() > 0 {
        text += &format!("{} more not shown\n", diagnostics.suppressed());
    }
    text
}

/// Renders the diagnostics as one JSON array of objects: `{"code", "severity", "message", "label", "help", "file",
/// "line", "column", "end_line", "end_column", "related": [{"message", "file", "line", ..}]}`.
pub fn render_json(diagnostics: &Diagnostics, map: &SourceMap) -> String {
    let objects: Vec<_> = diagnostics
        .iter()
        .map(|diagnostic| {
            let problem = &diagnostic.problem;
            let related: Vec<_> = problem
                .related()
                .into_iter()
                .map(|(span, message)| {
                    with_place(map, span, serde_json::json!({ "message": message }))
                })
                .collect();
            with_place(
                map,
                diagnostic.span,
                serde_json::json!({
                    "code": problem.code().0,
                    "severity": severity(problem.severity()),
                    "message": problem.message(),
                    "label": problem.label(),
                    "help": problem.help(),
                    "related": related,
                }),
            )
        })
        .collect();
    serde_json::Value::Array(objects).to_string()
}

fn with_place(map: &SourceMap, span: Span, mut object: serde_json::Value) -> serde_json::Value {
    let start = map.location(span);
    let end = map.location(span.after());
    object["file"] = (&*start.file).into();
    object["line"] = start.line.into();
    object["column"] = start.column.into();
    object["end_line"] = end.line.into();
    object["end_column"] = end.column.into();
    object
}

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}

fn group<'m>(diagnostic: &Diagnostic, map: &'m SourceMap) -> Group<'m> {
    let problem = &diagnostic.problem;
    let level = match problem.severity() {
        Severity::Warning => Level::WARNING,
        Severity::Error => Level::ERROR,
    };
    let mut elements: Vec<Element<'m>> = Vec::new();
    let mut labels = vec![(diagnostic.span, problem.label(), AnnotationKind::Primary)];
    labels.extend(
        problem.related().into_iter().map(|(span, label)| (span, label, AnnotationKind::Context)),
    );
    if let Some(defined) = map.expanded_from(diagnostic.span)
        && labels.iter().all(|(span, ..)| *span != defined)
    {
        let label = "comes out of this macro".to_owned();
        labels.push((defined, label, AnnotationKind::Context));
    }
    // A `#line` changes the file name and the line numbers, so the source between two of them gets its own snippet.
    while let Some(first) = labels.first() {
        let excerpt = map.excerpt(first.0);
        let here =
            |span: Span| span.file == labels[0].0.file && map.excerpt(span).start == excerpt.start;
        let (mine, rest): (Vec<_>, Vec<_>) =
            labels.iter().cloned().partition(|(span, ..)| here(*span));
        if excerpt.text.is_empty() {
            elements.push(Origin::path(excerpt.name).into());
            labels = rest;
            continue;
        }
        let ranges = mine.iter().map(|(span, ..)| range(*span, excerpt.start, excerpt.text));
        let shown = lines_of(excerpt.text, ranges);
        let annotations = mine.into_iter().map(|(span, label, kind)| {
            let Range { start, end } = range(span, excerpt.start, excerpt.text);
            kind.span(start - shown.start..end - shown.start)
                .label((!label.is_empty()).then_some(label))
        });
        let lines_before = excerpt.text[..shown.start].matches('\n').count();
        elements.push(
            Snippet::source(&excerpt.text[shown.clone()])
                .path(excerpt.name)
                .line_start(excerpt.first_line as usize + lines_before)
                .annotations(annotations.collect::<Vec<_>>())
                .into(),
        );
        labels = rest;
    }
    for place in include_stack(map, diagnostic.span) {
        elements.push(Level::NOTE.message("included from here").into());
        let location = map.location(place);
        elements.push(
            Origin::path(location.file.to_string())
                .line(location.line as usize)
                .char_column(location.column as usize)
                .into(),
        );
    }
    if let Some(help) = problem.help() {
        elements.push(Level::HELP.message(help).into());
    }
    level.primary_title(problem.message()).id(problem.code().0).elements(elements)
}

/// Returns the `#include` lines that lead to a span, innermost first; deep stacks are truncated.
fn include_stack(map: &SourceMap, span: Span) -> Vec<Span> {
    std::iter::successors(map.included_at(span.file), |at| map.included_at(at.file))
        .take(4)
        .collect()
}

fn range(span: Span, start: u32, text: &str) -> Range<usize> {
    let offset = |at: u32| (at.saturating_sub(start) as usize).min(text.len());
    offset(span.start)..offset(span.end)
}

/// Maximum number of octets to show after a labelled range: more than the width of any terminal.
const BEHIND: usize = 4096;

/// Returns the part of a text that contains the lines of these ranges. The renderer scans its whole text for each
/// diagnostic.
fn lines_of(text: &str, ranges: impl Iterator<Item = Range<usize>>) -> Range<usize> {
    let all = ranges.reduce(|all, one| all.start.min(one.start)..all.end.max(one.end));
    let Range { start, end } = all.unwrap_or(0..text.len());
    // The end of the text may follow a line end. Starting one octet earlier shows such a problem after the last line.
    let before = text.floor_char_boundary(start.min(text.len().saturating_sub(1)));
    let first = text[..before].rfind('\n').map_or(0, |at| at + 1);
    let seen = text.floor_char_boundary(end + BEHIND);
    let end = text.floor_char_boundary(end);
    let last = text[end..seen].find('\n').map_or(seen, |at| end + at + 1);
    first..last
}
