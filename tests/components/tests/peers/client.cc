// omniORB's client of OxORB's components, with stubs of the equivalent IDL: navigates, connects, subscribes, pushes.
//
//   client GPS DISPLAY RATEGEN
#include <cstring>
#include <iostream>

#include "equivalent.hh"

struct TickValue : OBV_Avionics::Tick, CORBA::DefaultValueRefCountBase {
    TickValue() {}
    explicit TickValue(CORBA::ULong count) : OBV_Avionics::Tick(count) {}
};
struct CookieValue : OBV_Components::Cookie {};

template <class Value>
struct Factory : CORBA::ValueFactoryBase {
    CORBA::ValueBase* create_for_unmarshal() override { return new Value; }
};

template <class Value>
static void known(CORBA::ORB_ptr orb, const char* id) {
    CORBA::ValueFactoryBase* factory = new Factory<Value>;
    CORBA::ValueFactoryBase* before = orb->register_value_factory(id, factory);
    if (before) before->_remove_ref();
    factory->_remove_ref();
}

// Consumer in this process, to which OxORB's components push events.
struct Consumer : POA_Avionics::TickConsumer {
    void push_Tick(Avionics::Tick* tick) override { std::cout << "pushed " << tick->count() << "\n"; }
    void push_event(Components::EventBase*) override {}
};

template <class Call>
static void raises(const char* what, Call call) {
    try {
        call();
        std::cout << what << ": nothing\n";
    } catch (CORBA::Exception& exception) {
        std::cout << what << ": " << exception._name() << "\n";
    }
}

template <class Interface>
static typename Interface::_var_type resolve(CORBA::ORB_ptr orb, const char* reference) {
    CORBA::Object_var object = orb->string_to_object(reference);
    return Interface::_narrow(object);
}

int main(int argc, char** argv) try {
    CORBA::ORB_var orb = CORBA::ORB_init(argc, argv);
    known<TickValue>(orb, "IDL:Avionics/Tick:1.0");
    known<CookieValue>(orb, "IDL:omg.org/Components/Cookie:1.0");
    CORBA::Object_var object = orb->resolve_initial_references("RootPOA");
    PortableServer::POA_var poa = PortableServer::POA::_narrow(object);
    PortableServer::POAManager_var manager = poa->the_POAManager();
    manager->activate();
    Consumer servant;
    PortableServer::ObjectId_var id = poa->activate_object(&servant);
    object = poa->id_to_reference(id);
    Avionics::TickConsumer_var consumer = Avionics::TickConsumer::_narrow(object);

    Avionics::Gps_var gps = resolve<Avionics::Gps>(orb, argv[1]);
    Avionics::Display_var display = resolve<Avionics::Display>(orb, argv[2]);
    Avionics::RateGen_var rate = resolve<Avionics::RateGen>(orb, argv[3]);

    // Facets.
    CORBA::Object_var facet = gps->provide_facet("location");
    Avionics::Position_var location = Avionics::Position::_narrow(facet);
    std::cout << "latitude " << location->latitude() << "\n";
    location = gps->provide_location();
    std::cout << "latitude " << location->latitude() << "\n";
    raises("provide_facet", [&] { CORBA::Object_var none = gps->provide_facet("nothing"); });

    // Receptacles.
    Components::Cookie_var cookie = display->connect("source", facet);
    std::cout << "simplex cookie " << (cookie.in() ? "there" : "null") << "\n";
    raises("connect", [&] { Components::Cookie_var again = display->connect("source", facet); });
    Components::Cookie_var first = display->connect_others(location);
    Components::Cookie_var second = display->connect("others", facet);
    Avionics::Display::othersConnections_var all = display->get_connections_others();
    std::cout << "others " << all->length() << " latitude " << all[0].objref->latitude() << "\n";
    CORBA::Object_var gone = display->disconnect("others", second);
    location = display->disconnect_others(first);
    raises("disconnect_others", [&] { Avionics::Position_var none = display->disconnect_others(first); });
    raises("connect", [&] { Components::Cookie_var wrong = display->connect("others", rate); });

    // Events.
    rate->hertz(20);
    std::cout << "hertz " << rate->hertz() << "\n";
    Components::Cookie_var subscription = rate->subscribe("pulse", consumer);
    Avionics::TickConsumer_var unsubscribed = rate->unsubscribe_pulse(subscription);
    std::cout << "same consumer " << unsubscribed->_is_equivalent(consumer) << "\n";
    gps->connect_ready(consumer);
    Avionics::TickConsumer_var refresh = gps->get_consumer_refresh();
    TickValue* tick = new TickValue(7);
    raises("push before configuration", [&] { refresh->push_Tick(tick); });
    gps->configuration_complete();
    refresh->push_Tick(tick);
    Components::EventConsumerBase_var base = gps->get_consumer("refresh");
    tick->count(8);
    base->push_event(tick);
    tick->_remove_ref();
    Avionics::TickConsumer_var disconnected = gps->disconnect_ready();

    gps->remove();
    raises("after remove", [&] { gps->configuration_complete(); });
    poa->deactivate_object(id);
    orb->destroy();
    return 0;
} catch (CORBA::Exception& exception) {
    std::cout << "raised " << exception._rep_id() << "\n";
    return 1;
}
