package peers;

import java.util.Properties;
import java.util.Set;
import org.omg.BiDirPolicy.BIDIRECTIONAL_POLICY_TYPE;
import org.omg.BiDirPolicy.BOTH;
import org.omg.BiDirPolicy.BidirectionalPolicyValueHelper;
import org.omg.PortableServer.ImplicitActivationPolicyValue;
import org.omg.PortableServer.POA;
import org.omg.PortableServer.POAHelper;

/** Arguments of the test itself; JacORB takes its settings from system properties. */
final class Options {
    /** Server: the file to write. Client: the reference to call. */
    String ior = "";
    /** Client: the same object as corbaloc. */
    String corbaloc = "";
    /** Client: checks to skip. */
    Set<String> skip = Set.of();
    /** Client: whether to end the server after the checks. */
    boolean shutdown;

    Options(String[] args) {
        endInTime();
        for (int i = 0; i < args.length; i++) {
            switch (args[i]) {
                case "--ior", "--ior-file" -> ior = args[++i];
                case "--corbaloc" -> corbaloc = args[++i];
                case "--skip" -> skip = Set.of(args[++i].split(","));
                case "--shutdown" -> shutdown = true;
                default -> throw new IllegalArgumentException("unknown argument " + args[i]);
            }
        }
    }

    /** Ends this process after a time limit, even if the harness does not. */
    private static void endInTime() {
        Thread watchdog = new Thread(() -> {
            try {
                Thread.sleep(300_000);
            } catch (InterruptedException e) {
                return;
            }
            Runtime.getRuntime().halt(3);
        });
        watchdog.setDaemon(true);
        watchdog.start();
    }

    static org.omg.CORBA.ORB orb() {
        Properties properties = new Properties();
        properties.setProperty("org.omg.CORBA.ORBClass", "org.jacorb.orb.ORB");
        properties.setProperty("org.omg.CORBA.ORBSingletonClass", "org.jacorb.orb.ORBSingleton");
        if (BIDIRECTIONAL) {
            properties.setProperty("org.omg.PortableInterceptor.ORBInitializerClass.bidirectional",
                    "org.jacorb.orb.giop.BiDirConnectionInitializer");
        }
        return org.omg.CORBA.ORB.init(new String[0], properties);
    }

    /** Returns the POA for all servants. If requested, it permits callbacks over the connection of the client. */
    static POA poa(org.omg.CORBA.ORB orb) throws org.omg.CORBA.UserException {
        POA root = POAHelper.narrow(orb.resolve_initial_references("RootPOA"));
        root.the_POAManager().activate();
        if (!BIDIRECTIONAL) {
            return root;
        }
        org.omg.CORBA.Any both = orb.create_any();
        BidirectionalPolicyValueHelper.insert(both, BOTH.value);
        org.omg.CORBA.Policy[] policies = {
            orb.create_policy(BIDIRECTIONAL_POLICY_TYPE.value, both),
            root.create_implicit_activation_policy(ImplicitActivationPolicyValue.IMPLICIT_ACTIVATION),
        };
        return root.create_POA("bidirectional", root.the_POAManager(), policies);
    }

    private static final boolean BIDIRECTIONAL = System.getProperty("interop.bidirectional") != null;
}
