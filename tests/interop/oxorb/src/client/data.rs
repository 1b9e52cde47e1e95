//! Checks that send values of every type in every direction.

use oxorb_interop::interop::*;

use crate::check::{Checks, Result, fail, holds, rotate, same, some};

pub(crate) fn numbers(checks: &mut Checks, suite: &SuiteRef) -> Result {
    let o = some(suite.number_tests()?)?;
    checks.check("boolean", || rotate(&[true, false, true], |a, b| o.rotate_boolean(*a, b)));
    checks.check("octet", || rotate(&[0, 255, 127, 128], |a, b| o.rotate_octet(*a, b)));
    checks.check("short", || rotate(&[i16::MIN, i16::MAX, -1, 258], |a, b| o.rotate_short(*a, b)));
    checks.check("ushort", || rotate(&[0, 65535, 258, 32768], |a, b| o.rotate_ushort(*a, b)));
    checks.check("long", || {
        rotate(&[i32::MIN, i32::MAX, -1, 0x0102_0304], |a, b| o.rotate_long(*a, b))
    });
    checks.check("ulong", || {
        rotate(&[0, u32::MAX, 0x0102_0304, 1 << 31], |a, b| o.rotate_ulong(*a, b))
    });
    checks.check("longlong", || {
        rotate(&[i64::MIN, i64::MAX, -1, 0x0102_0304_0506_0708], |a, b| o.rotate_longlong(*a, b))
    });
    checks.check("ulonglong", || {
        rotate(&[0, u64::MAX, 0x0102_0304_0506_0708, 1 << 63], |a, b| o.rotate_ulonglong(*a, b))
    });
    checks.check("float", || {
        let values = [
            1.5,
            -0.0,
            f32::INFINITY,
            f32::NEG_INFINITY,
            f32::MAX,
            f32::from_bits(1),
            core::f32::consts::PI,
        ];
        rotate(&values, |a, b| o.rotate_float(*a, b))
    });
    checks.check("double", || {
        let values = [
            1.5,
            -0.0,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::MAX,
            f64::from_bits(1),
            core::f64::consts::PI,
        ];
        rotate(&values, |a, b| o.rotate_double(*a, b))
    });
    checks.check("mixed_parameters", || {
        let (mut s, mut data) = ("odd".to_owned(), vec![1, 2, 3]);
        let results = o.mixed(9, 1.25, &mut s, &point(77), &mut data, false)?;
        same("results", &(2.5, 9, -77, true), &results)?;
        same("s", "odd!", s.as_str())?;
        same("data", &vec![3, 2, 1], &data)
    });
    checks.check("constants", || {
        let expected = Constants {
            yes: YES,
            mask: MASK,
            letter: LETTER,
            low: LOW,
            high: HIGH,
            product: PRODUCT,
            bits: BITS,
            far_away: FAR,
            huge_number: HUGE_NUMBER,
            ratio: RATIO,
            greeting: GREETING.to_owned(),
            favourite: FAVOURITE,
        };
        same("constants", &expected, &o.constant_values()?)
    });
    Ok(())
}

pub(crate) fn texts(checks: &mut Checks, suite: &SuiteRef) -> Result {
    let o = some(suite.text_tests()?)?;
    let latin1 = "Grüß Gott ©";
    let strings = |values: &[&str]| {
        let values: Vec<String> = values.iter().map(|&text| text.to_owned()).collect();
        rotate(&values, |a, b| o.rotate_string(a, b))
    };
    checks.check("char", || rotate(&['a', '~', ' ', '\n', '\0'], |a, b| o.rotate_char(*a, b)));
    checks.check("char_latin1", || rotate(&['ä', 'ÿ', 'x'], |a, b| o.rotate_char(*a, b)));
    checks.check("string", || strings(&["Hello", "a longer one, with \"punctuation\" and\nlines"]));
    checks.check("string_empty", || strings(&["", "not"]));
    checks.check("string_latin1", || strings(&[latin1, "plain"]));
    // Greek, Chinese, and a musical G clef (beyond the basic plane).
    checks.check("string_beyond_latin1", || strings(&["καλημέρα", "日本 𝄞"]));
    checks.check("string_bounded", || {
        rotate(&["12345678".to_owned(), String::new()], |a, b| o.rotate_bounded(a, b))
    });
    checks.check("string_too_long", || match o.rotate_bounded("123456789", &mut "x".to_owned()) {
        Err(_) => Ok(()),
        Ok(_) => fail("expected a system exception, got none"),
    });
    checks.check("string_sequence", || {
        rotate(&[words(&["one", "", "three"]), words(&[latin1]), words(&[])], |a, b| {
            o.rotate_strings(a, b)
        })
    });
    checks.check("string_bounded_sequence", || {
        rotate(&[words(&["12345678", ""]), words(&["a"]), words(&[])], |a, b| {
            o.rotate_bounded_strings(a, b)
        })
    });
    Ok(())
}

pub(crate) fn wide_texts(checks: &mut Checks, suite: &SuiteRef) -> Result {
    let o = some(suite.wide_tests()?)?;
    let strings = |values: &[&str]| {
        let values: Vec<String> = values.iter().map(|&text| text.to_owned()).collect();
        rotate(&values, |a, b| o.rotate_wstring(a, b))
    };
    checks.check("wchar", || rotate(&['a', ' ', '~'], |a, b| o.rotate_wchar(*a, b)));
    checks.check("wchar_beyond_latin1", || {
        rotate(&['ä', '€', '日'], |a, b| o.rotate_wchar(*a, b))
    });
    checks.check("wstring", || strings(&["Hello", "Grüß καλη 日本"]));
    checks.check("wstring_empty", || strings(&["", "not"]));
    checks.check("wstring_beyond_bmp", || strings(&["clef 𝄞", "🐂 ox"]));
    checks.check("wstring_bounded", || {
        for text in ["12345678", "x", ""] {
            same("result", text, o.echo_bounded(text)?.as_str())?;
        }
        Ok(())
    });
    checks.check("wstring_sequence", || {
        rotate(&[words(&["one", "", "€"]), words(&["x"]), words(&[])], |a, b| {
            o.rotate_wstrings(a, b)
        })
    });
    checks.check("wchar_sequence", || {
        rotate(&[vec!['a', '€', 'z'], vec!['b'], vec![]], |a, b| o.rotate_wchars(a, b))
    });
    checks.check("wide_struct", || {
        let x = WideRecord { shift: 1, letter: '€', text: "odd".to_owned(), after: 2 };
        let y = WideRecord { shift: 3, letter: 'a', text: String::new(), after: 4 };
        rotate(&[x, y], |a, b| o.rotate_record(a, b))
    });
    checks.check("wide_union", || {
        let (x, y) = (WideChoice::C('€'), WideChoice::S("chosen".to_owned()));
        rotate(&[x.clone(), y, x], |a, b| o.rotate_choice(a, b))
    });
    checks.check("wide_constants", || {
        same("constants", &(WIDE_GREETING.to_owned(), WIDE_LETTER), &o.constant_values()?)
    });
    Ok(())
}

pub(crate) fn aggregates(checks: &mut Checks, suite: &SuiteRef) -> Result {
    let o = some(suite.aggregate_tests()?)?;
    checks.check("enum", || {
        rotate(&[Colour::Red, Colour::Blue, Colour::Green], |a, b| o.rotate_enum(*a, b))
    });
    checks.check("typedef", || rotate(&[-5, 5], |a, b| o.rotate_typedef(*a, b)));
    checks.check("struct", || rotate(&[point(1), point(2)], |a, b| o.rotate_point(a, b)));
    checks.check("struct_nested", || {
        rotate(&[record("first", 3), record("", 0)], |a, b| o.rotate_record(a, b))
    });
    checks.check("struct_recursive", || {
        rotate(&[tree("t", 4), tree("leaf", 0)], |a, b| o.rotate_tree(a, b))
    });
    checks.check("struct_reserved_words", || {
        let x = Words { r#type: 1, self_: 2, class: 3, string: 4, r#final: 5 };
        let y = Words { r#type: -1, self_: -2, class: -3, string: -4, r#final: -5 };
        rotate(&[x, y], |a, b| o.rotate_words(a, b))
    });
    checks.check("array", || {
        rotate(&[[[1, 2, 3], [4, 5, 6]], [[-1, -2, -3], [-4, -5, -6]]], |a, b| {
            o.rotate_matrix(a, b)
        })
    });
    checks.check("array_of_arrays", || {
        rotate(&[[[1, 2, 3], [4, 5, 6]], [[-1, -2, -3], [-4, -5, -6]]], |a, b| o.rotate_grid(a, b))
    });
    checks.check("array_of_strings", || {
        let names = |a: &str, b: &str| [a.to_owned(), b.to_owned()];
        rotate(&[names("left", ""), names("", "right")], |a, b| o.rotate_names(a, b))
    });
    checks.check("array_of_structs", || {
        rotate(&[[record("a", 1), record("b", 2)], [record("c", 3), record("d", 4)]], |a, b| {
            o.rotate_pair(a, b)
        })
    });
    Ok(())
}

pub(crate) fn choices(checks: &mut Checks, suite: &SuiteRef) -> Result {
    let o = some(suite.choice_tests()?)?;
    checks.check("union_short", || {
        rotate(&[by_short(-1), by_short(0), by_short(7), by_short(1)], |a, b| o.rotate_short(a, b))
    });
    checks.check("union_ushort", || {
        rotate(&[ByUShort::Big(-9), ByUShort::Big(9)], |a, b| o.rotate_ushort(a, b))
    });
    checks.check("union_no_member", || {
        let none = some(by_u_short::OtherLabel::new(5))?;
        let (x, y) = (ByUShort::Big(-9), ByUShort::Other(none));
        rotate(&[x.clone(), y, x], |a, b| o.rotate_ushort(a, b))?;
        let (x, y) = (ByMiddle::other(), ByMiddle::L(3));
        rotate(&[x.clone(), y, x], |a, b| o.rotate_middle(a, b))
    });
    checks.check("union_long", || {
        let (x, y) = (ByLong::P(point(4)), ByLong::Data(vec![9, 8, 7]));
        rotate(&[x.clone(), y, x], |a, b| o.rotate_long(a, b))
    });
    checks.check("union_ulong", || {
        rotate(&[ByULong::D(-0.5), ByULong::c('u')], |a, b| o.rotate_ulong(a, b))
    });
    checks.check("union_longlong", || {
        let values = [ByLongLong::S(-3), ByLongLong::R([1, 2, 3]), ByLongLong::o(1)];
        rotate(&values, |a, b| o.rotate_longlong(a, b))
    });
    checks.check("union_ulonglong", || {
        rotate(&[ByULongLong::Texts(words(&["a", "b"])), ByULongLong::b(true)], |a, b| {
            o.rotate_ulonglong(a, b)
        })
    });
    checks.check("union_default_label", || {
        let top = ByULong::C(some(by_u_long::CLabel::new(u32::MAX))?, 'u');
        rotate(&[ByULong::D(1.5), top], |a, b| o.rotate_ulong(a, b))?;
        let far = |label, value| -> Result<_> {
            Ok(ByULongLong::B(some(by_u_long_long::BLabel::new(label))?, value))
        };
        rotate(&[far(u64::MAX, true)?, far(1 << 40, false)?], |a, b| o.rotate_ulonglong(a, b))
    });
    checks.check("union_char", || {
        rotate(&[ByChar::S("a".to_owned()), ByChar::L(26)], |a, b| o.rotate_char(a, b))
    });
    checks.check("union_boolean", || {
        rotate(&[ByBoolean::S("yes".to_owned()), ByBoolean::D(0.0)], |a, b| o.rotate_boolean(a, b))
    });
    checks.check("union_enum", || {
        let values = [
            ByEnum::Outline(vec![point(1), point(2)]),
            ByEnum::Rec(record("green", 2)),
            ByEnum::l(3),
        ];
        rotate(&values, |a, b| o.rotate_enum(a, b))
    });
    checks.check("union_enum_middle", || {
        let (x, y) = (ByMiddle::S("green".to_owned()), ByMiddle::L(-1));
        rotate(&[x.clone(), y, x], |a, b| o.rotate_middle(a, b))
    });
    checks.check("union_nested", || {
        rotate(&[Nested::Inner(by_short(0)), Nested::Paint(ByEnum::l(1))], |a, b| {
            o.rotate_nested(a, b)
        })
    });
    checks.check("union_sequence", || {
        let values = [vec![by_short(-1), by_short(7), by_short(1)], vec![by_short(0)], vec![]];
        rotate(&values, |a, b| o.rotate_unions(a, b))
    });
    Ok(())
}

pub(crate) fn sequences(checks: &mut Checks, suite: &SuiteRef) -> Result {
    let o = some(suite.sequence_tests()?)?;
    checks.check("sequence_octet", || {
        rotate(&[vec![0, 127, 128, 255], vec![1], vec![]], |a, b| o.rotate_octets(a, b))
    });
    checks.check("sequence_boolean", || {
        rotate(&[vec![true, false, true], vec![false], vec![]], |a, b| o.rotate_booleans(a, b))
    });
    checks.check("sequence_char", || {
        rotate(&[vec!['a', 'b', 'c'], vec!['z'], vec![]], |a, b| o.rotate_chars(a, b))
    });
    checks.check("sequence_short", || {
        rotate(&[vec![-32768, 1, 2], vec![7], vec![]], |a, b| o.rotate_shorts(a, b))
    });
    checks.check("sequence_ushort", || {
        rotate(&[vec![65535, 1, 2], vec![7], vec![]], |a, b| o.rotate_ushorts(a, b))
    });
    checks.check("sequence_long", || {
        rotate(&[vec![-2147483647, 1], vec![7], vec![]], |a, b| o.rotate_longs(a, b))
    });
    checks.check("sequence_ulong", || {
        rotate(&[vec![u32::MAX, 1], vec![7], vec![]], |a, b| o.rotate_ulongs(a, b))
    });
    checks.check("sequence_longlong", || {
        rotate(&[vec![FAR, 1], vec![7], vec![]], |a, b| o.rotate_longlongs(a, b))
    });
    checks.check("sequence_ulonglong", || {
        rotate(&[vec![HUGE_NUMBER, 1], vec![7], vec![]], |a, b| o.rotate_ulonglongs(a, b))
    });
    checks.check("sequence_float", || {
        rotate(&[vec![-0.0, 1.5], vec![2.0], vec![]], |a, b| o.rotate_floats(a, b))
    });
    checks.check("sequence_double", || {
        rotate(&[vec![-0.0, 1.5], vec![2.0], vec![]], |a, b| o.rotate_doubles(a, b))
    });
    checks.check("sequence_enum", || {
        rotate(&[vec![Colour::Blue, Colour::Red], vec![Colour::Green], vec![]], |a, b| {
            o.rotate_enums(a, b)
        })
    });
    checks.check("sequence_struct", || {
        rotate(&[vec![point(1), point(2), point(3)], vec![point(4)], vec![]], |a, b| {
            o.rotate_points(a, b)
        })
    });
    checks.check("sequence_record", || {
        rotate(&[vec![record("a", 1), record("", 0)], vec![record("b", 5)], vec![]], |a, b| {
            o.rotate_records(a, b)
        })
    });
    checks.check("sequence_of_sequences", || {
        rotate(&[vec![vec![], vec![1, 2], vec![3]], vec![]], |a, b| o.rotate_lists(a, b))
    });
    checks.check("sequence_of_arrays", || {
        rotate(&[vec![[0, 1, 2], [3, 4, 5]], vec![]], |a, b| o.rotate_rows(a, b))
    });
    checks.check("sequence_bounded", || {
        rotate(&[vec![1, 2, 3, 4, 5, 6, 7, 8], vec![9], vec![]], |a, b| o.rotate_bounded(a, b))
    });
    checks.check("sequence_bounded_string", || {
        rotate(&[words(&["a", "b", "c"]), words(&[""]), words(&[])], |a, b| {
            o.rotate_bounded_strings(a, b)
        })
    });
    checks.check("sequence_too_long", || {
        holds(o.rotate_bounded(&[0; 9], &mut Vec::new()).is_err(), "a system exception, got none")
    });
    Ok(())
}

// ---- values: the same in all three clients --------------------------------------

pub(crate) fn point(n: i32) -> Point {
    Point {
        tag: n as u8,
        x: f64::from(n) + 0.5,
        y: -n as i16,
        height: n.wrapping_mul(1000),
        visible: n % 2 == 1,
    }
}

pub(crate) fn record(name: &str, n: i32) -> Record {
    Record {
        name: name.to_owned(),
        position: point(n),
        paint: [Colour::Red, Colour::Green, Colour::Blue][n as usize % 3],
        numbers: (0..n).map(|i| i * n - 3).collect(),
        checksum: [250, 251, 252, 253, 254],
        notes: words(&["", "a note"]),
    }
}

pub(crate) fn tree(label: &str, depth: u8) -> Tree {
    let branches = (0..depth).map(|i| tree(&format!("{label}{i}"), depth - 1)).collect();
    Tree { label: label.to_owned(), branches }
}

pub(crate) fn by_short(label: i16) -> ByShort {
    let selects = "the label selects this member";
    match label {
        -1 => ByShort::O(200),
        0 | 7 => ByShort::L(by_short::LLabel::new(label).expect(selects), -12345),
        _ => ByShort::S(by_short::SLabel::new(label).expect(selects), "by default".to_owned()),
    }
}

pub(crate) fn words(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}
