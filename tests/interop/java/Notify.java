package peers;

import java.util.Properties;
import org.omg.CORBA.BooleanHolder;
import org.omg.CORBA.IntHolder;
import org.omg.CORBA.ORB;
import org.omg.CosNotification.EventType;
import org.omg.CosNotification.StructuredEvent;
import org.omg.CosNotifyChannelAdmin.ClientType;
import org.omg.CosNotifyChannelAdmin.ConsumerAdmin;
import org.omg.CosNotifyChannelAdmin.EventChannel;
import org.omg.CosNotifyChannelAdmin.EventChannelHelper;
import org.omg.CosNotifyChannelAdmin.ProxyPullConsumer;
import org.omg.CosNotifyChannelAdmin.ProxyPullConsumerHelper;
import org.omg.CosNotifyChannelAdmin.ProxyPullSupplier;
import org.omg.CosNotifyChannelAdmin.ProxyPullSupplierHelper;
import org.omg.CosNotifyChannelAdmin.ProxyPushConsumer;
import org.omg.CosNotifyChannelAdmin.ProxyPushConsumerHelper;
import org.omg.CosNotifyChannelAdmin.ProxyPushSupplier;
import org.omg.CosNotifyChannelAdmin.ProxyPushSupplierHelper;
import org.omg.CosNotifyChannelAdmin.SequenceProxyPullConsumer;
import org.omg.CosNotifyChannelAdmin.SequenceProxyPullConsumerHelper;
import org.omg.CosNotifyChannelAdmin.SequenceProxyPullSupplier;
import org.omg.CosNotifyChannelAdmin.SequenceProxyPullSupplierHelper;
import org.omg.CosNotifyChannelAdmin.SequenceProxyPushConsumer;
import org.omg.CosNotifyChannelAdmin.SequenceProxyPushConsumerHelper;
import org.omg.CosNotifyChannelAdmin.SequenceProxyPushSupplier;
import org.omg.CosNotifyChannelAdmin.SequenceProxyPushSupplierHelper;
import org.omg.CosNotifyChannelAdmin.StructuredProxyPullConsumer;
import org.omg.CosNotifyChannelAdmin.StructuredProxyPullConsumerHelper;
import org.omg.CosNotifyChannelAdmin.StructuredProxyPullSupplier;
import org.omg.CosNotifyChannelAdmin.StructuredProxyPullSupplierHelper;
import org.omg.CosNotifyChannelAdmin.StructuredProxyPushConsumer;
import org.omg.CosNotifyChannelAdmin.StructuredProxyPushConsumerHelper;
import org.omg.CosNotifyChannelAdmin.StructuredProxyPushSupplier;
import org.omg.CosNotifyChannelAdmin.StructuredProxyPushSupplierHelper;
import org.omg.CosNotifyChannelAdmin.SupplierAdmin;
import org.omg.CosNotifyFilter.ConstraintExp;
import org.omg.CosNotifyFilter.Filter;
import org.omg.CosNotifyFilter.FilterAdmin;
import org.omg.PortableServer.POA;
import org.omg.PortableServer.POAHelper;

/**
 * JacORB's suppliers and consumers, of all kinds, at any notification channel: `consume URL CONSTRAINT...` prints the
 * events that they receive, `supply URL BASE N` sends N events of each kind, with numbers from BASE, and `check URL`
 * runs NotifyChecks.
 */
public final class Notify {
    private final ORB orb;
    private final EventChannel channel;
    private final IntHolder id = new IntHolder();

    private Notify(ORB orb, String url) {
        this.orb = orb;
        channel = EventChannelHelper.narrow(orb.string_to_object(url));
    }

    public static void main(String[] args) throws Exception {
        Properties properties = new Properties();
        properties.setProperty("org.omg.CORBA.ORBClass", "org.jacorb.orb.ORB");
        properties.setProperty("org.omg.CORBA.ORBSingletonClass", "org.jacorb.orb.ORBSingleton");
        properties.setProperty("jacorb.connection.client.pending_reply_timeout", "20000");
        ORB orb = ORB.init(new String[0], properties);
        POA poa = POAHelper.narrow(orb.resolve_initial_references("RootPOA"));
        poa.the_POAManager().activate();
        Notify notify = new Notify(orb, args[1]);
        switch (args[0]) {
            case "consume" -> {
                notify.consume(java.util.Arrays.copyOfRange(args, 2, args.length));
                orb.run();
            }
            case "supply" -> {
                notify.supply(Integer.parseInt(args[2]), Integer.parseInt(args[3]));
                NotifyPeers.say("DONE");
                orb.shutdown(false);
            }
            default -> {
                new NotifyChecks(orb, notify.channel).run();
                NotifyPeers.say("DONE");
                orb.shutdown(false);
            }
        }
    }

    private void filter(FilterAdmin proxy, String[] constraints) throws Exception {
        for (String constraint : constraints) {
            Filter filter = channel.default_filter_factory().create_filter("EXTENDED_TCL");
            filter.add_constraints(
                    new ConstraintExp[] {new ConstraintExp(new EventType[0], constraint)});
            proxy.add_filter(filter);
        }
    }

    private void consume(String[] constraints) throws Exception {
        ConsumerAdmin admin = channel.default_consumer_admin();
        ClientType any = ClientType.ANY_EVENT;
        ClientType structured = ClientType.STRUCTURED_EVENT;
        ClientType sequence = ClientType.SEQUENCE_EVENT;
        ProxyPushSupplier pushAny =
                ProxyPushSupplierHelper.narrow(admin.obtain_notification_push_supplier(any, id));
        filter(pushAny, constraints);
        pushAny.connect_any_push_consumer(new NotifyPeers.AnyConsumer("push_any")._this(orb));
        StructuredProxyPushSupplier pushStructured =
                StructuredProxyPushSupplierHelper.narrow(
                        admin.obtain_notification_push_supplier(structured, id));
        filter(pushStructured, constraints);
        pushStructured.connect_structured_push_consumer(
                new NotifyPeers.StructuredConsumer()._this(orb));
        SequenceProxyPushSupplier pushSequence =
                SequenceProxyPushSupplierHelper.narrow(
                        admin.obtain_notification_push_supplier(sequence, id));
        filter(pushSequence, constraints);
        pushSequence.connect_sequence_push_consumer(new NotifyPeers.SequenceConsumer()._this(orb));
        ProxyPullSupplier pullAny =
                ProxyPullSupplierHelper.narrow(admin.obtain_notification_pull_supplier(any, id));
        filter(pullAny, constraints);
        pullAny.connect_any_pull_consumer(new NotifyPeers.AnyPuller("pull_any")._this(orb));
        StructuredProxyPullSupplier pullStructured =
                StructuredProxyPullSupplierHelper.narrow(
                        admin.obtain_notification_pull_supplier(structured, id));
        filter(pullStructured, constraints);
        pullStructured.connect_structured_pull_consumer(
                new NotifyPeers.StructuredPuller()._this(orb));
        SequenceProxyPullSupplier pullSequence =
                SequenceProxyPullSupplierHelper.narrow(
                        admin.obtain_notification_pull_supplier(sequence, id));
        filter(pullSequence, constraints);
        pullSequence.connect_sequence_pull_consumer(new NotifyPeers.SequencePuller()._this(orb));
        channel.for_consumers()
                .obtain_push_supplier()
                .connect_push_consumer(new NotifyPeers.AnyConsumer("push_event")._this(orb));
        org.omg.CosEventComm.PullSupplier pullEvent = channel.for_consumers().obtain_pull_supplier();
        org.omg.CosEventChannelAdmin.ProxyPullSupplierHelper.narrow(pullEvent)
                .connect_pull_consumer(new NotifyPeers.AnyPuller("pull_event")._this(orb));
        Thread puller =
                new Thread(() -> pull(pullAny, pullStructured, pullSequence, pullEvent), "puller");
        puller.setDaemon(true);
        puller.start();
        NotifyPeers.say("READY");
    }

    /** Pulls until the channel ends. */
    private void pull(
            ProxyPullSupplier any,
            StructuredProxyPullSupplier structured,
            SequenceProxyPullSupplier sequence,
            org.omg.CosEventComm.PullSupplier plain) {
        BooleanHolder has = new BooleanHolder();
        try {
            while (true) {
                org.omg.CORBA.Any data = any.try_pull(has);
                if (has.value) {
                    NotifyPeers.say("GOT pull_any " + NotifyPeers.number(data));
                }
                data = plain.try_pull(has);
                if (has.value) {
                    NotifyPeers.say("GOT pull_event " + NotifyPeers.number(data));
                }
                StructuredEvent event = structured.try_pull_structured_event(has);
                if (has.value) {
                    NotifyPeers.say("GOT pull_structured " + NotifyPeers.number(event));
                }
                StructuredEvent[] events = sequence.try_pull_structured_events(10, has);
                if (has.value) {
                    for (StructuredEvent one : events) {
                        NotifyPeers.say("GOT pull_sequence " + NotifyPeers.number(one));
                    }
                }
                Thread.sleep(5);
            }
        } catch (Exception ended) {
            NotifyPeers.say("PULLED ALL " + ended.getClass().getSimpleName());
        }
    }

    private void supply(int base, int events) throws Exception {
        SupplierAdmin admin = channel.default_supplier_admin();
        ClientType any = ClientType.ANY_EVENT;
        ClientType structured = ClientType.STRUCTURED_EVENT;
        ClientType sequence = ClientType.SEQUENCE_EVENT;
        ProxyPushConsumer pushAny =
                ProxyPushConsumerHelper.narrow(admin.obtain_notification_push_consumer(any, id));
        pushAny.connect_any_push_supplier(new NotifyPeers.AnyPusher()._this(orb));
        StructuredProxyPushConsumer pushStructured =
                StructuredProxyPushConsumerHelper.narrow(
                        admin.obtain_notification_push_consumer(structured, id));
        pushStructured.connect_structured_push_supplier(
                new NotifyPeers.StructuredPusher()._this(orb));
        SequenceProxyPushConsumer pushSequence =
                SequenceProxyPushConsumerHelper.narrow(
                        admin.obtain_notification_push_consumer(sequence, id));
        pushSequence.connect_sequence_push_supplier(new NotifyPeers.SequencePusher()._this(orb));
        org.omg.CosEventChannelAdmin.ProxyPushConsumer pushEvent =
                channel.for_suppliers().obtain_push_consumer();
        pushEvent.connect_push_supplier(new NotifyPeers.AnyPusher()._this(orb));
        // Kinds 3 to 5, and 7.
        NotifyPeers.Waiting[] waiting = {
            new NotifyPeers.Waiting(),
            new NotifyPeers.Waiting(),
            new NotifyPeers.Waiting(),
            new NotifyPeers.Waiting()
        };
        int[] kinds = {3, 4, 5, 7};
        StructuredEvent[] batch = new StructuredEvent[events];
        for (int number = 0; number < events; number++) {
            pushAny.push(NotifyPeers.any(orb, base + number));
            pushStructured.push_structured_event(
                    NotifyPeers.event(orb, "numbers", base + 10 + number));
            batch[number] = NotifyPeers.event(orb, "numbers", base + 20 + number);
            pushEvent.push(NotifyPeers.any(orb, base + 60 + number));
            for (int at = 0; at < waiting.length; at++) {
                waiting[at].add(base + 10 * kinds[at] + number);
            }
        }
        pushSequence.push_structured_events(batch);
        ProxyPullConsumer pullAny =
                ProxyPullConsumerHelper.narrow(admin.obtain_notification_pull_consumer(any, id));
        pullAny.connect_any_pull_supplier(
                new NotifyPeers.AnySource(orb, waiting[0])._this(orb));
        StructuredProxyPullConsumer pullStructured =
                StructuredProxyPullConsumerHelper.narrow(
                        admin.obtain_notification_pull_consumer(structured, id));
        pullStructured.connect_structured_pull_supplier(
                new NotifyPeers.StructuredSource(orb, waiting[1])._this(orb));
        SequenceProxyPullConsumer pullSequence =
                SequenceProxyPullConsumerHelper.narrow(
                        admin.obtain_notification_pull_consumer(sequence, id));
        pullSequence.connect_sequence_pull_supplier(
                new NotifyPeers.SequenceSource(orb, waiting[2])._this(orb));
        org.omg.CosEventChannelAdmin.ProxyPullConsumer pullEvent =
                channel.for_suppliers().obtain_pull_consumer();
        pullEvent.connect_pull_supplier(new NotifyPeers.AnySource(orb, waiting[3])._this(orb));
        for (NotifyPeers.Waiting one : waiting) {
            if (!one.drain(30_000)) {
                throw new IllegalStateException("the channel does not pull");
            }
        }
        pushAny.disconnect_push_consumer();
        pushStructured.disconnect_structured_push_consumer();
        pushSequence.disconnect_sequence_push_consumer();
        pullAny.disconnect_pull_consumer();
        pullStructured.disconnect_structured_pull_consumer();
        pullSequence.disconnect_sequence_pull_consumer();
        pushEvent.disconnect_push_consumer();
        pullEvent.disconnect_pull_consumer();
    }
}
