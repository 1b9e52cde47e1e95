import org.omg.CORBA.*;
import org.omg.PortableServer.*;

/** Serves shop::Desk without stubs: add, and an attribute. Prints its reference. */
public class Desk extends org.omg.PortableServer.DynamicImplementation {
    private final ORB orb;

    Desk(ORB orb) {
        this.orb = orb;
    }

    public String[] _all_interfaces(POA poa, byte[] id) {
        return new String[] {"IDL:shop/Desk:1.0", "IDL:shop/Base:1.0"};
    }

    private Any of(TCKind kind) {
        Any any = orb.create_any();
        any.type(orb.get_primitive_tc(kind));
        return any;
    }

    public void invoke(ServerRequest request) {
        NVList arguments = orb.create_list(0);
        Any result = orb.create_any();
        switch (request.operation()) {
            case "add": {
                Any a = of(TCKind.tk_long), b = of(TCKind.tk_short);
                arguments.add_value("a", a, ARG_IN.value);
                arguments.add_value("b", b, ARG_IN.value);
                request.arguments(arguments);
                result.insert_long(a.extract_long() + b.extract_short());
                break;
            }
            case "_get_title":
                request.arguments(arguments);
                result.insert_string("a desk in Java");
                break;
            default:
                throw new BAD_OPERATION(request.operation());
        }
        request.set_result(result);
    }

    public static void main(String[] args) throws Exception {
        ORB orb = ORB.init(args, null);
        POA poa = POAHelper.narrow(orb.resolve_initial_references("RootPOA"));
        poa.the_POAManager().activate();
        System.out.println(orb.object_to_string(poa.servant_to_reference(new Desk(orb))));
        System.out.flush();
        orb.run();
    }
}
