package peers;

import InteropValues.Base;
import InteropValues.Node;
import InteropValues.NodeHelper;
import InteropValues.NodeHolder;
import InteropValues.Printable;
import org.omg.CORBA.Any;
import org.omg.CORBA.BooleanHolder;
import org.omg.CORBA.ORB;

/** Checks of valuetypes: see interop_values.idl. */
final class ValueChecks {
    private ValueChecks() {}

    static void all(Interop.Suite suite, ORB orb) {
        Values.known(orb);
        InteropValues.Suite o = InteropValues.SuiteHelper.narrow(suite.extras("values"));
        Client.check("value_null", () -> {
            Client.holds(o.echo_node(null) == null, "null");
            Client.same("name", "null", o.name_of(null));
        });
        Client.check("value_sharing", () -> {
            Node one = Values.node(1);
            one.next = one.other = Values.node(2);
            Node back = o.echo_node(one);
            Client.holds(back.id == 1 && back.next.id == 2, "nodes 1 and 2");
            Client.holds(back.next == back.other, "the same node twice");
        });
        Client.check("value_cycle", () -> {
            Node one = Values.node(1);
            Node two = Values.node(2);
            one.next = two;
            two.next = one;
            two.other = two;
            Node back = o.echo_node(one);
            Client.holds(back.id == 1 && back.next.id == 2, "nodes 1 and 2");
            Client.holds(back.next.next == back && back.next.other == back.next, "two cycles");
        });
        Client.check("value_list", () -> {
            Node first = null;
            for (int i = 99; i >= 0; i--) {
                Node before = Values.node(i);
                before.next = first;
                first = before;
            }
            int length = 0;
            for (Node at = o.echo_node(first); at != null; at = at.next) Client.same("id", length++, at.id);
            Client.same("length", 100, length);
        });
        Client.check("value_in_two_parameters", () -> {
            Node shared = Values.node(5);
            NodeHolder again = new NodeHolder();
            Node[] back = o.echo_nodes(new Node[] {shared, Values.node(6), null}, shared, again);
            Client.same("length", 3, back.length);
            Client.holds(back[0] == again.value && again.value.id == 5, "the same node in the sequence and the parameter");
            Client.holds(back[1].id == 6 && back[2] == null, "another node, and null");
        });
        Client.check("value_derived", () -> {
            Base known = Values.named(5, "five");
            Client.same("derived", "Known 5 five", o.name_of(known));
            Client.same("base", "Base 6", o.name_of(Values.base(6)));
            Client.same("back", "Known 5 five", Values.name(o.echo_base(known)));
        });
        Client.check("value_truncated_by_server", () -> Client.same("name", "Base 7", o.name_of(Values.far())));
        Client.check("value_truncated_by_client", () -> Client.same("name", "Base 7", Values.name(o.far())));
        Client.check("value_boxed", () -> {
            BooleanHolder shared = new BooleanHolder();
            String text = new String("shared");
            Client.same("text", "shared", o.echo_text(text, text, shared));
            Client.holds(shared.value, "the same box");
            o.echo_text(text, new String("other"), shared);
            Client.holds(!shared.value, "two boxes");
            Client.holds(o.echo_text(null, text, shared) == null, "no box");
        });
        Client.check("abstract_object", () -> {
            Printable page = o.page();
            Client.same("called here", "page", page.print());
            Client.same("called there", "page", o.printed(o.echo_printable(page)));
        });
        Client.check("abstract_value", () -> {
            Client.same("called there", "form A1", o.printed(Values.form("A1")));
            Client.same("called here", "form A1", o.echo_printable(Values.form("A1")).print());
        });
        Client.check("value_base", () ->
                Client.same("back", "Known 5 five", Values.name((Base) o.echo_value(Values.named(5, "five")))));
        Client.check("any_value", () -> {
            Node one = Values.node(1);
            one.next = one.other = Values.node(2);
            Any any = orb.create_any();
            NodeHelper.insert(any, one);
            Node found = NodeHelper.extract(o.echo_any(any));
            Client.holds(found.id == 1 && found.next.id == 2 && found.next == found.other, "the same graph");
        });
        Client.check("value_custom", () -> {
            InteropJacorb.Extras extras = InteropJacorb.ExtrasHelper.narrow(suite.extras("jacorb"));
            InteropJacorb.Secret secret = new Values.SecretValue();
            secret.code = 99;
            Client.same("code", 99, extras.echo_secret(secret).code);
        });
    }
}
