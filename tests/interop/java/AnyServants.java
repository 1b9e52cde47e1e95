package peers;

import InteropAny.Carrying;
import org.omg.CORBA.Any;
import org.omg.CORBA.TypeCode;

/** Methods of the servants for interop_any.idl that do not rotate. */
final class AnyServants {
    private AnyServants() {}

    static final class ContentRest {
        private final org.omg.CORBA.ORB orb;

        ContentRest(org.omg.CORBA.ORB orb) {
            this.orb = orb;
        }

        void raise_any(Any content) throws Carrying {
            throw new Carrying(content);
        }

        Any retype(Any a) {
            return AnyServants.retype(a, orb);
        }

        Any rebuild(Any a) {
            return DynAnys.rebuilt(orb, a);
        }
    }

    static Any retype(Any a, org.omg.CORBA.ORB orb) {
        Anys.Content content = Anys.content(a);
        if (content == null) throw new org.omg.CORBA.BAD_PARAM();
        return content.insert(orb);
    }

    static final class TypeRest {
        TypeCode type_of(Any a) {
            return a.type();
        }

        TypeCode type_named(String name) {
            return Anys.type(name);
        }
    }
}
