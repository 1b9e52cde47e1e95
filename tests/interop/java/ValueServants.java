package peers;

import InteropValues.Base;
import InteropValues.Node;
import InteropValues.NodeHolder;
import InteropValues.Printable;
import InteropValues.Whole;
import java.io.Serializable;
import org.omg.CORBA.Any;
import org.omg.CORBA.BooleanHolder;

/** Methods of the servants for interop_values.idl that do not rotate. */
final class ValueServants {
    private ValueServants() {}

    static final class PageServant extends InteropValues.PagePOA {
        public String print() {
            return "page";
        }
    }

    static final class SuiteRest {
        private final Printable page;
        private final org.omg.CORBA.ORB orb;

        SuiteRest(Printable page, org.omg.CORBA.ORB orb) {
            this.page = page;
            this.orb = orb;
        }

        Node echo_node(Node it) {
            return it;
        }

        Node[] echo_nodes(Node[] all, Node one, NodeHolder again) {
            again.value = one;
            return all;
        }

        Base echo_base(Base it) {
            return it;
        }

        String name_of(Base it) {
            return Values.name(it);
        }

        String echo_text(String a, String b, BooleanHolder shared) {
            shared.value = a == b;
            return a;
        }

        Printable page() {
            return page;
        }

        Printable echo_printable(Printable it) {
            return it;
        }

        String printed(Printable it) {
            return it.print();
        }

        Serializable echo_value(Serializable it) {
            return it;
        }

        String described(Whole it) {
            return Values.described(it);
        }

        Any retype(Any it) {
            return AnyServants.retype(it, orb);
        }

        Base far() {
            return Values.far();
        }
    }
}
