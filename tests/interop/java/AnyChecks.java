package peers;

import Interop.*;
import InteropAny.Carrying;
import InteropAny.Choice;
import InteropAny.Contents;
import InteropAny.Decimals;
import InteropAny.Labelled;
import InteropAny.Priced;
import InteropAny.Types;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import org.omg.CORBA.Any;
import org.omg.CORBA.ORB;
import org.omg.CORBA.TCKind;
import org.omg.CORBA.TypeCode;

/** Checks of any, TypeCode and fixed: see interop_any.idl. */
final class AnyChecks {
    private static final String[] TYPE_NAMES = {
        "Interop/Colour", "Interop/Metres", "Interop/ShortText", "Interop/Point", "Interop/Record", "Interop/Tree",
        "Interop/WideRecord", "Interop/ByShort", "Interop/ByUShort", "Interop/ByLong",
        "Interop/ByULong", "Interop/ByChar", "Interop/ByBoolean",
        "Interop/ByEnum", "Interop/ByMiddle", "Interop/Nested", "Interop/Octets", "Interop/FewLongs", "Interop/FewStrings",
        "Interop/Rows", "Interop/Trees", "Interop/Matrix", "Interop/Grid", "Interop/Pair", "Interop/Empty", "Interop/Detailed", "Interop/Chosen", "Interop/Node",
        "InteropAny/Anys", "InteropAny/TwoAnys", "InteropAny/Labelled", "InteropAny/Choice", "InteropAny/Carrying",
        "InteropAny/Price", "InteropAny/Fraction", "InteropAny/Prices", "InteropAny/Priced",
    };

    private static ORB orb;
    private static Contents contents;

    private AnyChecks() {}

    static void all(Suite suite, ORB theOrb) {
        orb = theOrb;
        InteropAny.Suite any = InteropAny.SuiteHelper.narrow(suite.extras("any"));
        contents = any.any_tests();
        content(suite);
        types(any.type_tests());
        decimals(any.decimal_tests());
    }

    // ---- any -----------------------------------------------------------------------

    private static Any any(Consumer<Any> insert) {
        Any any = orb.create_any();
        insert.accept(any);
        return any;
    }

    /** Returns an any with a value, inserted by the helper of the value's class. */
    private static Any helped(String name, Object value) {
        return any(a -> Anys.insert(a, name, value));
    }

    private interface Values {
        Any[] make() throws Exception;
    }

    /** Rotates neighbouring values, extracts each from its any at the server, and repeats this with DynAny's values. */
    private static void anys(String name, Values make) {
        Client.check("any_" + name, () -> {
            List<Any> values = new ArrayList<>(List.of(make.make()));
            values.add(values.get(0));
            Client.rotate(contents, "rotate_any", values.toArray());
            for (Any value : values) comesBack("retyped", value, contents.retype(value));
        });
        Client.check("dynany_" + name, () -> {
            for (Any value : make.make()) {
                Any built = DynAnys.rebuilt(orb, value);
                comesBack("retyped", value, contents.retype(built));
                Any back = contents.rebuild(built);
                comesBack("rebuilt", value, back);
                Client.holds(value.type().equivalent(back.type()), "an equivalent type, got " + back.type());
            }
        });
    }

    private static void comesBack(String what, Any value, Any again) {
        Anys.Content content = Anys.content(again);
        Client.holds(content != null, "a value of a known type");
        Client.same(what, Anys.content(value).value(), content.value());
    }

    private static void content(Suite suite) {
        Client.check("any_empty", () ->
                Client.rotate(contents, "rotate_any", orb.create_any(), any(a -> a.insert_long(1)), orb.create_any()));
        anys("integers", () -> new Any[] {any(a -> a.insert_octet((byte) 255)), any(a -> a.insert_short((short) -2)),
            any(a -> a.insert_ushort((short) 65535)), any(a -> a.insert_long(-2147483647)), any(a -> a.insert_ulong(-1)),
            any(a -> a.insert_longlong(-1L << 40)), any(a -> a.insert_ulonglong(-1L))});
        anys("floats", () -> new Any[] {any(a -> a.insert_float(-0.0f)), any(a -> a.insert_double(1.5))});
        anys("boolean_char", () -> new Any[] {any(a -> a.insert_boolean(true)), any(a -> a.insert_char('x')),
            any(a -> a.insert_boolean(false))});
        anys("string", () -> new Any[] {any(a -> a.insert_string("text")), any(a -> a.insert_string("")),
            helped("Interop.Strings", new String[] {"one", ""}), helped("Interop.ShortTexts", new String[] {"12345678"}),
            helped("Interop.FewStrings", new String[] {"a", "b", "c"})});
        anys("string_named", () -> new Any[] {helped("Interop.ShortText", "12345678"), helped("Interop.ShortText", "")});
        anys("wide_named", () -> new Any[] {helped("Interop.ShortWideText", "12345678"), helped("Interop.ShortWideText", "")});
        anys("wide", () -> new Any[] {any(a -> a.insert_wchar('\u20ac')), any(a -> a.insert_wstring("\u65e5\u672c")),
            any(a -> a.insert_wstring("")), helped("Interop.WideStrings", new String[] {"one", "", "\u20ac"}), helped("Interop.WideChars", new char[] {'a', '\u20ac'}),
            helped("Interop.WideChoice", wideChoice("clef \ud834\udd1e"))});
        anys("wide_struct", () -> new Any[] {helped("Interop.WideRecord", new WideRecord((byte) 1, '\u20ac', "odd", (byte) 2)),
            any(a -> a.insert_long(1))});
        anys("enum", () -> new Any[] {helped("Interop.Colour", Colour.blue), helped("Interop.Colour", Colour.red)});
        anys("typedef", () -> new Any[] {helped("Interop.Metres", -5), any(a -> a.insert_long(5))});
        anys("struct", () -> new Any[] {helped("Interop.Point", Client.point(1)),
            helped("Interop.Record", Client.record("in an any", 3)), helped("Interop.Record", Client.record("", 0)),
            helped("Interop.Words", new Words(1, 2, 3, 4, 5))});
        anys("recursive", () -> new Any[] {helped("Interop.Tree", Client.tree("t", 3)), helped("Interop.Tree", Client.tree("leaf", 0))});
        anys("recursive_sequence", () -> new Any[] {helped("Interop.Trees", Client.tree("sequence", 3).branches),
            helped("Interop.Trees", new Tree[0])});
        anys("union", AnyChecks::unions);
        anys("union_no_member", AnyChecks::unionsWithoutMember);
        anys("union_longlong", AnyChecks::farUnions);
        anys("sequence", () -> new Any[] {helped("Interop.Octets", new byte[] {0, -1}), helped("Interop.Longs", new int[0]),
            helped("Interop.Booleans", new boolean[] {true, false}), helped("Interop.Chars", new char[] {'a', 'b'}),
            helped("Interop.Shorts", new short[] {-32768, 1}), helped("Interop.UShorts", new short[] {-1, 1}),
            helped("Interop.ULongs", new int[] {-1}), helped("Interop.LongLongs", new long[] {FAR.value, 1}),
            helped("Interop.ULongLongs", new long[] {-1}), helped("Interop.Floats", new float[] {-0.0f, 1.5f}),
            helped("Interop.Doubles", new double[] {-0.0, 1.5}), helped("Interop.Colours", new Colour[] {Colour.blue, Colour.red}),
            helped("Interop.Points", new Point[] {Client.point(1), Client.point(2)}),
            helped("Interop.Records", new Interop.Record[] {Client.record("a", 1)}),
            helped("Interop.LongLists", new int[][] {{}, {1, 2}}), helped("Interop.Rows", new int[][] {{0, 1, 2}, {3, 4, 5}}),
            helped("Interop.FewLongs", new int[] {7}),
            helped("Interop.Unions", new ByShort[] {Client.byShort(0)})});
        anys("array", () -> new Any[] {helped("Interop.Matrix", new short[][] {{1, 2, 3}, {4, 5, 6}}),
            helped("Interop.Names", new String[] {"left", ""}),
            helped("Interop.Pair", new Interop.Record[] {Client.record("a", 1), Client.record("b", 2)}),
            helped("Interop.Grid", new int[][] {{1, 2, 3}, {4, 5, 6}}), helped("Interop.Digest", new byte[] {1, 2, 3, 4, -1})});
        anys("exception", () -> new Any[] {helped("Interop.Empty", new Empty()),
            helped("Interop.Detailed", new Detailed("in an any", 3, Client.record("d", 1)))});
        anys("reference", () -> {
            Node x = suite.reference_tests().make_node(12);
            Node y = suite.reference_tests().make_node(13);
            return new Any[] {helped("Interop.Node", x), helped("Interop.Node", y), any(a -> a.insert_Object(x, basic(TCKind.tk_objref))),
                helped("Interop.Holder", new Holder("held", y)), helped("Interop.Nodes", new Node[] {x, y})};
        });
        anys("reference_nil", () -> new Any[] {helped("Interop.Node", null), any(a -> a.insert_long(1))});
        anys("any", () -> new Any[] {any(a -> a.insert_any(any(b -> b.insert_long(7)))),
            any(a -> a.insert_any(any(b -> b.insert_any(helped("Interop.Record", Client.record("deep", 2)))))),
            any(a -> a.insert_any(any(b -> b.insert_string("shallow")))), any(a -> a.insert_any(orb.create_any()))});
        anys("typecode", () -> new Any[] {any(a -> a.insert_TypeCode(TreeHelper.type())),
            any(a -> a.insert_TypeCode(basic(TCKind.tk_long))), any(a -> a.insert_TypeCode(ByEnumHelper.type())),
            helped("InteropAny.TypeCodes", new TypeCode[] {Anys.type("Interop/Trees"), PairHelper.type()})});
        anys("fixed", () -> new Any[] {any(a -> a.insert_fixed(new BigDecimal("-123.45"), orb.create_fixed_tc((short) 5, (short) 2))),
            any(a -> a.insert_fixed(new BigDecimal("0.1234"), orb.create_fixed_tc((short) 4, (short) 4))),
            any(a -> a.insert_fixed(new BigDecimal("-1234567890123456789012345678901"), orb.create_fixed_tc((short) 31, (short) 0))),
            helped("InteropAny.Prices", numbers("111.25", "-222.75")),
            helped("InteropAny.Priced", new Priced((byte) 1, new BigDecimal("123.40"), 0.5))});
        Client.rotation("any_sequence_of_any", contents, "rotate_anys", sample(), new Any[0], sample());
        Client.rotation("any_array_of_any", contents, "rotate_two",
                new Any[] {any(a -> a.insert_char('c')), any(a -> a.insert_double(2.5))},
                new Any[] {any(a -> a.insert_string("s")), helped("Interop.Colour", Colour.blue)});
        Labelled inner = new Labelled((byte) 1, any(a -> a.insert_double(1.25)), (byte) 2, "x");
        Labelled outer = new Labelled((byte) 3, helped("InteropAny.Labelled", inner), (byte) 4, "y");
        Client.rotation("any_in_struct", contents, "rotate_labelled", inner, outer, inner);
        Client.check("any_in_union", () -> {
            Choice x = new Choice();
            Choice y = new Choice();
            Choice z = new Choice();
            x.content(helped("Interop.Tree", Client.tree("u", 2)));
            y.kind(RecordHelper.type());
            z.plain(Client.point(3));
            Client.rotate(contents, "rotate_choice", x, y, z);
        });
        Client.check("any_in_exception", () -> {
            Any content = helped("Interop.Record", Client.record("raised", 3));
            try {
                contents.raise_any(content);
            } catch (Carrying e) {
                Client.same("content", content, e.content);
                return;
            }
            throw new Client.Failure("expected Carrying, got nothing");
        });
    }

    private static Any[] sample() {
        Any[] three = {any(a -> a.insert_octet((byte) 1)), helped("Interop.Record", Client.record("second", 2)),
            any(a -> a.insert_double(0.5))};
        Any[] four = Arrays.copyOf(three, 4);
        four[3] = helped("InteropAny.Anys", three);
        return four;
    }

    private static Any[] unions() {
        ByUShort byUShort = new ByUShort();
        byUShort.big(-9);
        ByLong byLong = new ByLong();
        byLong.p(Client.point(4));
        ByULong byULong = new ByULong();
        byULong.d(-0.5);
        ByChar byChar = new ByChar();
        byChar.s("a");
        ByBoolean byBoolean = new ByBoolean();
        byBoolean.d(0.25);
        ByEnum byEnum = new ByEnum();
        byEnum.rec(Client.record("green", 2));
        ByEnum byDefault = new ByEnum();
        byDefault.l(-4);
        ByMiddle middle = new ByMiddle();
        middle.s("middle");
        ByMiddle last = new ByMiddle();
        last.l(9);
        Nested nested = new Nested();
        nested.inner(Client.byShort(0));
        return new Any[] {helped("Interop.ByShort", Client.byShort(-1)), helped("Interop.ByShort", Client.byShort(1)),
            helped("Interop.ByUShort", byUShort), helped("Interop.ByLong", byLong), helped("Interop.ByULong", byULong),
            helped("Interop.ByChar", byChar), helped("Interop.ByBoolean", byBoolean), helped("Interop.ByEnum", byEnum),
            helped("Interop.ByEnum", byDefault), helped("Interop.ByMiddle", middle), helped("Interop.ByMiddle", last),
            helped("Interop.Nested", nested)};
    }

    private static Any[] unionsWithoutMember() {
        ByUShort byUShort = new ByUShort();
        byUShort.__default((short) 5);
        ByLong byLong = new ByLong();
        byLong.__default();
        ByMiddle middle = new ByMiddle();
        middle.__default();
        ByChar byChar = new ByChar();
        byChar.__default('m');
        return new Any[] {helped("Interop.ByUShort", byUShort), helped("Interop.ByLong", byLong), helped("Interop.ByMiddle", middle),
            helped("Interop.ByChar", byChar)};
    }

    private static WideChoice wideChoice(String text) {
        WideChoice choice = new WideChoice();
        choice.s(text);
        return choice;
    }

    private static Any[] farUnions() {
        ByLongLong byLongLong = new ByLongLong();
        byLongLong.s((short) -3);
        ByULongLong byULongLong = new ByULongLong();
        byULongLong.texts(new String[] {"a", "b"});
        return new Any[] {helped("Interop.ByLongLong", byLongLong), helped("Interop.ByULongLong", byULongLong)};
    }

    // ---- TypeCode --------------------------------------------------------------------

    private static TypeCode basic(TCKind kind) {
        return orb.get_primitive_tc(kind);
    }

    private static void sameTypes(TypeCode expected, TypeCode got) {
        Client.holds(expected.equal(got), "the type " + expected + ", got " + got);
    }

    private static void rotateTypes(Types o, TypeCode... types) {
        for (int i = 0; i < types.length; i++) {
            TypeCode x = types[i];
            TypeCode y = types[(i + 1) % types.length];
            var b = new org.omg.CORBA.TypeCodeHolder(y);
            var c = new org.omg.CORBA.TypeCodeHolder();
            sameTypes(y, o.rotate_type(x, b, c));
            sameTypes(x, b.value);
            sameTypes(y, c.value);
        }
    }

    private static void types(Types o) {
        Client.check("typecode_basic", () -> {
            List<TypeCode> types = new ArrayList<>();
            for (int kind : new int[] {TCKind._tk_null, TCKind._tk_void, TCKind._tk_short, TCKind._tk_long, TCKind._tk_ushort,
                TCKind._tk_ulong, TCKind._tk_float, TCKind._tk_double, TCKind._tk_boolean, TCKind._tk_char, TCKind._tk_octet,
                TCKind._tk_any, TCKind._tk_TypeCode, TCKind._tk_string, TCKind._tk_longlong, TCKind._tk_ulonglong,
                TCKind._tk_wchar, TCKind._tk_wstring, TCKind._tk_objref}) types.add(basic(TCKind.from_int(kind)));
            rotateTypes(o, types.toArray(new TypeCode[0]));
        });
        Client.check("typecode_constructed", () ->
                rotateTypes(o, Arrays.stream(TYPE_NAMES).map(Anys::type).toArray(TypeCode[]::new)));
        Client.rotation("typecode_sequence", o, "rotate_types",
                new TypeCode[] {TreeHelper.type(), RecordHelper.type(), TreeHelper.type()}, new TypeCode[0]);
        Client.check("typecode_of_any", () -> {
            for (Any any : List.of(any(a -> a.insert_long(1)), helped("Interop.Tree", Client.tree("t", 1)),
                    helped("Interop.ByShort", Client.byShort(1)), any(a -> a.insert_any(any(b -> b.insert_string("s"))))))
                sameTypes(any.type(), o.type_of(any));
        });
        Client.check("typecode_of_peer", () -> {
            for (String name : TYPE_NAMES)
                Client.holds(o.type_named(name).equivalent(Anys.type(name)), "the server's " + name + " to be equivalent");
        });
    }

    // ---- fixed -----------------------------------------------------------------------

    private static BigDecimal[] numbers(String... texts) {
        return Arrays.stream(texts).map(BigDecimal::new).toArray(BigDecimal[]::new);
    }

    private static void decimals(Decimals o) {
        // (With all digits: see fixed_zeros in the harness.)
        Client.rotation("fixed", o, "rotate_price", (Object[]) numbers("123.45", "999.99", "-999.99", "-100.00"));
        Client.rotation("fixed_fraction", o, "rotate_fraction", (Object[]) numbers("0.1234", "-0.9876", "0.5000"));
        Client.rotation("fixed_longest", o, "rotate_longest",
                (Object[]) numbers("9999999999999999999999999999999", "-1234567890123456789012345678901"));
        Client.rotation("fixed_sequence", o, "rotate_prices", numbers("111.25", "-222.75"), new BigDecimal[0], numbers("333.00"));
        Client.rotation("fixed_in_struct", o, "rotate_priced", new Priced((byte) 1, new BigDecimal("123.40"), 0.5),
                new Priced((byte) 2, new BigDecimal("-567.80"), -0.5));
    }
}
