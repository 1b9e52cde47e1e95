package peers;

import InteropValues.Base;
import InteropValues.BaseHolder;
import InteropValues.Either;
import InteropValues.EitherHolder;
import InteropValues.Node;
import InteropValues.NodeHolder;
import InteropValues.Printable;
import InteropValues.PrintableHolder;
import InteropValues.Tag;
import InteropValues.TagHolder;
import InteropValues.Twins;
import InteropValues.Whole;
import InteropValues.WholeHolder;
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
        Client.check("value_rotated", () -> {
            Node x = Values.node(1);
            x.next = Values.node(2);
            NodeHolder b = new NodeHolder(x.next);
            NodeHolder c = new NodeHolder();
            Node back = o.rotate_node(x, b, c);
            Client.holds(back.id == 2 && b.value.id == 1 && c.value == back, "nodes 2, 1, and the first again");
            Client.holds(b.value.next == c.value, "what 1 leads to, the same");
            BaseHolder base = new BaseHolder(Values.base(6));
            Client.same("result", "Base 6", Values.name(o.rotate_base(Values.named(5, "five"), base, new BaseHolder())));
            Client.same("inout", "Known 5 five", Values.name(base.value));
        });
        Client.check("value_whole", () -> {
            Whole x = whole(orb, null);
            Client.same("described", AS_NODE, o.described(x));
            WholeHolder b = new WholeHolder(whole(orb, "words"));
            WholeHolder c = new WholeHolder();
            Whole back = o.rotate_whole(x, b, c);
            Client.same("result", AS_TEXT, Values.described(back));
            Client.same("inout", AS_NODE, Values.described(b.value));
            Client.holds(c.value == back, "the same value twice");
        });
        Client.check("value_in_struct", () -> {
            TagHolder b = new TagHolder(new Tag((byte) 2, null, (short) 4));
            Tag back = o.rotate_tag(new Tag((byte) 1, Values.node(1), (short) -3), b, new TagHolder());
            Client.holds(back.held == null && back.after == 4, "null");
            Client.holds(b.value.held.id == 1 && b.value.after == -3, "node 1");
        });
        Client.check("value_in_union", () -> {
            EitherHolder b = new EitherHolder(either(null, "words"));
            Either back = o.rotate_either(either(Values.node(1), null), b, new EitherHolder());
            Client.same("text", "words", back.words());
            Client.holds(b.value.one().id == 1, "node 1");
        });
        Client.check("abstract_rotated", () -> {
            PrintableHolder b = new PrintableHolder(Values.form("A1"));
            Printable back = o.rotate_printable(o.page(), b, new PrintableHolder());
            Client.same("result", "form A1", back.print());
            Client.same("inout", "page", b.value.print());
        });
        Client.check("any_value", () -> {
            Node one = Values.node(1);
            one.next = one.other = Values.node(2);
            Node found = (Node) retyped(o, orb, "Node", one);
            Client.holds(found.id == 1 && found.next.id == 2 && found.next == found.other, "the same graph");
        });
        Client.check("any_value_derived", () -> {
            Base known = Values.named(5, "five");
            Client.same("Known", "Known 5 five", Values.name((Base) retyped(o, orb, "Known", known)));
            Client.same("Known as Base", "Known 5 five", Values.name((Base) retyped(o, orb, "Base", known)));
        });
        Client.check("any_value_boxed", () -> {
            Client.same("text", "boxed", retyped(o, orb, "Text", "boxed"));
            Client.same("struct", Client.point(4), retyped(o, orb, "Spot", Client.point(4)));
            Client.same("numbers", new int[] {5}, retyped(o, orb, "Tally", new int[] {5}));
        });
        Client.check("any_value_whole", () ->
                Client.same("described", AS_NODE, Values.described((Whole) retyped(o, orb, "Whole", whole(orb, null)))));
        Client.check("any_value_in_struct", () -> {
            Node one = Values.node(1);
            Tag held = (Tag) retyped(o, orb, "Tag", new Tag((byte) 1, one, (short) -3));
            Client.holds(held.held.id == 1 && held.after == -3, "a struct with node 1");
            Either chosen = (Either) retyped(o, orb, "Either", either(one, null));
            Client.holds(chosen.one().id == 1, "a union with node 1");
            Node[] all = (Node[]) retyped(o, orb, "Nodes", new Node[] {one, one});
            Client.holds(all.length == 2 && all[0] == all[1], "the same node twice");
        });
        Client.check("value_custom", () -> {
            InteropJacorb.Extras extras = InteropJacorb.ExtrasHelper.narrow(suite.extras("jacorb"));
            InteropJacorb.Secret secret = new Values.SecretValue();
            secret.code = 99;
            Client.same("code", 99, extras.echo_secret(secret).code);
        });
    }

    private static final String AS_NODE = "9 whole 7 -12345 -3 1 1 1 2 3 2 -4 shared";
    private static final String AS_TEXT = "9 whole 7 -12345 -3 1 words 1 2 3 2 -4 shared";

    /** Returns a value with these words, or with a node if they are null. */
    private static Whole whole(ORB orb, String words) {
        Node one = Values.node(1);
        one.next = Values.node(2);
        Whole it = new Values.WholeValue();
        it.small = 9;
        it.plain = Client.record("whole", 2);
        it.choice = Client.byShort(7);
        it.content = orb.create_any();
        it.content.insert_long(-12345);
        it.tagged = new Tag((byte) 1, one, (short) -3);
        it.chosen = either(one, words);
        it.pair = new Twins(new Node[] {one, one.next});
        it.all = new Node[] {one.next, null, one};
        it.figures = new int[] {5, 5};
        it.place = Client.point(4);
        return it;
    }

    private static Either either(Node one, String words) {
        Either either = new Either();
        if (words == null) either.one(one);
        else either.words(words);
        return either;
    }

    /** Returns the value that the server sends back for a value in an any. */
    private static Object retyped(InteropValues.Suite o, ORB orb, String type, Object value) {
        Any any = orb.create_any();
        Anys.insert(any, "InteropValues." + type, value);
        return Anys.call("InteropValues." + type, "extract", o.retype(any));
    }
}
