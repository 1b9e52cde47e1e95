package peers;

import static java.util.Map.entry;

import java.lang.reflect.Method;
import java.lang.reflect.InvocationTargetException;
import java.math.BigDecimal;
import java.util.Map;
import org.omg.CORBA.Any;
import org.omg.CORBA.ORB;
import org.omg.CORBA.TCKind;
import org.omg.CORBA.TypeCode;

/** Contents of an any: the server puts them into another any, and the client prints them. */
final class Anys {
    /** Names of the sequences of unnamed types. */
    private static final Map<Integer, String> SEQUENCES = Map.ofEntries(
            entry(TCKind._tk_octet, "Interop.Octets"), entry(TCKind._tk_boolean, "Interop.Booleans"),
            entry(TCKind._tk_char, "Interop.Chars"), entry(TCKind._tk_wchar, "Interop.WideChars"),
            entry(TCKind._tk_short, "Interop.Shorts"), entry(TCKind._tk_ushort, "Interop.UShorts"),
            entry(TCKind._tk_long, "Interop.Longs"), entry(TCKind._tk_ulong, "Interop.ULongs"),
            entry(TCKind._tk_longlong, "Interop.LongLongs"), entry(TCKind._tk_ulonglong, "Interop.ULongLongs"),
            entry(TCKind._tk_float, "Interop.Floats"), entry(TCKind._tk_double, "Interop.Doubles"),
            entry(TCKind._tk_wstring, "Interop.WideStrings"), entry(TCKind._tk_sequence, "Interop.LongLists"),
            entry(TCKind._tk_array, "Interop.Rows"), entry(TCKind._tk_any, "InteropAny.Anys"),
            entry(TCKind._tk_TypeCode, "InteropAny.TypeCodes"), entry(TCKind._tk_fixed, "InteropAny.Prices"));

    private Anys() {}

    /** Contents of an any, with the method that puts them into another any. */
    record Content(Object value, Inserter inserter) {
        Any insert(ORB orb) {
            Any any = orb.create_any();
            inserter.into(any);
            return any;
        }
    }

    interface Inserter {
        void into(Any any);
    }

    /** Returns the value in an any as its mapped class; null for an unknown type. */
    static Content content(Any any) {
        TypeCode type = any.type();
        try {
            switch (type.kind().value()) {
                case TCKind._tk_octet: return new Content(any.extract_octet(), a -> a.insert_octet(any.extract_octet()));
                case TCKind._tk_boolean: return new Content(any.extract_boolean(), a -> a.insert_boolean(any.extract_boolean()));
                case TCKind._tk_char: return new Content(any.extract_char(), a -> a.insert_char(any.extract_char()));
                case TCKind._tk_wchar: return new Content(any.extract_wchar(), a -> a.insert_wchar(any.extract_wchar()));
                case TCKind._tk_short: return new Content(any.extract_short(), a -> a.insert_short(any.extract_short()));
                case TCKind._tk_ushort: return new Content(any.extract_ushort(), a -> a.insert_ushort(any.extract_ushort()));
                case TCKind._tk_long: return new Content(any.extract_long(), a -> a.insert_long(any.extract_long()));
                case TCKind._tk_ulong: return new Content(any.extract_ulong(), a -> a.insert_ulong(any.extract_ulong()));
                case TCKind._tk_longlong: return new Content(any.extract_longlong(), a -> a.insert_longlong(any.extract_longlong()));
                case TCKind._tk_ulonglong: return new Content(any.extract_ulonglong(), a -> a.insert_ulonglong(any.extract_ulonglong()));
                case TCKind._tk_float: return new Content(any.extract_float(), a -> a.insert_float(any.extract_float()));
                case TCKind._tk_double: return new Content(any.extract_double(), a -> a.insert_double(any.extract_double()));
                case TCKind._tk_null: return new Content("nothing", a -> {});
                case TCKind._tk_any: {
                    Content inner = content(any.extract_any());
                    return inner == null ? null : new Content(any.extract_any(), a -> a.insert_any(inner.insert(ORB.init())));
                }
                case TCKind._tk_TypeCode: return new Content(any.extract_TypeCode(), a -> a.insert_TypeCode(any.extract_TypeCode()));
                case TCKind._tk_wstring:
                    // (insert_wstring would lose the bound.)
                    if (type.length() != 0) return helped(any, "Interop.ShortWideText");
                    return new Content(any.extract_wstring(), a -> a.insert_wstring(any.extract_wstring()));
                case TCKind._tk_string:
                    if (type.length() != 0) return helped(any, "Interop.ShortText");
                    return new Content(any.extract_string(), a -> a.insert_string(any.extract_string()));
                case TCKind._tk_fixed: {
                    BigDecimal value = any.extract_fixed();
                    return new Content(value, a -> a.insert_fixed(value, type));
                }
                case TCKind._tk_sequence: return helped(any, sequenceName(type, plain(type.content_type())));
                case TCKind._tk_array: return helped(any, arrayName(plain(type.content_type())));
                case TCKind._tk_objref: {
                    if (type.name().equals("Node")) return helped(any, "Interop.Node");
                    org.omg.CORBA.Object value = any.extract_Object();
                    return new Content(value, a -> a.insert_Object(value, type));
                }
                case TCKind._tk_struct, TCKind._tk_union, TCKind._tk_enum, TCKind._tk_alias, TCKind._tk_except,
                        TCKind._tk_value, TCKind._tk_value_box:
                    return helped(any, type.id().replaceAll(".*oxorb.org/(.*):1.0", "$1").replace('/', '.'));
                default: return null;
            }
        } catch (org.omg.CORBA.TypeCodePackage.BadKind e) {
            throw new IllegalStateException(e);
        }
    }

    private static TypeCode plain(TypeCode type) throws org.omg.CORBA.TypeCodePackage.BadKind {
        return type.kind() == TCKind.tk_alias ? plain(type.content_type()) : type;
    }

    /** Returns the name of a sequence or array type, which peers may omit. */
    private static String sequenceName(TypeCode type, TypeCode element) throws org.omg.CORBA.TypeCodePackage.BadKind {
        boolean bounded = type.length() != 0;
        switch (element.kind().value()) {
            case TCKind._tk_long: return bounded ? "Interop.FewLongs" : "Interop.Longs";
            case TCKind._tk_string: return bounded ? "Interop.FewStrings" : element.length() != 0 ? "Interop.ShortTexts" : "Interop.Strings";
            case TCKind._tk_union: return "Interop.Unions";
            case TCKind._tk_struct, TCKind._tk_enum, TCKind._tk_objref: return "Interop." + element.name() + "s";
            case TCKind._tk_value: return "InteropValues." + element.name() + "s";
            default: return SEQUENCES.get(element.kind().value());
        }
    }

    private static String arrayName(TypeCode element) throws org.omg.CORBA.TypeCodePackage.BadKind {
        switch (element.kind().value()) {
            case TCKind._tk_octet: return "Interop.Digest";
            case TCKind._tk_string: return "Interop.Names";
            case TCKind._tk_array: return plain(element.content_type()).kind() == TCKind.tk_long ? "Interop.Grid" : "Interop.Matrix";
            default: return "Interop.Pair";
        }
    }

    private static Content helped(Any any, String name) {
        Object value = call(name, "extract", any);
        return new Content(value, a -> insert(a, name, value));
    }

    /** Puts a value into an any with the helper of its class. */
    static void insert(Any any, String name, Object value) {
        if (name.endsWith("Trees")) {
            any.type(type(name));
            call(name, "write", any.create_output_stream(), value);
        } else {
            call(name, "insert", any, value);
        }
    }

    /** Returns the type code from the helper of this class. */
    static TypeCode type(String name) {
        // (Trees contains Tree, but JacORB's own type code of Trees contains only its name.)
        if (name.endsWith("Trees")) {
            ORB orb = ORB.init();
            return orb.create_alias_tc(Interop.TreesHelper.id(), "Trees", orb.create_sequence_tc(0, Interop.TreeHelper.type()));
        }
        return (TypeCode) call(name.replace('/', '.'), "type");
    }

    /** Calls a method of a helper class. */
    static Object call(String name, String operation, Object... args) {
        try {
            for (Method method : Class.forName(name + "Helper").getMethods()) {
                if (method.getName().equals(operation) && method.getParameterCount() == args.length) return method.invoke(null, args);
            }
        } catch (InvocationTargetException e) {
            if (e.getCause() instanceof RuntimeException cause) throw cause;
            throw new IllegalStateException(e);
        } catch (ReflectiveOperationException e) {
            throw new org.omg.CORBA.BAD_PARAM(e.toString());
        }
        throw new org.omg.CORBA.BAD_PARAM(name + "Helper has no " + operation);
    }
}
