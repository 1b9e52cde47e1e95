// omniORB's supplier and consumer of an event channel, with stubs made of the same IDL: prints what comes.
//
//   client CHANNEL_URL
#include <condition_variable>
#include <chrono>
#include <iostream>
#include <mutex>
#include <vector>

#include "RtecEventChannelAdmin.hh"

using namespace RtecEventChannelAdmin;
using RtecEventComm::Event;
using RtecEventComm::EventSet;

static std::mutex mutex;
static std::condition_variable changed;
static int sets = 0, disconnects = 0;

class Consumer : public POA_RtecEventComm::PushConsumer {
    const char* name;

public:
    explicit Consumer(const char* name) : name(name) {}

    void push(const EventSet& events) override {
        std::lock_guard<std::mutex> held(mutex);
        std::cout << name;
        for (CORBA::ULong i = 0; i < events.length(); ++i) {
            const Event& it = events[i];
            std::cout << " [" << it.header.type << " " << it.header.source << " " << it.header.ttl << " "
                      << it.header.creation_time << " " << it.header.ec_recv_time << " " << it.header.ec_send_time
                      << " pad " << it.data.pad1 << " payload";
            for (CORBA::ULong o = 0; o < it.data.payload.length(); ++o) std::cout << " " << int(it.data.payload[o]);
            const char* text;
            CORBA::Double number;
            if (it.data.any_value >>= text) std::cout << " text " << text;
            if (it.data.any_value >>= number) std::cout << " number " << number;
            std::cout << "]";
        }
        std::cout << "\n";
        ++sets;
        changed.notify_all();
    }

    void disconnect_push_consumer() override {
        std::lock_guard<std::mutex> held(mutex);
        ++disconnects;
        changed.notify_all();
    }
};

class Supplier : public POA_RtecEventComm::PushSupplier {
public:
    void disconnect_push_supplier() override {
        std::lock_guard<std::mutex> held(mutex);
        ++disconnects;
        changed.notify_all();
    }
};

static void wait(int& counter, int least) {
    std::unique_lock<std::mutex> held(mutex);
    if (!changed.wait_for(held, std::chrono::seconds(20), [&] { return counter >= least; }))
        std::cout << "only " << counter << " of " << least << " came\n";
}

static Event event(CORBA::Long type, CORBA::Long source, int octets) {
    Event it;
    it.header.type = type;
    it.header.source = source;
    it.header.ttl = 1;
    it.header.creation_time = 123456789012345ULL;
    it.header.ec_recv_time = 7;
    it.header.ec_send_time = 8;
    it.data.pad1 = 9;
    it.data.payload.length(octets);
    for (int o = 0; o < octets; ++o) it.data.payload[o] = o;
    return it;
}

static Dependency dependency(CORBA::Long type, CORBA::Long source) {
    Dependency it;
    it.event = event(type, source, 0);
    it.rt_info = 0;
    return it;
}

template <class Call>
static void raises(const char* what, Call call) {
    try {
        call();
        std::cout << what << " raised nothing\n";
    } catch (const CORBA::UserException& raised) {
        std::cout << what << " raised " << raised._rep_id() << "\n";
    } catch (const CORBA::SystemException& raised) {
        std::cout << what << " raised " << raised._name() << "\n";
    }
}

int main(int argc, char** argv) {
    try {
        CORBA::ORB_var orb = CORBA::ORB_init(argc, argv);
        CORBA::Object_var root = orb->resolve_initial_references("RootPOA");
        PortableServer::POA_var poa = PortableServer::POA::_narrow(root);
        PortableServer::POAManager_var manager = poa->the_POAManager();
        manager->activate();
        CORBA::Object_var object = orb->string_to_object(argv[1]);
        EventChannel_var channel = EventChannel::_narrow(object);
        if (CORBA::is_nil(channel)) {
            std::cout << "no channel\n";
            return 1;
        }
        ConsumerAdmin_var consumers = channel->for_consumers();
        SupplierAdmin_var suppliers = channel->for_suppliers();

        // A disjunction as TAO's factory of QoS writes it, without a count of members.
        Consumer some("some"), pair("pair");
        RtecEventComm::PushConsumer_var some_object = some._this(), pair_object = pair._this();
        ConsumerQOS wanted;
        wanted.is_gateway = false;
        wanted.dependencies.length(3);
        wanted.dependencies[0] = dependency(9, 0);
        wanted.dependencies[1] = dependency(17, 0);
        wanted.dependencies[2] = dependency(0, 5);
        ProxyPushSupplier_var from = consumers->obtain_push_supplier();
        from->connect_push_consumer(some_object, wanted);
        raises("twice", [&] { from->connect_push_consumer(some_object, wanted); });

        // A conjunction in prefix syntax.
        ConsumerQOS both;
        both.is_gateway = false;
        both.dependencies.length(3);
        both.dependencies[0] = dependency(8, 2);
        both.dependencies[1] = dependency(17, 0);
        both.dependencies[2] = dependency(18, 0);
        ProxyPushSupplier_var pairs = consumers->obtain_push_supplier();
        raises("nil", [&] { pairs->connect_push_consumer(RtecEventComm::PushConsumer::_nil(), both); });
        // A negation of nothing.
        ConsumerQOS wrong = both;
        wrong.dependencies.length(1);
        wrong.dependencies[0] = dependency(10, 0);
        raises("short", [&] { pairs->connect_push_consumer(pair_object, wrong); });
        raises("early", [&] { pairs->disconnect_push_supplier(); });
        pairs->connect_push_consumer(pair_object, both);

        Supplier supplier;
        RtecEventComm::PushSupplier_var supplier_object = supplier._this();
        SupplierQOS published;
        published.is_gateway = false;
        published.publications.length(2);
        published.publications[0].event = event(17, 0, 0);
        published.publications[1].event = event(18, 0, 0);
        for (CORBA::ULong i = 0; i < 2; ++i) {
            RtecBase::Dependency_Info& info = published.publications[i].dependency_info;
            info.dependency_type = RtecBase::TWO_WAY_CALL;
            info.number_of_calls = 1;
            info.rt_info = 0;
            info.rt_info_depended_on = 0;
            info.enabled = RtecBase::DEPENDENCY_ENABLED;
        }
        ProxyPushConsumer_var to = suppliers->obtain_push_consumer();
        to->connect_push_supplier(supplier_object, published);

        EventSet events(3);
        events.length(3);
        events[0] = event(17, 1, 3);
        events[0].data.any_value <<= "hello";
        events[1] = event(19, 1, 1);
        events[2] = event(17, 2, 12);
        to->push(events);
        wait(sets, 2);
        events.length(1);
        events[0] = event(18, 5, 0);
        events[0].data.any_value <<= CORBA::Double(2.5);
        from->suspend_connection();
        to->push(events);
        wait(sets, 3);
        from->resume_connection();
        events[0] = event(18, 5, 9);
        to->push(events);
        wait(sets, 4);

        to->disconnect_push_consumer();
        raises("gone", [&] { to->disconnect_push_consumer(); });
        channel->destroy();
        wait(disconnects, 2);
        std::cout << "told " << disconnects << "\n";
        orb->destroy();
        return 0;
    } catch (const CORBA::SystemException& raised) {
        std::cout << "system exception " << raised._name() << " minor " << raised.minor() << "\n";
    } catch (const CORBA::Exception& raised) {
        std::cout << "exception " << raised._rep_id() << "\n";
    }
    return 1;
}
