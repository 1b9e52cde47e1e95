// omniORB's client of the object that reports its thread: prints the thread and priority of each call.
//
//   client { PRIORITY REFERENCE }...      a request has the priority; none if it is `-`
#include <cstdlib>
#include <iostream>
#include <string>

#include <omniORB4/omniInterceptors.h>

#include "worker.hh"

// Priority of the next request.
static std::string priority = "-";

// Adds RTCorbaPriority: an encapsulation with a short, big-endian.
static CORBA::Boolean add_priority(omni::omniInterceptors::clientSendRequest_T::info_T& info) {
    if (priority == "-") return 1;
    int value = std::atoi(priority.c_str());
    CORBA::ULong at = info.service_contexts.length();
    info.service_contexts.length(at + 1);
    info.service_contexts[at].context_id = 10;
    auto& data = info.service_contexts[at].context_data;
    data.length(4);
    data[0] = data[1] = 0;
    data[2] = CORBA::Octet(value >> 8);
    data[3] = CORBA::Octet(value & 0xff);
    return 1;
}

int main(int argc, char** argv) {
    try {
        CORBA::ORB_var orb = CORBA::ORB_init(argc, argv);
        omniORB::getInterceptors()->clientSendRequest.add(add_priority);
        for (int at = 1; at + 1 < argc; at += 2) {
            CORBA::Object_var object = orb->string_to_object(argv[at + 1]);
            test::Worker_var worker = test::Worker::_unchecked_narrow(object);
            priority = argv[at];
            CORBA::Short served, native;
            CORBA::String_var thread = worker->where(served, native);
            std::cout << thread << " " << served << "\n";
        }
        orb->destroy();
    } catch (const CORBA::SystemException& raised) {
        std::cerr << raised._name() << " " << raised.NP_minorString() << "\n";
        return 1;
    }
}
