import java.io.File;
import java.nio.file.Files;
import java.util.Properties;
import com.sun.corba.ee.impl.encoding.EncapsInputStream;
import com.sun.corba.ee.impl.encoding.EncapsOutputStream;
import com.sun.corba.ee.spi.ior.iiop.GIOPVersion;
import values.*;

/** Writes value graphs as the ORB of GlassFish does, and reads those that OxORB wrote. */
public final class GlassFish {
    static EncapsInputStream stream(byte[] octets, boolean little) {
        java.nio.ByteOrder order = little ? java.nio.ByteOrder.LITTLE_ENDIAN : java.nio.ByteOrder.BIG_ENDIAN;
        return new EncapsInputStream(orb, octets, octets.length, order, GIOPVersion.V1_2);
    }

    static class N extends Node {}
    static class P extends Pair {}
    static class B extends Base {}
    static class D extends Derived {}
    static class M extends Mid {}
    static class L extends Leaf {}
    static class H extends Holder {}
    static class S extends Secret {
        public void marshal(org.omg.CORBA.DataOutputStream out) {
            out.write_string("code");
            out.write_long(code);
        }
        public void unmarshal(org.omg.CORBA.DataInputStream in) {
            in.read_string();
            code = in.read_long();
        }
    }

    interface Maker { java.io.Serializable make(); }

    static org.omg.CORBA_2_3.ORB orb;

    static void factory(String name, Maker maker) {
        orb.register_value_factory("IDL:values/" + name + ":1.0", new org.omg.CORBA.portable.ValueFactory() {
            public java.io.Serializable read_value(org.omg.CORBA_2_3.portable.InputStream in) {
                return in.read_value(maker.make());
            }
        });
    }

    static Node node(int id, Node next) { N n = new N(); n.id = id; n.next = next; return n; }

    static Leaf leaf(Node extra) {
        L leaf = new L();
        leaf.id = 7; leaf.note = "note"; leaf.extra = extra; leaf.flag = 9; leaf.weight = 2.5;
        return leaf;
    }

    static void check(boolean holds, String what) {
        if (!holds) throw new AssertionError(what);
    }

    interface Case { void write(EncapsOutputStream out) throws Exception; void read(EncapsInputStream in) throws Exception; }

    static final java.util.Map<String, Case> CASES = new java.util.LinkedHashMap<>();

    static void cases() {
        CASES.put("null", new Case() {
            public void write(EncapsOutputStream o) { NodeHelper.write(o, null); o.write_octet((byte) 5); }
            public void read(EncapsInputStream i) { check(NodeHelper.read(i) == null, "null"); check(i.read_octet() == 5, "after"); }
        });
        CASES.put("shared", new Case() {
            public void write(EncapsOutputStream o) {
                o.write_octet((byte) 1);
                P pair = new P(); pair.left = node(3, null); pair.right = pair.left;
                PairHelper.write(o, pair); PairHelper.write(o, pair);
            }
            public void read(EncapsInputStream i) {
                i.read_octet();
                Pair pair = PairHelper.read(i);
                check(pair.left.id == 3 && pair.left == pair.right, "shared");
                check(PairHelper.read(i) == pair, "again");
            }
        });
        CASES.put("cycle", new Case() {
            public void write(EncapsOutputStream o) { Node a = node(1, node(2, null)); a.next.next = a; NodeHelper.write(o, a); }
            public void read(EncapsInputStream i) { Node a = NodeHelper.read(i); check(a.id == 1 && a.next.id == 2 && a.next.next == a, "cycle"); }
        });
        CASES.put("derived", new Case() {
            public void write(EncapsOutputStream o) {
                D d = new D(); d.id = 4; d.name = "four"; B b = new B(); b.id = 5;
                BasesHelper.write(o, new Base[] { d, b, d, null });
            }
            public void read(EncapsInputStream i) {
                Base[] all = BasesHelper.read(i);
                check(all.length == 4 && ((Derived) all[0]).name.equals("four") && all[0].id == 4, "derived");
                check(all[1].id == 5 && all[2] == all[0] && all[3] == null, "others");
            }
        });
        CASES.put("truncatable", new Case() {
            public void write(EncapsOutputStream o) {
                BasesHelper.write(o, new Base[] { leaf(node(8, node(9, null))), leaf(null) });
                o.write_long(77);
            }
            public void read(EncapsInputStream i) {
                Base[] all = BasesHelper.read(i);
                Leaf leaf = (Leaf) all[0];
                check(leaf.id == 7 && leaf.note.equals("note") && leaf.flag == 9 && leaf.weight == 2.5, "leaf");
                check(leaf.extra.id == 8 && leaf.extra.next.id == 9 && leaf.extra.next.next == null, "extra");
                check(((Leaf) all[1]).extra == null && ((Leaf) all[1]).weight == 2.5, "second");
                check(i.read_long() == 77, "after");
            }
        });
        CASES.put("boxed", new Case() {
            public void write(EncapsOutputStream o) {
                H h = new H(); h.first = "one"; h.second = h.first; h.numbers = new int[] { 1, 2, 3 };
                h.item = leaf(null); h.mark = 11;
                HolderHelper.write(o, h);
            }
            public void read(EncapsInputStream i) {
                Holder h = HolderHelper.read(i);
                check(h.first.equals("one") && h.first == h.second, "names");
                check(h.numbers.length == 3 && h.numbers[2] == 3, "numbers");
                check(((Leaf) h.item).weight == 2.5 && h.mark == 11, "rest");
            }
        });
        CASES.put("custom", new Case() {
            public void write(EncapsOutputStream o) { S s = new S(); s.code = 99; SecretHelper.write(o, s); o.write_long(6); }
            public void read(EncapsInputStream i) { check(SecretHelper.read(i).code == 99, "code"); check(i.read_long() == 6, "after"); }
        });
        CASES.put("cycle-in-chunks", new Case() {
            public void write(EncapsOutputStream o) {
                Node a = node(1, node(2, null)); a.next.next = a;
                Leaf leaf = leaf(a);
                BasesHelper.write(o, new Base[] { leaf, leaf }); NodeHelper.write(o, a);
            }
            public void read(EncapsInputStream i) {
                Base[] all = BasesHelper.read(i);
                Leaf leaf = (Leaf) all[0];
                check(all[1] == leaf && leaf.extra.next.next == leaf.extra && leaf.weight == 2.5, "cycle");
                check(NodeHelper.read(i) == leaf.extra, "again");
            }
        });
    }

    /** Only to read: a type that it does not know, truncatable to Base. */
    static final Case UNKNOWN = new Case() {
        public void write(EncapsOutputStream o) {}
        public void read(EncapsInputStream i) {
            Base base = BaseHelper.read(i);
            check(base.getClass() == B.class && base.id == 21, "truncated");
        }
    };

    public static void main(String[] args) throws Exception {
        Properties p = new Properties();
        p.put("org.omg.CORBA.ORBClass", "com.sun.corba.ee.impl.orb.ORBImpl");
        p.put("org.omg.CORBA.ORBSingletonClass", "com.sun.corba.ee.impl.orb.ORBSingleton");
        orb = (org.omg.CORBA_2_3.ORB) org.omg.CORBA.ORB.init(new String[0], p);
        factory("Node", N::new); factory("Pair", P::new); factory("Base", B::new); factory("Derived", D::new);
        factory("Mid", M::new); factory("Leaf", L::new); factory("Holder", H::new); factory("Secret", S::new);
        cases();
        if (!args[0].equals("write")) CASES.put("unknown", UNKNOWN);
        File dir = new File(args[1]);
        boolean failed = false;
        for (java.util.Map.Entry<String, Case> each : CASES.entrySet()) {
            File file = new File(dir, each.getKey() + (args.length > 2 ? args[2] : ".bin"));
            if (args[0].equals("write")) {
                EncapsOutputStream out = (EncapsOutputStream) orb.create_output_stream();
                each.getValue().write(out);
                Files.write(file.toPath(), out.toByteArray());
            } else {
                boolean little = args[0].equals("read-little");
                try {
                    each.getValue().read(stream(Files.readAllBytes(file.toPath()), little));
                    System.out.println(each.getKey() + ": read");
                } catch (Throwable t) {
                    failed = true;
                    System.out.println(each.getKey() + ": " + t);
                    if (args.length > 3) t.printStackTrace(System.out);
                }
            }
        }
        System.exit(failed ? 1 : 0);
    }
}
