//! Every production of the standard's grammar (Notification Service 1.1, 2.4), in a table for a simple recogniser. The
//! parser must accept sentences that are derived from the table. It must accept a modified sentence exactly if the
//! recogniser accepts it.

use std::collections::{BTreeSet, HashMap};

use oxorb_notify::etcl::{Constraint, Grammar, Reason};
use oxorb_testkit::rounds;
use proptest::prelude::*;

/// Productions, with one alternative per row. Symbols in capitals refer to other rows; those such as `NAME` and
/// `DIGITS` refer to a class of [`words`]. Recursive rules are written so that lists are read from left to right, which
/// does not change the language.
const PRODUCTIONS: [(&str, &str); 64] = [
    ("CONSTRAINT", ""),
    ("CONSTRAINT", "OR"),
    ("OR", "AND"),
    ("OR", "AND or OR"),
    ("AND", "COMPARE"),
    ("AND", "COMPARE and AND"),
    ("COMPARE", "IN"),
    ("COMPARE", "IN == IN"),
    ("COMPARE", "IN != IN"),
    ("COMPARE", "IN < IN"),
    ("COMPARE", "IN <= IN"),
    ("COMPARE", "IN > IN"),
    ("COMPARE", "IN >= IN"),
    ("IN", "TWIDDLE"),
    ("IN", "TWIDDLE in NAME"),
    ("IN", "TWIDDLE in $ COMPONENT"),
    ("TWIDDLE", "SUM"),
    ("TWIDDLE", "SUM ~ SUM"),
    ("SUM", "PRODUCT"),
    ("SUM", "PRODUCT + SUM"),
    ("SUM", "PRODUCT - SUM"),
    ("PRODUCT", "NOT"),
    ("PRODUCT", "NOT * PRODUCT"),
    ("PRODUCT", "NOT / PRODUCT"),
    ("NOT", "FACTOR"),
    ("NOT", "not FACTOR"),
    ("FACTOR", "( OR )"),
    ("FACTOR", "exist NAME"),
    ("FACTOR", "exist $ COMPONENT"),
    ("FACTOR", "default $ COMPONENT"),
    ("FACTOR", "$ COMPONENT"),
    ("FACTOR", "NAME"),
    ("FACTOR", "NUMBER"),
    ("FACTOR", "+ NUMBER"),
    ("FACTOR", "- NUMBER"),
    ("FACTOR", "STRING"),
    ("FACTOR", "TRUE"),
    ("FACTOR", "FALSE"),
    // `$` and `$.` alone denote the whole event.
    ("COMPONENT", "EXT"),
    ("COMPONENT", "."),
    ("COMPONENT", "NAME EXT"),
    ("EXT", ""),
    ("EXT", ". DOT"),
    ("EXT", "[ DIGITS ] EXT"),
    ("EXT", "( NAME ) EXT"),
    // Extension of the standard, which other services also support.
    ("EXT", "( STRING ) EXT"),
    ("DOT", "NAME EXT"),
    ("DOT", "DIGITS EXT"),
    ("DOT", "( UNION ) EXT"),
    ("DOT", "_length"),
    ("DOT", "_d"),
    ("DOT", "_type_id"),
    ("DOT", "_repos_id"),
    ("UNION", ""),
    ("UNION", "DIGITS"),
    ("UNION", "+ DIGITS"),
    ("UNION", "- DIGITS"),
    ("UNION", "STRING"),
    // Extension of the standard, which other services also support.
    ("UNION", "NAME"),
    ("NUMBER", "DIGITS"),
    ("NUMBER", "FLOAT"),
    ("NAME", "PLAIN"),
    ("NAME", "ESCAPED"),
    ("STRING", "QUOTED"),
];

/// Returns the words of a class; empty if the symbol is not a class.
fn words(class: &str) -> &'static [&'static str] {
    match class {
        "PLAIN" => &["a", "b1", "c_d"],
        "ESCAPED" => &["\\and", "\\exist"],
        "DIGITS" => &["0", "17"],
        "FLOAT" => &["1.5", "2e3", "1.5e-3"],
        "QUOTED" => &["''", "'red'", "'it\\'s \\\\'"],
        _ => &[],
    }
}

fn alternatives(name: &str) -> Vec<Vec<&'static str>> {
    let rows = PRODUCTIONS.iter().filter(|(of, _)| *of == name);
    rows.map(|(_, row)| row.split_whitespace().collect()).collect()
}

/// Derives a sentence of the grammar from the given choices. When they are used up, takes the shortest derivation.
fn derive(name: &str, choices: &mut impl Iterator<Item = usize>, out: &mut Vec<&'static str>) {
    let rows = alternatives(name);
    let row = match choices.next() {
        Some(choice) => &rows[choice % rows.len()],
        None => {
            let short = ["NAME", "PLAIN", "FACTOR"].contains(&name);
            let named = rows.iter().find(|row| short && row == &&["NAME"]);
            named.unwrap_or(&rows[0])
        }
    };
    for &symbol in row {
        let class = words(symbol);
        if !class.is_empty() {
            out.push(class[choices.next().unwrap_or(0) % class.len()]);
        } else if alternatives(symbol).is_empty() {
            out.push(symbol);
        } else {
            derive(symbol, choices, out);
        }
    }
}

/// A simple recogniser. It determines the positions at which a symbol that begins at a position can end.
struct Recogniser<'w> {
    words: &'w [&'static str],
    known: HashMap<(&'static str, usize), BTreeSet<usize>>,
}

impl Recogniser<'_> {
    fn ends(&mut self, symbol: &'static str, at: usize) -> BTreeSet<usize> {
        let class = words(symbol);
        let rows = alternatives(symbol);
        if rows.is_empty() {
            let fits = self.words.get(at).is_some_and(|word| match class {
                [] => *word == symbol,
                class => class.contains(word),
            });
            return fits.then_some(at + 1).into_iter().collect();
        }
        if let Some(known) = self.known.get(&(symbol, at)) {
            return known.clone();
        }
        let mut ends = BTreeSet::new();
        for row in rows {
            let mut here = BTreeSet::from([at]);
            for part in row {
                here = here.iter().flat_map(|&at| self.ends(part, at)).collect();
            }
            ends.extend(here);
        }
        self.known.insert((symbol, at), ends.clone());
        ends
    }
}

fn accepts(words: &[&'static str]) -> bool {
    let known = HashMap::new();
    let mut recogniser = Recogniser { words, known };
    recogniser.ends("CONSTRAINT", 0).contains(&words.len())
}

/// Reports whether the parser accepts the syntax of a sentence; `None` if the parser rejects an operand because of its
/// kind, which does not show whether the syntax is accepted.
fn parsed(text: &str) -> Option<Result<(), String>> {
    match Constraint::parse(text, Grammar::Extended) {
        Ok(_) => Some(Ok(())),
        Err(error) => match error.reason {
            Reason::Operand { .. } | Reason::NotBoolean(_) | Reason::DivisionByZero => None,
            _ => Some(Err(error.to_string())),
        },
    }
}

#[derive(Clone, Debug)]
enum Change {
    Delete(usize),
    Double(usize),
    Replace(usize, &'static str),
    Insert(usize, &'static str),
}

const ALL: [&str; 37] = [
    "a",
    "0",
    "1.5",
    "'red'",
    "TRUE",
    "FALSE",
    "\\and",
    "and",
    "or",
    "not",
    "in",
    "exist",
    "default",
    "==",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "~",
    "+",
    "-",
    "*",
    "/",
    "(",
    ")",
    "[",
    "]",
    "$",
    ".",
    "_length",
    "_d",
    "_type_id",
    "_repos_id",
    "min",
    "random",
    "b1",
];

fn change() -> impl Strategy<Value = Change> {
    let word = prop::sample::select(ALL.to_vec());
    prop_oneof![
        any::<usize>().prop_map(Change::Delete),
        any::<usize>().prop_map(Change::Double),
        (any::<usize>(), word.clone()).prop_map(|(at, word)| Change::Replace(at, word)),
        (any::<usize>(), word).prop_map(|(at, word)| Change::Insert(at, word)),
    ]
}

impl Change {
    fn apply(&self, words: &mut Vec<&'static str>) {
        let place = |at: usize| (!words.is_empty()).then(|| at % words.len());
        match *self {
            Change::Delete(at) => drop(place(at).map(|at| words.remove(at))),
            Change::Double(at) => {
                if let Some(at) = place(at) {
                    words.insert(at, words[at]);
                }
            }
            Change::Replace(at, word) => {
                if let Some(at) = place(at) {
                    words[at] = word;
                }
            }
            Change::Insert(at, word) => words.insert(at % (words.len() + 1), word),
        }
    }
}

/// Reports whether a keyword or a fraction is at a place where a member's name or position is possible. There the
/// parser reads a keyword as a name, although the standard requires `\`, and a fraction as two positions.
fn is_ambiguous(words: &[&str]) -> bool {
    let keyword = |word: &str| word.chars().all(|c| c.is_ascii_alphabetic()) && word != "a";
    let fraction = |word: &str| word.starts_with(['1', '2']) && word.contains(['.', 'e']);
    words.windows(2).any(|pair| {
        (pair[0] == "." || pair[0] == "(") && keyword(pair[1])
            || pair[0] == "." && fraction(pair[1])
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(rounds(100, 600)))]

    #[test]
    fn sentences_of_the_grammar_are_accepted(choices in prop::collection::vec(any::<usize>(), 0..120)) {
        let mut words = Vec::new();
        derive("CONSTRAINT", &mut choices.into_iter(), &mut words);
        prop_assert!(accepts(&words), "the recogniser: {words:?}");
        let text = words.join(" ");
        if let Some(Err(why)) = parsed(&text) {
            prop_assert!(why.contains("depth"), "{}: {}", text, why);
        }
    }

    #[test]
    fn changed_sentences_are_accepted_if_the_grammar_has_them(
        choices in prop::collection::vec(any::<usize>(), 0..40),
        changes in prop::collection::vec(change(), 1..4),
    ) {
        let mut words = Vec::new();
        derive("CONSTRAINT", &mut choices.into_iter(), &mut words);
        changes.iter().for_each(|change| change.apply(&mut words));
        prop_assume!(!is_ambiguous(&words));
        let text = words.join(" ");
        if let Some(found) = parsed(&text) {
            prop_assert_eq!(found.is_ok(), accepts(&words), "{}: {:?}", text, found);
        }
    }
}

#[test]
fn every_production_is_used_and_accepted() {
    for (name, row) in PRODUCTIONS {
        // Derive the shortest sentence that contains this row.
        let symbols: Vec<&str> = row.split_whitespace().collect();
        let mut words_of_row = Vec::new();
        for symbol in symbols {
            match words(symbol) {
                [] if alternatives(symbol).is_empty() => words_of_row.push(symbol),
                [] => derive(symbol, &mut std::iter::empty(), &mut words_of_row),
                [first, ..] => words_of_row.push(first),
            }
        }
        let inside = words_of_row.join(" ");
        let text = match name {
            "COMPONENT" => format!("exist $ {inside}"),
            "EXT" => format!("exist $ a {inside}"),
            "DOT" => format!("exist $ a . {inside}"),
            "UNION" => format!("exist $ a . ( {inside} )"),
            "NUMBER" => format!("a == {inside}"),
            "STRING" => format!("a == {inside}"),
            "SUM" | "PRODUCT" => format!("( {inside} ) == a"),
            "FACTOR" => format!("a == {inside}"),
            _ => inside,
        };
        assert_eq!(parsed(&text), Some(Ok(())), "{name} := {row}: {text}");
    }
}
