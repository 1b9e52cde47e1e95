//! Restrictions on oneway operations.

use crate::ast::Operation;
use crate::diagnostic::{Code, Diagnostics, Problem};
use crate::model::Direction;
use crate::source::Span;

/// Checks that a oneway operation, which has no reply, returns nothing; `oneway` is the span of the word or annotation.
pub(crate) fn oneway(operation: &Operation, oneway: Span, out: &mut Diagnostics) {
    if let Some(ty) = &operation.returns {
        out.push(ty.span, Oneway::Returns(oneway));
    }
    for param in &operation.params {
        if param.direction != Direction::In {
            out.push(param.direction_span, Oneway::Out(oneway));
        }
    }
    if let (Some(first), Some(last)) = (operation.raises.first(), operation.raises.last()) {
        out.push(first.span().to(last.span()), Oneway::Raises(oneway));
    }
}

#[derive(Debug)]
enum Oneway {
    Returns(Span),
    Out(Span),
    Raises(Span),
}

impl Problem for Oneway {
    fn code(&self) -> Code {
        Code(match self {
            Oneway::Returns(_) => "E0610",
            Oneway::Out(_) => "E0615",
            Oneway::Raises(_) => "E0616",
        })
    }

    fn message(&self) -> String {
        match self {
            Oneway::Returns(_) => "a oneway operation cannot return a value".into(),
            Oneway::Out(_) => "a oneway operation can have only `in` parameters".into(),
            Oneway::Raises(_) => "a oneway operation cannot raise exceptions".into(),
        }
    }

    fn label(&self) -> String {
        "there is no reply that could contain it".into()
    }

    fn related(&self) -> Vec<(Span, String)> {
        let (Oneway::Returns(at) | Oneway::Out(at) | Oneway::Raises(at)) = self;
        vec![(*at, "oneway".into())]
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            Oneway::Returns(_) => "write `void`, or remove `oneway`".into(),
            Oneway::Out(_) => "write `in`, or remove `oneway`".into(),
            Oneway::Raises(_) => "remove `raises` or `oneway`".into(),
        })
    }
}
