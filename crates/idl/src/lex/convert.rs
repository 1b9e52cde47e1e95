//! Conversion of preprocessing tokens to tokens of IDL.

use super::literal::{self, Joining};
use super::problem::LexProblem;
use super::raw::{Raw, RawKind};
use super::{Keyword, MAX_NAME, Punct, Token, TokenKind};
use crate::diagnostic::Diagnostics;
use crate::source::Span;
use std::collections::HashSet;

/// Collector of the tokens of one translation unit; joins adjacent strings.
#[derive(Debug, Default)]
pub(crate) struct Converter {
    tokens: Vec<Token>,
    joining: Option<Joining>,
    lenient_case: bool,
    /// Names that were escaped because they differ from a keyword only in case. Names declared so may be used without
    /// the escape.
    escaped: HashSet<Box<str>>,
}

impl Converter {
    pub(crate) fn new(lenient_case: bool) -> Self {
        Converter { lenient_case, ..Converter::default() }
    }

    /// Adds a token of the source; reports and repairs a malformed one.
    pub(crate) fn push(&mut self, raw: Raw, out: &mut Diagnostics) {
        if raw.kind == RawKind::Str {
            match &mut self.joining {
                Some(joining) => joining.join(&raw, out),
                None => self.joining = Some(Joining::new(raw, out)),
            }
            return;
        }
        if let Some(kind) = self.convert(&raw, out) {
            self.add(Token { kind, span: raw.span, doc: raw.doc });
        }
    }

    /// Adds a token that is not in the source text: pragma, file start or end.
    pub(crate) fn mark(&mut self, kind: TokenKind, span: Span) {
        self.add(Token { kind, span, doc: None });
    }

    /// Forgets all tokens so far.
    pub(crate) fn clear(&mut self) {
        self.joining = None;
        self.tokens.clear();
    }

    pub(crate) fn finish(mut self, end: Span) -> Vec<Token> {
        self.mark(TokenKind::Eof, end);
        self.tokens
    }

    fn add(&mut self, token: Token) {
        self.tokens.extend(self.joining.take().map(Joining::finish));
        self.tokens.push(token);
    }

    fn convert(&mut self, raw: &Raw, out: &mut Diagnostics) -> Option<TokenKind> {
        match raw.kind {
            RawKind::Word => Some(self.word(raw, out)),
            RawKind::Number => Some(literal::number(raw, out)),
            RawKind::Char => Some(literal::character(raw, out)),
            RawKind::Unterminated => {
                let opening = 1 + usize::from(raw.text.starts_with('L'));
                let quote = if raw.text[..opening].ends_with('"') { '"' } else { '\'' };
                out.push(raw.part(0, opening), LexProblem::UnterminatedQuote { quote });
                Some(match quote {
                    '"' => TokenKind::Str("".into()),
                    _ => TokenKind::Char(' '),
                })
            }
            RawKind::Punct => match Punct::from_text(&raw.text) {
                Some(punct) => Some(TokenKind::Punct(punct)),
                None => {
                    out.push(raw.span, LexProblem::StrayMark(raw.text.as_ref().into()));
                    None
                }
            },
            // `push` handles strings itself, so this is a character that IDL does not use.
            RawKind::Other | RawKind::Str => {
                let c = raw.text.chars().next().unwrap_or(' ');
                out.push(raw.span, LexProblem::StrayCharacter(c));
                None
            }
        }
    }

    fn word(&mut self, raw: &Raw, out: &mut Diagnostics) -> TokenKind {
        let text = &*raw.text;
        let name = text.trim_start_matches('_');
        let foreign = text.char_indices().find(|(_, c)| !c.is_ascii());
        if let Some((at, letter)) = foreign {
            let name = text.into();
            let problem = LexProblem::ForeignLetter { name, letter };
            out.push(raw.part(at, at + letter.len_utf8()), problem);
        } else if text == "_" {
            out.push(raw.span, LexProblem::LoneUnderscore);
        } else if text.len() - name.len() > 1 {
            out.push(raw.span, LexProblem::TwoUnderscores { name: text.into() });
        } else if name.starts_with(|c: char| c.is_ascii_digit()) {
            out.push(raw.span, LexProblem::NoLetter { name: text.into() });
        } else if name.len() > MAX_NAME {
            out.push(raw.span, LexProblem::LongName { octets: name.len() });
        }
        let escaped = name.len() < text.len();
        let name = &name[..name.floor_char_boundary(MAX_NAME)];
        if !escaped && let Some(keyword) = Keyword::from_text(name) {
            return TokenKind::Keyword(keyword);
        }
        if let Some(keyword) = Keyword::clashing(name)
            && !self.escaped.contains(name)
        {
            if escaped {
                self.escaped.insert(name.into());
                return ident(name, escaped);
            }
            let problem = LexProblem::KeywordCase {
                name: name.into(),
                keyword: keyword.as_str(),
                lenient: self.lenient_case,
            };
            out.push(raw.span, problem);
        }
        ident(if name.is_empty() { "_" } else { name }, escaped)
    }
}

fn ident(name: &str, escaped: bool) -> TokenKind {
    TokenKind::Ident { name: name.into(), escaped }
}
