//! The rules of the language, one after the other, with constraints that are true, false, impossible to evaluate, or
//! rejected.

use oxorb_cdr::{Any, TypeCode};
use oxorb_notify::etcl::{
    Constraint, ConstraintLimits, Dialect, Grammar, Mismatch, Options, ParseError, Reason, Subject,
};

use crate::etcl::common::{self, Structured, forms, sample, text};

fn parse(text: &str) -> Constraint {
    Constraint::parse(text, Grammar::Extended).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn refuse(text: &str) -> ParseError {
    Constraint::parse(text, Grammar::Extended).expect_err(text)
}

fn alarm() -> Structured {
    Structured {
        domain: "Telecom",
        ty: "Alarm",
        name: "lost link",
        header: vec![("Priority", Any::new(3i16)), ("both", Any::new(1i32))],
        body: vec![
            ("severity", Any::new(4i32)),
            ("both", Any::new(2i32)),
            ("urgent", Any::new(true)),
            ("site", text("Ulm")),
            ("not", text("escaped")),
            ("sizes", Any::new(vec![1i32, 2, 3])),
        ],
        rest: sample(),
    }
}

const TRUE: bool = true;
const FALSE: bool = false;

#[test]
fn operators_and_precedence() {
    let table = [
        ("", TRUE),
        (" \t ", TRUE),
        ("TRUE", TRUE),
        ("FALSE", FALSE),
        ("1 + 2 * 3 == 7", TRUE),
        ("(1 + 2) * 3 == 9", TRUE),
        ("10 - 2 - 3 == 5", TRUE),
        ("7 / 2 == 3", TRUE),
        ("-7 / 2 == -3", TRUE),
        ("7 / 2.0 == 3.5", TRUE),
        ("-1 < 0", TRUE),
        ("+1 == 1", TRUE),
        (".5 == 5e-1", TRUE),
        ("5. == 5", TRUE),
        ("1e3 == 1000", TRUE),
        ("3.5 > 3", TRUE),
        ("18446744073709551615 > 9223372036854775807", TRUE),
        ("'abc' < 'abd'", TRUE),
        ("'b' ~ 'abc'", TRUE),
        ("'abc' ~ 'b'", FALSE),
        ("'' ~ 'b'", TRUE),
        ("'it\\'s' == 'it\\'s'", TRUE),
        ("'a\\\\b' ~ 'xa\\\\b'", TRUE),
        ("not FALSE", TRUE),
        ("not (1 == 2) and 2 == 2", TRUE),
        ("FALSE and FALSE or TRUE", TRUE),
        ("TRUE or FALSE and FALSE", TRUE),
        ("TRUE == (1 < 2)", TRUE),
        ("1 == TRUE", TRUE),
        ("not(TRUE)", FALSE),
    ];
    let event = alarm();
    for (constraint, expected) in table {
        assert_eq!(
            parse(constraint).evaluate(Subject::Structured(&event)),
            Ok(expected),
            "{constraint}"
        );
    }
}

#[test]
fn parts_of_a_structured_event() {
    let table = [
        (
            "$domain_name == 'Telecom' and $type_name == 'Alarm' and $event_name == 'lost link'",
            TRUE,
        ),
        ("$.header.fixed_header.event_type.domain_name == 'Telecom'", TRUE),
        ("$.header.fixed_header.event_type.type_name == 'Alarm'", TRUE),
        ("$.header.fixed_header.event_name ~ 'the lost link'", TRUE),
        ("$.0.0.0.1 == 'Alarm'", TRUE),
        ("$.header.variable_header(Priority) == 3", TRUE),
        ("$.header.variable_header[0].name == 'Priority'", TRUE),
        ("$.header.variable_header._length == 2", TRUE),
        ("$Priority > 2 and Priority < 4", TRUE),
        ("$both == 1", TRUE),
        ("$.filterable_data(both) == 2", TRUE),
        ("$.filterable_data(severity) == 4", TRUE),
        ("$.filterable_data[0].value == 4 and $.1[0].0 == 'severity'", TRUE),
        ("$.filterable_data._length == 6", TRUE),
        ("severity >= 4", TRUE),
        ("urgent", TRUE),
        ("not urgent", FALSE),
        ("$urgent and $site == 'Ulm'", TRUE),
        ("\\not == 'escaped'", TRUE),
        ("$\\not == 'escaped'", TRUE),
        ("2 in $sizes", TRUE),
        ("2 in sizes", TRUE),
        ("7 in $sizes", FALSE),
        ("$sizes[2] == 3", TRUE),
        ("$sizes._length == 3", TRUE),
        ("exist $severity", TRUE),
        ("exist nothing", FALSE),
        ("not exist nothing", TRUE),
        ("exist $.header.variable_header(Priority)", TRUE),
        ("exist $.header.variable_header(nothing)", FALSE),
        ("exist $.nothing", FALSE),
        ("exist $sizes[3]", FALSE),
        ("exist $.", TRUE),
        ("exist $. and TRUE", TRUE),
        ("exist $", TRUE),
        ("$._type_id == 'StructuredEvent'", TRUE),
        ("$.header._repos_id == 'IDL:omg.org/CosNotification/EventHeader:1.0'", TRUE),
        ("$curtime.time > 136000000000000000", TRUE),
        ("$curtime.tdf == 0", TRUE),
        ("FALSE or severity == 4", TRUE),
        ("TRUE or nothing == 1", TRUE),
        ("FALSE and nothing == 1", FALSE),
    ];
    let event = alarm();
    for (constraint, expected) in table {
        assert_eq!(
            parse(constraint).evaluate(Subject::Structured(&event)),
            Ok(expected),
            "{constraint}"
        );
    }
    let later = parse("$curtime == 17").evaluate_at(Subject::Structured(&event), 17);
    assert_eq!(later, Ok(true));
}

/// Constraints for the sample, which is either the whole event (`$`) or the remainder of a structured event.
const OVER_SAMPLE: [(&str, bool); 69] = [
    ("$.flag", TRUE),
    ("$.small == -5", TRUE),
    ("$.number == 42 and $.2 == 42", TRUE),
    ("$.number + $.small == 37", TRUE),
    ("$.number / 5 == 8", TRUE),
    ("$.number / 5.0 > 8.3", TRUE),
    ("$.large == 18446744073709551615", TRUE),
    ("$.large + 1 == 18446744073709551615 + 1", TRUE),
    ("$.ratio > 3 and $.ratio < 4", TRUE),
    ("$.letter == 'x'", TRUE),
    ("$.letter == 120", TRUE),
    ("$.wide == 'Köln'", TRUE),
    ("'öl' ~ $.wide", TRUE),
    ("$.color == 1", TRUE),
    ("$.color == 'green'", TRUE),
    ("$.color != 'red'", TRUE),
    ("$.text == 'it\\'s \\\\ fine'", TRUE),
    ("$.list[1] == 5", TRUE),
    ("$.list._length == 3", TRUE),
    ("8 in $.list", TRUE),
    ("8.0 in $.list", TRUE),
    ("9 in $.list", FALSE),
    ("'bc' in $.names", TRUE),
    ("'b' in $.names", FALSE),
    ("exist $.list[3]", FALSE),
    ("$.grid[2][1] == 5", TRUE),
    ("$.grid._length == 3 and $.grid[0]._length == 2", TRUE),
    ("4 in $.grid[2]", TRUE),
    ("$.octets[2] == 9", TRUE),
    ("$.octets._length == 3", TRUE),
    ("8 in $.octets", TRUE),
    ("10 in $.octets", FALSE),
    ("$.pairs(first) == 1", TRUE),
    ("$.pairs(second) == 'two'", TRUE),
    ("$.pairs(third)[1] == 2", TRUE),
    ("1 in $.pairs(third)", TRUE),
    ("exist $.pairs(fourth)", FALSE),
    ("$.pairs[1].name == 'second'", TRUE),
    ("$.choice._d == 2", TRUE),
    ("$.choice._d == 'blue'", TRUE),
    ("$.choice.cold == 'ice'", TRUE),
    ("$.choice.('blue') == 'ice'", TRUE),
    ("$.choice.(2) == 'ice'", TRUE),
    ("exist $.choice.warm", FALSE),
    ("exist $.choice.(0)", FALSE),
    ("exist $.choice.()", FALSE),
    ("default $.choice", FALSE),
    ("default $.other", TRUE),
    ("default $.choice._d", FALSE),
    ("default $.other._d", TRUE),
    ("exist $.other._d and not default $.choice._d", TRUE),
    ("$.choice.(blue) == 'ice'", TRUE),
    ("exist $.choice.(red)", FALSE),
    ("$.choice.('cold') == 'ice'", TRUE),
    ("$.choice.(cold) == 'ice'", TRUE),
    ("exist $.choice.('warm')", FALSE),
    ("$.other.('else') == 0.5", TRUE),
    ("$.pairs('second') == 'two'", TRUE),
    ("exist $.pairs('no identifier')", FALSE),
    ("$.other.() == 0.5", TRUE),
    ("$.other.('green') == .5", TRUE),
    ("$.inner == 7", TRUE),
    ("$.max == 9", TRUE),
    ("$._type_id == 'Sample'", TRUE),
    ("$._repos_id == 'IDL:Sample:1.0'", TRUE),
    ("$.choice._type_id == 'Choice'", TRUE),
    ("$.choice._repos_id == 'IDL:Choice:1.0'", TRUE),
    ("$.number._type_id == 'long'", TRUE),
    ("not exist $.number._repos_id", TRUE),
];

#[test]
fn parts_of_an_any_in_every_form_it_may_have() {
    for (constraint, expected) in OVER_SAMPLE {
        let parsed = parse(constraint);
        for any in forms(&sample()) {
            assert_eq!(
                parsed.evaluate(Subject::Any(&any)),
                Ok(expected),
                "{constraint} of {any:?}"
            );
        }
    }
}

#[test]
fn parts_of_the_remainder_of_a_structured_event() {
    for (constraint, expected) in OVER_SAMPLE {
        let parsed = parse(&constraint.replace("$.", "$.remainder_of_body."));
        for rest in forms(&sample()) {
            let event = Structured { rest, ..alarm() };
            assert_eq!(parsed.evaluate(Subject::Structured(&event)), Ok(expected), "{constraint}");
        }
    }
}

#[test]
fn names_find_members_and_properties_of_what_is_no_structured_event() {
    let any = sample();
    for (constraint, expected) in [
        ("$number == 42", TRUE),
        ("number == 42", TRUE),
        ("$type_name == '%ANY' and $domain_name == ''", TRUE),
        ("exist $missing", FALSE),
    ] {
        for any in forms(&any) {
            assert_eq!(
                parse(constraint).evaluate(Subject::Any(&any)),
                Ok(expected),
                "{constraint}"
            );
        }
    }
    let typed = vec![("operation", text("IDL:M/I/op:1.0")), ("x", Any::new(3i32))];
    for (constraint, expected) in [
        ("$type_name == '%TYPED'", TRUE),
        ("$operation ~ 'IDL:M/I/op:1.0' and x == 3", TRUE),
        ("$(x) == 3", TRUE),
        ("$._length == 2", TRUE),
        ("exist $y", FALSE),
    ] {
        assert_eq!(
            parse(constraint).evaluate(Subject::Properties(&typed)),
            Ok(expected),
            "{constraint}"
        );
    }
    // Names are also found in a list of names and values that is inside an any.
    let pair = common::sample_type().as_ref().at("pairs").unwrap().to_type_code();
    let list = any.dynamic().unwrap().at("pairs").unwrap().clone();
    for any in forms(&Any::with_type(pair, list).unwrap()) {
        assert_eq!(
            parse("$second == 'two' and $(first) == 1").evaluate(Subject::Any(&any)),
            Ok(true)
        );
    }
}

#[test]
fn what_cannot_be_evaluated_is_not_matched() {
    let table = [
        ("nothing == 1", Mismatch::Missing),
        ("not nothing", Mismatch::Missing),
        ("not (nothing == 1)", Mismatch::Missing),
        ("nothing == 1 or TRUE", Mismatch::Missing),
        ("$.header == 1", Mismatch::NotSimple),
        ("$sizes == 1", Mismatch::NotSimple),
        ("$severity[0] == 1", Mismatch::NoSequence),
        ("1 in $severity", Mismatch::NoSequence),
        ("$severity._d == 1", Mismatch::NoUnion),
        ("default $severity", Mismatch::NoUnion),
        ("$site == 1", Mismatch::Kinds),
        ("$site + 1 == 1", Mismatch::Kinds),
        ("$severity ~ 'x'", Mismatch::Kinds),
        ("severity", Mismatch::NotBoolean),
        ("not severity", Mismatch::Kinds),
        ("1 / ($severity - 4) == 1", Mismatch::DivisionByZero),
        ("1.0 / ($severity - 4) == 1", Mismatch::DivisionByZero),
        (
            "18446744073709551615 * 18446744073709551615 * 18446744073709551615 > 0",
            Mismatch::Overflow,
        ),
    ];
    let event = alarm();
    for (constraint, expected) in table {
        let parsed = parse(constraint);
        assert_eq!(parsed.evaluate(Subject::Structured(&event)), Err(expected), "{constraint}");
        assert!(!parsed.matches(Subject::Structured(&event)));
    }
}

#[test]
fn errors_tell_the_place_and_the_reason() {
    let table = [
        ("1 <", 3, "expected a value, found the end"),
        ("1 < 2 < 3", 6, "cannot be chained"),
        ("1 == 2 == 3", 7, "cannot be chained"),
        ("'a' ~ 'b' ~ 'c'", 10, "cannot be chained"),
        ("(1 == 1", 7, "expected an operator or `)`"),
        ("1 == 1)", 6, "expected an operator or the end"),
        ("@l == 3", 0, "'@' is not a part of the language"),
        ("a = 3", 2, "'=' is not a part of the language"),
        ("a == 'x", 5, "no closing quote"),
        ("a == 'x\\'", 5, "no closing quote"),
        ("a == -b", 6, "a sign is only allowed before a number"),
        ("not not a", 4, "expected a value"),
        ("a == 99999999999999999999", 5, "too large"),
        ("$a[99999999999] == 1", 3, "too large"),
        ("max a", 0, "order a trader's offers"),
        ("random", 0, "order a trader's offers"),
        ("$a[ == 1", 4, "expected a number, counted from 0"),
        ("$a[1 == 1", 5, "expected `]`"),
        ("$a(b == 1", 5, "expected `)`"),
        ("$a._x == 1", 3, "_length, _d, _type_id, _repos_id"),
        ("default a", 8, "`default` applies only to a union"),
        ("exist 3", 6, "expected the name of a property"),
        ("a in 3", 5, "expected the name of a property"),
        ("\\3 == 1", 0, "a name that begins with a letter"),
        ("'a' + 1 == 1", 0, "+ needs a number, not a string"),
        ("1 + 'a' == 1", 4, "+ needs a number, not a string"),
        ("x == 1 and 5", 11, "and needs a boolean, not a number"),
        ("'x' or a", 0, "or needs a boolean, not a string"),
        ("not 3", 4, "not needs a boolean"),
        ("1 == 'a'", 5, "== needs a number, not a string"),
        ("'a' < 3", 6, "< needs a string, not a number"),
        ("3 ~ 'a'", 0, "~ needs a string, not a number"),
        ("a / 0 == 1", 4, "division by zero"),
        ("1 + 2", 0, "the result is a number, not a boolean"),
        ("$a. == 1", 4, "the name or position of a member"),
        ("'a'", 0, "the result is a string, not a boolean"),
    ];
    for (constraint, at, what) in table {
        let error = refuse(constraint);
        assert_eq!(error.at, at, "{constraint}: {error}");
        assert!(error.to_string().contains(what), "{constraint}: {error}");
    }
}

#[test]
fn length_depth_and_work_are_bounded() {
    let limits = ConstraintLimits { length: 100, depth: 5, work: 50 };
    let options = Options { limits, ..Options::default() };
    let parse = |text: &str| Constraint::parse_with(text, Grammar::Extended, options);
    assert!(parse(&format!("{:100}", "TRUE")).is_ok());
    let error = parse(&format!("{:101}", "TRUE")).unwrap_err();
    assert_eq!(error.reason, Reason::TooLong { limit: 100 });
    assert!(parse("(((((TRUE)))))").is_ok());
    let error = parse("((((((TRUE))))))").unwrap_err();
    assert_eq!((error.at, error.reason), (5, Reason::TooDeep { limit: 5 }));

    let contains = parse("1 in $.").unwrap();
    assert_eq!(contains.evaluate(Subject::Any(&Any::new(vec![0i32; 20]))), Ok(false));
    for any in forms(&Any::new(vec![0i32; 50])) {
        assert_eq!(contains.evaluate(Subject::Any(&any)), Err(Mismatch::TooMuchWork));
    }
}

/// Constraints of the maximum length whose operators could be nested. Neither parsing nor evaluation uses a deep stack
/// for them.
#[test]
fn long_constraints_need_no_deep_stack() {
    let limits = ConstraintLimits::default();
    let event = alarm();
    for (first, more) in [
        ("1==1", " or 1==2"),
        ("1==1", " and 1==1"),
        ("0<1", "+1"),
        ("0<1", "*1"),
        ("$", ".a"),
        ("$", "[1]"),
    ] {
        let mut long = first.to_owned();
        while long.len() + more.len() <= limits.length {
            long.push_str(more);
        }
        let _ = parse(&long).evaluate(Subject::Structured(&event));
    }
    let deep = format!("{}TRUE{}", "(".repeat(limits.depth), ")".repeat(limits.depth));
    assert_eq!(parse(&deep).evaluate(Subject::Structured(&event)), Ok(true));
    let error = refuse(&"(".repeat(limits.length));
    assert_eq!(error.reason, Reason::TooDeep { limit: limits.depth });
}

#[test]
fn the_trader_s_language_has_no_components() {
    let error = Constraint::parse("$severity == 4", Grammar::Trader).unwrap_err();
    assert_eq!(error.reason, Reason::ComponentInTcl);
    let constraint =
        Constraint::parse("severity == 4 and exist site and 2 in sizes", Grammar::Trader).unwrap();
    assert!(constraint.matches(Subject::Structured(&alarm())));
    assert_eq!(
        ["EXTENDED_TCL", "ETCL", "TCL", "SQL"].map(Grammar::named),
        [Some(Grammar::Extended), Some(Grammar::Extended), Some(Grammar::Trader), None,]
    );
}

#[test]
fn the_dialect_of_tao_deviates_as_tao_does() {
    let table = [
        ("@severity == 4", Ok(TRUE)),
        ("$severity ; == 4", Ok(TRUE)),
        ("min severity", Ok(FALSE)),
        ("random", Ok(FALSE)),
        ("$.severity == 4", Err(Mismatch::Missing)),
        ("\\not == 'escaped'", Err(Mismatch::Missing)),
        ("not exist nothing", Err(Mismatch::Missing)),
        ("exist $.header.variable_header(Priority)", Ok(TRUE)),
        ("$Priority == 3", Err(Mismatch::Missing)),
        ("$both == 2", Ok(TRUE)),
        ("$.domain_name == 'Telecom' and $.header.type_name == 'Alarm'", Ok(TRUE)),
        ("$curtime > 0", Err(Mismatch::Missing)),
        ("3.5 > 3", Ok(FALSE)),
        ("3.5 > 3.4", Ok(TRUE)),
        ("1 / 0 == 0", Ok(TRUE)),
        ("2 in $sizes", Ok(FALSE)),
        ("$sizes[1] == 2", Err(Mismatch::Missing)),
        ("$sizes._length == 3", Ok(TRUE)),
        ("$site == 3", Ok(FALSE)),
        ("severity + 1", Err(Mismatch::NotBoolean)),
    ];
    let options = Options { dialect: Dialect::Tao, ..Options::default() };
    let event = alarm();
    for (constraint, expected) in table {
        for grammar in [Grammar::Extended, Grammar::Trader] {
            let parsed = Constraint::parse_with(constraint, grammar, options);
            let parsed = parsed.unwrap_or_else(|error| panic!("{constraint}: {error}"));
            assert_eq!(parsed.evaluate(Subject::Structured(&event)), expected, "{constraint}");
        }
    }
    for refused in ["5. == 5", "1e3 == 1000", "1<2<3"] {
        assert!(Constraint::parse_with(refused, Grammar::Extended, options).is_err(), "{refused}");
    }
    let twice = Structured {
        body: vec![("a", Any::new(1i32)), ("a", Any::new(1i32))],
        ..Structured::default()
    };
    let parsed = Constraint::parse_with("$a == 1", Grammar::Extended, options).unwrap();
    assert_eq!(parsed.evaluate(Subject::Structured(&twice)), Err(Mismatch::Duplicate));
    assert!(parse("$a == 1").matches(Subject::Structured(&twice)));
}

#[test]
fn values_of_valuetypes_and_exceptions_are_read_whole() {
    use oxorb_cdr::{Dynamic, DynamicValue, Field, ValueModifier, Visibility};

    let base = TypeCode::value(
        "IDL:Base:1.0",
        "Base",
        ValueModifier::None,
        None,
        [("id", TypeCode::LONG, Visibility::Public)],
    );
    let derived = TypeCode::value(
        "IDL:Derived:1.0",
        "Derived",
        ValueModifier::None,
        Some(base),
        [("name", TypeCode::STRING, Visibility::Public)],
    );
    let mut value = DynamicValue::default_for(&derived).unwrap();
    value.fields[0].value = Dynamic::Long(5);
    value.fields[1].value = Dynamic::String("five".to_owned());
    let any = Any::with_type(derived, value.into()).unwrap();
    for any in forms(&any) {
        let constraint =
            parse("$.id == 5 and $.name == 'five' and $.1 == 'five' and $.id._type_id == 'long'");
        assert_eq!(constraint.evaluate(Subject::Any(&any)), Ok(true), "{any:?}");
    }

    let exception = TypeCode::exception("IDL:E:1.0", "E", [("why", TypeCode::LONG)]);
    let fields = vec![Field { name: "why".into(), value: Dynamic::Long(3) }];
    for any in forms(&Any::with_type(exception, Dynamic::Struct(fields)).unwrap()) {
        assert_eq!(parse("$.why == 3").evaluate(Subject::Any(&any)), Ok(true), "{any:?}");
    }
}
