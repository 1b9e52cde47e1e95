// Supplier and consumers of omniEvents in one process, controlled on standard input (see src/events/driver.rs).

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <algorithm>
#include <iostream>
#include <memory>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "CosEventChannelAdmin.hh"

namespace {

std::uint64_t now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return std::uint64_t(time.tv_sec) * 1000000000u + std::uint64_t(time.tv_nsec);
}

// One run: time of each push, number of consumers that have each event, and longest time to the last consumer.
struct Run {
  explicit Run(std::size_t events, std::uint32_t consumers)
      : consumers(consumers), pushed(events), arrived(events), latencies(events) {}
  const std::uint32_t consumers;
  std::vector<std::uint64_t> pushed;
  std::vector<std::atomic<std::uint32_t>> arrived;
  std::vector<std::uint64_t> latencies;
  std::mutex mutex;
  std::condition_variable changed;
  std::uint64_t complete = 0;

  void take(std::uint64_t number) {
    if (number >= pushed.size()) return;
    if (arrived[number].fetch_add(1) + 1 < consumers) return;
    latencies[number] = now() - pushed[number];
    std::lock_guard<std::mutex> guard(mutex);
    ++complete;
    changed.notify_one();
  }

  bool wait(std::uint64_t wanted) {
    std::unique_lock<std::mutex> guard(mutex);
    return changed.wait_for(guard, std::chrono::seconds(30), [&] { return complete >= wanted; });
  }
};

std::atomic<Run*> current{nullptr};

class Consumer : public virtual POA_CosEventComm::PushConsumer {
 public:
  void push(const CORBA::Any& data) override {
    const CORBA::OctetSeq* octets = nullptr;
    if (!(data >>= octets) || octets->length() < 8) return;
    std::uint64_t number;
    std::memcpy(&number, octets->get_buffer(), 8);
    if (Run* run = current.load()) run->take(number);
  }
  void disconnect_push_consumer() override {}
};

}  // namespace

int main(int argc, char** argv) {
  try {
    CORBA::ORB_var orb = CORBA::ORB_init(argc, argv);
    CORBA::Object_var poa_object = orb->resolve_initial_references("RootPOA");
    PortableServer::POA_var poa = PortableServer::POA::_narrow(poa_object);
    PortableServer::POAManager_var manager = poa->the_POAManager();
    manager->activate();
    CORBA::Object_var object = orb->string_to_object(argv[1]);
    CosEventChannelAdmin::EventChannel_var channel = CosEventChannelAdmin::EventChannel::_narrow(object);
    if (CORBA::is_nil(channel)) throw std::runtime_error("the reference is not an EventChannel");
    CosEventChannelAdmin::SupplierAdmin_var suppliers = channel->for_suppliers();
    CosEventChannelAdmin::ProxyPushConsumer_var supplier = suppliers->obtain_push_consumer();
    supplier->connect_push_supplier(CosEventComm::PushSupplier::_nil());
    std::printf("ready\n");
    std::fflush(stdout);
    std::string line;
    while (std::getline(std::cin, line)) {
      std::istringstream words(line);
      std::string command;
      std::uint32_t consumers = 0, idle = 0, size = 0;
      std::uint64_t events = 0, window = 0;
      words >> command >> consumers >> idle >> size >> events >> window;
      if (!words || command != "run") throw std::runtime_error("no command is " + line);
      if (idle != 0) throw std::runtime_error("consumers that do not match take filters, which omniEvents lacks");
      CosEventChannelAdmin::ConsumerAdmin_var admin = channel->for_consumers();
      std::vector<CosEventChannelAdmin::ProxyPushSupplier_var> proxies;
      std::vector<PortableServer::ObjectId_var> ids;
      for (std::uint32_t i = 0; i < consumers; ++i) {
        PortableServer::ObjectId_var id = poa->activate_object(new Consumer);
        CORBA::Object_var made = poa->id_to_reference(id);
        CosEventComm::PushConsumer_var consumer = CosEventComm::PushConsumer::_narrow(made);
        CosEventChannelAdmin::ProxyPushSupplier_var proxy = admin->obtain_push_supplier();
        proxy->connect_push_consumer(consumer);
        proxies.push_back(proxy);
        ids.push_back(id);
      }
      auto run = std::make_unique<Run>(events, consumers);
      current = run.get();
      CORBA::OctetSeq octets;
      octets.length(size);
      for (CORBA::ULong i = 0; i < size; ++i) octets[i] = CORBA::Octet(i);
      const std::uint64_t start = now();
      for (std::uint64_t number = 0; number < events; ++number) {
        if (number >= window && !run->wait(number - window + 1)) throw std::runtime_error("events were lost");
        std::memcpy(octets.get_buffer(), &number, 8);
        CORBA::Any any;
        run->pushed[number] = now();
        any <<= octets;
        supplier->push(any);
      }
      if (!run->wait(events)) throw std::runtime_error("events were lost");
      const std::uint64_t took = now() - start;
      for (auto& proxy : proxies) proxy->disconnect_push_supplier();
      current = nullptr;
      for (auto& id : ids) poa->deactivate_object(id);
      std::sort(run->latencies.begin(), run->latencies.end());
      auto part = [&](double part) {
        return static_cast<unsigned long long>(run->latencies[std::size_t(double(events - 1) * part)]);
      };
      std::printf("%llu %llu %llu %llu %llu\n", part(0.5), part(0.99), part(0.999), part(1.0),
                  static_cast<unsigned long long>(took));
      std::fflush(stdout);
    }
    std::_Exit(0);
  } catch (const CORBA::Exception& error) {
    std::fprintf(stderr, "omniEvents driver: %s\n", error._name());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "omniEvents driver: %s\n", error.what());
  }
  return 1;
}
