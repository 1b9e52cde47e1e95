//! Rules for the state, inheritance and supported interfaces of valuetypes (CORBA 3.3 part 1, 7.9.5).

use crate::diagnostic::{Code, Problem};
use crate::source::Span;

#[derive(Debug)]
pub(crate) enum ValueProblem {
    BoxOfValue {
        name: String,
    },
    TruncatableCustom {
        name: String,
    },
    /// Truncatable valuetype without a concrete base.
    TruncatableAbstract,
    FromCustom {
        name: String,
        at: Span,
    },
    /// Base with state that is not the first one.
    ConcreteNotFirst {
        name: String,
        at: Span,
    },
    AbstractState,
    AbstractFromConcrete {
        name: String,
        at: Span,
    },
    SupportsTwo {
        name: String,
        first: String,
    },
    SupportsUnrelated {
        name: String,
        inherited: String,
        at: Span,
    },
    FactoryOut,
    AbstractFactory,
}

impl Problem for ValueProblem {
    fn code(&self) -> Code {
        Code(match self {
            ValueProblem::BoxOfValue { .. } => "E0630",
            ValueProblem::TruncatableCustom { .. } => "E0631",
            ValueProblem::TruncatableAbstract => "E0632",
            ValueProblem::FromCustom { .. } => "E0633",
            ValueProblem::ConcreteNotFirst { .. } => "E0634",
            ValueProblem::AbstractState => "E0635",
            ValueProblem::AbstractFromConcrete { .. } => "E0636",
            ValueProblem::SupportsTwo { .. } => "E0637",
            ValueProblem::SupportsUnrelated { .. } => "E0638",
            ValueProblem::FactoryOut => "E0639",
            ValueProblem::AbstractFactory => "E0629",
        })
    }

    fn message(&self) -> String {
        match self {
            ValueProblem::BoxOfValue { name } => {
                format!("a box cannot contain {name}, which is already a valuetype")
            }
            ValueProblem::TruncatableCustom { name } => {
                format!("the custom valuetype `{name}` cannot be truncated")
            }
            ValueProblem::TruncatableAbstract => {
                "there is no base with state to which this could be truncated".into()
            }
            ValueProblem::FromCustom { name, .. } => {
                format!("only custom valuetypes can inherit from the custom valuetype `{name}`")
            }
            ValueProblem::ConcreteNotFirst { name, .. } => {
                format!("`{name}` has state, so it can only be the first base")
            }
            ValueProblem::AbstractState => "an abstract valuetype cannot have state".into(),
            ValueProblem::AbstractFromConcrete { name, .. } => {
                format!("an abstract valuetype cannot inherit from `{name}`, which has state")
            }
            ValueProblem::SupportsTwo { name, first } => {
                format!(
                    "`{name}` and `{first}` are both not abstract; a valuetype can support only one such interface"
                )
            }
            ValueProblem::SupportsUnrelated { name, inherited, .. } => format!(
                "`{name}` does not inherit from `{inherited}`, which a base already supports"
            ),
            ValueProblem::FactoryOut => "a factory can have only `in` parameters".into(),
            ValueProblem::AbstractFactory => "an abstract valuetype cannot have factories".into(),
        }
    }

    fn label(&self) -> String {
        match self {
            ValueProblem::TruncatableCustom { .. } => {
                "only the code of the application knows where its base ends".into()
            }
            ValueProblem::FactoryOut => "must be `in`".into(),
            _ => String::new(),
        }
    }

    fn related(&self) -> Vec<(Span, String)> {
        match self {
            ValueProblem::FromCustom { at, .. }
            | ValueProblem::ConcreteNotFirst { at, .. }
            | ValueProblem::AbstractFromConcrete { at, .. }
            | ValueProblem::SupportsUnrelated { at, .. } => vec![(*at, "declared here".into())],
            _ => Vec::new(),
        }
    }

    fn help(&self) -> Option<String> {
        match self {
            ValueProblem::BoxOfValue { .. } => Some("use the valuetype itself".into()),
            ValueProblem::TruncatableCustom { .. } | ValueProblem::TruncatableAbstract => {
                Some("remove `truncatable`".into())
            }
            ValueProblem::AbstractState | ValueProblem::AbstractFactory => {
                Some("remove it or `abstract`".into())
            }
            _ => None,
        }
    }
}
