import org.omg.CORBA.*;

/** Prints the exceptions that attributes and factories raise, as an Interface Repository tells them. */
public class Extended {
    private static String names(ExceptionDescription[] all) {
        StringBuilder names = new StringBuilder("(");
        for (ExceptionDescription each : all) {
            names.append(' ').append(each.name);
        }
        return names.append(" )").toString();
    }

    private static void print(ExtAttributeDescription[] attributes) {
        for (ExtAttributeDescription each : attributes) {
            System.out.println("attribute " + each.name + " get " + names(each.get_exceptions) + " set "
                    + names(each.put_exceptions));
        }
    }

    public static void main(String[] args) throws Exception {
        ORB orb = ORB.init(args, null);
        Repository repository =
                RepositoryHelper.narrow(orb.resolve_initial_references("InterfaceRepository"));
        // Not radar::Near: JacORB refuses type codes of local interfaces (kind 33).
        for (String name : new String[] {"radar::Station", "radar::Shown"}) {
            Contained found = repository.lookup(name);
            InterfaceAttrExtension each = InterfaceAttrExtensionHelper.narrow(found);
            System.out.println(found.absolute_name());
            print(each.describe_ext_interface().attributes);
        }
        ExtInterfaceDef station = ExtInterfaceDefHelper.narrow(repository.lookup("radar::Station"));
        System.out.println("operations " + station.describe_ext_interface().operations.length);
        ExtAttributeDef data = ExtAttributeDefHelper.narrow(repository.lookup("radar::Station::data"));
        System.out.println("data set " + names(data.set_exceptions()));
        ExtValueDef point = ExtValueDefHelper.narrow(repository.lookup("radar::Point"));
        ExtInitializer make = point.describe_ext_value().initializers[0];
        System.out.println("factory " + make.name + " " + names(make.exceptions));
        orb.shutdown(true);
    }
}
