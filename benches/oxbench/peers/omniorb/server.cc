// omniORB's side of oxbench: serves one Probe until standard input closes.
//
// The servant is written as an omniORB expert would write it: the reply takes over the buffer into which the request
// was unmarshalled, so nothing is copied twice.

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

#include "probe.hh"

namespace {

// Takes the buffer out of an `in` sequence. The skeleton owns that sequence and destroys it directly after the call, so
// no other code sees the empty sequence.
template <class Sequence>
Sequence* take(const Sequence& request) {
  Sequence& sequence = const_cast<Sequence&>(request);
  const CORBA::ULong maximum = sequence.maximum();
  const CORBA::ULong length = sequence.length();
  auto* buffer = sequence.get_buffer(true);
  if (buffer == nullptr) return new Sequence(request);
  return new Sequence(maximum, length, buffer, true);
}

class Probe : public POA_oxbench::Probe {
 public:
  CORBA::LongLong ping(CORBA::LongLong value) override { return value; }
  oxbench::Octets* echo_octets(const oxbench::Octets& data) override { return take(data); }
  oxbench::Samples* echo_samples(const oxbench::Samples& data) override { return take(data); }
};

}  // namespace

int main(int argc, char** argv) {
  try {
    CORBA::ORB_var orb = CORBA::ORB_init(argc, argv);
    CORBA::Object_var root = orb->resolve_initial_references("RootPOA");
    PortableServer::POA_var poa = PortableServer::POA::_narrow(root);
    Probe probe;
    PortableServer::ObjectId_var id = poa->activate_object(&probe);
    oxbench::Probe_var reference = probe._this();
    PortableServer::POAManager_var manager = poa->the_POAManager();
    manager->activate();

    CORBA::String_var text = orb->object_to_string(reference);
    std::printf("%s\n", static_cast<const char*>(text));
    std::fflush(stdout);

    // A thread of the ORB serves the connection. This thread waits for the end of standard input.
    std::string line;
    while (std::getline(std::cin, line)) {
    }
    std::_Exit(0);
  } catch (const CORBA::Exception& error) {
    std::fprintf(stderr, "omniORB server: %s\n", error._name());
    return 1;
  }
}
