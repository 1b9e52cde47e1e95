package peers;

import Components.AlreadyConnected;
import Components.BadEventType;
import Components.CCMHome;
import Components.ComponentPortDescription;
import Components.Cookie;
import Components.CookieRequired;
import Components.DuplicateKeyValue;
import Components.EventConsumerBase;
import Components.FacetDescription;
import Components.FinderFailure;
import Components.InvalidConnection;
import Components.InvalidKey;
import Components.InvalidName;
import Components.NoConnection;
import Components.NoKeyAvailable;
import Components.ReceptacleDescription;
import Components.RemoveFailure;
import Components.UnknownKeyValue;
import InteropComponents.Channel;
import InteropComponents.Position;
import InteropComponents.PositionHelper;
import InteropComponents.Sensor;
import InteropComponents.SensorHelper;
import InteropComponents.SensorHome;
import InteropComponents.SensorHomeHelper;
import InteropComponents.SensorStore;
import InteropComponents.SensorStoreHelper;
import InteropComponents.Tick;
import InteropComponents.TickConsumer;
import InteropComponents.TickConsumerHelper;
import InteropComponents.TickConsumerPOA;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Properties;
import java.util.function.Supplier;
import org.omg.CORBA.BAD_INV_ORDER;
import org.omg.CORBA.OBJECT_NOT_EXIST;
import org.omg.CORBA.ORB;
import org.omg.CORBA.portable.ValueFactory;
import org.omg.PortableServer.POA;
import org.omg.PortableServer.POAHelper;

/** JacORB's client of OxORB's components, with stubs of the equivalent IDL: runs every check by name. */
public final class ComponentClient {
    private static ORB orb;
    private static int failures;

    interface Check {
        void run() throws Exception;
    }

    private static void check(String name, Check check) {
        try {
            check.run();
            System.out.println("PASS " + name);
            return;
        } catch (IllegalStateException why) {
            System.out.println("FAIL " + name + ": " + why.getMessage());
        } catch (Exception e) {
            System.out.println("FAIL " + name + ": expected no exception, got " + e);
        }
        failures++;
    }

    private static void holds(boolean condition, String what) {
        if (!condition) throw new IllegalStateException("expected " + what);
    }

    private static void raises(Class<? extends Exception> expected, String what, Check check) {
        try {
            check.run();
        } catch (Exception e) {
            if (expected.isInstance(e)) return;
            throw new IllegalStateException(what + ": expected " + expected.getSimpleName() + ", got " + e);
        }
        throw new IllegalStateException(what + ": expected " + expected.getSimpleName());
    }

    static final class TickValue extends Tick {}

    static final class ChannelValue extends Channel {}

    static final class CookieValue extends Cookie {}

    static final class FacetDescriptionValue extends FacetDescription {}

    static final class ConnectionDescriptionValue extends Components.ConnectionDescription {}

    static final class ReceptacleDescriptionValue extends ReceptacleDescription {}

    static final class ConsumerDescriptionValue extends Components.ConsumerDescription {}

    static final class EmitterDescriptionValue extends Components.EmitterDescription {}

    static final class SubscriberDescriptionValue extends Components.SubscriberDescription {}

    static final class PublisherDescriptionValue extends Components.PublisherDescription {}

    static final class ComponentPortDescriptionValue extends ComponentPortDescription {}

    private static void known(String name, Supplier<Serializable> make) {
        ValueFactory factory = in -> in.read_value(make.get());
        ((org.omg.CORBA_2_3.ORB) orb).register_value_factory("IDL:" + name + ":1.0", factory);
    }

    private static void factories() {
        known("InteropComponents/Tick", TickValue::new);
        known("InteropComponents/Channel", ChannelValue::new);
        known("omg.org/Components/Cookie", CookieValue::new);
        known("omg.org/Components/FacetDescription", FacetDescriptionValue::new);
        known("omg.org/Components/ConnectionDescription", ConnectionDescriptionValue::new);
        known("omg.org/Components/ReceptacleDescription", ReceptacleDescriptionValue::new);
        known("omg.org/Components/ConsumerDescription", ConsumerDescriptionValue::new);
        known("omg.org/Components/EmitterDescription", EmitterDescriptionValue::new);
        known("omg.org/Components/SubscriberDescription", SubscriberDescriptionValue::new);
        known("omg.org/Components/PublisherDescription", PublisherDescriptionValue::new);
        known("omg.org/Components/ComponentPortDescription", ComponentPortDescriptionValue::new);
    }

    /** Consumer in this process, to which OxORB's components push events. */
    static final class Consumer extends TickConsumerPOA {
        final List<Integer> typed = Collections.synchronizedList(new ArrayList<>());

        public void push_Tick(Tick tick) {
            typed.add(tick.count);
        }

        public void push_event(Components.EventBase event) {
            throw new org.omg.CORBA.NO_IMPLEMENT();
        }
    }

    private static Tick tick(int count) {
        Tick tick = new TickValue();
        tick.count = count;
        return tick;
    }

    private static void checks(SensorHome home, SensorStore store, Consumer servant, TickConsumer consumer)
            throws Exception {
        Sensor[] made = new Sensor[3];
        check("home_create", () -> {
            made[0] = home.create();
            SensorHelper.narrow(home.create_component()).remove();
        });
        check("home_factory", () -> {
            made[1] = home.at(48.5);
            made[2] = home.at(49.5);
            holds(made[1].provide_location().latitude() == 48.5, "48.5");
        });
        Sensor sensor = made[1];
        Sensor other = made[2];
        check("home_of_component", () -> {
            CCMHome back = sensor.get_ccm_home();
            holds(back._is_equivalent(home), "the home");
            back.remove_component(made[0]);
            raises(OBJECT_NOT_EXIST.class, "removed", () -> made[0].hertz());
            raises(RemoveFailure.class, "again", () -> back.remove_component(made[0]));
        });
        check("attribute", () -> {
            sensor.hertz(20);
            holds(sensor.hertz() == 20, "20");
        });
        org.omg.CORBA.Object facet = sensor.provide_facet("location");
        Position location = PositionHelper.narrow(facet);
        check("facets", () -> {
            holds(location.latitude() == 48.5, "48.5");
            raises(InvalidName.class, "unknown name", () -> sensor.provide_facet("refresh"));
            holds(sensor.same_component(facet), "one component");
            holds(!other.same_component(facet), "another component");
        });
        check("facets_described", () -> {
            FacetDescription[] all = sensor.get_all_facets();
            holds(all.length == 1, "one facet");
            holds(all[0].name.equals("location"), "its name");
            holds(all[0].type_id.equals("IDL:InteropComponents/Position:1.0"), "its type");
            holds(all[0].facet_ref._is_equivalent(facet), "its reference");
        });
        check("receptacle", () -> {
            holds(other.connect("source", facet) == null, "no cookie");
            raises(AlreadyConnected.class, "by name", () -> other.connect("source", facet));
            raises(AlreadyConnected.class, "by type", () -> other.connect_source(location));
            holds(other.get_connection_source().latitude() == 48.5, "48.5");
            holds(other.disconnect_source()._is_equivalent(location), "what was connected");
            raises(NoConnection.class, "empty", () -> other.disconnect_source());
        });
        check("receptacle_multiple", () -> {
            Cookie first = other.connect_others(location);
            Cookie second = other.connect("others", facet);
            var all = other.get_connections_others();
            holds(all.length == 2, "two connections");
            holds(all[1].objref.latitude() == 48.5, "48.5");
            ReceptacleDescription[] described = other.get_all_receptacles();
            holds(described.length == 2, "two receptacles");
            holds(described[1].is_multiple, "a multiplex one");
            holds(described[1].connections.length == 2, "its two connections");
            other.disconnect_others(first);
            raises(CookieRequired.class, "without cookie", () -> other.disconnect("others", null));
            other.disconnect("others", second);
            raises(InvalidConnection.class, "stale cookie", () -> other.disconnect_others(second));
            raises(InvalidConnection.class, "wrong type", () -> other.connect("others", home));
        });
        check("publisher", () -> {
            Cookie cookie = sensor.subscribe("pulse", consumer);
            holds(sensor.unsubscribe_pulse(cookie)._is_equivalent(consumer), "the consumer");
            raises(InvalidConnection.class, "stale cookie", () -> sensor.unsubscribe("pulse", cookie));
            sensor.subscribe_pulse(consumer);
            var all = sensor.get_all_publishers();
            holds(all.length == 1 && all[0].consumer.length == 1, "one subscriber");
        });
        check("emitter", () -> {
            sensor.connect_ready(consumer);
            raises(AlreadyConnected.class, "by name", () -> sensor.connect_consumer("ready", consumer));
            var all = sensor.get_all_emitters();
            holds(all.length == 1 && all[0].consumer._is_equivalent(consumer), "its consumer");
        });
        check("events", () -> {
            TickConsumer refresh = sensor.get_consumer_refresh();
            raises(BAD_INV_ORDER.class, "before configuration", () -> refresh.push_Tick(tick(7)));
            sensor.configuration_complete();
            refresh.push_Tick(tick(7));
            holds(servant.typed.equals(List.of(8, 8)), "two events with 8, got " + servant.typed);
            raises(BAD_INV_ORDER.class, "configured twice", () -> sensor.configuration_complete());
        });
        EventConsumerBase base = sensor.get_consumer("refresh");
        check("events_untyped", () -> {
            base.push_event(tick(8));
            holds(servant.typed.size() == 4 && servant.typed.get(3) == 9, "two events with 9");
            raises(InvalidName.class, "unknown sink", () -> sensor.get_consumer("location"));
        });
        check("events_of_another_type", () -> raises(BadEventType.class, "null", () -> base.push_event(null)));
        check("all_ports", () -> {
            ComponentPortDescription all = sensor.get_all_ports();
            holds(all.facets.length == 1 && all.receptacles.length == 2 && all.consumers.length == 1
                    && all.emitters.length == 1 && all.publishers.length == 1, "1, 2, 1, 1 and 1 ports");
        });
        check("disconnected_events", () -> {
            holds(sensor.disconnect_ready()._is_equivalent(consumer), "the consumer");
            raises(NoConnection.class, "empty", () -> sensor.disconnect_ready());
        });
        Channel key = new ChannelValue();
        key.site = "north";
        key.number = 1;
        check("keys", () -> {
            Sensor one = store.create(key);
            raises(DuplicateKeyValue.class, "twice", () -> store.create(key));
            holds(store.find_by_primary_key(key)._is_equivalent(one), "the component of the key");
            Channel own = store.get_primary_key(one);
            holds(own.site.equals("north") && own.number == 1, "its key");
            holds(((Channel) one.get_primary_key()).number == 1, "its key from the component");
            raises(NoKeyAvailable.class, "no key", () -> sensor.get_primary_key());
        });
        check("finder", () -> holds(store.first()._is_equivalent(store.find_by_primary_key(key)),
                "the component of channel 1"));
        check("keys_removed", () -> {
            store.remove(key);
            raises(UnknownKeyValue.class, "find", () -> store.find_by_primary_key(key));
            raises(UnknownKeyValue.class, "remove", () -> store.remove(key));
            raises(FinderFailure.class, "finder", () -> store.first());
            raises(InvalidKey.class, "null", () -> store.create(null));
        });
        check("removed", () -> {
            sensor.remove();
            other.remove();
            raises(OBJECT_NOT_EXIST.class, "component", () -> sensor.hertz());
            raises(OBJECT_NOT_EXIST.class, "facet", () -> location.latitude());
        });
    }

    public static void main(String[] args) throws Exception {
        if (args.length != 2) throw new IllegalArgumentException("usage: ComponentClient HOME STORE");
        Properties properties = new Properties();
        properties.setProperty("org.omg.CORBA.ORBClass", "org.jacorb.orb.ORB");
        properties.setProperty("org.omg.CORBA.ORBSingletonClass", "org.jacorb.orb.ORBSingleton");
        orb = ORB.init(new String[0], properties);
        factories();
        POA poa = POAHelper.narrow(orb.resolve_initial_references("RootPOA"));
        poa.the_POAManager().activate();
        Consumer servant = new Consumer();
        TickConsumer consumer = TickConsumerHelper.narrow(poa.servant_to_reference(servant));
        SensorHome home = SensorHomeHelper.narrow(orb.string_to_object(args[0]));
        SensorStore store = SensorStoreHelper.narrow(orb.string_to_object(args[1]));
        try {
            checks(home, store, servant, consumer);
        } catch (Exception e) {
            System.out.println("FAIL client: " + e);
            failures++;
        }
        System.exit(failures > 0 ? 1 : 0);
    }
}
