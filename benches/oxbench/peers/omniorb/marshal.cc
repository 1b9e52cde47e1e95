// omniORB's side of `oxbench marshal`: writes values into a cdrMemoryStream and reads them from it, as requested on
// standard input (see src/marshal/side.rs).
//
//   marshal <reference>
//   < ready
//   > octets samples-64 big          row, order
//   < 776 f3b0c44298fc1c14           length, FNV-1a hash
//   > time samples-64 big 5000       row, order, microseconds for each direction
//   < 512.3 840.1                    nanoseconds to encode, to decode: medians

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "marshal.hh"

namespace {

std::uint64_t now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return std::uint64_t(time.tv_sec) * 1000000000u + std::uint64_t(time.tv_nsec);
}

// Returns the median of as many batches as fit into the time. Each batch is long enough to be timed by the clock.
template <class Once>
double median_time(std::uint64_t budget, Once once) {
  std::uint64_t batch = 1;
  for (;;) {
    const std::uint64_t before = now();
    for (std::uint64_t i = 0; i < batch; ++i) once();
    if (now() - before >= 20000) break;
    batch *= 2;
  }
  std::vector<double> times;
  const std::uint64_t start = now();
  std::uint64_t before = start;
  while (times.size() < 5 || before - start < budget) {
    for (std::uint64_t i = 0; i < batch; ++i) once();
    const std::uint64_t after = now();
    times.push_back(double(after - before) / double(batch));
    before = after;
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

// Prevents the compiler from removing the value as unused.
template <class T>
void seen(T& value) {
  asm volatile("" : : "g"(&value) : "memory");
}

class Row {
 public:
  virtual ~Row() {}
  virtual void write(cdrStream& stream) const = 0;
  virtual void read(cdrStream& stream) const = 0;
  virtual double time_writing(cdrMemoryStream& stream, std::uint64_t budget) const = 0;
  virtual double time_reading(cdrMemoryStream& stream, std::uint64_t budget) const = 0;
};

// `Codec` has a type `Value` and static functions `write(stream, const Value&)` and `read(stream)`.
template <class Codec>
class RowOf : public Row {
 public:
  explicit RowOf(const typename Codec::Value& value) : value_(value) {}

  void write(cdrStream& stream) const override { Codec::write(stream, value_); }
  void read(cdrStream& stream) const override { Codec::read(stream); }

  double time_writing(cdrMemoryStream& stream, std::uint64_t budget) const override {
    return median_time(budget, [&] {
      stream.rewindPtrs();
      seen(value_);
      Codec::write(stream, value_);
      seen(stream);
    });
  }

  double time_reading(cdrMemoryStream& stream, std::uint64_t budget) const override {
    return median_time(budget, [&] {
      stream.rewindInputPtr();
      Codec::read(stream);
    });
  }

 private:
  typename Codec::Value value_;
};

template <class T>
struct Whole {
  typedef T Value;
  static void write(cdrStream& stream, const T& value) { value >>= stream; }
  static void read(cdrStream& stream) {
    T value;
    value <<= stream;
    seen(value);
  }
};

const int SINGLES = 64;

#define SINGLES_OF(type)                                                    \
  struct type##s {                                                          \
    struct Value { CORBA::type all[SINGLES]; };                             \
    static void write(cdrStream& stream, const Value& value) {              \
      for (int i = 0; i < SINGLES; ++i) stream.marshal##type(value.all[i]); \
    }                                                                       \
    static void read(cdrStream& stream) {                                   \
      Value value;                                                          \
      for (int i = 0; i < SINGLES; ++i) value.all[i] = stream.unmarshal##type(); \
      seen(value);                                                          \
    }                                                                       \
    static Value value() {                                                  \
      Value value;                                                          \
      for (int i = 0; i < SINGLES; ++i) value.all[i] = CORBA::type(i);      \
      return value;                                                         \
    }                                                                       \
  };

SINGLES_OF(Octet)
SINGLES_OF(Short)
SINGLES_OF(Long)
SINGLES_OF(LongLong)
SINGLES_OF(Float)
SINGLES_OF(Double)

struct Text {
  typedef CORBA::String_member Value;
  static void write(cdrStream& stream, const Value& value) { value >>= stream; }
  static void read(cdrStream& stream) {
    Value value;
    value <<= stream;
    seen(value);
  }
};

struct Reference {
  typedef marshal::Target_var Value;
  static void write(cdrStream& stream, const Value& value) {
    marshal::Target::_marshalObjRef(value.in(), stream);
  }
  static void read(cdrStream& stream) {
    marshal::Target_var value = marshal::Target::_unmarshalObjRef(stream);
    seen(value);
  }
};

marshal::Sample sample(CORBA::ULong i) {
  marshal::Sample sample;
  sample.tag = CORBA::Octet(i);
  sample.number = CORBA::Long(i);
  sample.level = CORBA::Short(i);
  return sample;
}

marshal::Samples samples(CORBA::ULong n) {
  marshal::Samples samples;
  samples.length(n);
  for (CORBA::ULong i = 0; i < n; ++i) samples[i] = sample(i);
  return samples;
}

marshal::Reading reading() {
  marshal::Reading reading;
  reading.valid = true;
  reading.state = marshal::doubtful;
  reading.value = 20.5;
  reading.at = 1234567890123;
  reading.source = sample(7);
  reading.scale = 0.5f;
  return reading;
}

marshal::Entry entry(CORBA::ULong i) {
  marshal::Entry entry;
  const std::string name = "entry number " + std::to_string(i);
  entry.name = name.c_str();
  entry.id = CORBA::Long(i);
  entry.text = "what is to be said about it, in one line";
  entry.weight = double(i);
  return entry;
}

marshal::Entries entries(CORBA::ULong n) {
  marshal::Entries entries;
  entries.length(n);
  for (CORBA::ULong i = 0; i < n; ++i) entries[i] = entry(i);
  return entries;
}

marshal::Choice choice(CORBA::ULong i) {
  marshal::Choice choice;
  switch (i % 4) {
    case 0: choice.number(CORBA::Long(i)); break;
    case 1: choice.text("a text"); break;
    case 2: choice.last(reading()); break;
    default:
      choice.other(CORBA::Octet(i));
      choice._d(9);
  }
  return choice;
}

marshal::Choices choices(CORBA::ULong n) {
  marshal::Choices choices;
  choices.length(n);
  for (CORBA::ULong i = 0; i < n; ++i) choices[i] = choice(i);
  return choices;
}

marshal::Order order() {
  marshal::Order order;
  order.id = 77;
  order.customer = "somebody";
  order.state = marshal::good;
  order.tags.length(3);
  order.tags[0] = "one";
  order.tags[1] = "two";
  order.tags[2] = "three";
  order.lines = entries(8);
  order.options = choices(8);
  order.trail = samples(16);
  order.total = 99.5;
  order.paid = false;
  return order;
}

marshal::Node node(int depth) {
  marshal::Node node;
  node.name = "node";
  node.value = depth;
  if (depth > 0) {
    node.children.length(3);
    for (CORBA::ULong i = 0; i < 3; ++i) node.children[i] = ::node(depth - 1);
  }
  return node;
}

template <class Sequence>
Sequence numbers(CORBA::ULong n) {
  Sequence sequence;
  sequence.length(n);
  for (CORBA::ULong i = 0; i < n; ++i) sequence[i] = i & 0x7f;
  return sequence;
}

marshal::Table table() {
  marshal::Table table;
  table.length(16);
  for (CORBA::ULong i = 0; i < 16; ++i) table[i] = numbers<marshal::Longs>(64);
  return table;
}

template <class T>
CORBA::Any any_of(const T& value) {
  CORBA::Any any;
  any <<= value;
  return any;
}

typedef std::map<std::string, std::unique_ptr<Row>> Rows;

template <class Codec>
void add(Rows& rows, const char* name, const typename Codec::Value& value) {
  rows[name] = std::unique_ptr<Row>(new RowOf<Codec>(value));
}

template <class T>
void whole(Rows& rows, const char* name, const T& value) {
  add<Whole<T>>(rows, name, value);
}

Rows all(CORBA::ORB_ptr orb, const char* reference) {
  Rows rows;
  whole(rows, "octets-64k", numbers<marshal::Octets>(65536));
  add<Octets>(rows, "octet", Octets::value());
  add<Shorts>(rows, "short", Shorts::value());
  add<Longs>(rows, "long", Longs::value());
  add<LongLongs>(rows, "long-long", LongLongs::value());
  add<Floats>(rows, "float", Floats::value());
  add<Doubles>(rows, "double", Doubles::value());
  whole(rows, "shorts-1024", numbers<marshal::Shorts>(1024));
  whole(rows, "longs-1024", numbers<marshal::Longs>(1024));
  whole(rows, "doubles-1024", numbers<marshal::Doubles>(1024));
  add<Text>(rows, "string-16", CORBA::String_member(CORBA::string_dup(std::string(16, 'a').c_str())));
  add<Text>(rows, "string-1024", CORBA::String_member(CORBA::string_dup(std::string(1024, 'a').c_str())));
  whole(rows, "struct-fixed", reading());
  whole(rows, "struct-strings", entry(1));
  whole(rows, "samples-1", samples(1));
  whole(rows, "samples-64", samples(64));
  whole(rows, "samples-1024", samples(1024));
  whole(rows, "entries-1", entries(1));
  whole(rows, "entries-64", entries(64));
  whole(rows, "entries-1024", entries(1024));
  whole(rows, "union", choice(2));
  whole(rows, "unions-64", choices(64));
  whole(rows, "nested-16x64", table());
  whole(rows, "tree-40", node(3));
  whole(rows, "order", order());
  whole(rows, "any-long", any_of(CORBA::Long(5)));
  whole(rows, "any-struct", any_of(reading()));
  whole(rows, "any-samples-64", any_of(samples(64)));
  CORBA::Object_var object = orb->string_to_object(reference);
  add<Reference>(rows, "reference", marshal::Target::_unchecked_narrow(object));
  return rows;
}

void prepare(cdrMemoryStream& stream, const std::string& order) {
  // Sets the byte order of the row, which may differ from that of this machine.
  stream.setByteSwapFlag(order == "little");
}

void serve_commands(const Rows& rows) {
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string command, name, order;
    words >> command >> name >> order;
    const Rows::const_iterator found = rows.find(name);
    if (found == rows.end()) throw std::runtime_error("no row named " + name);
    const Row& row = *found->second;
    if (command == "octets") {
      cdrMemoryStream stream(CORBA::ULong(0), CORBA::Boolean(1));
      prepare(stream, order);
      row.write(stream);
      row.read(stream);
      const unsigned char* octets = static_cast<const unsigned char*>(stream.bufPtr());
      std::uint64_t hash = 0xcbf29ce484222325u;
      for (CORBA::ULong i = 0; i < stream.bufSize(); ++i) hash = (hash ^ octets[i]) * 0x100000001b3u;
      std::printf("%lu %016llx\n", static_cast<unsigned long>(stream.bufSize()), static_cast<unsigned long long>(hash));
    } else if (command == "time") {
      std::uint64_t budget = 0;
      words >> budget;
      cdrMemoryStream stream;
      prepare(stream, order);
      row.write(stream);
      const double writing = row.time_writing(stream, budget * 1000);
      const double reading = row.time_reading(stream, budget * 1000);
      std::printf("%.3f %.3f\n", writing, reading);
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
    const Rows rows = all(orb, argv[1]);
    std::printf("ready\n");
    std::fflush(stdout);
    serve_commands(rows);
    std::_Exit(0);
  } catch (const CORBA::Exception& error) {
    std::fprintf(stderr, "omniORB's codec: %s\n", error._name());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "omniORB's codec: %s\n", error.what());
  }
  return 1;
}
