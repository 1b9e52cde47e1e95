//! Integer expressions of `#if` (C11 6.10.1): 64 bits, signed and unsigned.

use super::problem::ConditionProblem as Bad;
use crate::lex::{Raw, RawKind};
use crate::source::Span;

type Failed = (Option<Span>, Bad);

/// Reports whether the expression is not zero.
pub(crate) fn evaluate(tokens: &[Raw]) -> Result<bool, Failed> {
    let mut parser = Parser { tokens, at: 0, depth: 0 };
    let value = parser.conditional(true)?;
    match parser.peek() {
        Some(extra) => Err(unexpected(extra)),
        None => Ok(value.bits != 0),
    }
}

/// Maximum number of levels of nested parentheses, signs and `?:`.
const MAX_DEPTH: usize = 64;

/// Value of type `intmax_t` or `uintmax_t`.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Int {
    bits: i64,
    unsigned: bool,
}

impl Int {
    fn signed(bits: i64) -> Int {
        Int { bits, unsigned: false }
    }

    fn truth(value: bool) -> Int {
        Int::signed(i64::from(value))
    }
}

struct Parser<'t> {
    tokens: &'t [Raw],
    at: usize,
    depth: usize,
}

/// Binary operators, loosest first.
const LEVELS: &[&[&str]] = &[
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<", ">", "<=", ">="],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

impl<'t> Parser<'t> {
    /// Evaluates a conditional expression. `live` is false where C does not evaluate: `0 && 1/0` is valid.
    fn conditional(&mut self, live: bool) -> Result<Int, Failed> {
        let test = self.binary(0, live)?;
        if !self.eat("?") {
            return Ok(test);
        }
        self.nested(|parser| {
            let chosen = test.bits != 0;
            let first = parser.conditional(live && chosen)?;
            if !parser.eat(":") {
                return Err(parser.stuck());
            }
            let second = parser.conditional(live && !chosen)?;
            let value = if chosen { first } else { second };
            Ok(Int { unsigned: first.unsigned || second.unsigned, ..value })
        })
    }

    fn binary(&mut self, level: usize, live: bool) -> Result<Int, Failed> {
        let Some(operators) = LEVELS.get(level) else {
            return self.unary(live);
        };
        let mut left = self.binary(level + 1, live)?;
        while let Some(token) = self.peek()
            && token.kind == RawKind::Punct
            && operators.contains(&&*token.text)
        {
            self.at += 1;
            let needed = match &*token.text {
                "||" => left.bits == 0,
                "&&" => left.bits != 0,
                _ => true,
            };
            let right = self.binary(level + 1, live && needed)?;
            left = apply(&token.text, left, right, live).map_err(|bad| (Some(token.span), bad))?;
        }
        Ok(left)
    }

    fn unary(&mut self, live: bool) -> Result<Int, Failed> {
        let token = self.peek().ok_or((None, Bad::Missing))?;
        self.at += 1;
        match (token.kind, &*token.text) {
            (RawKind::Punct, "(") => self.nested(|parser| {
                let value = parser.conditional(live)?;
                match parser.eat(")") {
                    true => Ok(value),
                    false => Err((Some(token.span), Bad::NoClosing)),
                }
            }),
            (RawKind::Punct, sign @ ("+" | "-" | "~" | "!")) => self.nested(|parser| {
                let value = parser.unary(live)?;
                Ok(match sign {
                    "-" => Int { bits: value.bits.wrapping_neg(), ..value },
                    "~" => Int { bits: !value.bits, ..value },
                    "!" => Int::truth(value.bits == 0),
                    _ => value,
                })
            }),
            (RawKind::Number, text) => {
                number(text).ok_or_else(|| (Some(token.span), Bad::NotAnInteger(text.to_owned())))
            }
            (RawKind::Char, text) => Ok(Int::signed(character(text))),
            // As in C, a word that is not a macro is zero. IDL's boolean literals are the exception.
            (RawKind::Word, "TRUE" | "true") => Ok(Int::truth(true)),
            (RawKind::Word, _) => Ok(Int::signed(0)),
            _ => Err(unexpected(token)),
        }
    }

    fn nested<T>(
        &mut self,
        inner: impl FnOnce(&mut Self) -> Result<T, Failed>,
    ) -> Result<T, Failed> {
        if self.depth == MAX_DEPTH {
            return Err((self.peek().map(|token| token.span), Bad::TooDeep));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    fn peek(&self) -> Option<&'t Raw> {
        self.tokens.get(self.at)
    }

    fn eat(&mut self, mark: &str) -> bool {
        let found = self.peek().is_some_and(|token| token.is_punct(mark));
        self.at += usize::from(found);
        found
    }

    fn stuck(&self) -> Failed {
        self.peek().map_or((None, Bad::Missing), unexpected)
    }
}

fn unexpected(token: &Raw) -> Failed {
    (Some(token.span), Bad::Unexpected(token.text.to_string()))
}

fn apply(operator: &str, left: Int, right: Int, live: bool) -> Result<Int, Bad> {
    let unsigned = left.unsigned || right.unsigned;
    let (a, b) = (left.bits, right.bits);
    let (ua, ub) = (a as u64, b as u64);
    let less = if unsigned { ua < ub } else { a < b };
    if matches!(operator, "/" | "%") && b == 0 {
        return match live {
            true => Err(Bad::DivisionByZero),
            false => Ok(Int::signed(0)),
        };
    }
    let bits = match operator {
        "||" => return Ok(Int::truth(a != 0 || b != 0)),
        "&&" => return Ok(Int::truth(a != 0 && b != 0)),
        "==" => return Ok(Int::truth(a == b)),
        "!=" => return Ok(Int::truth(a != b)),
        "<" => return Ok(Int::truth(less)),
        ">=" => return Ok(Int::truth(!less)),
        "<=" => return Ok(Int::truth(less || a == b)),
        ">" => return Ok(Int::truth(!less && a != b)),
        "<<" | ">>" => {
            // A shift has the type of its left operand.
            return Ok(Int { bits: shift(operator, left, b), unsigned: left.unsigned });
        }
        "|" => a | b,
        "^" => a ^ b,
        "&" => a & b,
        "+" => a.wrapping_add(b),
        "-" => a.wrapping_sub(b),
        "*" => a.wrapping_mul(b),
        "/" if unsigned => (ua / ub) as i64,
        "/" => a.wrapping_div(b),
        "%" if unsigned => (ua % ub) as i64,
        _ => a.wrapping_rem(b),
    };
    Ok(Int { bits, unsigned })
}

fn shift(operator: &str, left: Int, by: i64) -> i64 {
    let by = if operator == ">>" { -by.max(-64) } else { by };
    match u32::try_from(by.unsigned_abs().min(64)).unwrap_or(64) {
        0 => left.bits,
        n if by > 0 => left.bits.checked_shl(n).unwrap_or(0),
        n if left.unsigned => (left.bits as u64).checked_shr(n).unwrap_or(0) as i64,
        n => left.bits >> n.min(63),
    }
}

fn number(text: &str) -> Option<Int> {
    let digits = text.trim_end_matches(['u', 'U', 'l', 'L']);
    let suffix = &text[digits.len()..];
    let value = if let Some(hex) = digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
        u64::from_str_radix(hex, 16)
    } else if digits.len() > 1 && digits.starts_with('0') {
        u64::from_str_radix(digits, 8)
    } else {
        digits.parse()
    };
    let value = value.ok()?;
    Some(Int {
        bits: value as i64,
        unsigned: suffix.contains(['u', 'U']) || value > i64::MAX as u64,
    })
}

/// Returns the value of a common character constant; an uncommon one is 0.
fn character(text: &str) -> i64 {
    let quoted = text.trim_start_matches('L');
    let body = quoted.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
    let body = body.unwrap_or_default();
    let mut chars = body.chars();
    match (chars.next(), chars.next()) {
        (Some('\\'), Some('n')) => 10,
        (Some('\\'), Some('t')) => 9,
        (Some('\\'), Some('r')) => 13,
        (Some('\\'), Some(c @ ('\\' | '\'' | '"'))) => i64::from(u32::from(c)),
        (Some(c), None) => i64::from(u32::from(c)),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lex::scan::scan_text;

    fn value(text: &str) -> Result<bool, Bad> {
        evaluate(&scan_text(text, Span::default())).map_err(|(_, bad)| bad)
    }

    fn holds(text: &str) -> bool {
        value(text).unwrap_or_else(|bad| panic!("{text}: {bad:?}"))
    }

    #[test]
    fn precedence_and_associativity_are_those_of_c() {
        for text in [
            "1 + 2 * 3 == 7",
            "(1 + 2) * 3 == 9",
            "10 - 3 - 2 == 5",
            "1 << 2 + 1 == 8",
            "7 & 3 == 3",
            "1 || 0 && 0",
            "!0 + !0 == 2",
            "-7 / 2 == -3",
            "-7 % 3 == -1",
            "1 ? 2 : 3 ? 0 : 0",
            "0 ? 0 : 0 ? 0 : 4",
            "~0 == -1",
            "1 << 63 < 0",
            "-1 >> 1 == -1",
            "0x10 == 16 && 010 == 8 && 10L == 10",
            "'a' == 97 && '\\n' == 10",
            "'\\'' == 39 && L'\\'' == 39",
            "unknown == 0",
            "TRUE",
        ] {
            assert!(holds(text), "{text}");
        }
        assert!(!holds("-1 > 0"));
    }

    #[test]
    fn unsigned_operands_make_unsigned_results() {
        assert!(holds("-1 > 0u"));
        assert!(holds("0xffffffffffffffff > 0"));
        assert!(holds("-1 / 2u == 0x7fffffffffffffff"));
        assert!(holds("(1 ? -1 : 0u) > 0"));
    }

    #[test]
    fn what_is_not_evaluated_may_divide_by_zero() {
        assert!(holds("1 || 1 / 0"));
        assert!(!holds("0 && 1 % 0"));
        assert!(holds("1 ? 1 : 1 / 0"));
        assert!(matches!(value("1 / 0"), Err(Bad::DivisionByZero)));
        assert!(!holds("(-9223372036854775807 - 1) / -1 > 0"));
    }

    #[test]
    fn malformed_expressions_are_refused() {
        assert!(matches!(value(""), Err(Bad::Missing)));
        assert!(matches!(value("1 +"), Err(Bad::Missing)));
        assert!(matches!(value("(1"), Err(Bad::NoClosing)));
        assert!(matches!(value("1 2"), Err(Bad::Unexpected(_))));
        assert!(matches!(value("1 ? 2"), Err(Bad::Missing)));
        assert!(matches!(value("08"), Err(Bad::NotAnInteger(_))));
        assert!(matches!(value("1.5"), Err(Bad::NotAnInteger(_))));
        assert!(matches!(value("\"a\""), Err(Bad::Unexpected(_))));
        assert!(matches!(value(&"(".repeat(9_999)), Err(Bad::TooDeep)));
        assert!(matches!(value(&"!".repeat(9_999)), Err(Bad::TooDeep)));
    }
}
