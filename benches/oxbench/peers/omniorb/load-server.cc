// omniORB's side of loads (see src/load/mod.rs): Cubing objects, served with omniORB's defaults.
//
//   load-server 60 20       a priority for each object, of which there is no use
//   < IOR:... IOR:...

#include <cstdint>
#include <cstdio>
#include <ctime>
#include <iostream>
#include <string>

#include "load.hh"

namespace {

std::uint64_t cpu_time() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::uint64_t(time.tv_sec) * 1000000000u + std::uint64_t(time.tv_nsec);
}

class Cuber : public POA_oxbench::Cubing {
 public:
  CORBA::Octet cube(CORBA::Octet value) override { return CORBA::Octet(value * value * value); }

  CORBA::Octet toil(CORBA::Octet value, CORBA::ULong microseconds) override {
    const std::uint64_t end = cpu_time() + std::uint64_t(microseconds) * 1000u;
    while (cpu_time() < end) {
    }
    return cube(value);
  }
};

}  // namespace

int main(int argc, char** argv) {
  try {
    CORBA::ORB_var orb = CORBA::ORB_init(argc, argv);
    CORBA::Object_var object = orb->resolve_initial_references("RootPOA");
    PortableServer::POA_var poa = PortableServer::POA::_narrow(object);
    poa->the_POAManager()->activate();
    for (int i = 1; i < argc; ++i) {
      Cuber* cuber = new Cuber;
      PortableServer::ObjectId_var id = poa->activate_object(cuber);
      CORBA::Object_var reference = poa->id_to_reference(id);
      CORBA::String_var text = orb->object_to_string(reference);
      std::printf("%s%s", i == 1 ? "" : " ", static_cast<const char*>(text));
    }
    std::printf("\n");
    std::fflush(stdout);
    std::string line;
    while (std::getline(std::cin, line)) {
    }
    std::_Exit(0);
  } catch (const CORBA::Exception& error) {
    std::fprintf(stderr, "omniORB server: %s\n", error._name());
  }
  return 1;
}
