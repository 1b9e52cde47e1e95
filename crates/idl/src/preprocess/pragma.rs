//! `#pragma prefix`, `ID` and `version`; all others are ignored.

use super::Preprocessor;
use super::problem::PreProblem;
use crate::lex::{Pragma, PragmaName, Raw, RawKind, TokenKind, narrow_string};
use crate::source::Span;

impl Preprocessor<'_> {
    /// Executes a `#pragma`; its name comes next.
    pub(crate) fn pragma(&mut self) {
        let (file, out) = self.file();
        let line = file.line(out);
        let Some((name, rest)) = line.split_first() else {
            return;
        };
        let span = rest.last().map_or(name.span, |last| name.span.to(last.span));
        let pragma = match &*name.text {
            "prefix" => self.prefix(rest, span),
            "ID" | "id" => self.id(rest, span),
            "version" => self.version(rest, span),
            "once" => return self.read_only_once(),
            _ => return,
        };
        if let Some(pragma) = pragma {
            self.sink.mark(TokenKind::Pragma(pragma), span);
        }
    }

    fn prefix(&mut self, rest: &[Raw], span: Span) -> Option<Pragma> {
        if let [quoted] = rest
            && let Some(prefix) = narrow_string(quoted, self.out)
        {
            return Some(Pragma::Prefix(prefix));
        }
        let bare = !rest.is_empty() && rest.iter().all(is_bare);
        if bare {
            let prefix: String = rest.iter().map(|token| &*token.text).collect();
            let lenient = self.options.lenient.unquoted_prefix;
            let problem = PreProblem::PrefixUnquoted { prefix: prefix.clone(), lenient };
            self.out.push(rest[0].span.to(span), problem);
            return Some(Pragma::Prefix(prefix.into()));
        }
        self.malformed("prefix", "prefix \"omg.org\"", span)
    }

    fn id(&mut self, rest: &[Raw], span: Span) -> Option<Pragma> {
        if let Some((name, [id])) = scoped_name(rest)
            && let Some(id) = narrow_string(id, self.out)
        {
            return Some(Pragma::Id { name, id });
        }
        self.malformed("ID", "ID Module::Name \"IDL:prefix/Module/Name:1.0\"", span)
    }

    fn version(&mut self, rest: &[Raw], span: Span) -> Option<Pragma> {
        let Some((name, [version])) = scoped_name(rest) else {
            return self.malformed("version", "version Module::Name 1.0", span);
        };
        match version_numbers(&version.text) {
            Some((major, minor)) => Some(Pragma::Version { name, major, minor }),
            None => {
                let found = version.text.to_string();
                self.out.push(version.span, PreProblem::VersionMalformed { found });
                None
            }
        }
    }

    fn malformed(&mut self, name: &'static str, form: &'static str, at: Span) -> Option<Pragma> {
        self.out.push(at, PreProblem::PragmaMalformed { name, form });
        None
    }
}

/// Reports whether the token can belong to a prefix without quotes.
fn is_bare(token: &Raw) -> bool {
    matches!(token.kind, RawKind::Word | RawKind::Number)
        || ["-", "/"].iter().any(|mark| token.is_punct(mark))
        || &*token.text == "."
}

/// Returns a name at the start of the tokens, and the remaining tokens.
fn scoped_name(tokens: &[Raw]) -> Option<(PragmaName, &[Raw])> {
    let absolute = tokens.first()?.is_punct("::");
    let mut at = usize::from(absolute);
    let mut parts: Vec<Box<str>> = Vec::new();
    loop {
        let word = tokens.get(at).filter(|token| token.kind == RawKind::Word)?;
        parts.push(word.text.strip_prefix('_').unwrap_or(&word.text).into());
        at += 1;
        match tokens.get(at) {
            Some(token) if token.is_punct("::") => at += 1,
            _ => break,
        }
    }
    let span = tokens[0].span.to(tokens[at - 1].span);
    let name = PragmaName { absolute, parts, span };
    Some((name, &tokens[at..]))
}

fn version_numbers(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once('.')?;
    let number = |digits: &str| {
        let plain = digits.bytes().all(|digit| digit.is_ascii_digit());
        digits.parse().ok().filter(|_| plain)
    };
    Some((number(major)?, number(minor)?))
}
