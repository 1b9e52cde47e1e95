package peers;

import java.util.Arrays;
import org.omg.CORBA.Any;
import org.omg.CORBA.IntHolder;
import org.omg.CORBA.ORB;
import org.omg.CosEventChannelAdmin.AlreadyConnected;
import org.omg.CosEventComm.Disconnected;
import org.omg.CosNotification.EventType;
import org.omg.CosNotification.NamedPropertyRangeSeqHolder;
import org.omg.CosNotification.Property;
import org.omg.CosNotification.UnsupportedQoS;
import org.omg.CosNotifyChannelAdmin.AdminNotFound;
import org.omg.CosNotifyChannelAdmin.ClientType;
import org.omg.CosNotifyChannelAdmin.ConnectionAlreadyActive;
import org.omg.CosNotifyChannelAdmin.ConnectionAlreadyInactive;
import org.omg.CosNotifyChannelAdmin.ConsumerAdmin;
import org.omg.CosNotifyChannelAdmin.EventChannel;
import org.omg.CosNotifyChannelAdmin.InterFilterGroupOperator;
import org.omg.CosNotifyChannelAdmin.NotConnected;
import org.omg.CosNotifyChannelAdmin.ObtainInfoMode;
import org.omg.CosNotifyChannelAdmin.ProxyNotFound;
import org.omg.CosNotifyChannelAdmin.ProxyType;
import org.omg.CosNotifyChannelAdmin.StructuredProxyPushConsumer;
import org.omg.CosNotifyChannelAdmin.StructuredProxyPushConsumerHelper;
import org.omg.CosNotifyChannelAdmin.StructuredProxyPushSupplier;
import org.omg.CosNotifyChannelAdmin.StructuredProxyPushSupplierHelper;
import org.omg.CosNotifyFilter.ConstraintExp;
import org.omg.CosNotifyFilter.ConstraintInfo;
import org.omg.CosNotifyFilter.ConstraintNotFound;
import org.omg.CosNotifyFilter.Filter;
import org.omg.CosNotifyFilter.FilterNotFound;
import org.omg.CosNotifyFilter.InvalidConstraint;
import org.omg.CosNotifyFilter.InvalidGrammar;
import org.omg.CosNotifyFilter.MappingConstraintPair;
import org.omg.CosNotifyFilter.MappingFilter;

/** Checks of a notification channel apart from events. Prints `PASS name` or `FAIL name: why` for each. */
final class NotifyChecks {
    private final ORB orb;
    private final EventChannel channel;
    private final IntHolder id = new IntHolder();

    NotifyChecks(ORB orb, EventChannel channel) {
        this.orb = orb;
        this.channel = channel;
    }

    private interface Check {
        void run() throws Exception;
    }

    void run() {
        check("filters", this::filters);
        check("modify_constraints", this::modifyConstraints);
        check("delete_constraints", this::deleteConstraints);
        check("invalid_constraints", this::invalidConstraints);
        check("filters_of_objects", this::filtersOfObjects);
        check("mapping_filters", this::mappingFilters);
        check("qos", this::qos);
        check("validate_qos", this::validateQos);
        check("unsupported_qos", this::unsupportedQos);
        check("validate_event_qos", this::validateEventQos);
        check("administration", this::administration);
        check("admins", this::admins);
        check("proxies", this::proxies);
        check("states", this::states);
        check("unconnected", this::unconnected);
        check("types", this::types);
    }

    private static void check(String name, Check check) {
        try {
            check.run();
            NotifyPeers.say("PASS " + name);
        } catch (Throwable why) {
            NotifyPeers.say("FAIL " + name + ": " + why);
        }
    }

    private static void is(boolean wanted, String what) {
        if (!wanted) {
            throw new AssertionError(what);
        }
    }

    /** Runs code that must raise an exception. */
    private static void raises(Class<? extends Exception> wanted, Check check) throws Exception {
        try {
            check.run();
        } catch (Exception exception) {
            is(wanted.isInstance(exception), exception + " instead of " + wanted);
            return;
        }
        throw new AssertionError("no " + wanted.getSimpleName());
    }

    private static ConstraintExp constraint(String text) {
        return new ConstraintExp(new EventType[] {new EventType("peers", "*")}, text);
    }

    private Filter filter(String text) throws Exception {
        Filter filter = channel.default_filter_factory().create_filter("EXTENDED_TCL");
        filter.add_constraints(new ConstraintExp[] {constraint(text)});
        return filter;
    }

    private void filters() throws Exception {
        Filter filter = filter("$number == 1");
        is(filter.constraint_grammar().equals("EXTENDED_TCL"), filter.constraint_grammar());
        ConstraintInfo[] more = filter.add_constraints(new ConstraintExp[] {constraint("$number == 2")});
        is(more.length == 1, "one is added");
        is(filter.get_all_constraints().length == 2, "two are there");
        is(filter.match_structured(NotifyPeers.event(orb, "numbers", 1)), "1 matches");
        is(filter.match_structured(NotifyPeers.event(orb, "numbers", 2)), "2 matches");
        is(!filter.match_structured(NotifyPeers.event(orb, "numbers", 3)), "3 does not match");
        is(!filter.match_structured(NotifyPeers.event(orb, "numbers", 13)), "nor does 13");
        filter.remove_all_constraints();
        is(filter.get_all_constraints().length == 0, "all are removed");
        is(!filter.match_structured(NotifyPeers.event(orb, "numbers", 1)), "none matches");
        filter.destroy();
    }

    private void modifyConstraints() throws Exception {
        Filter filter = filter("$number == 1");
        int first = filter.get_all_constraints()[0].constraint_id;
        ConstraintInfo changed = new ConstraintInfo(constraint("$number == 3"), first);
        filter.modify_constraints(new int[0], new ConstraintInfo[] {changed});
        is(!filter.match_structured(NotifyPeers.event(orb, "numbers", 1)), "1 is changed");
        is(filter.match_structured(NotifyPeers.event(orb, "numbers", 3)), "3 matches now");
        filter.destroy();
    }

    private void deleteConstraints() throws Exception {
        Filter filter = filter("$number == 1");
        int first = filter.get_all_constraints()[0].constraint_id;
        filter.modify_constraints(new int[] {first}, new ConstraintInfo[0]);
        is(filter.get_all_constraints().length == 0, "it is deleted");
        raises(ConstraintNotFound.class, () -> filter.get_constraints(new int[] {first}));
        filter.destroy();
    }

    private void invalidConstraints() throws Exception {
        Filter filter = filter("$number == 1");
        ConstraintExp[] wrong = {constraint("1 <")};
        raises(InvalidConstraint.class, () -> filter.add_constraints(wrong));
        raises(
                InvalidGrammar.class,
                () -> channel.default_filter_factory().create_filter("NONSENSE"));
        filter.destroy();
    }

    private void filtersOfObjects() throws Exception {
        ConsumerAdmin admin = channel.new_for_consumers(InterFilterGroupOperator.OR_OP, id);
        Filter filter = filter("TRUE");
        int first = admin.add_filter(filter);
        int second = admin.add_filter(filter);
        is(first != second, "each has an id");
        is(admin.get_filter(first)._is_equivalent(filter), "it is found");
        is(admin.get_all_filters().length == 2, "both are there");
        admin.remove_filter(first);
        raises(FilterNotFound.class, () -> admin.get_filter(first));
        admin.remove_all_filters();
        is(admin.get_all_filters().length == 0, "none is left");
        admin.destroy();
    }

    private void mappingFilters() throws Exception {
        MappingFilter filter =
                channel.default_filter_factory()
                        .create_mapping_filter("EXTENDED_TCL", priority((short) 1));
        MappingConstraintPair pair =
                new MappingConstraintPair(constraint("$number == 4"), priority((short) 7));
        is(filter.add_mapping_constraints(new MappingConstraintPair[] {pair}).length == 1, "added");
        is(filter.default_value().extract_short() == 1, "the default value");
        org.omg.CORBA.AnyHolder value = new org.omg.CORBA.AnyHolder();
        is(filter.match_structured(NotifyPeers.event(orb, "numbers", 4), value), "4 matches");
        is(value.value.extract_short() == 7, "its value");
        is(!filter.match_structured(NotifyPeers.event(orb, "numbers", 5), value), "5 does not");
        is(value.value.extract_short() == 1, "the default value of others");
        filter.destroy();
    }

    private Any priority(short priority) {
        Any any = orb.create_any();
        any.insert_short(priority);
        return any;
    }

    private Any number(int number) {
        Any any = orb.create_any();
        any.insert_long(number);
        return any;
    }

    private void qos() throws Exception {
        ConsumerAdmin admin = channel.new_for_consumers(InterFilterGroupOperator.AND_OP, id);
        Property batch = new Property("MaximumBatchSize", number(5));
        Property order = new Property("OrderPolicy", priority((short) 1));
        admin.set_qos(new Property[] {batch, order});
        StructuredProxyPushSupplier proxy = supplier(admin);
        for (Property[] qos : Arrays.asList(admin.get_qos(), proxy.get_qos())) {
            is(find(qos, "MaximumBatchSize").extract_long() == 5, "the batch");
            is(find(qos, "OrderPolicy").extract_short() == 1, "the order");
        }
        proxy.set_qos(new Property[] {new Property("MaximumBatchSize", number(6))});
        is(find(proxy.get_qos(), "MaximumBatchSize").extract_long() == 6, "of its own");
        is(find(admin.get_qos(), "MaximumBatchSize").extract_long() == 5, "and of the admin");
        admin.destroy();
    }

    private static Any find(Property[] properties, String name) {
        for (Property property : properties) {
            if (property.name.equals(name)) {
                return property.value;
            }
        }
        throw new AssertionError("no " + name);
    }

    private void validateQos() throws Exception {
        NamedPropertyRangeSeqHolder ranges = new NamedPropertyRangeSeqHolder();
        channel.validate_qos(
                new Property[] {new Property("Priority", priority((short) 5))}, ranges);
        is(ranges.value != null, "ranges");
    }

    private void unsupportedQos() throws Exception {
        Property unknown = new Property("Colour", priority((short) 5));
        raises(UnsupportedQoS.class, () -> channel.set_qos(new Property[] {unknown}));
        Property type = new Property("Priority", number(5));
        raises(UnsupportedQoS.class, () -> channel.set_qos(new Property[] {type}));
    }

    private void validateEventQos() throws Exception {
        StructuredProxyPushSupplier proxy = supplier(channel.default_consumer_admin());
        NamedPropertyRangeSeqHolder ranges = new NamedPropertyRangeSeqHolder();
        proxy.validate_event_qos(
                new Property[] {new Property("Priority", priority((short) 5))}, ranges);
        proxy.disconnect_structured_push_supplier();
    }

    private void administration() throws Exception {
        Property most = new Property("MaxConsumers", number(50));
        channel.set_admin(new Property[] {most});
        is(find(channel.get_admin(), "MaxConsumers").extract_long() == 50, "it is set");
        channel.set_admin(new Property[] {new Property("MaxConsumers", number(0))});
    }

    private void admins() throws Exception {
        ConsumerAdmin admin = channel.new_for_consumers(InterFilterGroupOperator.OR_OP, id);
        int own = id.value;
        is(admin.MyID() == own, "its id");
        is(admin.MyOperator() == InterFilterGroupOperator.OR_OP, "its operator");
        is(admin.MyChannel()._is_equivalent(channel), "its channel");
        is(channel.get_consumeradmin(own)._is_equivalent(admin), "it is found");
        is(contains(channel.get_all_consumeradmins(), own), "it is listed");
        admin.destroy();
        raises(AdminNotFound.class, () -> channel.get_consumeradmin(own));
        raises(AdminNotFound.class, () -> channel.get_supplieradmin(987_654));
        is(channel.MyFactory() != null, "the factory");
    }

    private static boolean contains(int[] ids, int id) {
        return Arrays.stream(ids).anyMatch(one -> one == id);
    }

    private StructuredProxyPushSupplier supplier(ConsumerAdmin admin) throws Exception {
        return StructuredProxyPushSupplierHelper.narrow(
                admin.obtain_notification_push_supplier(ClientType.STRUCTURED_EVENT, id));
    }

    private void proxies() throws Exception {
        ConsumerAdmin admin = channel.default_consumer_admin();
        StructuredProxyPushSupplier proxy = supplier(admin);
        int own = id.value;
        is(proxy.MyType() == ProxyType.PUSH_STRUCTURED, "its type");
        is(proxy.MyAdmin()._is_equivalent(admin), "its admin");
        is(contains(admin.push_suppliers(), own), "it is listed");
        is(admin.get_proxy_supplier(own)._is_equivalent(proxy), "it is found");
        proxy.disconnect_structured_push_supplier();
        raises(ProxyNotFound.class, () -> admin.get_proxy_supplier(own));
        is(!contains(admin.push_suppliers(), own), "it is not listed any more");
    }

    private void states() throws Exception {
        StructuredProxyPushSupplier proxy = supplier(channel.default_consumer_admin());
        raises(NotConnected.class, proxy::suspend_connection);
        raises(NotConnected.class, proxy::resume_connection);
        var consumer = new NotifyPeers.StructuredConsumer()._this(orb);
        proxy.connect_structured_push_consumer(consumer);
        raises(AlreadyConnected.class, () -> proxy.connect_structured_push_consumer(consumer));
        raises(ConnectionAlreadyActive.class, proxy::resume_connection);
        proxy.suspend_connection();
        raises(ConnectionAlreadyInactive.class, proxy::suspend_connection);
        proxy.resume_connection();
        proxy.disconnect_structured_push_supplier();
    }

    private void unconnected() throws Exception {
        StructuredProxyPushConsumer source =
                StructuredProxyPushConsumerHelper.narrow(
                        channel.default_supplier_admin()
                                .obtain_notification_push_consumer(
                                        ClientType.STRUCTURED_EVENT, id));
        raises(
                Disconnected.class,
                () -> source.push_structured_event(NotifyPeers.event(orb, "numbers", 1)));
        source.disconnect_structured_push_consumer();
    }

    /** Checks that each side is notified of the types that the other side offers or wants. */
    private void types() throws Exception {
        StructuredProxyPushSupplier proxy = supplier(channel.default_consumer_admin());
        StructuredProxyPushConsumer source =
                StructuredProxyPushConsumerHelper.narrow(
                        channel.default_supplier_admin()
                                .obtain_notification_push_consumer(
                                        ClientType.STRUCTURED_EVENT, id));
        EventType[] offered = {new EventType("peers", "offered")};
        EventType[] wanted = {new EventType("peers", "wanted")};
        EventType[] none = {};
        proxy.connect_structured_push_consumer(new NotifyPeers.StructuredConsumer()._this(orb));
        source.connect_structured_push_supplier(new NotifyPeers.StructuredPusher()._this(orb));
        source.offer_change(offered, none);
        proxy.subscription_change(wanted, none);
        ObtainInfoMode mode = ObtainInfoMode.ALL_NOW_UPDATES_ON;
        EventType[] there = proxy.obtain_offered_types(mode);
        is(NotifyPeers.types(there).contains("peers:offered"), NotifyPeers.types(there));
        there = source.obtain_subscription_types(mode);
        is(NotifyPeers.types(there).contains("peers:wanted"), NotifyPeers.types(there));
        source.offer_change(none, offered);
        proxy.subscription_change(none, wanted);
        proxy.disconnect_structured_push_supplier();
        source.disconnect_structured_push_consumer();
    }
}
