//! A name of the wrong kind of definition.

use crate::diagnostic::{Code, Problem};
use crate::model::DefKind;
use crate::source::Span;

#[derive(Debug)]
pub(crate) struct WrongKind {
    pub(crate) name: String,
    pub(crate) wanted: Wanted,
    /// Kind of the definition: "an enumerator" ...
    pub(crate) found: &'static str,
    pub(crate) at: Span,
}

impl Problem for WrongKind {
    fn code(&self) -> Code {
        Code(self.wanted.code())
    }

    fn message(&self) -> String {
        format!("`{}` is {}, not {}", self.name, self.found, self.wanted.text())
    }

    fn label(&self) -> String {
        format!("expected {}", self.wanted.text())
    }

    fn related(&self) -> Vec<(Span, String)> {
        vec![(self.at, "declared here".into())]
    }
}

/// Required kind of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    Base,
    Component,
    Connector,
    EventType,
    Exception,
    Home,
    PortType,
    Scope,
    StructBase,
    BitSet,
    Template,
    Type,
    ValueType,
}

impl Wanted {
    pub(crate) fn accepts(self, kind: &DefKind) -> bool {
        match self {
            Wanted::Base => matches!(kind, DefKind::Interface(_) | DefKind::ForwardInterface(_)),
            Wanted::Component => matches!(kind, DefKind::Component(_)),
            Wanted::Connector => matches!(kind, DefKind::Connector(_)),
            Wanted::EventType => matches!(kind, DefKind::ValueType(body) if body.event),
            Wanted::Exception => matches!(kind, DefKind::Exception(_)),
            Wanted::Home => matches!(kind, DefKind::Home(_)),
            Wanted::PortType => matches!(kind, DefKind::PortType(_)),
            Wanted::Scope => true,
            Wanted::StructBase => matches!(kind, DefKind::Struct(_)),
            Wanted::BitSet => matches!(kind, DefKind::BitSet(_)),
            Wanted::Template => matches!(kind, DefKind::TemplateModule(_)),
            Wanted::Type => !matches!(
                kind,
                DefKind::Module(_)
                    | DefKind::Const(_)
                    | DefKind::Exception(_)
                    | DefKind::Connector(_)
                    | DefKind::PortType(_)
                    | DefKind::TemplateModule(_)
            ),
            Wanted::ValueType => matches!(kind, DefKind::ValueType(_)),
        }
    }

    /// Reports whether the name may be an alias of the required kind (CORBA 3.3 part 1, 7.8.2 and 7.9.5).
    pub(crate) fn aliases(self) -> bool {
        matches!(self, Wanted::Base | Wanted::ValueType | Wanted::EventType)
    }

    pub(crate) fn text(self) -> &'static str {
        match self {
            Wanted::Base => "an interface",
            Wanted::Component => "a component",
            Wanted::Connector => "a connector",
            Wanted::EventType => "an event type",
            Wanted::Exception => "an exception",
            Wanted::Home => "a home",
            Wanted::PortType => "a port type",
            Wanted::Scope => "a scope with names in it",
            Wanted::StructBase => "a struct",
            Wanted::BitSet => "a bitset",
            Wanted::Template => "a template module",
            Wanted::Type => "a type",
            Wanted::ValueType => "a valuetype",
        }
    }

    fn code(self) -> &'static str {
        match self {
            Wanted::Type => "E0407",
            Wanted::Base => "E0421",
            Wanted::Exception => "E0422",
            Wanted::Scope => "E0423",
            Wanted::StructBase => "E0424",
            Wanted::BitSet => "E0425",
            Wanted::ValueType => "E0426",
            Wanted::EventType => "E0427",
            Wanted::Component => "E0428",
            Wanted::Home => "E0429",
            Wanted::Connector => "E0430",
            Wanted::PortType => "E0431",
            Wanted::Template => "E0432",
        }
    }
}
