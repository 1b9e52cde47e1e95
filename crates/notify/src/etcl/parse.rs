//! Parser of the grammar (Notification Service 1.1, 2.4.2), by recursive descent.
//!
//! ```text
//! or      := and {'or' and}                        and  := compare {'and' compare}
//! compare := in [('==' | '!=' | '<' | '<=' | '>' | '>=') in]
//! in      := twiddle ['in' (IDENT | '$' component)]
//! twiddle := sum ['~' sum]                         sum  := product {('+' | '-') product}
//! product := negation {('*' | '/') negation}       negation := ['not'] factor
//! factor  := '(' or ')' | ['+' | '-'] number | STRING | TRUE | FALSE | IDENT | '$' component
//!          | 'exist' (IDENT | '$' component) | 'default' '$' component
//! ```

mod component;

use std::borrow::Cow;

use crate::etcl::arithmetic::{Comparison, Operator};
use crate::etcl::node::Node;
use crate::etcl::path::{Path, Root, Step};
use crate::etcl::scan::{Scanner, Token, Within, unescaped};
use crate::etcl::value::{Kind, Value};
use crate::etcl::{Dialect, Grammar, Options, ParseError, Reason};

const KEYWORDS: [&str; 11] =
    ["and", "or", "not", "in", "exist", "default", "min", "max", "with", "first", "random"];

/// Keywords that begin preferences.
const PREFERENCES: [&str; 5] = ["min", "max", "with", "first", "random"];

const COMPARISONS: [(&str, Comparison); 6] = [
    ("==", Comparison::Equal),
    ("!=", Comparison::NotEqual),
    ("<=", Comparison::LessOrEqual),
    (">=", Comparison::GreaterOrEqual),
    ("<", Comparison::Less),
    (">", Comparison::Greater),
];

const A_VALUE: Reason = Reason::Expected {
    wanted: "a value",
    hint: "write a number, a string in '...', TRUE, FALSE, a name or a component such as $.header",
};

/// Parses a constraint; `None` if it is empty.
pub(crate) fn parse(
    text: &str,
    grammar: Grammar,
    options: &Options,
) -> Result<Option<Node>, ParseError> {
    let mut parser = Parser {
        scanner: Scanner::new(text, options.dialect),
        dialect: options.dialect,
        has_components: grammar == Grammar::Extended || options.dialect == Dialect::Tao,
        depth: 0,
        limit: options.limits.depth,
    };
    let limit = options.limits.length;
    if text.len() > limit {
        let scanner = Scanner::new("", options.dialect);
        return Err(scanner.error_at(0, Reason::TooLong { limit }));
    }
    if parser.peek()? == Token::End {
        return Ok(None);
    }
    parser.constraint().map(Some)
}

struct Parser<'t> {
    scanner: Scanner<'t>,
    dialect: Dialect,
    has_components: bool,
    /// Number of open parentheses.
    depth: usize,
    limit: usize,
}

impl<'t> Parser<'t> {
    fn constraint(&mut self) -> Result<Node, ParseError> {
        if let Some(node) = self.preference()? {
            return Ok(node);
        }
        let node = self.or()?;
        self.end()?;
        match kind(&node) {
            Kind::Boolean | Kind::Unknown => Ok(node),
            _ if self.dialect == Dialect::Tao => Ok(node),
            found => Err(self.scanner.error_at(0, Reason::NotBoolean(found.what()))),
        }
    }

    /// Parses a preference. TAO's dialect accepts it as a constraint that is never true.
    fn preference(&mut self) -> Result<Option<Node>, ParseError> {
        let at = self.scanner.place();
        match self.peek()? {
            Token::Word { text, escaped: false } if PREFERENCES.contains(&text) => {
                if self.dialect == Dialect::Standard {
                    return Err(self.scanner.error_at(at, Reason::Preference));
                }
                self.take()?;
                if !["first", "random"].contains(&text) {
                    self.or()?;
                }
                self.end()?;
                Ok(Some(Node::Never))
            }
            _ => Ok(None),
        }
    }

    fn end(&mut self) -> Result<(), ParseError> {
        let hint = "comparisons, `in` and `~` cannot be chained: write parentheses";
        match self.peek()? {
            Token::End => Ok(()),
            _ => Err(self.expected("an operator or the end", hint)),
        }
    }

    // The functions from here to `factor` call each other once for each open parenthesis. What follows a first operand
    // is parsed by functions of their own, so that this needs little stack.
    fn or(&mut self) -> Result<Node, ParseError> {
        self.list("or", Self::and, Node::Any)
    }

    fn and(&mut self) -> Result<Node, ParseError> {
        self.list("and", Self::comparison, Node::All)
    }

    /// Parses the operands of a series of `and` or of `or`. Their number does not increase the depth of the tree.
    fn list(
        &mut self,
        operator: &'static str,
        operand: fn(&mut Self) -> Result<Node, ParseError>,
        joined: fn(Vec<Node>) -> Node,
    ) -> Result<Node, ParseError> {
        let at = self.scanner.place();
        let first = operand(self)?;
        match self.is_keyword(operator)? {
            true => self.rest_of_list(at, first, operator, operand, joined),
            false => Ok(first),
        }
    }

    fn rest_of_list(
        &mut self,
        mut at: usize,
        first: Node,
        operator: &'static str,
        operand: fn(&mut Self) -> Result<Node, ParseError>,
        joined: fn(Vec<Node>) -> Node,
    ) -> Result<Node, ParseError> {
        self.check(at, operator, &first, "a boolean", &[Kind::Number, Kind::Text])?;
        let mut operands = vec![first];
        while self.is_keyword(operator)? {
            self.take()?;
            at = self.scanner.place();
            let next = operand(self)?;
            self.check(at, operator, &next, "a boolean", &[Kind::Number, Kind::Text])?;
            operands.push(next);
        }
        operands.shrink_to_fit();
        Ok(joined(operands))
    }

    fn comparison(&mut self) -> Result<Node, ParseError> {
        let left = self.membership()?;
        match self.peek()? {
            Token::Symbol(symbol) => self.compared(left, symbol),
            _ => Ok(left),
        }
    }

    /// Parses what follows the left side of a comparison, if `symbol` is an operator of one.
    fn compared(&mut self, left: Node, symbol: &'static str) -> Result<Node, ParseError> {
        let Some(&(_, comparison)) = COMPARISONS.iter().find(|(known, _)| *known == symbol) else {
            return Ok(left);
        };
        self.take()?;
        let at = self.scanner.place();
        let right = self.membership()?;
        match kind(&left) {
            Kind::Text => {
                self.check(at, symbol, &right, "a string", &[Kind::Number, Kind::Boolean])?
            }
            Kind::Number => self.check(at, symbol, &right, "a number", &[Kind::Text])?,
            Kind::Boolean => self.check(at, symbol, &right, "a boolean", &[Kind::Text])?,
            Kind::Unknown => {}
        }
        Ok(Node::Compare(comparison, Box::new([left, right])))
    }

    fn membership(&mut self) -> Result<Node, ParseError> {
        let left = self.twiddle()?;
        match self.is_keyword("in")? {
            true => self.in_property(left),
            false => Ok(left),
        }
    }

    fn in_property(&mut self, left: Node) -> Result<Node, ParseError> {
        self.take()?;
        let path = self.path("the name of a property, or `$` and a component")?;
        Ok(Node::In(Box::new(left), path))
    }

    fn twiddle(&mut self) -> Result<Node, ParseError> {
        let at = self.scanner.place();
        let left = self.sum()?;
        match self.peek()? {
            Token::Symbol("~") => self.within(at, left),
            _ => Ok(left),
        }
    }

    fn within(&mut self, mut at: usize, left: Node) -> Result<Node, ParseError> {
        self.take()?;
        self.check(at, "~", &left, "a string", &[Kind::Number, Kind::Boolean])?;
        at = self.scanner.place();
        let right = self.sum()?;
        self.check(at, "~", &right, "a string", &[Kind::Number, Kind::Boolean])?;
        Ok(Node::Within(Box::new([left, right])))
    }

    fn sum(&mut self) -> Result<Node, ParseError> {
        self.chain([Operator::Add, Operator::Subtract], Self::product)
    }

    fn product(&mut self) -> Result<Node, ParseError> {
        self.chain([Operator::Multiply, Operator::Divide], Self::negation)
    }

    /// Parses any number of operands that are joined by operators of one precedence.
    fn chain(
        &mut self,
        operators: [Operator; 2],
        operand: fn(&mut Self) -> Result<Node, ParseError>,
    ) -> Result<Node, ParseError> {
        let start = self.scanner.place();
        let first = operand(self)?;
        match self.peek()? {
            Token::Symbol(_) => self.rest_of_chain(start, first, operators, operand),
            _ => Ok(first),
        }
    }

    fn rest_of_chain(
        &mut self,
        start: usize,
        first: Node,
        operators: [Operator; 2],
        operand: fn(&mut Self) -> Result<Node, ParseError>,
    ) -> Result<Node, ParseError> {
        let mut rest = Vec::new();
        while let Token::Symbol(symbol) = self.peek()? {
            let Some(&operator) = operators.iter().find(|one| one.symbol() == symbol) else {
                break;
            };
            self.take()?;
            let at = self.scanner.place();
            let next = operand(self)?;
            if rest.is_empty() {
                self.check(start, operator.symbol(), &first, "a number", &[Kind::Text])?;
            }
            self.check(at, operator.symbol(), &next, "a number", &[Kind::Text])?;
            let by_zero =
                operator == Operator::Divide && matches!(next, Node::Literal(Value::Integer(0)));
            if by_zero && self.dialect == Dialect::Standard {
                return Err(self.scanner.error_at(at, Reason::DivisionByZero));
            }
            rest.push((operator, next));
        }
        rest.shrink_to_fit();
        Ok(match rest.is_empty() {
            true => first,
            false => Node::Compute(Box::new(first), rest),
        })
    }

    fn negation(&mut self) -> Result<Node, ParseError> {
        match self.is_keyword("not")? {
            true => self.negated(),
            false => self.factor(),
        }
    }

    fn negated(&mut self) -> Result<Node, ParseError> {
        self.take()?;
        let at = self.scanner.place();
        let operand = self.factor()?;
        self.check(at, "not", &operand, "a boolean", &[Kind::Number, Kind::Text])?;
        Ok(Node::Not(Box::new(operand)))
    }

    fn factor(&mut self) -> Result<Node, ParseError> {
        match self.peek()? {
            Token::Symbol("(") => self.nested(),
            token => self.plain_factor(token),
        }
    }

    /// Parses a factor without parentheses, which begins with `token`.
    fn plain_factor(&mut self, token: Token<'t>) -> Result<Node, ParseError> {
        Ok(match token {
            Token::Symbol("$") => Node::Path(self.path("a component")?),
            Token::Symbol("-") => self.signed(|value| -value, |value| -value)?,
            Token::Symbol("+") => self.signed(|value| value, |value| value)?,
            Token::Integer(_) | Token::Float(_) => self.number(|value| value, |value| value)?,
            Token::String(written) => {
                self.take()?;
                Node::Literal(Value::Text(Cow::Owned(unescaped(written).into_string())))
            }
            Token::Word { text, escaped: false } => match text {
                "TRUE" | "FALSE" => {
                    self.take()?;
                    Node::Literal(Value::Boolean(text == "TRUE"))
                }
                "exist" => {
                    self.take()?;
                    Node::Exist(self.path("the name of a property, or `$` and a component")?)
                }
                "default" => {
                    self.take()?;
                    match self.peek()? {
                        Token::Symbol("$") => Node::Default(self.union_path()?),
                        _ => {
                            return Err(self.expected(
                                "`$` and a component",
                                "`default` applies only to a union",
                            ));
                        }
                    }
                }
                _ if KEYWORDS.contains(&text) => return Err(self.error(A_VALUE)),
                _ => Node::Path(self.path("a name")?),
            },
            Token::Word { .. } => Node::Path(self.path("a name")?),
            _ => return Err(self.error(A_VALUE)),
        })
    }

    fn too_deep(&mut self) -> ParseError {
        let at = self.scanner.place();
        self.scanner.error_at(at, Reason::TooDeep { limit: self.limit })
    }

    /// Parses an expression in parentheses.
    fn nested(&mut self) -> Result<Node, ParseError> {
        if self.depth == self.limit {
            return Err(self.too_deep());
        }
        self.take()?;
        self.depth += 1;
        let node = self.or()?;
        self.depth -= 1;
        match self.peek()? {
            Token::Symbol(")") => self.take()?,
            _ => return Err(self.expected("an operator or `)`", "")),
        };
        Ok(node)
    }

    fn signed(
        &mut self,
        integer: fn(i128) -> i128,
        float: fn(f64) -> f64,
    ) -> Result<Node, ParseError> {
        self.take()?;
        self.number(integer, float)
    }

    fn number(
        &mut self,
        integer: fn(i128) -> i128,
        float: fn(f64) -> f64,
    ) -> Result<Node, ParseError> {
        let value = match self.peek()? {
            Token::Integer(value) => Value::Integer(integer(value.into())),
            Token::Float(value) => Value::Double(float(value)),
            _ => {
                return Err(self
                    .expected("a number", "a sign is only allowed before a number: write 0 - x"));
            }
        };
        self.take()?;
        Ok(Node::Literal(value))
    }

    /// Parses a name, or `$` followed by a component.
    fn path(&mut self, wanted: &'static str) -> Result<Path, ParseError> {
        let at = self.scanner.place();
        match self.peek()? {
            Token::Symbol("$") if self.has_components => {
                self.take()?;
                self.component()
            }
            Token::Symbol("$") => Err(self.scanner.error_at(at, Reason::ComponentInTcl)),
            Token::Word { text, escaped } if escaped || !is_reserved(text) => {
                self.take()?;
                Ok(Path { root: Root::Variable(text.into()), steps: Vec::new() })
            }
            _ => Err(self.expected(wanted, "")),
        }
    }

    /// Parses the operand of `default`, which is a union or its discriminant.
    fn union_path(&mut self) -> Result<Path, ParseError> {
        let mut path = self.path("a component")?;
        if path.steps.last() == Some(&Step::Discriminator) {
            path.steps.pop();
        }
        Ok(path)
    }

    fn check(
        &mut self,
        at: usize,
        operator: &'static str,
        operand: &Node,
        wanted: &'static str,
        refused: &[Kind],
    ) -> Result<(), ParseError> {
        let kind = kind(operand);
        if self.dialect == Dialect::Tao || !refused.contains(&kind) {
            return Ok(());
        }
        let found = kind.what();
        let reason = Reason::Operand { operator, wanted, found };
        Err(self.scanner.error_at(at, reason))
    }

    fn is_keyword(&mut self, keyword: &str) -> Result<bool, ParseError> {
        Ok(match self.peek()? {
            Token::Word { text, escaped } => !escaped && text == keyword,
            _ => false,
        })
    }

    fn peek(&self) -> Result<Token<'t>, ParseError> {
        self.scanner.peek(Within::Expression)
    }

    fn take(&mut self) -> Result<Token<'t>, ParseError> {
        self.scanner.next(Within::Expression)
    }

    fn expected(&mut self, wanted: &'static str, hint: &'static str) -> ParseError {
        self.error(Reason::Expected { wanted, hint })
    }

    /// Returns an error at the position of the next token.
    fn error(&mut self, reason: Reason) -> ParseError {
        let at = self.scanner.place();
        self.scanner.error_at(at, reason)
    }
}

/// Reports whether a word can be a name only if it is escaped.
fn is_reserved(word: &str) -> bool {
    KEYWORDS.contains(&word) || ["TRUE", "FALSE"].contains(&word) || word.starts_with('_')
}

fn kind(node: &Node) -> Kind {
    match node {
        Node::Literal(value) => value.kind(),
        Node::Path(_) => Kind::Unknown,
        Node::Compute(..) => Kind::Number,
        _ => Kind::Boolean,
    }
}
