package peers;

import java.util.ArrayDeque;
import java.util.Queue;
import org.omg.CORBA.Any;
import org.omg.CORBA.BooleanHolder;
import org.omg.CORBA.ORB;
import org.omg.CORBA.TCKind;
import org.omg.CosNotification.EventHeader;
import org.omg.CosNotification.EventType;
import org.omg.CosNotification.FixedEventHeader;
import org.omg.CosNotification.Property;
import org.omg.CosNotification.StructuredEvent;
import org.omg.CosNotification.StructuredEventHelper;
import org.omg.CosNotifyComm.PullConsumerPOA;
import org.omg.CosNotifyComm.PullSupplierPOA;
import org.omg.CosNotifyComm.PushConsumerPOA;
import org.omg.CosNotifyComm.PushSupplierPOA;
import org.omg.CosNotifyComm.SequencePullConsumerPOA;
import org.omg.CosNotifyComm.SequencePullSupplierPOA;
import org.omg.CosNotifyComm.SequencePushConsumerPOA;
import org.omg.CosNotifyComm.SequencePushSupplierPOA;
import org.omg.CosNotifyComm.StructuredPullConsumerPOA;
import org.omg.CosNotifyComm.StructuredPullSupplierPOA;
import org.omg.CosNotifyComm.StructuredPushConsumerPOA;
import org.omg.CosNotifyComm.StructuredPushSupplierPOA;

/** Suppliers and consumers of every kind, which print the calls that they receive. */
final class NotifyPeers {
    /** Kinds of suppliers and of consumers, in the order of their numbers. */
    static final String[] KINDS = {
        "push_any",
        "push_structured",
        "push_sequence",
        "pull_any",
        "pull_structured",
        "pull_sequence",
        // A kind of the Event Service.
        "push_event",
        "pull_event"
    };

    private NotifyPeers() {}

    static synchronized void say(String line) {
        System.out.println(line);
    }

    static String types(EventType[] types) {
        StringBuilder text = new StringBuilder();
        for (EventType type : types) {
            text.append(' ').append(type.domain_name).append(':').append(type.type_name);
        }
        return text.toString();
    }

    /** Returns the number in a structured event, which may be inside an any. */
    static int number(Any any) {
        if (any.type().kind() == TCKind.tk_struct) {
            return number(StructuredEventHelper.extract(any));
        }
        return any.type().kind() == TCKind.tk_any ? number(any.extract_any()) : any.extract_long();
    }

    static int number(StructuredEvent event) {
        return number(event.remainder_of_body);
    }

    static Any any(ORB orb, int number) {
        Any any = orb.create_any();
        any.insert_long(number);
        return any;
    }

    static StructuredEvent event(ORB orb, String type, int number) {
        Property[] filterable = {new Property("number", any(orb, number % 10))};
        FixedEventHeader fixed = new FixedEventHeader(new EventType("peers", type), "");
        return new StructuredEvent(
                new EventHeader(fixed, new Property[0]), filterable, any(orb, number));
    }

    /** Events that wait to be pulled. */
    static final class Waiting {
        private final Queue<Integer> numbers = new ArrayDeque<>();

        synchronized void add(int number) {
            numbers.add(number);
        }

        synchronized Integer next() {
            Integer number = numbers.poll();
            notifyAll();
            return number;
        }

        /** Waits until all events have been pulled; returns false after this time. */
        synchronized boolean drain(long milliseconds) throws InterruptedException {
            long end = System.currentTimeMillis() + milliseconds;
            while (!numbers.isEmpty() && System.currentTimeMillis() < end) {
                wait(100);
            }
            return numbers.isEmpty();
        }
    }

    static final class AnyConsumer extends PushConsumerPOA {
        private final String kind;

        AnyConsumer(String kind) {
            this.kind = kind;
        }

        public void push(Any data) {
            say("GOT " + kind + " " + number(data));
        }

        public void disconnect_push_consumer() {
            say("DISCONNECTED " + kind);
        }

        public void offer_change(EventType[] added, EventType[] removed) {
            say("OFFERED " + kind + " +" + types(added) + " -" + types(removed));
        }
    }

    static final class StructuredConsumer extends StructuredPushConsumerPOA {
        public void push_structured_event(StructuredEvent event) {
            say("GOT push_structured " + number(event));
        }

        public void disconnect_structured_push_consumer() {
            say("DISCONNECTED push_structured");
        }

        public void offer_change(EventType[] added, EventType[] removed) {
            say("OFFERED push_structured +" + types(added) + " -" + types(removed));
        }
    }

    static final class SequenceConsumer extends SequencePushConsumerPOA {
        public void push_structured_events(StructuredEvent[] events) {
            for (StructuredEvent event : events) {
                say("GOT push_sequence " + number(event));
            }
        }

        public void disconnect_sequence_push_consumer() {
            say("DISCONNECTED push_sequence");
        }

        public void offer_change(EventType[] added, EventType[] removed) {
            say("OFFERED push_sequence +" + types(added) + " -" + types(removed));
        }
    }

    static final class AnyPuller extends PullConsumerPOA {
        private final String kind;

        AnyPuller(String kind) {
            this.kind = kind;
        }

        public void disconnect_pull_consumer() {
            say("DISCONNECTED " + kind);
        }

        public void offer_change(EventType[] added, EventType[] removed) {}
    }

    static final class StructuredPuller extends StructuredPullConsumerPOA {
        public void disconnect_structured_pull_consumer() {
            say("DISCONNECTED pull_structured");
        }

        public void offer_change(EventType[] added, EventType[] removed) {}
    }

    static final class SequencePuller extends SequencePullConsumerPOA {
        public void disconnect_sequence_pull_consumer() {
            say("DISCONNECTED pull_sequence");
        }

        public void offer_change(EventType[] added, EventType[] removed) {}
    }

    static final class AnyPusher extends PushSupplierPOA {
        public void disconnect_push_supplier() {
            say("DISCONNECTED push_any");
        }

        public void subscription_change(EventType[] added, EventType[] removed) {}
    }

    static final class StructuredPusher extends StructuredPushSupplierPOA {
        public void disconnect_structured_push_supplier() {
            say("DISCONNECTED push_structured");
        }

        public void subscription_change(EventType[] added, EventType[] removed) {
            say("SUBSCRIBED push_structured +" + types(added) + " -" + types(removed));
        }
    }

    static final class SequencePusher extends SequencePushSupplierPOA {
        public void disconnect_sequence_push_supplier() {
            say("DISCONNECTED push_sequence");
        }

        public void subscription_change(EventType[] added, EventType[] removed) {}
    }

    static final class AnySource extends PullSupplierPOA {
        private final ORB orb;
        private final Waiting waiting;

        AnySource(ORB orb, Waiting waiting) {
            this.orb = orb;
            this.waiting = waiting;
        }

        public Any pull() {
            throw new org.omg.CORBA.NO_IMPLEMENT();
        }

        public Any try_pull(BooleanHolder hasEvent) {
            Integer number = waiting.next();
            hasEvent.value = number != null;
            return any(orb, number == null ? 0 : number);
        }

        public void disconnect_pull_supplier() {
            say("DISCONNECTED pull_any");
        }

        public void subscription_change(EventType[] added, EventType[] removed) {}
    }

    static final class StructuredSource extends StructuredPullSupplierPOA {
        private final ORB orb;
        private final Waiting waiting;

        StructuredSource(ORB orb, Waiting waiting) {
            this.orb = orb;
            this.waiting = waiting;
        }

        public StructuredEvent pull_structured_event() {
            throw new org.omg.CORBA.NO_IMPLEMENT();
        }

        public StructuredEvent try_pull_structured_event(BooleanHolder hasEvent) {
            Integer number = waiting.next();
            hasEvent.value = number != null;
            return event(orb, "numbers", number == null ? 0 : number);
        }

        public void disconnect_structured_pull_supplier() {
            say("DISCONNECTED pull_structured");
        }

        public void subscription_change(EventType[] added, EventType[] removed) {}
    }

    static final class SequenceSource extends SequencePullSupplierPOA {
        private final ORB orb;
        private final Waiting waiting;

        SequenceSource(ORB orb, Waiting waiting) {
            this.orb = orb;
            this.waiting = waiting;
        }

        public StructuredEvent[] pull_structured_events(int most) {
            throw new org.omg.CORBA.NO_IMPLEMENT();
        }

        public StructuredEvent[] try_pull_structured_events(int most, BooleanHolder hasEvent) {
            Integer number = waiting.next();
            hasEvent.value = number != null;
            return number == null
                    ? new StructuredEvent[0]
                    : new StructuredEvent[] {event(orb, "numbers", number)};
        }

        public void disconnect_sequence_pull_supplier() {
            say("DISCONNECTED pull_sequence");
        }

        public void subscription_change(EventType[] added, EventType[] removed) {}
    }
}
