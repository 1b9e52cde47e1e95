//! IDL with very many instances of each construct.

use oxorb_idl::fuzz::compile_everything;

use crate::{Case, case};

macro_rules! cases {
    ($($name:literal, $n:literal, $input:expr;)*) => {
        vec![$(case(concat!("idl: ", $name), compile_everything, $n, $input)),*]
    };
}

pub(crate) fn cases() -> Vec<Case> {
    cases! {
        "typedefs", 20, |n| each(n, |at| format!("typedef long t{at};\n"));
        "typedefs of each other", 20, |n| {
            each(n, |at| match at {
                0 => "typedef long t0;\n".to_owned(),
                _ => format!("typedef t{} t{at};\n", at - 1),
            })
        };
        "structs of each other", 10, |n| {
            each(n, |at| match at {
                0 => "struct s0 { long a; };\n".to_owned(),
                _ => format!("struct s{at} {{ s{0} a; s{0} b; }};\n", at - 1),
            })
        };
        "members", 20, |n| within("struct S {", n, |at| format!("long m{at};\n"), "};");
        "enumerators", 20, |n| within("enum E { z", n, |at| format!(", e{at}"), "};");
        "labels", 10, |n| {
            within("union U switch (long) {", n, |at| format!("case {at}: long m{at};\n"), "};")
        };
        "operations", 10, |n| within("interface I {", n, |at| format!("void o{at}();\n"), "};");
        "interfaces that inherit from the one before", 8, |n| {
            each(n, |at| match at {
                0 => "interface i0 {};\n".to_owned(),
                _ => format!("interface i{at} : i{} {{}};\n", at - 1),
            })
        };
        "modules opened again", 10, |n| each(n, |_| "module M { module N {}; };\n".to_owned());
        "modules within modules", 8, |n| {
            format!("{}const long c = 1;{}", "module M { ".repeat(n), "};".repeat(n)).into()
        };
        "constants of each other", 20, |n| {
            each(n, |at| match at {
                0 => "const long c0 = 1;\n".to_owned(),
                _ => format!("const long c{at} = c{};\n", at - 1),
            })
        };
        "terms", 20, |n| within("const long c = 1", n, |_| " + 1".to_owned(), ";");
        "parentheses", 8, |n| {
            format!("const long c = {}1{};", "(".repeat(n), ")".repeat(n)).into()
        };
        "sequences of sequences", 100, |n| {
            format!("typedef {}long{} t;", "sequence<".repeat(n), ">".repeat(n)).into()
        };
        "macros", 20, |n| each(n, |at| format!("#define M{at} {at}\nconst long c{at} = M{at};\n"));
        "macros of each other", 5, |n| {
            let mut text = each(n, |at| match at {
                0 => "#define M0 1\n".to_owned(),
                _ => format!("#define M{at} M{}\n", at - 1),
            });
            text.extend(format!("const long c = M{};\n", n - 1).bytes());
            text
        };
        "conditions", 20, |n| each(n, |at| format!("#if {at} == {at}\n#else\nwrong\n#endif\n"));
        "conditions within conditions", 10, |n| ["#if 1\n".repeat(n), "#endif\n".repeat(n)].concat().into();
        "comments", 50, |n| each(n, |at| format!("/* {at} */ // {at}\n"));
        "a long comment", 200, |n| format!("/*{}*/", " *".repeat(n)).into();
        "a long string", 100, |n| format!("const string s = \"{}\";", "\\x41".repeat(n)).into();
        "strings side by side", 20, |n| within("const string s = ", n, |_| "\"a\" ".to_owned(), "\"\";");
        "a long name", 100, |n| format!("struct {0} {{ long m; }}; typedef {0} t;", "x".repeat(n)).into();
        "a name of many parts", 10, |n| format!("typedef {}x t;", "M::".repeat(n)).into();
        "errors", 10, |n| each(n, |_| "struct ;\n".to_owned());
        "errors in one line", 10, |n| each(n, |_| "struct ; ".to_owned());
        "names that are not there", 120, |n| each(n, |at| format!("typedef missing{at} t{at};\n"));
        "names taken twice", 10, |n| each(n, |_| "typedef long t;\n".to_owned());
        "annotations", 10, |n| each(n, |at| format!("@unknown struct a{at} {{ long m; }};\n"));
        "forward declarations", 10, |n| each(n, |at| format!("interface f{at}; interface f{at} {{}};\n"));
        "pragmas", 10, |n| each(n, |at| format!("#pragma prefix \"p{at}\"\n"));
        "ids", 10, |n| each(n, |at| format!("typedef long t{at};\n#pragma ID t{at} \"IDL:x{at}:1.0\"\n"));
        "includes", 2, |n| each(n, |at| format!("#ifndef A{at}\n#define A{at}\n#include \"self\"\n#endif\n"));
        "open brackets", 20, |n| "[{(<".repeat(n).into();
        "nothing that is IDL", 50, |n| vec![0xff; n];
        "dimensions", 10, |n| format!("typedef long t{};", "[2]".repeat(n)).into();
        "templates", 5, |n| {
            let mut text = b"module T<typename X> { typedef X x; };\n".to_vec();
            text.extend(each(n, |at| format!("module T<long> I{at};\n")));
            text
        };
    }
}

fn each(n: usize, one: impl Fn(usize) -> String) -> Vec<u8> {
    (0..n).map(one).collect::<String>().into()
}

fn within(start: &str, n: usize, one: impl Fn(usize) -> String, end: &str) -> Vec<u8> {
    let between: String = (0..n).map(one).collect();
    format!("{start}{between}{end}").into()
}
