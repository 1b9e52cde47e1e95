package peers;

import Interop.*;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.omg.CORBA.CompletionStatus;
import org.omg.CORBA.LocalObject;
import org.omg.PortableInterceptor.ForwardRequest;
import org.omg.PortableInterceptor.ORBInitInfo;
import org.omg.PortableInterceptor.ORBInitializer;
import org.omg.PortableInterceptor.ServerRequestInfo;
import org.omg.PortableInterceptor.ServerRequestInterceptor;
import org.omg.PortableServer.POA;
import org.omg.PortableServer.Servant;

/** The JacORB server of the interoperability test. */
public final class Server {
    private static org.omg.CORBA.ORB orb;
    private static POA poa;

    public static void main(String[] args) throws Exception {
        Options options = new Options(args);
        System.setProperty("org.omg.PortableInterceptor.ORBInitializerClass." + Forwarder.class.getName(), "");
        orb = Options.orb();
        poa = Options.poa(orb);
        org.omg.CORBA.Object suite = activate(new Suite());
        // The object is also at corbaloc::host:port/Suite.
        ((org.jacorb.orb.ORB) orb).addObjectKey("Suite", orb.object_to_string(suite));
        Path unfinished = Path.of(options.ior + ".new");
        Files.writeString(unfinished, orb.object_to_string(suite));
        Files.move(unfinished, Path.of(options.ior), StandardCopyOption.ATOMIC_MOVE);
        orb.run();
        System.exit(0);
    }

    static org.omg.CORBA.Object activate(Servant servant) {
        try {
            return poa.servant_to_reference(servant);
        } catch (org.omg.CORBA.UserException e) {
            throw new org.omg.CORBA.INTERNAL(e.toString());
        }
    }

    // ---- rotation: see interop.idl ---------------------------------------------

    /**
     * An implementation of an operations interface: every rotate_* operation alike, the others by the method of
     * that name and these parameters in {@code others}.
     */
    private static <T> T rotating(Class<T> operations, Object others) {
        InvocationHandler handler = (proxy, method, args) ->
                method.getName().startsWith("rotate_") ? rotate(args) : other(others, method, args);
        return operations.cast(Proxy.newProxyInstance(Server.class.getClassLoader(), new Class<?>[] {operations}, handler));
    }

    private static Object rotate(Object[] args) throws ReflectiveOperationException {
        Field value = args[1].getClass().getField("value");
        Object old = value.get(args[1]);
        value.set(args[2], old);
        value.set(args[1], args[0]);
        return old;
    }

    private static Object other(Object others, Method method, Object[] args) throws Throwable {
        try {
            Method own = others.getClass().getDeclaredMethod(method.getName(), method.getParameterTypes());
            return own.invoke(others, args);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }

    // ---- servants ----------------------------------------------------------------

    static final class NumberRest {
        Constants constant_values() {
            return new Constants(YES.value, MASK.value, LETTER.value, LOW.value, HIGH.value, PRODUCT.value, BITS.value,
                    FAR.value, HUGE_NUMBER.value, RATIO.value, GREETING.value, FAVOURITE.value);
        }

        double mixed(byte o, double d, org.omg.CORBA.StringHolder s, org.omg.CORBA.ShortHolder n, Point p,
                org.omg.CORBA.LongHolder far, OctetsHolder data, org.omg.CORBA.BooleanHolder is, boolean not) {
            s.value += "!";
            n.value = o;
            far.value = p.y;
            byte[] old = data.value;
            data.value = new byte[old.length];
            for (int i = 0; i < old.length; i++) data.value[i] = old[old.length - 1 - i];
            is.value = !not;
            return 2 * d;
        }
    }

    static final class WideRest {
        String echo_bounded(String a) {
            return a;
        }

        String constant_values(org.omg.CORBA.CharHolder letter) {
            letter.value = WIDE_LETTER.value;
            return WIDE_GREETING.value;
        }
    }

    static final class SequenceRest {
        byte[] echo_octets(byte[] a) {
            return a;
        }

        double[] echo_doubles(double[] a) {
            return a;
        }

        Point[] echo_points(Point[] a) {
            return a;
        }

        String[] echo_strings(String[] a) {
            return a;
        }

        String echo_string(String a) {
            return a;
        }
    }

    static final class PropertyServant extends PropertiesPOA {
        private int count;
        private int writes;
        private int stored;
        private String title = "";
        private Colour paint = Colour.red;
        private Interop.Record last;
        private Interop.Record first;

        public synchronized int count() {
            return count;
        }

        public synchronized void count(int v) {
            writes++;
            count = v;
        }

        public synchronized String title() {
            return title;
        }

        public synchronized void title(String v) {
            writes++;
            title = v;
        }

        public synchronized Colour paint() {
            return paint;
        }

        public synchronized void paint(Colour v) {
            writes++;
            paint = v;
        }

        public synchronized Interop.Record last() {
            return last;
        }

        public synchronized void last(Interop.Record v) {
            writes++;
            last = v;
        }

        public synchronized Interop.Record first() {
            return first;
        }

        public synchronized void first(Interop.Record v) {
            writes++;
            first = v;
        }

        public synchronized int writes() {
            return writes;
        }

        public synchronized void nudge(int by) {
            count += by;
        }

        public synchronized void store(byte[] data) {
            stored = data.length;
        }

        public synchronized int stored() {
            return stored;
        }
    }

    static final class BottomServant extends BottomPOA {
        private volatile int side = BottomOperations.LEVEL;

        public String who() {
            return "bottom";
        }

        public Interop.RootPackage.Mood temper() {
            return Interop.RootPackage.Mood.tense;
        }

        public String from_left() {
            return "left";
        }

        public int side() {
            return side;
        }

        public void side(int v) {
            side = v;
        }

        public String from_right(Interop.RootPackage.Mood m) {
            return m == Interop.RootPackage.Mood.calm ? "right, calm" : "right, tense";
        }

        public String from_bottom() {
            return "below";
        }
    }

    static final class FaultServant extends FaultsPOA {
        private static Detailed detailed() {
            Interop.Record record = new Interop.Record("record", new Point((byte) 9, -1.5, (short) -2, 3, true), Colour.green,
                    new int[] {1, -1}, new byte[] {5, 4, 3, 2, 1}, new String[] {"noted"});
            return new Detailed("because", -7, record);
        }

        public int raise_user(int which) throws Empty, Detailed, Chosen {
            if (which == 1) throw new Empty();
            if (which == 2) throw detailed();
            if (which == 3) {
                ByShort choice = new ByShort();
                choice.l((short) 7, 77);
                throw new Chosen(choice);
            }
            return which;
        }

        public void raise_system(String name, int minor, int completed) {
            org.omg.CORBA.SystemException exception;
            try {
                exception = (org.omg.CORBA.SystemException) Class.forName("org.omg.CORBA." + name)
                        .getConstructor(int.class, CompletionStatus.class)
                        .newInstance(minor, CompletionStatus.from_int(completed));
            } catch (ReflectiveOperationException e) {
                return;
            }
            throw exception;
        }

        public void maybe(boolean now) throws Empty {
            if (now) throw new Empty();
        }

        public String maybe_out(boolean now, OctetsHolder data) throws Detailed {
            if (now) throw detailed();
            data.value = new byte[] {0, 1, 2};
            return "fine";
        }
    }

    static final class NodeServant extends NodePOA {
        private final int value;

        NodeServant(int value) {
            this.value = value;
        }

        public int value() {
            return value;
        }

        public Node next() {
            return NodeHelper.narrow(activate(new NodeServant(value + 1)));
        }
    }

    /**
     * Forwards the requests to some objects elsewhere. (A servant manager's ForwardRequest ends in an exception
     * inside JacORB 3.9; an interceptor's works.)
     */
    public static final class Forwarder extends LocalObject implements ORBInitializer, ServerRequestInterceptor {
        private static final Map<String, Node> FORWARDS = new ConcurrentHashMap<>();

        static void forward(byte[] from, Node there) {
            FORWARDS.put(Arrays.toString(from), there);
        }

        public void pre_init(ORBInitInfo info) {}

        public void post_init(ORBInitInfo info) {
            try {
                info.add_server_request_interceptor(this);
            } catch (org.omg.CORBA.UserException e) {
                throw new org.omg.CORBA.INTERNAL(e.toString());
            }
        }

        public String name() {
            return "forwarder";
        }

        public void destroy() {}

        public void receive_request_service_contexts(ServerRequestInfo info) {}

        public void receive_request(ServerRequestInfo info) throws ForwardRequest {
            Node there = FORWARDS.get(Arrays.toString(info.object_id()));
            if (there != null) throw new ForwardRequest(there);
        }

        public void send_reply(ServerRequestInfo info) {}

        public void send_exception(ServerRequestInfo info) {}

        public void send_other(ServerRequestInfo info) {}
    }

    static final class ReferenceRest {
        Node make_node(int value) {
            return NodeHelper.narrow(activate(new NodeServant(value)));
        }

        Node make_nil() {
            return null;
        }

        boolean is_nil(Node n) {
            return n == null;
        }

        Node make_forwarded(int value) throws org.omg.CORBA.UserException {
            Node here = make_node(0);
            Forwarder.forward(poa.reference_to_id(here), make_node(value));
            return here;
        }

        Node make_stale() throws org.omg.CORBA.UserException {
            Servant servant = new NodeServant(0);
            Node node = NodeHelper.narrow(activate(servant));
            poa.deactivate_object(poa.reference_to_id(node));
            return node;
        }

        int call_back(Interop.Callback who, int n) {
            int sum = 0;
            for (int i = 1; i <= n; i++) sum += who.answer(i);
            return sum;
        }

        void fail_back(Interop.Callback who, int code) throws Detailed {
            who.fail(code);
        }

        Interop.Callback make_callback() {
            return CallbackHelper.narrow(activate(new Callback()));
        }

        void tell_back(Interop.Callback who, String news) {
            who.tell(news);
        }

        int slow(int milliseconds, int value) throws InterruptedException {
            Thread.sleep(milliseconds);
            return value;
        }
    }

    /** Types that only JacORB and OxORB support. */
    static final class ExtraServant extends InteropJacorb.ExtrasPOA {
        private int level;

        public int broken() throws InteropJacorb.Refused {
            throw new InteropJacorb.Refused(-1);
        }

        public synchronized int level() throws InteropJacorb.Refused {
            if (level < 0) throw new InteropJacorb.Refused(0);
            return level;
        }

        public synchronized void level(int v) throws InteropJacorb.Refused {
            if (v > 10) throw new InteropJacorb.Refused(10);
            level = v;
        }

        public InteropJacorb.Secret echo_secret(InteropJacorb.Secret it) {
            return it;
        }
    }

    // ---- the way in ------------------------------------------------------------------

    static final class Suite extends SuitePOA {
        private final Map<String, org.omg.CORBA.Object> active = new HashMap<>();

        private synchronized org.omg.CORBA.Object once(String name, Supplier<Servant> make) {
            return active.computeIfAbsent(name, n -> activate(make.get()));
        }

        public Numbers number_tests() {
            return NumbersHelper.narrow(once("numbers",
                    () -> new NumbersPOATie(rotating(NumbersOperations.class, new NumberRest()))));
        }

        public Texts text_tests() {
            return TextsHelper.narrow(once("texts", () -> new TextsPOATie(rotating(TextsOperations.class, this))));
        }

        public WideTexts wide_tests() {
            return WideTextsHelper.narrow(once("wide",
                    () -> new WideTextsPOATie(rotating(WideTextsOperations.class, new WideRest()))));
        }

        public Aggregates aggregate_tests() {
            return AggregatesHelper.narrow(once("aggregates",
                    () -> new AggregatesPOATie(rotating(AggregatesOperations.class, this))));
        }

        public Choices choice_tests() {
            return ChoicesHelper.narrow(once("choices",
                    () -> new ChoicesPOATie(rotating(ChoicesOperations.class, this))));
        }

        public Sequences sequence_tests() {
            return SequencesHelper.narrow(once("sequences",
                    () -> new SequencesPOATie(rotating(SequencesOperations.class, new SequenceRest()))));
        }

        public Properties property_tests() {
            return PropertiesHelper.narrow(once("properties", PropertyServant::new));
        }

        public Bottom inheritance_tests() {
            return BottomHelper.narrow(once("bottom", BottomServant::new));
        }

        public Faults fault_tests() {
            return FaultsHelper.narrow(once("faults", FaultServant::new));
        }

        public References reference_tests() {
            return ReferencesHelper.narrow(once("references",
                    () -> new ReferencesPOATie(rotating(ReferencesOperations.class, new ReferenceRest()))));
        }

        public org.omg.CORBA.Object extras(String name) {
            return switch (name) {
                case "jacorb" -> {
                    Values.known(orb);
                    yield once("extras", ExtraServant::new);
                }
                case "any" -> once("any", AnySuite::new);
                case "async" -> once("async", () -> new AsyncServants.OfficeServant(orb));
                case "values" -> once("values", () -> {
                    Values.known(orb);
                    var page = InteropValues.PageHelper.narrow(activate(new ValueServants.PageServant()));
                    return new InteropValues.SuitePOATie(
                            rotating(InteropValues.SuiteOperations.class, new ValueServants.SuiteRest(page, orb)));
                });
                default -> null;
            };
        }

        public void shutdown() {
            new Thread(() -> orb.shutdown(true)).start();
        }
    }

    /** Object through which clients obtain the servants for interop_any.idl. */
    static final class AnySuite extends InteropAny.SuitePOA {
        private final InteropAny.Contents contents = InteropAny.ContentsHelper.narrow(activate(new InteropAny.ContentsPOATie(
                rotating(InteropAny.ContentsOperations.class, new AnyServants.ContentRest(orb)))));
        private final InteropAny.Types types = InteropAny.TypesHelper.narrow(activate(new InteropAny.TypesPOATie(
                rotating(InteropAny.TypesOperations.class, new AnyServants.TypeRest()))));
        private final InteropAny.Decimals decimals = InteropAny.DecimalsHelper.narrow(activate(new InteropAny.DecimalsPOATie(
                rotating(InteropAny.DecimalsOperations.class, this))));

        public InteropAny.Contents any_tests() {
            return contents;
        }

        public InteropAny.Types type_tests() {
            return types;
        }

        public InteropAny.Decimals decimal_tests() {
            return decimals;
        }
    }
}
