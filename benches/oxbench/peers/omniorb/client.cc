// omniORB's side of oxbench: calls a Probe as requested on standard input (see src/session.rs).
//
//   client <reference>
//   < ready
//   > run ping 8 1000        operation, size, calls
//   < done
//   > samples
//   < 5412 5390 ...          nanoseconds, one for each call of the last run

#include <cstdint>
#include <cstdio>
#include <ctime>
#include <functional>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "probe.hh"

namespace {

std::uint64_t now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return std::uint64_t(time.tv_sec) * 1000000000u + std::uint64_t(time.tv_nsec);
}

class Caller {
 public:
  explicit Caller(oxbench::Probe_ptr probe) : probe_(oxbench::Probe::_duplicate(probe)) {}

  const std::vector<std::uint64_t>& samples() const { return samples_; }

  void run(const std::string& operation, CORBA::ULong size, std::size_t calls) {
    if (operation == "ping") {
      CORBA::LongLong value = 0;
      repeat(calls, [&] {
        value += 1;
        if (probe_->ping(value) != value) throw std::runtime_error("ping answered another value");
      });
    } else if (operation == "octets") {
      oxbench::Octets data;
      data.length(size);
      for (CORBA::ULong i = 0; i < size; ++i) data[i] = CORBA::Octet(i);
      repeat(calls, [&] {
        oxbench::Octets_var echoed = probe_->echo_octets(data);
        if (echoed->length() != size) throw std::runtime_error("octets came back with another length");
      });
    } else if (operation == "samples") {
      oxbench::Samples data;
      data.length(size);
      for (CORBA::ULong i = 0; i < size; ++i) {
        data[i].tag = CORBA::Octet(i);
        data[i].number = CORBA::Long(i);
        data[i].level = CORBA::Short(i);
      }
      repeat(calls, [&] {
        oxbench::Samples_var echoed = probe_->echo_samples(data);
        if (echoed->length() != size) throw std::runtime_error("samples came back with another length");
      });
    } else {
      throw std::runtime_error("no operation named " + operation);
    }
  }

 private:
  template <class Call>
  void repeat(std::size_t calls, Call call) {
    samples_.clear();
    samples_.reserve(calls);
    std::uint64_t before = now();
    for (std::size_t i = 0; i < calls; ++i) {
      call();
      const std::uint64_t after = now();
      samples_.push_back(after - before);
      before = after;
    }
  }

  oxbench::Probe_var probe_;
  std::vector<std::uint64_t> samples_;
};

void serve_commands(Caller& caller) {
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string command;
    words >> command;
    if (command == "run") {
      std::string operation;
      CORBA::ULong size = 0;
      std::size_t calls = 0;
      words >> operation >> size >> calls;
      caller.run(operation, size, calls);
      std::printf("done\n");
    } else if (command == "samples") {
      for (const std::uint64_t sample : caller.samples()) {
        std::printf("%llu ", static_cast<unsigned long long>(sample));
      }
      std::printf("\n");
    } else {
      throw std::runtime_error("no command named " + command);
    }
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    CORBA::ORB_var orb = CORBA::ORB_init(argc, argv);
    CORBA::Object_var object = orb->string_to_object(argv[1]);
    oxbench::Probe_var probe = oxbench::Probe::_narrow(object);
    if (CORBA::is_nil(probe)) throw std::runtime_error("the reference is not a Probe");
    Caller caller(probe);
    std::printf("ready\n");
    std::fflush(stdout);
    serve_commands(caller);
    std::_Exit(0);
  } catch (const CORBA::Exception& error) {
    std::fprintf(stderr, "omniORB client: %s\n", error._name());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "omniORB client: %s\n", error.what());
  }
  return 1;
}
