package peers;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import org.omg.CORBA.ORB;
import org.omg.CosNaming.Binding;
import org.omg.CosNaming.BindingHolder;
import org.omg.CosNaming.BindingIterator;
import org.omg.CosNaming.BindingIteratorHolder;
import org.omg.CosNaming.BindingListHolder;
import org.omg.CosNaming.BindingType;
import org.omg.CosNaming.NameComponent;
import org.omg.CosNaming.NamingContext;
import org.omg.CosNaming.NamingContextExt;
import org.omg.CosNaming.NamingContextExtHelper;
import org.omg.CosNaming.NamingContextExtPackage.InvalidAddress;
import org.omg.CosNaming.NamingContextPackage.AlreadyBound;
import org.omg.CosNaming.NamingContextPackage.InvalidName;
import org.omg.CosNaming.NamingContextPackage.NotEmpty;
import org.omg.CosNaming.NamingContextPackage.NotFound;
import org.omg.CosNaming.NamingContextPackage.NotFoundReason;

/** JacORB's client of name servers: runs every check by name against any ORB's server, one line each. */
public final class Naming {
    private static ORB orb;
    private static String url = "";
    private static String other = "";
    private static Set<String> skip = Set.of();
    private static int failures;

    interface Check {
        void run() throws Exception;
    }

    private static void check(String name, Check check) {
        if (skip.contains(name)) return;
        try {
            check.run();
            System.out.println("PASS " + name);
            return;
        } catch (IllegalStateException why) {
            System.out.println("FAIL " + name + ": " + why.getMessage());
        } catch (Exception e) {
            System.out.println("FAIL " + name + ": expected no exception, got " + e);
        }
        failures++;
    }

    private static void holds(boolean condition, String what) {
        if (!condition) throw new IllegalStateException("expected " + what);
    }

    private static void same(String what, String expected, String got) {
        holds(expected.equals(got), what + " " + expected + ", got " + got);
    }

    private static <E extends Exception> E raises(Class<E> expected, String what, Check check) {
        try {
            check.run();
        } catch (Exception e) {
            if (expected.isInstance(e)) return expected.cast(e);
            throw new IllegalStateException(what + ": expected " + expected.getSimpleName() + ", got " + e);
        }
        throw new IllegalStateException(what + ": expected " + expected.getSimpleName());
    }

    private static void notFound(String what, NotFoundReason why, NameComponent[] rest, Check check) {
        NotFound e = raises(NotFound.class, what, check);
        holds(e.why.value() == why.value(), what + ": why " + why.value() + ", got " + e.why.value());
        same(what + ": rest", show(rest), show(e.rest_of_name));
    }

    /** Makes a name from alternating ids and kinds. */
    private static NameComponent[] name(String... parts) {
        NameComponent[] name = new NameComponent[parts.length / 2];
        for (int i = 0; i < name.length; i++) name[i] = new NameComponent(parts[2 * i], parts[2 * i + 1]);
        return name;
    }

    private static String show(NameComponent[] name) {
        StringBuilder text = new StringBuilder();
        for (NameComponent c : name) text.append("[" + c.id + "|" + c.kind + "]");
        return text.toString();
    }

    private static String id(Binding binding) {
        NameComponent last = binding.binding_name[binding.binding_name.length - 1];
        return last.id + (binding.binding_type.value() == BindingType._ncontext ? "/" : "");
    }

    private static String ids(List<Binding> bindings) {
        List<String> all = new ArrayList<>();
        for (Binding binding : bindings) all.add(id(binding));
        Collections.sort(all);
        return String.join(" ", all);
    }

    private static NamingContextExt contextAt(String url) {
        NamingContextExt context = NamingContextExtHelper.narrow(orb.string_to_object(url));
        holds(context != null, "a NamingContextExt at " + url);
        return context;
    }

    private static NamingContextExt here;

    private static void resolves(NameComponent[] name, org.omg.CORBA.Object expected) throws Exception {
        holds(here.resolve(name)._is_equivalent(expected), show(name) + " to lead to what was bound");
    }

    private static void checks() throws Exception {
        org.omg.CORBA.Object one = orb.string_to_object("corbaloc:iiop:1.2@127.0.0.1:1/One");
        org.omg.CORBA.Object two = orb.string_to_object("corbaloc:iiop:1.2@127.0.0.1:1/Two");
        String mine = "jacorb-" + ProcessHandle.current().pid();
        NamingContextExt[] root = new NamingContextExt[1];
        check("initial_reference", () -> {
            root[0] = NamingContextExtHelper.narrow(orb.resolve_initial_references("NameService"));
            holds(root[0] != null, "a NamingContextExt");
        });
        if (root[0] == null) root[0] = contextAt(url);
        here = NamingContextExtHelper.narrow(root[0].bind_new_context(name(mine, "test")));
        check("bind_and_resolve", () -> {
            here.bind(name("one", ""), one);
            resolves(name("one", ""), one);
        });
        check("kinds_differ", () -> {
            here.bind(name("one", "kind"), two);
            here.bind(name("", "one"), two);
            resolves(name("one", ""), one);
            resolves(name("one", "kind"), two);
            resolves(name("", "one"), two);
        });
        check("already_bound", () -> {
            raises(AlreadyBound.class, "bind", () -> here.bind(name("one", ""), two));
            raises(AlreadyBound.class, "bind_context", () -> here.bind_context(name("one", ""), here));
            raises(AlreadyBound.class, "bind_new_context", () -> here.bind_new_context(name("one", "")));
            resolves(name("one", ""), one);
        });
        check("rebind", () -> {
            here.rebind(name("again", ""), one);
            here.rebind(name("again", ""), two);
            resolves(name("again", ""), two);
        });
        check("unbind", () -> {
            here.bind(name("short", ""), one);
            here.unbind(name("short", ""));
            notFound("resolve", NotFoundReason.missing_node, name("short", ""), () -> here.resolve(name("short", "")));
            notFound("unbind", NotFoundReason.missing_node, name("short", ""), () -> here.unbind(name("short", "")));
        });
        check("contexts", () -> {
            NamingContext a = here.bind_new_context(name("a", "dir"));
            NamingContext b = a.new_context();
            a.bind_context(name("b", ""), b);
            b.bind(name("deep", ""), one);
            resolves(name("a", "dir", "b", "", "deep", ""), one);
            here.bind(name("a", "dir", "b", "", "deeper", ""), two);
            here.bind_new_context(name("a", "dir", "b", "", "c", ""));
            holds(b.resolve(name("deeper", ""))._is_equivalent(two), "deeper in b");
        });
        check("missing_node", () -> {
            notFound("first", NotFoundReason.missing_node, name("x", "", "y", ""), () -> here.resolve(name("x", "", "y", "")));
            notFound("second", NotFoundReason.missing_node, name("x", "", "y", ""), () -> here.bind(name("a", "dir", "x", "", "y", ""), one));
            notFound("last", NotFoundReason.missing_node, name("x", ""), () -> here.resolve(name("a", "dir", "x", "")));
        });
        check("not_context", () -> {
            notFound("bind", NotFoundReason.not_context, name("one", "", "x", ""), () -> here.bind(name("one", "", "x", ""), one));
            notFound("resolve", NotFoundReason.not_context, name("deep", "", "x", ""),
                    () -> here.resolve(name("a", "dir", "b", "", "deep", "", "x", "")));
        });
        check("rebind_wrong_kind", () -> {
            here.bind_new_context(name("victim", ""));
            notFound("rebind", NotFoundReason.not_object, name("victim", ""), () -> here.rebind(name("victim", ""), one));
            notFound("rebind_context", NotFoundReason.not_context, name("one", ""), () -> here.rebind_context(name("one", ""), here));
        });
        check("rebind_context", () -> {
            here.bind_new_context(name("turn", ""));
            NamingContext second = here.new_context();
            here.rebind_context(name("turn", ""), second);
            second.bind(name("in", ""), one);
            resolves(name("turn", "", "in", ""), one);
        });
        check("invalid_name", () -> {
            raises(InvalidName.class, "resolve", () -> here.resolve(name()));
            raises(InvalidName.class, "bind", () -> here.bind(name(), one));
            raises(InvalidName.class, "unbind", () -> here.unbind(name()));
        });
        check("not_empty", () -> {
            NamingContext full = here.bind_new_context(name("full", ""));
            full.bind(name("x", ""), one);
            raises(NotEmpty.class, "destroy", full::destroy);
        });
        check("destroy", () -> {
            NamingContext brief = here.bind_new_context(name("brief", ""));
            brief.destroy();
            here.unbind(name("brief", ""));
            holds(brief._non_existent(), "the context to be gone");
        });
        NamingContext list = here.bind_new_context(name("list", ""));
        for (String id : List.of("k", "l", "m", "n", "o")) list.bind(name(id, ""), one);
        list.bind_new_context(name("sub", ""));
        check("list", () -> {
            BindingListHolder all = new BindingListHolder();
            BindingIteratorHolder rest = new BindingIteratorHolder();
            list.list(100, all, rest);
            same("bindings", "k l m n o sub/", ids(Arrays.asList(all.value)));
            holds(rest.value == null, "no iterator");
        });
        check("iterator", () -> {
            BindingListHolder some = new BindingListHolder();
            BindingIteratorHolder rest = new BindingIteratorHolder();
            list.list(2, some, rest);
            holds(some.value.length == 2 && rest.value != null, "two and an iterator");
            BindingIterator iterator = rest.value;
            List<Binding> all = new ArrayList<>(Arrays.asList(some.value));
            BindingHolder next = new BindingHolder();
            holds(iterator.next_one(next), "a third");
            all.add(next.value);
            BindingListHolder more = new BindingListHolder();
            holds(iterator.next_n(2, more) && more.value.length == 2, "two more");
            all.addAll(Arrays.asList(more.value));
            while (iterator.next_one(next)) all.add(next.value);
            same("bindings", "k l m n o sub/", ids(all));
            holds(!iterator.next_n(1, more) && more.value.length == 0, "the end");
            iterator.destroy();
            holds(iterator._non_existent(), "the iterator to be gone");
        });
        check("list_nothing_first", () -> {
            BindingListHolder none = new BindingListHolder();
            BindingIteratorHolder rest = new BindingIteratorHolder();
            list.list(0, none, rest);
            holds(none.value.length == 0 && rest.value != null, "an iterator alone");
            BindingListHolder all = new BindingListHolder();
            holds(rest.value.next_n(100, all), "all of them");
            same("bindings", "k l m n o sub/", ids(Arrays.asList(all.value)));
            rest.value.destroy();
        });
        check("to_string_and_back", () -> {
            NameComponent[] name = name("a/b", "c.d", "", "", "\\", "", "", "k");
            String text = here.to_string(name);
            same("text", "a\\/b.c\\.d/./\\\\/.k", text);
            same("name", show(name), show(here.to_name(text)));
        });
        check("malformed_text", () -> {
            for (String wrong : List.of("", "a//b", "/a", "a/", "a.b.c"))
                raises(InvalidName.class, "to_name " + wrong, () -> here.to_name(wrong));
            raises(InvalidName.class, "resolve_str", () -> here.resolve_str("a//b"));
            raises(InvalidName.class, "to_string", () -> here.to_string(name()));
        });
        check("trailing_dot", () -> raises(InvalidName.class, "to_name a.", () -> here.to_name("a.")));
        check("resolve_str", () -> {
            holds(here.resolve_str("a.dir/b/deep")._is_equivalent(one), "what was bound");
            raises(NotFound.class, "resolve_str", () -> here.resolve_str("a.dir/x"));
        });
        check("to_url", () -> same("url", "corbaname::host:2809/NameService#a/b%20c",
                here.to_url(":host:2809/NameService", "a/b c")));
        check("invalid_address", () -> raises(InvalidAddress.class, "to_url", () -> here.to_url("", "a")));
        check("corbaname", () -> {
            String where = "corbaname" + url.substring(url.indexOf(':')) + "#" + mine + ".test/a.dir/b/deep";
            holds(orb.string_to_object(where)._is_equivalent(one), "what was bound");
        });
        check("latin1", () -> {
            here.bind(name("grüß", "ä"), one);
            resolves(name("grüß", "ä"), one);
            here.unbind(name("grüß", "ä"));
        });
        check("other_server", () -> {
            NamingContextExt there = contextAt(other);
            here.bind_context(name("other", ""), there);
            NamingContext made = here.bind_new_context(name("other", "", mine, ""));
            here.bind(name("other", "", mine, "", "o", ""), two);
            resolves(name("other", "", mine, "", "o", ""), two);
            holds(there.resolve(name(mine, "", "o", ""))._is_equivalent(two), "what was bound");
            notFound("resolve", NotFoundReason.missing_node, name("x", ""),
                    () -> here.resolve(name("other", "", mine, "", "x", "")));
            here.unbind(name("other", "", mine, "", "o", ""));
            made.destroy();
            here.unbind(name("other", "", mine, ""));
        });
    }

    public static void main(String[] args) throws Exception {
        for (int i = 0; i + 1 < args.length; i += 2) {
            switch (args[i]) {
                case "--url" -> url = args[i + 1];
                case "--other" -> other = args[i + 1];
                case "--skip" -> skip = Set.of(args[i + 1].split(","));
                default -> throw new IllegalArgumentException("unknown argument " + args[i]);
            }
        }
        Properties properties = new Properties();
        properties.setProperty("org.omg.CORBA.ORBClass", "org.jacorb.orb.ORB");
        properties.setProperty("org.omg.CORBA.ORBSingletonClass", "org.jacorb.orb.ORBSingleton");
        properties.setProperty("ORBInitRef.NameService", url);
        orb = ORB.init(new String[0], properties);
        checks();
        System.exit(failures > 0 ? 1 : 0);
    }
}
