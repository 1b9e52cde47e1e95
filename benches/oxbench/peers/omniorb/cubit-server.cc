// omniORB's side of `oxbench protocols`: serves one Cubit until standard input closes. A sequence is returned in the
// buffer into which the request was unmarshalled, as an omniORB expert would do it.

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

#include "cubit.hh"

namespace {

template <class Number>
Number cube(Number value) {
  return Number(CORBA::ULong(value) * CORBA::ULong(value) * CORBA::ULong(value));
}

template <class Sequence>
Sequence* take(const Sequence& request) {
  Sequence& sequence = const_cast<Sequence&>(request);
  const CORBA::ULong maximum = sequence.maximum();
  const CORBA::ULong length = sequence.length();
  auto* buffer = sequence.get_buffer(true);
  if (buffer == nullptr) return new Sequence(request);
  return new Sequence(maximum, length, buffer, true);
}

class Cubit : public POA_oxbench::cubes::Cubit {
 public:
  void cube_void() override {}
  CORBA::Octet cube_octet(CORBA::Octet value) override { return cube(value); }
  CORBA::Short cube_short(CORBA::Short value) override { return cube(value); }
  CORBA::Long cube_long(CORBA::Long value) override { return cube(value); }
  oxbench::cubes::Many cube_struct(const oxbench::cubes::Many& value) override {
    oxbench::cubes::Many cubed;
    cubed.o = cube(value.o);
    cubed.l = cube(value.l);
    cubed.s = cube(value.s);
    return cubed;
  }
  oxbench::cubes::Longs* cube_long_sequence(const oxbench::cubes::Longs& values) override { return take(values); }
  oxbench::cubes::Octets* cube_octet_sequence(const oxbench::cubes::Octets& values) override { return take(values); }

  void take_octets(const oxbench::cubes::Octets& values) override {
    const CORBA::ULong last = values.length() - 1;
    if (values[0] != 0 || values[last] != CORBA::Octet(last)) throw CORBA::BAD_PARAM();
  }
};

}  // namespace

int main(int argc, char** argv) {
  try {
    CORBA::ORB_var orb = CORBA::ORB_init(argc, argv);
    CORBA::Object_var root = orb->resolve_initial_references("RootPOA");
    PortableServer::POA_var poa = PortableServer::POA::_narrow(root);
    Cubit cubit;
    PortableServer::ObjectId_var id = poa->activate_object(&cubit);
    oxbench::cubes::Cubit_var reference = cubit._this();
    PortableServer::POAManager_var manager = poa->the_POAManager();
    manager->activate();
    CORBA::String_var text = orb->object_to_string(reference);
    std::printf("%s\n", static_cast<const char*>(text));
    std::fflush(stdout);
    std::string line;
    while (std::getline(std::cin, line)) {
    }
    orb->destroy();
    std::_Exit(0);
  } catch (const CORBA::Exception& error) {
    std::fprintf(stderr, "omniORB server: %s\n", error._name());
    return 1;
  }
}
