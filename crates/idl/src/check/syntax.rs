//! Text that does not follow the grammar.

use super::similar::closest;
use crate::ast::Ident;
use crate::diagnostic::{Code, Problem};
use crate::lex::{Keyword, TokenKind};
use crate::source::Span;

#[derive(Debug)]
pub(crate) enum Syntax {
    Unexpected {
        wanted: String,
        found: String,
    },
    MissingSemicolon {
        found: String,
    },
    KeywordAsName {
        keyword: Keyword,
        wanted: String,
    },
    UnmatchedBrace,
    StraySemicolon,
    /// Word that begins a declaration which is not allowed in this place.
    Misplaced(Keyword, &'static str),
    ExpectedDefinition {
        found: String,
        meant: Option<&'static str>,
    },
    Unclosed {
        name: String,
        opened: Span,
    },
    MemberWithoutType,
    SecondUnionMember,
    EmptyEnum,
    EmptyBitMask,
    TrailingComma,
    RaisesOfSeveral,
    VoidAsType,
    DefinitionAsType(Keyword),
}

impl Syntax {
    pub(crate) fn expected_definition(found: &TokenKind) -> Syntax {
        let words = Keyword::ALL.iter().map(|keyword| keyword.as_str());
        let meant = match found {
            TokenKind::Ident { name, .. } => closest(name, words),
            _ => None,
        };
        Syntax::ExpectedDefinition { found: found.to_string(), meant }
    }

    pub(crate) fn unclosed(name: &Ident) -> Syntax {
        Syntax::Unclosed { name: name.name.to_string(), opened: name.span }
    }
}

impl Problem for Syntax {
    fn code(&self) -> Code {
        Code(match self {
            Syntax::Unexpected { .. } => "E0301",
            Syntax::MissingSemicolon { .. } => "E0302",
            Syntax::KeywordAsName { .. } => "E0303",
            Syntax::UnmatchedBrace => "E0304",
            Syntax::StraySemicolon => "E0305",
            Syntax::Misplaced(..) => "E0306",
            Syntax::ExpectedDefinition { .. } => "E0307",
            Syntax::Unclosed { .. } => "E0308",
            Syntax::MemberWithoutType => "E0309",
            Syntax::SecondUnionMember => "E0310",
            Syntax::EmptyEnum => "E0311",
            Syntax::TrailingComma => "E0312",
            Syntax::RaisesOfSeveral => "E0313",
            Syntax::VoidAsType => "E0314",
            Syntax::DefinitionAsType(_) => "E0315",
            Syntax::EmptyBitMask => "E0316",
        })
    }

    fn message(&self) -> String {
        match self {
            Syntax::Unexpected { wanted, found } => format!("expected {wanted}, found {found}"),
            Syntax::MissingSemicolon { found } => format!("expected `;`, found {found}"),
            Syntax::KeywordAsName { keyword, .. } => {
                format!("`{}` is a keyword and cannot be a name", keyword.as_str())
            }
            Syntax::UnmatchedBrace => "this `}` closes nothing".into(),
            Syntax::StraySemicolon => "this `;` ends nothing".into(),
            Syntax::Misplaced(keyword, place) => {
                format!("`{}` is not allowed inside {place}", keyword.as_str())
            }
            Syntax::ExpectedDefinition { found, .. } => {
                format!("expected a definition, found {found}")
            }
            Syntax::Unclosed { name, .. } => format!("the `{{` of `{name}` is never closed"),
            Syntax::MemberWithoutType => "this member has a type or a name, but not both".into(),
            Syntax::SecondUnionMember => "a union member can have only one name".into(),
            Syntax::EmptyEnum => "an enum needs at least one enumerator".into(),
            Syntax::EmptyBitMask => "a bitmask needs at least one flag".into(),
            Syntax::TrailingComma => "the last enumerator is followed by a comma".into(),
            Syntax::RaisesOfSeveral => {
                "attributes that raise exceptions must be declared one by one".into()
            }
            Syntax::VoidAsType => "`void` is not a type; only operations can return it".into(),
            Syntax::DefinitionAsType(keyword) => {
                format!("a {} cannot be defined here", keyword.as_str())
            }
        }
    }

    fn label(&self) -> String {
        match self {
            Syntax::MissingSemicolon { .. } => "`;` is missing".into(),
            Syntax::KeywordAsName { wanted, .. } => format!("expected {wanted}"),
            Syntax::ExpectedDefinition { .. } => "no definition begins like this".into(),
            Syntax::Unclosed { .. } => "`}` is missing".into(),
            Syntax::StraySemicolon | Syntax::TrailingComma => "remove it".into(),
            _ => String::new(),
        }
    }

    fn related(&self) -> Vec<(Span, String)> {
        match self {
            Syntax::Unclosed { opened, .. } => vec![(*opened, "opened here".into())],
            _ => Vec::new(),
        }
    }

    fn help(&self) -> Option<String> {
        match self {
            Syntax::KeywordAsName { keyword, .. } => {
                let word = keyword.as_str();
                Some(format!("write `_{word}`: the name is then `{word}`"))
            }
            Syntax::Misplaced(_, "a module") => None,
            Syntax::Misplaced(_, place) => {
                let what = place.split_once(' ').map_or(*place, |(_, what)| what);
                Some(format!("close the {what} first, or move this definition before it"))
            }
            Syntax::ExpectedDefinition { meant: Some(word), .. } => {
                Some(format!("did you mean `{word}`?"))
            }
            Syntax::ExpectedDefinition { .. } => Some(
                "files and modules can contain modules, interfaces, types, constants and exceptions; operations and \
                 attributes belong in interfaces"
                    .into(),
            ),
            Syntax::SecondUnionMember => Some("give the other member a separate `case`".into()),
            Syntax::DefinitionAsType(_) => Some("define it first, and use its name here".into()),
            _ => None,
        }
    }
}
