// JacORB's client of the object that reports its thread: prints the thread and priority of each call.
//
//   java WorkerClient { PRIORITY REFERENCE }...      a request has the priority; none if it is `-`
import java.util.Properties;

import org.omg.CORBA.LocalObject;
import org.omg.CORBA.ShortHolder;
import org.omg.IOP.ServiceContext;
import org.omg.PortableInterceptor.ClientRequestInfo;
import org.omg.PortableInterceptor.ClientRequestInterceptor;
import org.omg.PortableInterceptor.ORBInitInfo;
import org.omg.PortableInterceptor.ORBInitInfoPackage.DuplicateName;
import org.omg.PortableInterceptor.ORBInitializer;

public class WorkerClient {
    // Priority of the next request.
    static String priority = "-";

    public static class Initializer extends LocalObject implements ORBInitializer {
        public void pre_init(ORBInitInfo info) {
            try {
                info.add_client_request_interceptor(new Interceptor());
            } catch (DuplicateName unexpected) {
                throw new IllegalStateException(unexpected);
            }
        }

        public void post_init(ORBInitInfo info) {}
    }

    // Adds RTCorbaPriority: an encapsulation with a short, big-endian.
    public static class Interceptor extends LocalObject implements ClientRequestInterceptor {
        public String name() {
            return "priorities";
        }

        public void destroy() {}

        public void send_request(ClientRequestInfo info) {
            if (!priority.equals("-")) {
                int value = Integer.parseInt(priority);
                byte[] data = {0, 0, (byte) (value >> 8), (byte) value};
                info.add_request_service_context(new ServiceContext(10, data), true);
            }
        }

        public void send_poll(ClientRequestInfo info) {}

        public void receive_reply(ClientRequestInfo info) {}

        public void receive_exception(ClientRequestInfo info) {}

        public void receive_other(ClientRequestInfo info) {}
    }

    public static void main(String[] arguments) {
        Properties properties = new Properties();
        properties.setProperty("org.omg.PortableInterceptor.ORBInitializerClass." + Initializer.class.getName(), "");
        org.omg.CORBA.ORB orb = org.omg.CORBA.ORB.init(new String[0], properties);
        for (int at = 0; at + 1 < arguments.length; at += 2) {
            test.Worker worker = test.WorkerHelper.unchecked_narrow(orb.string_to_object(arguments[at + 1]));
            priority = arguments[at];
            ShortHolder served = new ShortHolder();
            String thread = worker.where(served, new ShortHolder());
            System.out.println(thread + " " + served.value);
        }
        orb.shutdown(true);
        orb.destroy();
        // Do not wait for other threads of JacORB.
        System.exit(0);
    }
}
