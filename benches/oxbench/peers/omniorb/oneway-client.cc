// omniORB's side of `oxbench oneway`: sends oneways as requested on standard input (see src/oneway/sides.rs).

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "oneway.hh"

namespace {

std::uint64_t now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return std::uint64_t(time.tv_sec) * 1000000000u + std::uint64_t(time.tv_nsec);
}

void nap() {
  timespec time{0, 100000};
  nanosleep(&time, nullptr);
}

// Sends the oneways of one caller until the end time. Reads the clock once for every 64 oneways.
std::uint64_t send(oxbench::Gauge_ptr gauge, CORBA::ULong size, std::uint64_t end) {
  oxbench::Octets data;
  data.length(size);
  for (CORBA::ULong i = 0; i < size; ++i) data[i] = CORBA::Octet(i);
  std::uint64_t sent = 0;
  while (now() < end) {
    for (int i = 0; i < 64; ++i, ++sent) {
      if (size == 8) {
        gauge->set(CORBA::LongLong(sent));
      } else {
        gauge->record(data);
      }
    }
  }
  return sent;
}

void all_arrived(oxbench::Gauge_ptr gauge, std::uint64_t wanted) {
  while (gauge->arrived() < wanted) nap();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    CORBA::ORB_var orb = CORBA::ORB_init(argc, argv);
    CORBA::Object_var object = orb->string_to_object(argv[1]);
    oxbench::Gauge_var gauge = oxbench::Gauge::_narrow(object);
    if (CORBA::is_nil(gauge)) throw std::runtime_error("the reference is not a Gauge");
    std::uint64_t total = 0;
    std::printf("ready\n");
    std::fflush(stdout);
    std::string line;
    while (std::getline(std::cin, line)) {
      std::istringstream words(line);
      std::string command;
      CORBA::ULong size = 0, large = 0;
      std::size_t callers = 0;
      std::uint64_t milliseconds = 0;
      words >> command >> size >> callers >> milliseconds >> large;
      if (!words || command != "send") throw std::runtime_error("no command is " + line);
      if (large != 0) {
        std::vector<std::thread> threads;
        for (std::size_t i = 0; i < callers; ++i) {
          threads.emplace_back([&] {
            oxbench::Octets data;
            data.length(large);
            gauge->record(data);
          });
        }
        for (std::thread& thread : threads) thread.join();
        total += callers;
        all_arrived(gauge, total);
      }
      const std::uint64_t start = now();
      std::atomic<std::uint64_t> sent{0};
      std::vector<std::thread> threads;
      for (std::size_t i = 0; i < callers; ++i) {
        threads.emplace_back([&] { sent += send(gauge, size, start + milliseconds * 1000000u); });
      }
      for (std::thread& thread : threads) thread.join();
      total += sent;
      all_arrived(gauge, total);
      std::printf("%llu %llu\n", static_cast<unsigned long long>(sent.load()),
                  static_cast<unsigned long long>(now() - start));
      std::fflush(stdout);
    }
    std::_Exit(0);
  } catch (const CORBA::Exception& error) {
    std::fprintf(stderr, "omniORB client: %s\n", error._name());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "omniORB client: %s\n", error.what());
  }
  return 1;
}
