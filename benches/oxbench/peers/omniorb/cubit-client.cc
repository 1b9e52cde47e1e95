// omniORB's side of `oxbench protocols`: calls a Cubit as requested on standard input (see src/session.rs).

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "cubit.hh"

namespace {

std::uint64_t now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return std::uint64_t(time.tv_sec) * 1000000000u + std::uint64_t(time.tv_nsec);
}

void check(bool right) {
  if (!right) throw std::runtime_error("another value came back than the cube");
}

class Caller {
 public:
  explicit Caller(oxbench::cubes::Cubit_ptr cubit) : cubit_(oxbench::cubes::Cubit::_duplicate(cubit)) {}

  const std::vector<std::uint64_t>& samples() const { return samples_; }

  void run(const std::string& operation, CORBA::ULong size, std::size_t calls) {
    if (operation == "void") {
      repeat(calls, [&] { cubit_->cube_void(); });
    } else if (operation == "octet") {
      repeat(calls, [&] { check(cubit_->cube_octet(3) == 27); });
    } else if (operation == "short") {
      repeat(calls, [&] { check(cubit_->cube_short(-5) == -125); });
    } else if (operation == "long") {
      repeat(calls, [&] { check(cubit_->cube_long(-7) == -343); });
    } else if (operation == "struct") {
      oxbench::cubes::Many many;
      many.o = 3;
      many.l = -7;
      many.s = -5;
      repeat(calls, [&] {
        const oxbench::cubes::Many cubed = cubit_->cube_struct(many);
        check(cubed.o == 27 && cubed.l == -343 && cubed.s == -125);
      });
    } else if (operation == "longs") {
      oxbench::cubes::Longs data;
      data.length(size / 4);
      for (CORBA::ULong i = 0; i < data.length(); ++i) data[i] = CORBA::Long(i);
      repeat(calls, [&] {
        oxbench::cubes::Longs_var back = cubit_->cube_long_sequence(data);
        check(back->length() == data.length());
      });
    } else if (operation == "octets") {
      oxbench::cubes::Octets data;
      data.length(size);
      for (CORBA::ULong i = 0; i < size; ++i) data[i] = CORBA::Octet(i);
      repeat(calls, [&] {
        oxbench::cubes::Octets_var back = cubit_->cube_octet_sequence(data);
        check(back->length() == size);
      });
    } else if (operation == "sent") {
      oxbench::cubes::Octets data;
      data.length(size);
      for (CORBA::ULong i = 0; i < size; ++i) data[i] = CORBA::Octet(i);
      repeat(calls, [&] { cubit_->take_octets(data); });
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

  oxbench::cubes::Cubit_var cubit_;
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
    oxbench::cubes::Cubit_var cubit = oxbench::cubes::Cubit::_narrow(object);
    if (CORBA::is_nil(cubit)) throw std::runtime_error("the reference is not a Cubit");
    Caller caller(cubit);
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
