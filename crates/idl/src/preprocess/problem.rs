//! Problems of directives and macros (E01..).

use crate::diagnostic::{Code, Problem, Severity};
use crate::source::Span;
use std::path::PathBuf;

/// Problem of the preprocessor.
#[derive(Debug)]
pub(crate) enum PreProblem {
    UnknownDirective { name: String },
    ErrorDirective { text: String },
    WarningDirective { text: String },
    IncludeMalformed,
    IncludeNotFound { name: String, searched: Vec<PathBuf>, beside: bool },
    IncludeUnreadable { path: PathBuf, reason: String },
    IncludeTooDeep { limit: usize },
    TooManyIncludes { limit: usize },
    TooMuchSource { limit: usize },
    MacroName { directive: &'static str },
    MacroParameters { why: &'static str },
    MacroRedefined { name: String, first: Span },
    MacroPredefined { name: String },
    ArgumentCount { name: String, wanted: usize, variadic: bool, found: usize, defined: Span },
    ArgumentsUnterminated { name: String, directive: bool },
    ExpansionTooLarge { limit: usize },
    ExpansionTooDeep { limit: usize },
    PasteInvalid { left: String, right: String },
    PasteAtEdge,
    StringizeWithoutParameter,
    UnterminatedCondition { directive: &'static str },
    StrayConditional { directive: &'static str },
    AfterElse { directive: &'static str, other: Span },
    BadCondition(ConditionProblem),
    LineMalformed,
    PragmaMalformed { name: &'static str, form: &'static str },
    PrefixUnquoted { prefix: String, lenient: bool },
    VersionMalformed { found: String },
    TrailingTokens { directive: &'static str },
    BlanksInJoint,
}

/// Reason why the expression of an `#if` has no value.
#[derive(Debug, Clone)]
pub(crate) enum ConditionProblem {
    Missing,
    Unexpected(String),
    NotAnInteger(String),
    NoClosing,
    DivisionByZero,
    DefinedWithoutName,
    TooDeep,
}

impl Problem for PreProblem {
    fn code(&self) -> Code {
        use PreProblem::*;
        Code(match self {
            UnknownDirective { .. } => "E0101",
            ErrorDirective { .. } => "E0102",
            WarningDirective { .. } => "W0102",
            IncludeNotFound { .. } => "E0103",
            IncludeUnreadable { .. } => "E0104",
            IncludeMalformed => "E0105",
            IncludeTooDeep { .. } => "E0106",
            TooManyIncludes { .. } | TooMuchSource { .. } => "E0107",
            MacroName { .. } | MacroParameters { .. } => "E0108",
            MacroRedefined { .. } => "W0109",
            MacroPredefined { .. } => "E0110",
            ArgumentCount { .. } => "E0111",
            ArgumentsUnterminated { .. } => "E0112",
            ExpansionTooLarge { .. } | ExpansionTooDeep { .. } => "E0113",
            PasteInvalid { .. } | PasteAtEdge => "E0114",
            StringizeWithoutParameter => "E0115",
            UnterminatedCondition { .. } => "E0116",
            StrayConditional { .. } | AfterElse { .. } => "E0117",
            BadCondition(_) => "E0118",
            LineMalformed => "E0119",
            PragmaMalformed { .. } => "E0120",
            PrefixUnquoted { lenient: false, .. } => "E0121",
            PrefixUnquoted { lenient: true, .. } => "W0121",
            VersionMalformed { .. } => "E0122",
            TrailingTokens { .. } => "W0123",
            BlanksInJoint => "W0124",
        })
    }

    fn severity(&self) -> Severity {
        if self.code().0.starts_with('W') { Severity::Warning } else { Severity::Error }
    }

    fn message(&self) -> String {
        use PreProblem::*;
        match self {
            UnknownDirective { name } => format!("`#{name}` is not a preprocessor directive"),
            ErrorDirective { text } | WarningDirective { text } if text.is_empty() => {
                "the source says so".into()
            }
            ErrorDirective { text } | WarningDirective { text } => text.clone(),
            IncludeMalformed => "`#include` needs a file name".into(),
            IncludeNotFound { name, .. } => format!("the file `{name}` is not found"),
            IncludeUnreadable { path, reason } => {
                format!("cannot read `{}`: {reason}", path.display())
            }
            IncludeTooDeep { limit } => format!("files include each other {limit} levels deep"),
            TooManyIncludes { limit } => format!("more than {limit} files are included"),
            TooMuchSource { limit } => format!("more than {limit} octets of source are read"),
            MacroName { directive } => format!("`#{directive}` needs the name of a macro"),
            MacroParameters { why } => format!("the parameters of this macro are malformed: {why}"),
            MacroRedefined { name, .. } => {
                format!("the macro `{name}` is redefined with another meaning")
            }
            MacroPredefined { name } => format!("the macro `{name}` is predefined"),
            ArgumentCount { name, wanted, variadic, found, .. } => format!(
                "the macro `{name}` takes {}{wanted} argument{}, but has {found} here",
                if *variadic { "at least " } else { "" },
                if *wanted == 1 { "" } else { "s" },
            ),
            ArgumentsUnterminated { name, directive: false } => {
                format!("the arguments of the macro `{name}` never end")
            }
            ArgumentsUnterminated { name, directive: true } => {
                format!("there is a directive among the arguments of the macro `{name}`")
            }
            ExpansionTooLarge { limit } => format!("macros expand to more than {limit} octets"),
            ExpansionTooDeep { limit } => {
                format!("macro arguments are nested more than {limit} levels deep")
            }
            PasteInvalid { left, right } => {
                format!("`##` joins `{left}` and `{right}` into something that is not a token")
            }
            PasteAtEdge => "`##` must be between two tokens of a macro".into(),
            StringizeWithoutParameter => "`#` in a macro must be followed by a parameter".into(),
            UnterminatedCondition { directive } => format!("this `#{directive}` has no `#endif`"),
            StrayConditional { directive } => format!("this `#{directive}` has no `#if`"),
            AfterElse { directive, .. } => format!("`#{directive}` after `#else`"),
            BadCondition(problem) => problem.message(),
            LineMalformed => "`#line` needs a line number, and can have a file name".into(),
            PragmaMalformed { name, .. } => format!("this `#pragma {name}` is malformed"),
            PrefixUnquoted { prefix, .. } => format!("the prefix `{prefix}` is not in quotes"),
            VersionMalformed { found } => format!("`{found}` is not a version"),
            TrailingTokens { directive } => format!("the text after `#{directive}` is ignored"),
            BlanksInJoint => {
                "this `\\` joins two lines, although blanks follow it on its line".into()
            }
        }
    }

    fn label(&self) -> String {
        use PreProblem::*;
        match self {
            UnterminatedCondition { .. } => "opened here".into(),
            ArgumentsUnterminated { directive: false, .. } => "opened here".into(),
            _ => String::new(),
        }
    }

    fn related(&self) -> Vec<(Span, String)> {
        use PreProblem::*;
        match self {
            MacroRedefined { first, .. } => vec![(*first, "first defined here".into())],
            ArgumentCount { defined, .. } => vec![(*defined, "defined here".into())],
            AfterElse { other, .. } => vec![(*other, "the `#else`".into())],
            _ => Vec::new(),
        }
    }

    fn help(&self) -> Option<String> {
        use PreProblem::*;
        Some(match self {
            UnknownDirective { .. } => {
                "IDL has #include, #define, #undef, #if and its family, #error, #line and #pragma"
                    .into()
            }
            IncludeMalformed => "write `#include \"file.idl\"` or `#include <file.idl>`".into(),
            IncludeNotFound { name, beside: true, .. } => {
                format!("the file is in the folder of this file: write `#include \"{name}\"`")
            }
            IncludeNotFound { searched, .. } => not_found_help(searched),
            IncludeTooDeep { .. } | TooManyIncludes { .. } => {
                "guard each file with `#ifndef NAME`, `#define NAME`, `#endif`".into()
            }
            MacroRedefined { name, .. } => {
                format!("put `#undef {name}` before it if this is intended")
            }
            ArgumentsUnterminated { directive: false, .. } => "close them with `)`".into(),
            UnterminatedCondition { .. } => "add `#endif` where the condition ends".into(),
            BadCondition(problem) => return problem.help(),
            LineMalformed => "write `#line 12` or `#line 12 \"file.idl\"`".into(),
            PragmaMalformed { form, .. } => format!("write `#pragma {form}`"),
            PrefixUnquoted { prefix, .. } => format!("write `#pragma prefix \"{prefix}\"`"),
            VersionMalformed { .. } => "write major and minor number: `1.0`".into(),
            BlanksInJoint => {
                "remove the blanks, or the `\\` if the lines do not belong together".into()
            }
            _ => return None,
        })
    }
}

impl ConditionProblem {
    fn message(&self) -> String {
        use ConditionProblem::*;
        match self {
            Missing => "the condition is not complete".into(),
            Unexpected(token) => format!("`{token}` is not allowed here in a condition"),
            NotAnInteger(text) => {
                format!("`{text}` is not an integer; conditions support only integers")
            }
            NoClosing => "a `)` is missing in this condition".into(),
            DivisionByZero => "this condition divides by zero".into(),
            DefinedWithoutName => "`defined` needs the name of a macro".into(),
            TooDeep => "this condition is nested too deep".into(),
        }
    }

    fn help(&self) -> Option<String> {
        match self {
            ConditionProblem::DefinedWithoutName => {
                Some("write `defined NAME` or `defined(NAME)`".into())
            }
            _ => None,
        }
    }
}

fn not_found_help(searched: &[PathBuf]) -> String {
    const WAY_OUT: &str = "add its folder with `-I`";
    if searched.is_empty() {
        return WAY_OUT.into();
    }
    let folders: Vec<_> = searched
        .iter()
        .map(|folder| match folder.as_os_str().is_empty() {
            true => "`.`".into(),
            false => format!("`{}`", folder.display()),
        })
        .collect();
    format!("searched in {}; {WAY_OUT}", folders.join(", "))
}
