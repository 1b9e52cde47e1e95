package peers;

import org.omg.CORBA.Any;
import org.omg.CORBA.ORB;
import org.omg.CORBA.TCKind;
import org.omg.CORBA.TypeCode;
import org.omg.DynamicAny.DynAny;
import org.omg.DynamicAny.DynAnyFactory;
import org.omg.DynamicAny.DynAnyFactoryHelper;
import org.omg.DynamicAny.DynArray;
import org.omg.DynamicAny.DynEnum;
import org.omg.DynamicAny.DynFixed;
import org.omg.DynamicAny.DynSequence;
import org.omg.DynamicAny.DynStruct;
import org.omg.DynamicAny.DynUnion;
import org.omg.DynamicAny.NameDynAnyPair;

/** Values built with DynAny, part by part. */
final class DynAnys {
    private DynAnys() {}

    /** Returns the value of an any in another any, read and built with DynAny. */
    static Any rebuilt(ORB orb, Any any) {
        try {
            DynAnyFactory factory = DynAnyFactoryHelper.narrow(orb.resolve_initial_references("DynAnyFactory"));
            return copied(factory, factory.create_dyn_any(any)).to_any();
        } catch (org.omg.CORBA.UserException e) {
            throw new org.omg.CORBA.DATA_CONVERSION(e.toString());
        }
    }

    private static DynAny copied(DynAnyFactory factory, DynAny from) throws org.omg.CORBA.UserException {
        DynAny to = factory.create_dyn_any_from_type_code(from.type());
        copy(factory, from, to);
        return to;
    }

    private static void copy(DynAnyFactory factory, DynAny from, DynAny to) throws org.omg.CORBA.UserException {
        switch (kind(from.type()).value()) {
            case TCKind._tk_octet -> to.insert_octet(from.get_octet());
            case TCKind._tk_boolean -> to.insert_boolean(from.get_boolean());
            case TCKind._tk_char -> to.insert_char(from.get_char());
            case TCKind._tk_wchar -> to.insert_wchar(from.get_wchar());
            case TCKind._tk_short -> to.insert_short(from.get_short());
            case TCKind._tk_ushort -> to.insert_ushort(from.get_ushort());
            case TCKind._tk_long -> to.insert_long(from.get_long());
            case TCKind._tk_ulong -> to.insert_ulong(from.get_ulong());
            case TCKind._tk_longlong -> to.insert_longlong(from.get_longlong());
            case TCKind._tk_ulonglong -> to.insert_ulonglong(from.get_ulonglong());
            case TCKind._tk_float -> to.insert_float(from.get_float());
            case TCKind._tk_double -> to.insert_double(from.get_double());
            case TCKind._tk_string -> to.insert_string(from.get_string());
            case TCKind._tk_wstring -> to.insert_wstring(from.get_wstring());
            case TCKind._tk_any -> to.insert_any(from.get_any());
            case TCKind._tk_TypeCode -> to.insert_typecode(from.get_typecode());
            case TCKind._tk_objref -> to.insert_reference(from.get_reference());
            case TCKind._tk_enum -> ((DynEnum) to).set_as_ulong(((DynEnum) from).get_as_ulong());
            case TCKind._tk_fixed -> ((DynFixed) to).set_value(((DynFixed) from).get_value());
            case TCKind._tk_union -> {
                ((DynUnion) to).set_discriminator(((DynUnion) from).get_discriminator());
                if (!((DynUnion) from).has_no_active_member()) copy(factory, ((DynUnion) from).member(), ((DynUnion) to).member());
            }
            // (JacORB returns a copy of a component, unless the component is a number or a string.)
            case TCKind._tk_sequence -> ((DynSequence) to).set_elements_as_dyn_any(copied(factory, ((DynSequence) from).get_elements_as_dyn_any()));
            case TCKind._tk_array -> ((DynArray) to).set_elements_as_dyn_any(copied(factory, ((DynArray) from).get_elements_as_dyn_any()));
            default -> {
                NameDynAnyPair[] members = ((DynStruct) from).get_members_as_dyn_any();
                for (NameDynAnyPair member : members) member.value = copied(factory, member.value);
                ((DynStruct) to).set_members_as_dyn_any(members);
            }
        }
    }

    private static DynAny[] copied(DynAnyFactory factory, DynAny[] from) throws org.omg.CORBA.UserException {
        DynAny[] to = new DynAny[from.length];
        for (int i = 0; i < from.length; i++) to[i] = copied(factory, from[i]);
        return to;
    }

    private static TCKind kind(TypeCode type) throws org.omg.CORBA.UserException {
        return type.kind() == TCKind.tk_alias ? kind(type.content_type()) : type.kind();
    }
}
