package peers;

import java.util.Properties;
import org.omg.CORBA.Any;
import org.omg.CORBA.IntHolder;
import org.omg.CORBA.ORB;
import org.omg.CosNotification.EventHeader;
import org.omg.CosNotification.EventType;
import org.omg.CosNotification.FixedEventHeader;
import org.omg.CosNotification.Property;
import org.omg.CosNotification.StructuredEvent;
import org.omg.CosNotifyChannelAdmin.ClientType;
import org.omg.CosNotifyChannelAdmin.EventChannel;
import org.omg.CosNotifyChannelAdmin.EventChannelHelper;
import org.omg.CosNotifyChannelAdmin.StructuredProxyPushConsumer;
import org.omg.CosNotifyChannelAdmin.StructuredProxyPushConsumerHelper;
import org.omg.CosNotifyChannelAdmin.StructuredProxyPushSupplier;
import org.omg.CosNotifyChannelAdmin.StructuredProxyPushSupplierHelper;
import org.omg.CosNotifyComm.StructuredPushConsumerPOA;
import org.omg.CosNotifyComm.StructuredPushSupplierPOA;
import org.omg.CosNotifyFilter.ConstraintExp;
import org.omg.CosNotifyFilter.Filter;
import org.omg.PortableServer.POA;
import org.omg.PortableServer.POAHelper;

/**
 * JacORB's supplier and consumer of any notification channel: `consume URL CONSTRAINT` prints the numbers that it gets,
 * `supply URL N` pushes N events, with numbers from 0.
 */
public final class Notify {
    static final class Consumer extends StructuredPushConsumerPOA {
        public void push_structured_event(StructuredEvent event) {
            System.out.println("GOT " + event.remainder_of_body.extract_long());
        }

        public void disconnect_structured_push_consumer() {
            System.out.println("DISCONNECTED");
        }

        public void offer_change(EventType[] added, EventType[] removed) {}
    }

    static final class Supplier extends StructuredPushSupplierPOA {
        public void disconnect_structured_push_supplier() {
            System.out.println("DISCONNECTED");
        }

        public void subscription_change(EventType[] added, EventType[] removed) {}
    }

    public static void main(String[] args) throws Exception {
        Properties properties = new Properties();
        properties.setProperty("org.omg.CORBA.ORBClass", "org.jacorb.orb.ORB");
        properties.setProperty("org.omg.CORBA.ORBSingletonClass", "org.jacorb.orb.ORBSingleton");
        properties.setProperty("jacorb.connection.client.pending_reply_timeout", "10000");
        ORB orb = ORB.init(new String[0], properties);
        POA poa = POAHelper.narrow(orb.resolve_initial_references("RootPOA"));
        poa.the_POAManager().activate();
        EventChannel channel = EventChannelHelper.narrow(orb.string_to_object(args[1]));
        IntHolder id = new IntHolder();
        if (args[0].equals("consume")) {
            StructuredProxyPushSupplier proxy =
                    StructuredProxyPushSupplierHelper.narrow(
                            channel.default_consumer_admin()
                                    .obtain_notification_push_supplier(
                                            ClientType.STRUCTURED_EVENT, id));
            Filter filter = channel.default_filter_factory().create_filter("EXTENDED_TCL");
            filter.add_constraints(
                    new ConstraintExp[] {new ConstraintExp(new EventType[0], args[2])});
            proxy.add_filter(filter);
            proxy.connect_structured_push_consumer(new Consumer()._this(orb));
            System.out.println("READY");
            orb.run();
            return;
        }
        StructuredProxyPushConsumer proxy =
                StructuredProxyPushConsumerHelper.narrow(
                        channel.default_supplier_admin()
                                .obtain_notification_push_consumer(
                                        ClientType.STRUCTURED_EVENT, id));
        proxy.connect_structured_push_supplier(new Supplier()._this(orb));
        for (int number = 0; number < Integer.parseInt(args[2]); number++) {
            Any value = orb.create_any();
            value.insert_long(number);
            Property[] filterable = {new Property("number", value)};
            FixedEventHeader fixed = new FixedEventHeader(new EventType("peers", "numbers"), "");
            EventHeader header = new EventHeader(fixed, new Property[0]);
            proxy.push_structured_event(new StructuredEvent(header, filterable, value));
        }
        proxy.disconnect_structured_push_consumer();
        System.out.println("DONE");
        orb.shutdown(false);
    }
}
