package peers;

import InteropValues.Base;
import InteropValues.Node;
import InteropValues.NodeHolder;
import InteropValues.Printable;
import java.io.Serializable;
import org.omg.CORBA.Any;
import org.omg.CORBA.BooleanHolder;

/** The servants for interop_values.idl. */
final class ValueServants {
    private ValueServants() {}

    static final class PageServant extends InteropValues.PagePOA {
        public String print() {
            return "page";
        }
    }

    static final class SuiteServant extends InteropValues.SuitePOA {
        private final Printable page;

        SuiteServant(Printable page) {
            this.page = page;
        }

        public Node echo_node(Node it) {
            return it;
        }

        public Node[] echo_nodes(Node[] all, Node one, NodeHolder again) {
            again.value = one;
            return all;
        }

        public Base echo_base(Base it) {
            return it;
        }

        public String name_of(Base it) {
            return Values.name(it);
        }

        public String echo_text(String a, String b, BooleanHolder shared) {
            shared.value = a == b;
            return a;
        }

        public Printable page() {
            return page;
        }

        public Printable echo_printable(Printable it) {
            return it;
        }

        public String printed(Printable it) {
            return it.print();
        }

        public Serializable echo_value(Serializable it) {
            return it;
        }

        public Any echo_any(Any it) {
            return it;
        }

        public Base far() {
            return Values.far();
        }
    }
}
