//! Parser of components, which follow `$`.
//!
//! ```text
//! component := [IDENT] ext            ext := ['.' dot | '[' n ']' ext | '(' (IDENT | STRING) ')' ext]
//! dot       := (IDENT | n | '(' [label] ')') ext | '_length' | '_d' | '_type_id' | '_repos_id'
//! label     := ['+' | '-'] n | STRING | IDENT
//! ```
//!
//! There are two extensions of the standard: a STRING between `(` and `)`, for names that are not identifiers, and an
//! IDENT as a label.

use super::{Parser, is_reserved};
use crate::etcl::path::{Path, Root, Step, UnionLabel};
use crate::etcl::scan::{Token, Within, unescaped};
use crate::etcl::{ParseError, Reason};

const MEMBER: &str =
    "the name or position of a member, _length, _d, _type_id, _repos_id, or a label in parentheses";

const LABEL: &str =
    "a label of the union: a number, an enumerator, a string, or no label for the default";

impl<'t> Parser<'t> {
    pub(super) fn component(&mut self) -> Result<Path, ParseError> {
        let root = match self.peek_in()? {
            Token::Word { text, escaped } if escaped || !is_reserved(text) => {
                self.take_in()?;
                Root::Variable(text.into())
            }
            _ => Root::Whole,
        };
        let mut steps = Vec::new();
        loop {
            let step = match self.peek_in()? {
                Token::Symbol(".") => {
                    self.take_in()?;
                    // `$.` without a member denotes the whole event.
                    if steps.is_empty() && matches!(root, Root::Whole) && !self.starts_dot()? {
                        break;
                    }
                    self.dot()?
                }
                Token::Symbol("[") => {
                    self.take_in()?;
                    let index = self.position()?;
                    self.symbol("]", "`]`")?;
                    Step::Element(index)
                }
                Token::Symbol("(") => {
                    self.take_in()?;
                    let name = self.listed_name()?;
                    self.symbol(")", "`)`")?;
                    Step::Named(name)
                }
                _ => break,
            };
            // The results of these steps are simple values without parts, so no further step is permitted.
            let is_last = matches!(
                step,
                Step::Length | Step::Discriminator | Step::TypeName | Step::RepositoryId
            );
            steps.push(step);
            if is_last {
                break;
            }
        }
        Ok(Path { root, steps })
    }

    /// Reports whether the next token begins a member, and not an operator.
    fn starts_dot(&self) -> Result<bool, ParseError> {
        Ok(match self.peek_in()? {
            Token::Word { text, escaped } => escaped || !["and", "or", "in"].contains(&text),
            Token::Integer(_) | Token::Symbol("(") => true,
            _ => false,
        })
    }

    fn dot(&mut self) -> Result<Step, ParseError> {
        Ok(match self.peek_in()? {
            Token::Integer(_) => Step::Position(self.position()?),
            Token::Symbol("(") => {
                self.take_in()?;
                let label = self.label()?;
                self.symbol(")", "`)`")?;
                Step::Label(label)
            }
            Token::Word { text, escaped: false } if text.starts_with('_') => {
                let step = match text {
                    "_length" => Step::Length,
                    "_d" => Step::Discriminator,
                    "_type_id" => Step::TypeName,
                    "_repos_id" => Step::RepositoryId,
                    _ => return Err(self.expected(MEMBER, "")),
                };
                self.take_in()?;
                step
            }
            _ => Step::Member(self.member_name(MEMBER)?),
        })
    }

    /// Parses a name. Keywords are accepted as names here.
    fn member_name(&mut self, wanted: &'static str) -> Result<Box<str>, ParseError> {
        match self.peek_in()? {
            Token::Word { text, .. } if !text.starts_with('_') => {
                self.take_in()?;
                Ok(text.into())
            }
            _ => Err(self.expected(wanted, "")),
        }
    }

    fn listed_name(&mut self) -> Result<Box<str>, ParseError> {
        match self.peek_in()? {
            Token::String(written) => {
                self.take_in()?;
                Ok(unescaped(written))
            }
            _ => self.member_name("the name of a value in a list of names and values"),
        }
    }

    fn label(&mut self) -> Result<UnionLabel, ParseError> {
        let sign = match self.peek_in()? {
            Token::Symbol(")") => return Ok(UnionLabel::Default),
            Token::String(written) => {
                self.take_in()?;
                return Ok(UnionLabel::Text(unescaped(written)));
            }
            Token::Word { .. } => return self.member_name(LABEL).map(UnionLabel::Text),
            Token::Symbol(sign @ ("+" | "-")) => {
                self.take_in()?;
                if sign == "-" { -1 } else { 1 }
            }
            _ => 1,
        };
        match self.peek_in()? {
            Token::Integer(value) => {
                self.take_in()?;
                Ok(UnionLabel::Number(sign * i128::from(value)))
            }
            _ => Err(self.expected(LABEL, "")),
        }
    }

    fn position(&mut self) -> Result<u32, ParseError> {
        let at = self.scanner.place();
        match self.peek_in()? {
            Token::Integer(value) => {
                self.take_in()?;
                u32::try_from(value).map_err(|_| self.scanner.error_at(at, Reason::NumberTooLarge))
            }
            _ => Err(self.expected("a number, counted from 0", "")),
        }
    }

    fn symbol(&mut self, symbol: &str, wanted: &'static str) -> Result<(), ParseError> {
        match self.peek_in()? {
            Token::Symbol(found) if found == symbol => self.take_in().map(drop),
            _ => Err(self.expected(wanted, "")),
        }
    }

    fn peek_in(&self) -> Result<Token<'t>, ParseError> {
        self.scanner.peek(Within::Component)
    }

    fn take_in(&mut self) -> Result<Token<'t>, ParseError> {
        self.scanner.next(Within::Component)
    }
}
