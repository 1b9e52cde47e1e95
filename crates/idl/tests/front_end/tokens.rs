//! Golden tests of preprocessor and lexer: `tests/idl-ui/tokens/*.idl`.

use crate::golden::{Rooted, golden};
use oxorb_idl::diagnostic::{Diagnostics, render_text};
use oxorb_idl::lex::{Token, TokenKind};
use oxorb_idl::preprocess;
use oxorb_idl::source::SourceMap;
use std::fmt::Write;

#[test]
fn tokens_and_diagnostics_are_as_recorded() {
    golden("tokens", |case, options| {
        let mut map = SourceMap::new(Rooted);
        let main = map.load_main(case).map_err(|error| error.to_string())?;
        let mut out = Diagnostics::with_limit(options.limits.diagnostics);
        let tokens = preprocess(&mut map, main, options, &mut out);
        Ok(print(&tokens, &map) + &render_text(&out, &map, false))
    });
}

/// Returns one line for each source line: its place and its tokens.
fn print(tokens: &[Token], map: &SourceMap) -> String {
    let mut text = String::new();
    let mut line = None;
    for token in tokens {
        let place = map.location(token.span);
        let here = Some((place.file.clone(), place.line));
        let own_line = matches!(
            token.kind,
            TokenKind::FileStart(_) | TokenKind::FileEnd | TokenKind::Eof | TokenKind::Pragma(_)
        );
        if line != here || own_line || token.doc.is_some() {
            write!(text, "\n{}:{}:", place.file, place.line).unwrap();
            line = here;
        }
        if let Some(doc) = &token.doc {
            write!(text, " /** {} */", doc.replace('\n', " | ")).unwrap();
        }
        write!(text, " {}", spell(token)).unwrap();
        if own_line {
            line = None;
        }
    }
    text.trim_start().to_owned() + "\n\n"
}

fn spell(token: &Token) -> String {
    match &token.kind {
        TokenKind::Ident { name, escaped } => format!("{}{name}", if *escaped { "_" } else { "" }),
        TokenKind::Keyword(keyword) => format!("`{}`", keyword.as_str()),
        TokenKind::Integer(value) => value.to_string(),
        TokenKind::Float(value) => value.to_string(),
        TokenKind::Fixed(digits) => format!("{digits}d"),
        TokenKind::Char(c) => format!("{c:?}"),
        TokenKind::WChar(c) => format!("L{c:?}"),
        TokenKind::Str(text) => format!("{text:?}"),
        TokenKind::WStr(text) => format!("L{text:?}"),
        TokenKind::Punct(punct) => punct.as_str().to_owned(),
        TokenKind::Pragma(pragma) => {
            // Spans are omitted, because the diagnostics that use them test them.
            use oxorb_idl::lex::Pragma::{Id, Prefix, Version};
            let scoped = |name: &oxorb_idl::lex::PragmaName| {
                let start = if name.absolute { "::" } else { "" };
                format!("{start}{}", name.parts.join("::"))
            };
            match pragma {
                Prefix(prefix) => format!("<prefix {prefix:?}>"),
                Id { name, id } => format!("<ID {} {id:?}>", scoped(name)),
                Version { name, major, minor } => {
                    format!("<version {} {major}.{minor}>", scoped(name))
                }
            }
        }
        TokenKind::FileStart(_) => "<file start>".into(),
        TokenKind::FileEnd => "<file end>".into(),
        TokenKind::Eof => "<end>".into(),
    }
}
