// omniORB's side of loads (see src/load/mod.rs): concurrent clients with a thread each, controlled on standard input
// (see src/load/protocol.rs).
//
//   load-client <reference> ...
//   < ready
//   > load 5000 0:60:0:50000:0:1 1:20:0:0:200:0    how long (ms), then for each client: object, priority (of no use
//                                                  here), first call, period (0: back to back) and work (us), 1: each
//                                                  call counts from its release
//   < 50312 49873 ...                          for each client a line: nanoseconds of each call
//   < 91000 90312 ...

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <iostream>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "load.hh"

namespace {

std::uint64_t now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return std::uint64_t(time.tv_sec) * 1000000000u + std::uint64_t(time.tv_nsec);
}

void sleep_until(std::uint64_t when) {
  timespec time;
  time.tv_sec = time_t(when / 1000000000u);
  time.tv_nsec = long(when % 1000000000u);
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr) != 0) {
  }
}

// The work is in microseconds; all other times are in nanoseconds.
struct Task {
  std::size_t object;
  std::uint64_t phase, period, work;
  bool from_release;
};

Task parse_task(const std::string& word) {
  std::istringstream text(word);
  Task task;
  int priority;
  char colon;
  text >> task.object >> colon >> priority >> colon >> task.phase >> colon >> task.period >> colon >> task.work >> colon >>
      task.from_release;
  if (!text) throw std::runtime_error("a client is six numbers, not " + word);
  task.phase *= 1000;
  task.period *= 1000;
  return task;
}

class Barrier {
 public:
  explicit Barrier(std::size_t threads) : missing_(threads) {}
  void wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    if (--missing_ == 0) {
      start_ = now() + 20000000;
      changed_.notify_all();
    }
    while (missing_ != 0) changed_.wait(lock);
  }
  std::uint64_t start() const { return start_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t missing_;
  std::uint64_t start_ = 0;
};

// Makes the calls of one client until the time is over, and returns the time of each call.
std::vector<std::uint64_t> repeat(oxbench::Cubing_ptr target, const Task& task, Barrier& barrier,
                                  std::uint64_t duration) {
  std::vector<std::uint64_t> samples;
  samples.reserve(task.period == 0 ? 1 << 16 : std::size_t(duration / task.period + 1));
  const CORBA::ULong work = CORBA::ULong(task.work);
  for (int i = 0; i < 3; ++i) target->cube(0);
  barrier.wait();
  std::uint64_t release = barrier.start() + task.phase;
  const std::uint64_t end = barrier.start() + duration;
  sleep_until(release);
  for (CORBA::Octet value = 0;; ++value) {
    const std::uint64_t before = now();
    if (before >= end) return samples;
    const CORBA::Octet cube = work == 0 ? target->cube(value) : target->toil(value, work);
    const std::uint64_t after = now();
    if (cube != CORBA::Octet(value * value * value)) throw std::runtime_error("another cube came back");
    samples.push_back(after - (task.from_release ? release : before));
    if (task.period != 0) {
      // A release that passed during the call is skipped, not made up for.
      while (release <= after) release += task.period;
      sleep_until(std::min(release, end));
    }
  }
}

void run(const std::vector<oxbench::Cubing_var>& objects, const std::vector<Task>& tasks, std::uint64_t duration) {
  Barrier barrier(tasks.size());
  std::vector<std::vector<std::uint64_t>> samples(tasks.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    threads.emplace_back([&, i] {
      try {
        samples[i] = repeat(objects.at(tasks[i].object), tasks[i], barrier, duration);
      } catch (const CORBA::Exception& error) {
        std::fprintf(stderr, "omniORB client: %s\n", error._name());
        std::_Exit(1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& line : samples) {
    for (const std::uint64_t sample : line) std::printf("%llu ", static_cast<unsigned long long>(sample));
    std::printf("\n");
  }
}

oxbench::Cubing_var resolve(CORBA::ORB_ptr orb, const char* reference) {
  CORBA::Object_var object = orb->string_to_object(reference);
  oxbench::Cubing_var cubing = oxbench::Cubing::_narrow(object);
  if (CORBA::is_nil(cubing)) throw std::runtime_error("the reference is not a Cubing");
  return cubing;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    CORBA::ORB_var orb = CORBA::ORB_init(argc, argv);
    std::vector<oxbench::Cubing_var> objects;
    for (int i = 1; i < argc; ++i) objects.push_back(resolve(orb, argv[i]));
    std::printf("ready\n");
    std::fflush(stdout);
    std::string line;
    while (std::getline(std::cin, line)) {
      std::istringstream words(line);
      std::string command, word;
      std::uint64_t milliseconds = 0;
      words >> command >> milliseconds;
      if (command != "load" || !words) {
        throw std::runtime_error("standard input has the line \"" + line +
                                 "\", which is no command of this process; its command is load MILLISECONDS TASK...");
      }
      std::vector<Task> tasks;
      while (words >> word) tasks.push_back(parse_task(word));
      run(objects, tasks, milliseconds * 1000000);
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
