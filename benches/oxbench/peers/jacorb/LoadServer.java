import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Properties;
import oxbench.CubingPOA;
import org.omg.PortableServer.POA;
import org.omg.PortableServer.POAHelper;

/**
 * JacORB's side of loads (see src/load/mod.rs): Cubing objects, served with JacORB's defaults.
 *
 * <pre>
 * LoadServer 60 20       a priority for each object, of which there is no use
 * < IOR:... IOR:...
 * </pre>
 */
public final class LoadServer {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private static final class Cuber extends CubingPOA {
        @Override
        public byte cube(byte value) {
            return (byte) (value * value * value);
        }

        @Override
        public byte toil(byte value, int microseconds) {
            long end = THREADS.getCurrentThreadCpuTime() + microseconds * 1000L;
            while (THREADS.getCurrentThreadCpuTime() < end) {
                Thread.onSpinWait();
            }
            return cube(value);
        }
    }

    static org.omg.CORBA.ORB orb() {
        Properties properties = new Properties();
        properties.setProperty("org.omg.CORBA.ORBClass", "org.jacorb.orb.ORB");
        properties.setProperty("org.omg.CORBA.ORBSingletonClass", "org.jacorb.orb.ORBSingleton");
        properties.setProperty("OAIAddr", "127.0.0.1");
        return org.omg.CORBA.ORB.init(new String[0], properties);
    }

    public static void main(String[] priorities) throws Exception {
        org.omg.CORBA.ORB orb = orb();
        POA poa = POAHelper.narrow(orb.resolve_initial_references("RootPOA"));
        poa.the_POAManager().activate();
        StringBuilder references = new StringBuilder();
        for (String ignored : priorities) {
            references.append(orb.object_to_string(poa.servant_to_reference(new Cuber()))).append(' ');
        }
        System.out.println(references.toString().trim());
        System.out.flush();
        while (System.in.read() >= 0) {
            // Serves until standard input closes.
        }
        Runtime.getRuntime().halt(0);
    }
}
