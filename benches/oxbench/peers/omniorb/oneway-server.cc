// omniORB's side of `oxbench oneway`: serves a Gauge, which counts oneways, until standard input closes.

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

#include "oneway.hh"

namespace {

class Gauge : public POA_oxbench::Gauge {
 public:
  void set(CORBA::LongLong) override { arrived_.fetch_add(1, std::memory_order_relaxed); }
  void record(const oxbench::Octets&) override { arrived_.fetch_add(1, std::memory_order_relaxed); }
  CORBA::ULongLong arrived() override { return arrived_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> arrived_{0};
};

}  // namespace

int main(int argc, char** argv) {
  try {
    CORBA::ORB_var orb = CORBA::ORB_init(argc, argv);
    CORBA::Object_var root = orb->resolve_initial_references("RootPOA");
    PortableServer::POA_var poa = PortableServer::POA::_narrow(root);
    Gauge gauge;
    PortableServer::ObjectId_var id = poa->activate_object(&gauge);
    oxbench::Gauge_var reference = gauge._this();
    PortableServer::POAManager_var manager = poa->the_POAManager();
    manager->activate();
    CORBA::String_var text = orb->object_to_string(reference);
    std::printf("%s\n", static_cast<const char*>(text));
    std::fflush(stdout);
    std::string line;
    while (std::getline(std::cin, line)) {
    }
    std::_Exit(0);
  } catch (const CORBA::Exception& error) {
    std::fprintf(stderr, "omniORB server: %s\n", error._name());
    return 1;
  }
}
