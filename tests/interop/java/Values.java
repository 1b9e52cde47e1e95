package peers;

import InteropValues.Base;
import InteropValues.Form;
import InteropValues.Known;
import InteropValues.Node;
import InteropValues.Whole;
import java.io.Serializable;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.omg.CORBA.portable.ValueFactory;

/** The valuetypes of interop_values.idl, and their factories. */
final class Values {
    private Values() {}

    static final class NodeValue extends Node {}

    static final class BaseValue extends Base {}

    static final class KnownValue extends Known {}

    static final class FormValue extends Form {
        public String print() {
            return "form " + body;
        }
    }

    static final class WholeValue extends Whole {}

    /** Valuetype without a registered factory. */
    static final class FarValue extends InteropFar.Far {}

    static final class SecretValue extends InteropJacorb.Secret {
        public void marshal(org.omg.CORBA.DataOutputStream out) {
            out.write_string("code " + code);
            out.write_long(code);
        }

        public void unmarshal(org.omg.CORBA.DataInputStream in) {
            String text = in.read_string();
            code = in.read_long();
            if (!text.equals("code " + code)) throw new org.omg.CORBA.MARSHAL(text);
        }
    }

    static void known(org.omg.CORBA.ORB orb) {
        factory(orb, "InteropValues/Node", NodeValue::new);
        factory(orb, "InteropValues/Base", BaseValue::new);
        factory(orb, "InteropValues/Known", KnownValue::new);
        factory(orb, "InteropValues/Form", FormValue::new);
        factory(orb, "InteropValues/Whole", WholeValue::new);
        factory(orb, "InteropJacorb/Secret", SecretValue::new);
    }

    private static void factory(org.omg.CORBA.ORB orb, String name, Supplier<Serializable> make) {
        ValueFactory factory = in -> in.read_value(make.get());
        ((org.omg.CORBA_2_3.ORB) orb).register_value_factory("IDL:interop.oxorb.org/" + name + ":1.0", factory);
    }

    static Node node(int id) {
        Node node = new NodeValue();
        node.id = id;
        return node;
    }

    static Base base(int id) {
        Base base = new BaseValue();
        base.id = id;
        return base;
    }

    static Base named(int id, String name) {
        Known known = new KnownValue();
        known.id = id;
        known.name = name;
        return known;
    }

    static Base far() {
        FarValue far = new FarValue();
        far.id = 7;
        far.weight = 2.5;
        far.extra = node(8);
        return far;
    }

    static Form form(String body) {
        Form form = new FormValue();
        form.body = body;
        return form;
    }

    static String described(Whole it) {
        String chosen = it.chosen.discriminator() ? String.valueOf(it.chosen.one().id) : it.chosen.words();
        List<?> parts = List.of(it.small, it.plain.name, it.choice.discriminator(), it.content.extract_long(), it.tagged.after,
                it.tagged.held.id, chosen, it.pair.both[0].id, it.pair.both[1].id, it.all.length, it.figures.length, it.place.y);
        String text = parts.stream().map(Object::toString).collect(Collectors.joining(" "));
        return it.tagged.held == it.pair.both[0] ? text + " shared" : text;
    }

    static String name(Base it) {
        if (it == null) return "null";
        if (it instanceof Known known) return "Known " + known.id + " " + known.name;
        return "Base " + it.id;
    }
}
