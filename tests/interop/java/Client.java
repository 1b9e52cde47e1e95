package peers;

import Interop.*;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.omg.CORBA.CompletionStatus;
import org.omg.PortableServer.POA;

/** The JacORB client of the interoperability test: runs every check by name against any server, one line each. */
public final class Client {
    private static org.omg.CORBA.ORB orb;
    private static POA poa;
    private static Options options;
    private static int failures;

    // ---- checks ----------------------------------------------------------------

    interface Check {
        void run() throws Throwable;
    }

    static final class Failure extends RuntimeException {
        Failure(String why) {
            super(why);
        }
    }

    static void check(String name, Check check) {
        if (options.skip.contains(name)) return;
        try {
            check.run();
            System.out.println("PASS " + name);
            return;
        } catch (Failure why) {
            System.out.println("FAIL " + name + ": " + why.getMessage());
        } catch (org.omg.CORBA.SystemException e) {
            System.out.println("FAIL " + name + ": expected no exception, got " + describe(e));
        } catch (Throwable e) {
            System.out.println("FAIL " + name + ": expected no exception, got " + e);
        }
        failures++;
    }

    private static String describe(org.omg.CORBA.SystemException e) {
        return e.getClass().getSimpleName() + " minor 0x" + Integer.toHexString(e.minor) + " completed "
                + e.completed.value() + " (" + e.getMessage() + ")";
    }

    static void same(String what, Object expected, Object got) {
        String one = Show.show(expected);
        String other = Show.show(got);
        if (!one.equals(other)) throw new Failure(what + ": expected " + brief(one) + ", got " + brief(other));
    }

    private static String brief(String s) {
        return s.length() > 400 ? s.substring(0, 400) + "..." : s;
    }

    static void holds(boolean condition, String what) {
        if (!condition) throw new Failure("expected " + what);
    }

    private interface Condition {
        boolean holds() throws Exception;
    }

    /** Waits until a condition holds that results from a oneway call. */
    private static void eventually(String what, Condition condition) throws Exception {
        for (int i = 0; i < 1000; i++) {
            if (condition.holds()) return;
            Thread.sleep(5);
        }
        throw new Failure("expected " + what + " within 5 s");
    }

    /** Rotates each pair of neighbouring values through an operation: see interop.idl. */
    static void rotate(Object target, String operation, Object... values) throws Throwable {
        Method method = Arrays.stream(target.getClass().getMethods())
                .filter(m -> m.getName().equals(operation) && m.getParameterCount() == 3).findFirst().orElseThrow();
        for (int i = 0; i + 1 < values.length; i++) {
            Object x = values[i];
            Object y = values[i + 1];
            Object b = holder(method.getParameterTypes()[1]);
            Object c = holder(method.getParameterTypes()[2]);
            b.getClass().getField("value").set(b, y);
            Object result;
            try {
                result = method.invoke(target, x, b, c);
            } catch (InvocationTargetException e) {
                throw e.getCause();
            }
            same("result", y, result);
            same("inout", x, b.getClass().getField("value").get(b));
            same("out", y, c.getClass().getField("value").get(c));
        }
    }

    private static Object holder(Class<?> type) throws ReflectiveOperationException {
        Constructor<?> constructor = type.getConstructor();
        return constructor.newInstance();
    }

    static void rotation(String name, Object target, String operation, Object... values) {
        check(name, () -> rotate(target, operation, values));
    }

    // ---- values ------------------------------------------------------------------

    static Point point(int n) {
        return new Point((byte) n, n + 0.5, (short) -n, n * 1000, n % 2 == 1);
    }

    static Interop.Record record(String name, int n) {
        int[] numbers = new int[n];
        for (int i = 0; i < n; i++) numbers[i] = i * n - 3;
        return new Interop.Record(name, point(n), Colour.from_int(n % 3), numbers, new byte[] {-6, -5, -4, -3, -2},
                new String[] {"", "a note"});
    }

    static Tree tree(String label, int depth) {
        Tree[] branches = new Tree[depth];
        for (int i = 0; i < depth; i++) branches[i] = tree(label + (char) ('0' + i), depth - 1);
        return new Tree(label, branches);
    }

    static ByShort byShort(int label) {
        ByShort u = new ByShort();
        if (label == -1) u.o((byte) 200);
        else if (label == 0 || label == 7) u.l((short) label, -12345);
        else u.s((short) label, "by default");
        return u;
    }

    // ---- groups ----------------------------------------------------------------

    private static void numbers(Suite suite) {
        Numbers o = suite.number_tests();
        rotation("boolean", o, "rotate_boolean", true, false, true);
        rotation("octet", o, "rotate_octet", (byte) 0, (byte) 255, (byte) 127, (byte) 128);
        rotation("short", o, "rotate_short", Short.MIN_VALUE, Short.MAX_VALUE, (short) -1, (short) 258);
        rotation("ushort", o, "rotate_ushort", (short) 0, (short) 65535, (short) 258, (short) 32768);
        rotation("long", o, "rotate_long", Integer.MIN_VALUE, Integer.MAX_VALUE, -1, 0x01020304);
        rotation("ulong", o, "rotate_ulong", 0, -1, 0x01020304, 0x80000000);
        rotation("longlong", o, "rotate_longlong", Long.MIN_VALUE, Long.MAX_VALUE, -1L, 0x0102030405060708L);
        rotation("ulonglong", o, "rotate_ulonglong", 0L, -1L, 0x0102030405060708L, 1L << 63);
        rotation("float", o, "rotate_float", 1.5f, -0.0f, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY,
                Float.MAX_VALUE, Float.MIN_VALUE, 3.14159274f);
        rotation("double", o, "rotate_double", 1.5, -0.0, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY,
                Double.MAX_VALUE, Double.MIN_VALUE, Math.PI);
        check("mixed_parameters", () -> {
            var s = new org.omg.CORBA.StringHolder("odd");
            var n = new org.omg.CORBA.ShortHolder();
            var far = new org.omg.CORBA.LongHolder();
            var data = new OctetsHolder(new byte[] {1, 2, 3});
            var is = new org.omg.CORBA.BooleanHolder();
            double result = o.mixed((byte) 9, 1.25, s, n, point(77), far, data, is, false);
            same("result", 2.5, result);
            same("s", "odd!", s.value);
            same("n", 9, n.value);
            same("far", -77, far.value);
            same("data", new byte[] {3, 2, 1}, data.value);
            holds(is.value, "is to be true");
        });
        check("constants", () -> {
            Constants v = o.constant_values();
            same("yes", YES.value, v.yes);
            same("mask", MASK.value, v.mask);
            same("letter", LETTER.value, v.letter);
            same("low", LOW.value, v.low);
            same("high", HIGH.value, v.high);
            same("product", PRODUCT.value, v.product);
            same("bits", BITS.value, v.bits);
            same("far_away", FAR.value, v.far_away);
            same("huge_number", HUGE_NUMBER.value, v.huge_number);
            same("ratio", RATIO.value, v.ratio);
            same("greeting", GREETING.value, v.greeting);
            same("favourite", FAVOURITE.value, v.favourite);
        });
    }

    private static void texts(Suite suite) {
        Texts o = suite.text_tests();
        String latin1 = "Gr\u00fc\u00df Gott \u00a9";
        rotation("char", o, "rotate_char", 'a', '~', ' ', '\n', '\0');
        rotation("char_latin1", o, "rotate_char", '\u00e4', '\u00ff', 'x');
        rotation("string", o, "rotate_string", "Hello", "a longer one, with \"punctuation\" and\nlines");
        rotation("string_empty", o, "rotate_string", "", "not");
        rotation("string_latin1", o, "rotate_string", latin1, "plain");
        // Greek, Chinese, and a musical G clef (beyond the basic plane).
        rotation("string_beyond_latin1", o, "rotate_string",
                "\u03ba\u03b1\u03bb\u03b7\u03bc\u03ad\u03c1\u03b1", "\u65e5\u672c \ud834\udd1e");
        rotation("string_bounded", o, "rotate_bounded", "12345678", "");
        check("string_too_long", () -> {
            try {
                o.rotate_bounded("123456789", new org.omg.CORBA.StringHolder("x"), new org.omg.CORBA.StringHolder());
            } catch (org.omg.CORBA.SystemException e) {
                return;
            }
            throw new Failure("expected a system exception, got none");
        });
        rotation("string_sequence", o, "rotate_strings", new String[] {"one", "", "three"}, new String[] {latin1}, new String[0]);
        rotation("string_bounded_sequence", o, "rotate_bounded_strings", new String[] {"12345678", ""}, new String[] {"a"}, new String[0]);
    }

    private static void wideTexts(Suite suite) {
        WideTexts o = suite.wide_tests();
        rotation("wchar", o, "rotate_wchar", 'a', ' ', '~');
        rotation("wchar_beyond_latin1", o, "rotate_wchar", '\u00e4', '\u20ac', '\u65e5');
        rotation("wstring", o, "rotate_wstring", "Hello", "Gr\u00fc\u00df \u03ba\u03b1\u03bb\u03b7 \u65e5\u672c");
        rotation("wstring_empty", o, "rotate_wstring", "", "not");
        rotation("wstring_beyond_bmp", o, "rotate_wstring", "clef \ud834\udd1e", "\ud83d\udc02 ox");
        check("wstring_bounded", () -> {
            for (String text : List.of("12345678", "x", "")) same("result", text, o.echo_bounded(text));
        });
        rotation("wstring_sequence", o, "rotate_wstrings", new String[] {"one", "", "\u20ac"}, new String[] {"x"}, new String[0]);
        rotation("wchar_sequence", o, "rotate_wchars", new char[] {'a', '\u20ac', 'z'}, new char[] {'b'}, new char[0]);
        rotation("wide_struct", o, "rotate_record", new WideRecord((byte) 1, '\u20ac', "odd", (byte) 2),
                new WideRecord((byte) 3, 'a', "", (byte) 4));
        check("wide_union", () -> {
            WideChoice x = new WideChoice();
            WideChoice y = new WideChoice();
            x.c('\u20ac');
            y.s("chosen");
            rotate(o, "rotate_choice", x, y, x);
        });
        check("wide_constants", () -> {
            var letter = new org.omg.CORBA.CharHolder();
            same("greeting", WIDE_GREETING.value, o.constant_values(letter));
            same("letter", WIDE_LETTER.value, letter.value);
        });
    }

    private static void aggregates(Suite suite) {
        Aggregates o = suite.aggregate_tests();
        rotation("enum", o, "rotate_enum", Colour.red, Colour.blue, Colour.green);
        rotation("typedef", o, "rotate_typedef", -5, 5);
        rotation("struct", o, "rotate_point", point(1), point(2));
        rotation("struct_nested", o, "rotate_record", record("first", 3), record("", 0));
        rotation("struct_recursive", o, "rotate_tree", tree("t", 4), tree("leaf", 0));
        rotation("struct_reserved_words", o, "rotate_words", new Words(1, 2, 3, 4, 5), new Words(-1, -2, -3, -4, -5));
        rotation("array", o, "rotate_matrix", new short[][] {{1, 2, 3}, {4, 5, 6}}, new short[][] {{-1, -2, -3}, {-4, -5, -6}});
        rotation("array_of_arrays", o, "rotate_grid", new int[][] {{1, 2, 3}, {4, 5, 6}}, new int[][] {{-1, -2, -3}, {-4, -5, -6}});
        rotation("array_of_strings", o, "rotate_names", new String[] {"left", ""}, new String[] {"", "right"});
        rotation("array_of_structs", o, "rotate_pair", new Interop.Record[] {record("a", 1), record("b", 2)},
                new Interop.Record[] {record("c", 3), record("d", 4)});
    }

    private static void choices(Suite suite) {
        Choices o = suite.choice_tests();
        rotation("union_short", o, "rotate_short", byShort(-1), byShort(0), byShort(7), byShort(1));
        check("union_ushort", () -> {
            ByUShort x = new ByUShort();
            ByUShort y = new ByUShort();
            x.big(-9);
            y.big(9);
            rotate(o, "rotate_ushort", x, y);
        });
        check("union_long", () -> {
            ByLong x = new ByLong();
            ByLong y = new ByLong();
            x.p(point(4));
            y.data(new byte[] {9, 8, 7});
            rotate(o, "rotate_long", x, y, x);
        });
        check("union_ulong", () -> {
            ByULong x = new ByULong();
            ByULong y = new ByULong();
            x.d(-0.5);
            y.c('u');
            rotate(o, "rotate_ulong", x, y);
        });
        check("union_longlong", () -> {
            ByLongLong x = new ByLongLong();
            ByLongLong y = new ByLongLong();
            ByLongLong z = new ByLongLong();
            x.s((short) -3);
            y.r(new int[] {1, 2, 3});
            z.o((byte) 1);
            rotate(o, "rotate_longlong", x, y, z);
        });
        check("union_ulonglong", () -> {
            ByULongLong x = new ByULongLong();
            ByULongLong y = new ByULongLong();
            x.texts(new String[] {"a", "b"});
            y.b(true);
            rotate(o, "rotate_ulonglong", x, y);
        });
        check("union_char", () -> {
            ByChar x = new ByChar();
            ByChar y = new ByChar();
            x.s("a");
            y.l(26);
            rotate(o, "rotate_char", x, y);
        });
        check("union_boolean", () -> {
            ByBoolean x = new ByBoolean();
            ByBoolean y = new ByBoolean();
            x.s("yes");
            y.d(0.0);
            rotate(o, "rotate_boolean", x, y);
        });
        check("union_enum", () -> {
            ByEnum x = new ByEnum();
            ByEnum y = new ByEnum();
            ByEnum z = new ByEnum();
            x.outline(new Point[] {point(1), point(2)});
            y.rec(record("green", 2));
            z.l(3);
            rotate(o, "rotate_enum", x, y, z);
        });
        check("union_enum_middle", () -> {
            ByMiddle x = new ByMiddle();
            ByMiddle y = new ByMiddle();
            x.s("green");
            y.l(-1);
            rotate(o, "rotate_middle", x, y, x);
        });
        check("union_nested", () -> {
            Nested x = new Nested();
            Nested y = new Nested();
            ByEnum paint = new ByEnum();
            paint.l(1);
            x.inner(byShort(0));
            y.paint(paint);
            rotate(o, "rotate_nested", x, y);
        });
        rotation("union_sequence", o, "rotate_unions", new ByShort[] {byShort(-1), byShort(7), byShort(1)},
                new ByShort[] {byShort(0)}, new ByShort[0]);
    }

    private static void sequences(Suite suite) {
        Sequences o = suite.sequence_tests();
        rotation("sequence_octet", o, "rotate_octets", new byte[] {0, 127, -128, -1}, new byte[] {1}, new byte[0]);
        rotation("sequence_boolean", o, "rotate_booleans", new boolean[] {true, false, true}, new boolean[] {false}, new boolean[0]);
        rotation("sequence_char", o, "rotate_chars", new char[] {'a', 'b', 'c'}, new char[] {'z'}, new char[0]);
        rotation("sequence_short", o, "rotate_shorts", new short[] {-32768, 1, 2}, new short[] {7}, new short[0]);
        rotation("sequence_ushort", o, "rotate_ushorts", new short[] {-1, 1, 2}, new short[] {7}, new short[0]);
        rotation("sequence_long", o, "rotate_longs", new int[] {-2147483647, 1}, new int[] {7}, new int[0]);
        rotation("sequence_ulong", o, "rotate_ulongs", new int[] {-1, 1}, new int[] {7}, new int[0]);
        rotation("sequence_longlong", o, "rotate_longlongs", new long[] {FAR.value, 1}, new long[] {7}, new long[0]);
        rotation("sequence_ulonglong", o, "rotate_ulonglongs", new long[] {-1, 1}, new long[] {7}, new long[0]);
        rotation("sequence_float", o, "rotate_floats", new float[] {-0.0f, 1.5f}, new float[] {2}, new float[0]);
        rotation("sequence_double", o, "rotate_doubles", new double[] {-0.0, 1.5}, new double[] {2}, new double[0]);
        rotation("sequence_enum", o, "rotate_enums", new Colour[] {Colour.blue, Colour.red}, new Colour[] {Colour.green}, new Colour[0]);
        rotation("sequence_struct", o, "rotate_points", new Point[] {point(1), point(2), point(3)}, new Point[] {point(4)}, new Point[0]);
        rotation("sequence_record", o, "rotate_records", new Interop.Record[] {record("a", 1), record("", 0)},
                new Interop.Record[] {record("b", 5)}, new Interop.Record[0]);
        rotation("sequence_of_sequences", o, "rotate_lists", new int[][] {{}, {1, 2}, {3}}, new int[0][]);
        rotation("sequence_of_arrays", o, "rotate_rows", new int[][] {{0, 1, 2}, {3, 4, 5}}, new int[0][]);
        rotation("sequence_bounded", o, "rotate_bounded", new int[] {1, 2, 3, 4, 5, 6, 7, 8}, new int[] {9}, new int[0]);
        rotation("sequence_bounded_string", o, "rotate_bounded_strings", new String[] {"a", "b", "c"}, new String[] {""}, new String[0]);
        check("sequence_too_long", () -> {
            try {
                o.rotate_bounded(new int[9], new FewLongsHolder(new int[0]), new FewLongsHolder());
            } catch (org.omg.CORBA.SystemException e) {
                return;
            }
            throw new Failure("expected a system exception, got none");
        });

        check("large_octets", () -> {
            for (int size : new int[] {8192, 65536, 65537, 1048576, 5 << 20}) {
                byte[] data = new byte[size];
                for (int i = 0; i < size; i++) data[i] = (byte) (i * 7 + (i >> 8));
                holds(Arrays.equals(data, o.echo_octets(data)), "the same " + size + " octets");
            }
        });
        check("large_doubles", () -> {
            double[] data = new double[200000];
            for (int i = 0; i < data.length; i++) data[i] = i * 0.5;
            holds(Arrays.equals(data, o.echo_doubles(data)), "the same doubles");
        });
        check("large_structs", () -> {
            Point[] data = new Point[50000];
            for (int i = 0; i < data.length; i++) data[i] = point(i);
            Point[] back = o.echo_points(data);
            same("length", data.length, back.length);
            for (int i = 0; i < data.length; i++) same("element " + i, data[i], back[i]);
        });
        check("large_strings", () -> {
            String[] data = new String[30000];
            for (int i = 0; i < data.length; i++) data[i] = String.valueOf((char) ('a' + i % 26)).repeat(i % 100);
            holds(Arrays.equals(data, o.echo_strings(data)), "the same strings");
        });
        check("large_string", () -> {
            StringBuilder text = new StringBuilder();
            for (int i = 0; i < 1500000; i++) text.append((char) ('a' + i % 23));
            holds(text.toString().equals(o.echo_string(text.toString())), "the same string");
        });
    }

    private static void properties(Suite suite) {
        Properties o = suite.property_tests();
        check("attribute_long", () -> {
            o.count(-42);
            same("count", -42, o.count());
        });
        check("attribute_string", () -> {
            o.title("title");
            same("title", "title", o.title());
        });
        check("attribute_enum", () -> {
            o.paint(Colour.blue);
            same("paint", Colour.blue, o.paint());
        });
        check("attribute_struct", () -> {
            o.last(record("last", 2));
            o.first(record("first", 1));
            same("last", record("last", 2), o.last());
            same("first", record("first", 1), o.first());
        });
        check("attribute_readonly", () -> {
            int before = o.writes();
            o.count(1);
            same("writes", before + 1, o.writes());
        });
        check("oneway", () -> {
            o.count(0);
            for (int i = 0; i < 10; i++) o.nudge(3);
            eventually("count to become 30", () -> o.count() == 30);
        });
        check("large_oneway", () -> {
            o.store(new byte[300000]);
            eventually("300000 octets to be stored", () -> o.stored() == 300000);
        });
    }

    private static void policies(Suite suite) {
        Properties o = suite.property_tests();
        References slow = suite.reference_tests();
        check("oneway_with_server", () -> {
            org.omg.CORBA.Any scope = orb.create_any();
            org.omg.Messaging.SyncScopeHelper.insert(scope, org.omg.Messaging.SYNC_WITH_SERVER.value);
            Properties waiting = PropertiesHelper.unchecked_narrow(with(o, org.omg.Messaging.SYNC_SCOPE_POLICY_TYPE.value, scope));
            o.count(0);
            for (int i = 0; i < 10; i++) waiting.nudge(3);
            eventually("count to become 30", () -> o.count() == 30);
        });
        check("oneway_with_target", () -> {
            org.omg.CORBA.Any scope = orb.create_any();
            org.omg.Messaging.SyncScopeHelper.insert(scope, org.omg.Messaging.SYNC_WITH_TARGET.value);
            Properties waiting = PropertiesHelper.unchecked_narrow(with(o, org.omg.Messaging.SYNC_SCOPE_POLICY_TYPE.value, scope));
            o.count(0);
            for (int i = 0; i < 10; i++) waiting.nudge(3);
            same("count", 30, o.count());
        });
        check("call_timeout", () -> {
            // Units of 100 ns.
            org.omg.CORBA.Any limit = orb.create_any();
            limit.insert_ulonglong(2000000);
            References hurried = ReferencesHelper.unchecked_narrow(
                    with(slow, org.omg.Messaging.RELATIVE_RT_TIMEOUT_POLICY_TYPE.value, limit));
            try {
                hurried.slow(1000, 1);
                throw new Failure("expected TIMEOUT, got an answer");
            } catch (org.omg.CORBA.TIMEOUT late) {
            }
            same("after", 2, slow.slow(0, 2));
        });
        check("call_deadline", () -> {
            org.omg.CORBA.Any end = orb.create_any();
            org.omg.TimeBase.UtcTHelper.insert(end, org.jacorb.util.Time.corbaFuture(600000000L));
            org.omg.CORBA.Any limit = orb.create_any();
            limit.insert_ulonglong(300000000L);
            References bounded = ReferencesHelper.unchecked_narrow(with(
                    with(slow, org.omg.Messaging.REPLY_END_TIME_POLICY_TYPE.value, end),
                    org.omg.Messaging.RELATIVE_REQ_TIMEOUT_POLICY_TYPE.value, limit));
            same("in time", 3, bounded.slow(0, 3));
        });
    }

    /** Returns the object with one more policy. */
    private static org.omg.CORBA.Object with(org.omg.CORBA.Object object, int type, org.omg.CORBA.Any value)
            throws org.omg.CORBA.PolicyError {
        org.omg.CORBA.Policy[] policies = {orb.create_policy(type, value)};
        return object._set_policy_override(policies, org.omg.CORBA.SetOverrideType.ADD_OVERRIDE);
    }

    private static void inheritance(Suite suite) {
        Bottom o = suite.inheritance_tests();
        check("inherited_operations", () -> {
            same("who", "bottom", o.who());
            same("temper", Interop.RootPackage.Mood.tense, o.temper());
            same("from_left", "left", o.from_left());
            same("from_right", "right, calm", o.from_right(Interop.RootPackage.Mood.calm));
            same("from_bottom", "below", o.from_bottom());
            o.side(12);
            same("side", 12, o.side());
        });
        check("is_a", () -> {
            for (String id : List.of("Bottom", "Left", "Right", "Root")) {
                holds(o._is_a("IDL:interop.oxorb.org/Interop/" + id + ":1.0"), "to be a " + id);
            }
            holds(o._is_a("IDL:omg.org/CORBA/Object:1.0"), "to be an Object");
            holds(!o._is_a("IDL:interop.oxorb.org/Interop/Node:1.0"), "not to be a Node");
        });
        check("narrow", () -> {
            Right right = RightHelper.narrow(orb.string_to_object(orb.object_to_string(o)));
            same("from_right", "right, tense", right.from_right(Interop.RootPackage.Mood.tense));
            Root root = RootHelper.narrow(right);
            Left left = LeftHelper.narrow(root);
            same("from_left", "left", left.from_left());
            Bottom bottom = BottomHelper.narrow(left);
            same("from_bottom", "below", bottom.from_bottom());
        });
        check("narrow_refused", () -> {
            try {
                NodeHelper.narrow(o);
            } catch (org.omg.CORBA.BAD_PARAM e) {
                return;
            }
            throw new Failure("expected BAD_PARAM from narrowing to an unrelated interface, got a reference");
        });
    }

    /** The members that every server puts into its Detailed. */
    private static void checkDetailed(Detailed e, String reason, int code, String name) {
        same("reason", reason, e.reason);
        same("code", code, e.code);
        same("name", name, e.context_record.name);
    }

    private static void faults(Suite suite) {
        Faults o = suite.fault_tests();
        check("user_exception_none", () -> {
            same("result", 0, o.raise_user(0));
            o.maybe(false);
        });
        check("user_exception_empty", () -> {
            try {
                o.raise_user(1);
            } catch (Empty e) {
                return;
            }
            throw new Failure("expected Empty, got nothing");
        });
        check("user_exception_members", () -> {
            try {
                o.raise_user(2);
            } catch (Detailed e) {
                checkDetailed(e, "because", -7, "record");
                same("position", new Point((byte) 9, -1.5, (short) -2, 3, true), e.context_record.position);
                same("notes", new String[] {"noted"}, e.context_record.notes);
                return;
            }
            throw new Failure("expected Detailed, got nothing");
        });
        check("user_exception_union", () -> {
            try {
                o.raise_user(3);
            } catch (Chosen e) {
                holds(e.choice.discriminator() == 7 && e.choice.l() == 77, "label 7 and 77 in Chosen");
                return;
            }
            throw new Failure("expected Chosen, got nothing");
        });
        check("user_exception_void", () -> {
            try {
                o.maybe(true);
            } catch (Empty e) {
                return;
            }
            throw new Failure("expected Empty, got nothing");
        });
        check("user_exception_out", () -> {
            OctetsHolder data = new OctetsHolder();
            same("result", "fine", o.maybe_out(false, data));
            same("data", new byte[] {0, 1, 2}, data.value);
            try {
                o.maybe_out(true, data);
            } catch (Detailed e) {
                checkDetailed(e, "because", -7, "record");
                return;
            }
            throw new Failure("expected Detailed, got nothing");
        });
        // Without COMM_FAILURE and TRANSIENT, which make some clients retry, and without the latest exceptions, which
        // omniORB lacks.
        check("system_exception", () -> {
            for (String name : List.of("UNKNOWN", "BAD_PARAM", "NO_MEMORY", "IMP_LIMIT", "INV_OBJREF", "OBJECT_NOT_EXIST",
                    "NO_PERMISSION", "INTERNAL", "MARSHAL", "INITIALIZE", "NO_IMPLEMENT", "BAD_TYPECODE", "BAD_OPERATION",
                    "NO_RESOURCES", "NO_RESPONSE", "PERSIST_STORE", "BAD_INV_ORDER", "FREE_MEM", "INV_IDENT", "INV_FLAG",
                    "INTF_REPOS", "BAD_CONTEXT", "OBJ_ADAPTER", "DATA_CONVERSION", "INV_POLICY", "REBIND", "TIMEOUT",
                    "TRANSACTION_UNAVAILABLE", "TRANSACTION_MODE", "TRANSACTION_REQUIRED", "TRANSACTION_ROLLEDBACK",
                    "INVALID_TRANSACTION", "CODESET_INCOMPATIBLE", "BAD_QOS")) {
                system(o, name, 0x4f580001, CompletionStatus.COMPLETED_NO);
            }
        });
        check("system_exception_minor", () -> {
            for (int minor : new int[] {0, 1, 0x4f4d0002, 0x4f58ffff, -1}) {
                system(o, "NO_PERMISSION", minor, CompletionStatus.COMPLETED_NO);
            }
        });
        check("system_exception_completion", () -> {
            for (CompletionStatus completed : List.of(CompletionStatus.COMPLETED_YES, CompletionStatus.COMPLETED_NO,
                    CompletionStatus.COMPLETED_MAYBE)) {
                system(o, "NO_RESOURCES", 5, completed);
            }
        });
        check("unknown_operation", () -> {
            try {
                NodeHelper.unchecked_narrow(o).value();
            } catch (org.omg.CORBA.BAD_OPERATION e) {
                return;
            }
            throw new Failure("expected BAD_OPERATION, got nothing");
        });
    }

    private static void system(Faults o, String name, int minor, CompletionStatus completed) {
        try {
            o.raise_system(name, minor, completed.value());
        } catch (org.omg.CORBA.SystemException e) {
            same(name, name, e.getClass().getSimpleName());
            same(name + " minor", minor, e.minor);
            same(name + " completed", completed.value(), e.completed.value());
            return;
        }
        throw new Failure("expected " + name + ", got nothing");
    }

    private static void references(Suite suite) throws Exception {
        References o = suite.reference_tests();
        check("reference", () -> {
            Node three = o.make_node(3);
            Node four = three.next();
            same("three", 3, three.value());
            same("four", 4, four.value());
            rotate(o, "rotate_node", three, four, null, three);
        });
        check("reference_nil", () -> {
            holds(o.make_nil() == null, "nil back");
            holds(o.is_nil(null), "nil to arrive as nil");
            holds(!o.is_nil(o.make_node(1)), "a reference not to arrive as nil");
        });
        check("reference_object", () -> rotate(o, "rotate_object", o.make_node(5), o.make_node(6), null));
        check("reference_sequence", () ->
                rotate(o, "rotate_nodes", new Node[] {o.make_node(1), null, o.make_node(2)}, new Node[0]));
        check("reference_in_struct", () ->
                rotate(o, "rotate_holder", new Holder("full", o.make_node(8)), new Holder("empty", null)));
        check("reference_stringified", () -> {
            Node node = o.make_node(21);
            Node back = NodeHelper.narrow(orb.string_to_object(orb.object_to_string(node)));
            same("value", 21, back.value());
            holds(back._is_equivalent(node), "an equivalent reference");
            same("hash", node._hash(1000), back._hash(1000));
        });
        check("reference_corbaloc", () -> {
            Suite again = SuiteHelper.narrow(orb.string_to_object(options.corbaloc));
            var b = new org.omg.CORBA.IntHolder(2);
            same("result", 2, again.number_tests().rotate_long(1, b, new org.omg.CORBA.IntHolder()));
        });
        check("reference_by_name", () -> {
            String byName = options.corbaloc.substring(0, options.corbaloc.lastIndexOf('/')) + "/Suite";
            Suite named = SuiteHelper.narrow(orb.string_to_object(byName));
            same("product", PRODUCT.value, named.number_tests().constant_values().product);
        });
        check("non_existent", () -> {
            holds(!o.make_node(1)._non_existent(), "a live object to exist");
            holds(o.make_stale()._non_existent(), "a stale reference not to exist");
        });
        check("object_not_exist", () -> {
            Node stale = o.make_stale();
            try {
                stale.value();
            } catch (org.omg.CORBA.OBJECT_NOT_EXIST e) {
                same("completed", CompletionStatus.COMPLETED_NO.value(), e.completed.value());
                return;
            }
            throw new Failure("expected OBJECT_NOT_EXIST, got nothing");
        });
        check("location_forward", () -> {
            Node node = o.make_forwarded(33);
            same("value", 33, node.value());
            same("again", 33, node.value());
            same("next", 34, node.next().value());
        });

        Callback servant = new Callback();
        Interop.Callback me = CallbackHelper.narrow(poa.servant_to_reference(servant));
        check("callback", () -> same("sum", 110, o.call_back(me, 10)));
        check("callback_exception", () -> {
            try {
                o.fail_back(me, 55);
            } catch (Detailed e) {
                checkDetailed(e, "asked to", 55, "callback");
                return;
            }
            throw new Failure("expected Detailed, got nothing");
        });
        check("callback_nested", () -> same("depth", 7, o.make_callback().down(me, 7)));
        check("callback_oneway", () -> {
            o.tell_back(me, "news");
            eventually("the news to arrive", () -> servant.heard.equals("news"));
        });
        check("idle_connection", () -> {
            // Long enough for the server to close it.
            same("before", 1, o.slow(0, 1));
            Thread.sleep(5000);
            same("after", 2, o.slow(0, 2));
        });
        check("parallel", () -> {
            AtomicInteger right = new AtomicInteger();
            List<Thread> threads = new ArrayList<>();
            for (int t = 0; t < 8; t++) {
                int thread = t;
                threads.add(new Thread(() -> {
                    for (int i = 0; i < 20; i++) {
                        if (o.slow(thread % 4, thread * 100 + i) == thread * 100 + i) right.incrementAndGet();
                    }
                }));
            }
            for (Thread thread : threads) thread.start();
            for (Thread thread : threads) thread.join();
            same("right answers", 160, right.get());
        });
    }

    private static void extras(Suite suite) {
        // Only without exceptions: the stubs of JacORB 3.9 close a reply before they read its exception.
        check("attribute_may_raise", () -> {
            InteropJacorb.Extras o = InteropJacorb.ExtrasHelper.narrow(suite.extras("jacorb"));
            holds(o != null, "an object");
            o.level(3);
            same("level", 3, o.level());
        });
    }

    private interface Group {
        void run(Suite suite) throws Exception;
    }

    public static void main(String[] args) throws Exception {
        options = new Options(args);
        orb = Options.orb();
        poa = Options.poa(orb);
        Suite suite = SuiteHelper.narrow(orb.string_to_object(options.ior));
        for (Group group : List.<Group>of(Client::numbers, Client::texts, Client::wideTexts, Client::aggregates,
                Client::choices, Client::sequences, Client::properties, Client::policies, Client::inheritance, Client::faults,
                Client::references, Client::extras, s -> AnyChecks.all(s, orb), s -> ValueChecks.all(s, orb),
                s -> AsyncChecks.all(s, orb, poa))) {
            try {
                group.run(suite);
            } catch (org.omg.CORBA.SystemException e) {
                System.out.println("FAIL group: " + describe(e));
                failures++;
            }
        }
        if (options.shutdown) suite.shutdown();
        orb.shutdown(true);
        System.exit(failures == 0 ? 0 : 1);
    }
}
