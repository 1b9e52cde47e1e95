// omniORB's client of OxORB's components, with stubs of the equivalent IDL: runs every check by name, one line each.
//
//   interop-components HOME STORE
#include <cstring>
#include <functional>
#include <iostream>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

#include "equivalent.hh"

namespace I = InteropComponents;
namespace C = Components;

static CORBA::ORB_var orb;
static int failures = 0;

static std::string describe(const CORBA::Exception& e) {
  std::ostringstream out;
  out << e._rep_id();
  if (auto* system = CORBA::SystemException::_downcast(const_cast<CORBA::Exception*>(&e)))
    out << " minor 0x" << std::hex << system->minor();
  return out.str();
}

static void check(const std::string& name, const std::function<void()>& run) {
  try {
    run();
    std::cout << "PASS " << name << std::endl;
    return;
  } catch (const std::string& why) {
    std::cout << "FAIL " << name << ": " << why << std::endl;
  } catch (const CORBA::Exception& e) {
    std::cout << "FAIL " << name << ": expected no exception, got " << describe(e) << std::endl;
  }
  ++failures;
}

static void holds(bool condition, const std::string& what) {
  if (!condition) throw "expected " + what;
}

template <class Exception>
static void raises(const std::string& what, const std::function<void()>& run) {
  try {
    run();
  } catch (const Exception&) {
    return;
  } catch (const CORBA::Exception& e) {
    throw what + ": expected " + describe(Exception()) + ", got " + describe(e);
  }
  throw what + ": expected " + describe(Exception());
}

struct TickValue : OBV_InteropComponents::Tick, CORBA::DefaultValueRefCountBase {
  TickValue() {}
  explicit TickValue(CORBA::ULong count) : OBV_InteropComponents::Tick(count) {}
};
struct ChannelValue : OBV_InteropComponents::Channel, CORBA::DefaultValueRefCountBase {
  ChannelValue() {}
  ChannelValue(const char* site, CORBA::UShort number) : OBV_InteropComponents::Channel(site, number) {}
};
// The generated code counts references, because no base of these types is abstract.
#define VALUE(NAME) \
  struct NAME##Value : OBV_Components::NAME {}
VALUE(FacetDescription);
VALUE(ConnectionDescription);
VALUE(ReceptacleDescription);
VALUE(ConsumerDescription);
VALUE(EmitterDescription);
VALUE(SubscriberDescription);
VALUE(PublisherDescription);
VALUE(ComponentPortDescription);
struct CookieValue : OBV_Components::Cookie {};

template <class Value>
struct Factory : CORBA::ValueFactoryBase {
  CORBA::ValueBase* create_for_unmarshal() override { return new Value; }
};

template <class Value>
static void known(const char* id) {
  CORBA::ValueFactoryBase* factory = new Factory<Value>;
  CORBA::ValueFactoryBase* before = orb->register_value_factory(id, factory);
  if (before) before->_remove_ref();
  factory->_remove_ref();
}

// Consumer in this process, to which OxORB's components push events.
struct Consumer : POA_InteropComponents::TickConsumer {
  std::vector<CORBA::ULong> typed;
  void push_Tick(I::Tick* tick) override { typed.push_back(tick->count()); }
  void push_event(C::EventBase*) override { throw CORBA::NO_IMPLEMENT(); }
};

static void checks(I::SensorHome_ptr home, I::SensorStore_ptr store, Consumer& servant, I::TickConsumer_ptr consumer) {
  I::Sensor_var made;
  check("home_create", [&] {
    made = home->create();
    C::CCMObject_var plain = home->create_component();
    I::Sensor_var typed = I::Sensor::_narrow(plain);
    holds(!CORBA::is_nil(typed), "a Sensor of create_component");
    typed->remove();
  });
  I::Sensor_var sensor, other;
  check("home_factory", [&] {
    sensor = home->at(48.5);
    other = home->at(49.5);
    I::Position_var location = sensor->provide_location();
    holds(location->latitude() == 48.5, "48.5");
  });
  check("home_of_component", [&] {
    C::CCMHome_var back = sensor->get_ccm_home();
    holds(back->_is_equivalent(home), "the home");
    back->remove_component(made);
    raises<CORBA::OBJECT_NOT_EXIST>("removed", [&] { made->hertz(); });
    raises<C::RemoveFailure>("again", [&] { back->remove_component(made); });
  });
  check("attribute", [&] {
    sensor->hertz(20);
    holds(sensor->hertz() == 20, "20");
  });
  CORBA::Object_var facet;
  I::Position_var location;
  check("facets", [&] {
    facet = sensor->provide_facet("location");
    location = I::Position::_narrow(facet);
    holds(location->latitude() == 48.5, "48.5");
    raises<C::InvalidName>("unknown name", [&] { CORBA::Object_var none = sensor->provide_facet("refresh"); });
    holds(sensor->same_component(facet), "one component");
    holds(!other->same_component(facet), "another component");
  });
  check("facets_described", [&] {
    C::FacetDescriptions_var all = sensor->get_all_facets();
    holds(all->length() == 1, "one facet");
    C::FacetDescription* one = all[0];
    holds(!strcmp(one->name(), "location"), "its name");
    holds(!strcmp(one->type_id(), "IDL:InteropComponents/Position:1.0"), "its type");
    holds(one->facet_ref()->_is_equivalent(facet), "its reference");
  });
  check("receptacle", [&] {
    C::Cookie_var cookie = other->connect("source", facet);
    holds(!cookie.in(), "no cookie");
    raises<C::AlreadyConnected>("by name", [&] { C::Cookie_var again = other->connect("source", facet); });
    raises<C::AlreadyConnected>("by type", [&] { other->connect_source(location); });
    I::Position_var connected = other->get_connection_source();
    holds(connected->latitude() == 48.5, "48.5");
    connected = other->disconnect_source();
    holds(connected->_is_equivalent(location), "what was connected");
    raises<C::NoConnection>("empty", [&] { connected = other->disconnect_source(); });
  });
  check("receptacle_multiple", [&] {
    C::Cookie_var first = other->connect_others(location);
    C::Cookie_var second = other->connect("others", facet);
    I::Sensor::othersConnections_var all = other->get_connections_others();
    holds(all->length() == 2, "two connections");
    holds(all[1].objref->latitude() == 48.5, "48.5");
    C::ReceptacleDescriptions_var described = other->get_all_receptacles();
    holds(described->length() == 2, "two receptacles");
    holds(described[1]->is_multiple(), "a multiplex one");
    holds(described[1]->connections().length() == 2, "its two connections");
    location = other->disconnect_others(first);
    raises<C::CookieRequired>("without cookie", [&] { CORBA::Object_var none = other->disconnect("others", 0); });
    CORBA::Object_var gone = other->disconnect("others", second);
    raises<C::InvalidConnection>("stale cookie", [&] { I::Position_var none = other->disconnect_others(second); });
    raises<C::InvalidConnection>("wrong type", [&] { C::Cookie_var none = other->connect("others", home); });
  });
  check("publisher", [&] {
    C::Cookie_var cookie = sensor->subscribe("pulse", consumer);
    I::TickConsumer_var gone = sensor->unsubscribe_pulse(cookie);
    holds(gone->_is_equivalent(consumer), "the consumer");
    raises<C::InvalidConnection>("stale cookie", [&] { C::EventConsumerBase_var none = sensor->unsubscribe("pulse", cookie); });
    cookie = sensor->subscribe_pulse(consumer);
    C::PublisherDescriptions_var all = sensor->get_all_publishers();
    holds(all->length() == 1 && all[0]->consumer().length() == 1, "one subscriber");
  });
  check("emitter", [&] {
    sensor->connect_ready(consumer);
    raises<C::AlreadyConnected>("by name", [&] { sensor->connect_consumer("ready", consumer); });
    C::EmitterDescriptions_var all = sensor->get_all_emitters();
    holds(all->length() == 1 && all[0]->consumer()->_is_equivalent(consumer), "its consumer");
  });
  TickValue* tick = new TickValue(7);
  check("events", [&] {
    I::TickConsumer_var refresh = sensor->get_consumer_refresh();
    raises<CORBA::BAD_INV_ORDER>("before configuration", [&] { refresh->push_Tick(tick); });
    sensor->configuration_complete();
    refresh->push_Tick(tick);
    holds(servant.typed == std::vector<CORBA::ULong>({8, 8}), "two events with 8");
    raises<CORBA::BAD_INV_ORDER>("configured twice", [&] { sensor->configuration_complete(); });
  });
  check("events_untyped", [&] {
    C::EventConsumerBase_var base = sensor->get_consumer("refresh");
    tick->count(8);
    base->push_event(tick);
    holds(servant.typed.size() == 4 && servant.typed[3] == 9, "two events with 9");
    raises<C::InvalidName>("unknown sink", [&] { C::EventConsumerBase_var none = sensor->get_consumer("location"); });
  });
  check("events_of_another_type", [&] {
    C::EventConsumerBase_var base = sensor->get_consumer("refresh");
    raises<C::BadEventType>("null", [&] { base->push_event(0); });
  });
  tick->_remove_ref();
  check("all_ports", [&] {
    C::ComponentPortDescription_var all = sensor->get_all_ports();
    holds(all->facets().length() == 1 && all->receptacles().length() == 2 && all->consumers().length() == 1 &&
              all->emitters().length() == 1 && all->publishers().length() == 1,
          "1, 2, 1, 1 and 1 ports");
  });
  check("disconnected_events", [&] {
    I::TickConsumer_var gone = sensor->disconnect_ready();
    holds(gone->_is_equivalent(consumer), "the consumer");
    raises<C::NoConnection>("empty", [&] { gone = sensor->disconnect_ready(); });
  });
  ChannelValue* key = new ChannelValue("north", 1);
  check("keys", [&] {
    I::Sensor_var one = store->create(key);
    raises<C::DuplicateKeyValue>("twice", [&] { I::Sensor_var none = store->create(key); });
    I::Sensor_var found = store->find_by_primary_key(key);
    holds(found->_is_equivalent(one), "the component of the key");
    I::Channel_var own = store->get_primary_key(one);
    holds(!strcmp(own->site(), "north") && own->number() == 1, "its key");
    C::PrimaryKeyBase_var base = one->get_primary_key();
    I::Channel* channel = I::Channel::_downcast(base);
    holds(channel && channel->number() == 1, "its key from the component");
    raises<C::NoKeyAvailable>("no key", [&] { C::PrimaryKeyBase_var none = sensor->get_primary_key(); });
  });
  check("finder", [&] {
    I::Sensor_var first = store->first();
    I::Sensor_var found = store->find_by_primary_key(key);
    holds(first->_is_equivalent(found), "the component of channel 1");
  });
  check("keys_removed", [&] {
    store->remove(key);
    raises<C::UnknownKeyValue>("find", [&] { I::Sensor_var none = store->find_by_primary_key(key); });
    raises<C::UnknownKeyValue>("remove", [&] { store->remove(key); });
    raises<C::FinderFailure>("finder", [&] { I::Sensor_var none = store->first(); });
    raises<C::InvalidKey>("null", [&] { I::Sensor_var none = store->create(0); });
  });
  key->_remove_ref();
  check("removed", [&] {
    sensor->remove();
    other->remove();
    raises<CORBA::OBJECT_NOT_EXIST>("component", [&] { sensor->hertz(); });
    raises<CORBA::OBJECT_NOT_EXIST>("facet", [&] { location->latitude(); });
  });
}

int main(int argc, char** argv) {
  alarm(300);
  try {
    orb = CORBA::ORB_init(argc, argv);
    if (argc != 3) throw std::string("usage: interop-components HOME STORE");
    known<TickValue>("IDL:InteropComponents/Tick:1.0");
    known<ChannelValue>("IDL:InteropComponents/Channel:1.0");
    known<CookieValue>("IDL:omg.org/Components/Cookie:1.0");
#define KNOWN(NAME) known<NAME##Value>("IDL:omg.org/Components/" #NAME ":1.0")
    KNOWN(FacetDescription);
    KNOWN(ConnectionDescription);
    KNOWN(ReceptacleDescription);
    KNOWN(ConsumerDescription);
    KNOWN(EmitterDescription);
    KNOWN(SubscriberDescription);
    KNOWN(PublisherDescription);
    KNOWN(ComponentPortDescription);
    CORBA::Object_var object = orb->resolve_initial_references("RootPOA");
    PortableServer::POA_var poa = PortableServer::POA::_narrow(object);
    PortableServer::POAManager_var manager = poa->the_POAManager();
    manager->activate();
    Consumer servant;
    PortableServer::ObjectId_var id = poa->activate_object(&servant);
    object = poa->id_to_reference(id);
    I::TickConsumer_var consumer = I::TickConsumer::_narrow(object);
    object = orb->string_to_object(argv[1]);
    I::SensorHome_var home = I::SensorHome::_narrow(object);
    object = orb->string_to_object(argv[2]);
    I::SensorStore_var store = I::SensorStore::_narrow(object);
    checks(home, store, servant, consumer);
    poa->deactivate_object(id);
    orb->destroy();
  } catch (const CORBA::Exception& e) {
    std::cout << "FAIL client: " << describe(e) << std::endl;
    return 1;
  } catch (const std::string& why) {
    std::cout << "FAIL client: " << why << std::endl;
    return 1;
  }
  return failures > 0;
}
