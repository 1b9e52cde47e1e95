// Values as text, in which checks compare and print them.
#pragma once
#include <cstdint>
#include <cstring>
#include <sstream>

#include "common.hh"

inline std::string show(bool v) { return v ? "true" : "false"; }
// (CORBA::Char is the same C++ type.)
inline std::string show(CORBA::Octet v) { return std::to_string(int(v)); }
inline std::string show(CORBA::WChar v) { return "L'" + std::to_string(long(v)) + "'"; }
inline std::string show(CORBA::Short v) { return std::to_string(v); }
inline std::string show(CORBA::UShort v) { return std::to_string(v); }
inline std::string show(CORBA::Long v) { return std::to_string(v); }
inline std::string show(CORBA::ULong v) { return std::to_string(v); }
inline std::string show(CORBA::LongLong v) { return std::to_string(v); }
inline std::string show(CORBA::ULongLong v) { return std::to_string(v); }
// Compares and prints the bits, so that NaN and negative zero are distinguished.
inline std::string show(CORBA::Float v) {
  uint32_t bits;
  std::memcpy(&bits, &v, sizeof bits);
  return "f" + std::to_string(bits);
}
inline std::string show(CORBA::Double v) {
  uint64_t bits;
  std::memcpy(&bits, &v, sizeof bits);
  return "d" + std::to_string(bits);
}
inline std::string show(CORBA::LongDouble v) {
  std::ostringstream out;
  out.precision(21);
  out << v;
  return out.str();
}
inline std::string show(const char* v) { return std::string("\"") + v + "\""; }
inline std::string show(const CORBA::WChar* v) {
  std::string out = "L\"";
  for (; *v; ++v) out += std::to_string(long(*v)) + " ";
  return out + "\"";
}
inline std::string show(Interop::Colour v) { return "colour " + std::to_string(int(v)); }
inline std::string show(Interop::Root::Mood v) { return "mood " + std::to_string(int(v)); }

template <class T>
std::string show_items(const T* items, CORBA::ULong count);

inline std::string show(const Interop::Point& v) {
  return "{" + show(v.tag) + " " + show(v.x) + " " + show(v.y) + " " + show(v.height) + " " + show(bool(v.visible)) + "}";
}
inline std::string show(const Interop::Words& v) {
  return "{" + show(v.type) + " " + show(v.self) + " " + show(v._cxx_class) + " " + show(v.string) + " " + show(v.final) + "}";
}
inline std::string show(const Interop::Record& v);
inline std::string show(const Interop::Tree& v);
inline std::string show(const Interop::WideRecord& v) {
  return "{" + show(v.shift) + " " + show(v.letter) + " " + show(v.text.in()) + " " + show(v.after) + "}";
}
inline std::string show(const Interop::ByShort& v);
inline std::string show(Interop::Node_ptr v) { return "node " + (CORBA::is_nil(v) ? std::string("nil") : show(v->value())); }
inline std::string show(const Interop::Holder& v) { return "{" + show(v.label.in()) + " " + show(v.inside.in()) + "}"; }
inline std::string show(const CORBA::Any& v);  // any.hh

// Prints sequences. `as` turns an element, which may be a proxy, into a printable value.
template <class Sequence, class As>
std::string show_sequence(const Sequence& v, As as) {
  std::string out = std::to_string(v.length()) + "[";
  for (CORBA::ULong i = 0; i < v.length(); ++i) out += show(as(v[i])) + " ";
  return out + "]";
}
template <class Sequence>
auto show(const Sequence& v) -> decltype(v.length(), std::string()) {
  return show_sequence(v, [](const auto& element) -> const auto& { return element; });
}
inline const char* text(const char* v) { return v; }
inline std::string show(const Interop::Strings& v) { return show_sequence(v, text); }
inline std::string show(const Interop::ShortTexts& v) { return show_sequence(v, text); }
inline std::string show(const Interop::FewStrings& v) { return show_sequence(v, text); }
inline std::string show(const Interop::WideStrings& v) {
  return show_sequence(v, [](const CORBA::WChar* element) { return element; });
}
inline std::string show(const Interop::Nodes& v) {
  return show_sequence(v, [](Interop::Node_ptr element) { return element; });
}
inline std::string show(const Interop::Rows& v) {
  std::string out = std::to_string(v.length()) + "[";
  for (CORBA::ULong i = 0; i < v.length(); ++i) out += show_items(v[i], 3);
  return out + "]";
}

template <class T>
std::string show_items(const T* items, CORBA::ULong count) {
  std::string out = "(";
  for (CORBA::ULong i = 0; i < count; ++i) out += show(items[i]) + " ";
  return out + ")";
}
inline std::string show_matrix(const Interop::Matrix_slice* v) { return show_items(v[0], 3) + show_items(v[1], 3); }
inline std::string show_names(const Interop::Names_slice* v) { return show(v[0].in()) + show(v[1].in()); }
inline std::string show_grid(const Interop::Grid_slice* v) { return show_items(v[0], 3) + show_items(v[1], 3); }
inline std::string show_digest(const Interop::Digest_slice* v) { return show_items(v, 5); }
inline std::string show_pair(const Interop::Pair_slice* v) { return show(v[0]) + show(v[1]); }

inline std::string show(const Interop::Record& v) {
  return "{" + show(v.name.in()) + " " + show(v.position) + " " + show(v.paint) + " " + show(v.numbers) + " " +
         show_items(v.checksum, 5) + " " + show(v.notes) + "}";
}
inline std::string show(const Interop::Tree& v) { return "{" + show(v.label.in()) + " " + show(v.branches) + "}"; }

// Prints unions: the discriminator, then the member that it selects.
inline std::string show(const Interop::ByShort& v) {
  std::string label = show(v._d()) + ":";
  switch (v._d()) {
    case -1: return label + show(v.o());
    case 0: case 7: return label + show(v.l());
    default: return label + show(v.s());
  }
}
inline std::string show(const Interop::ByUShort& v) {
  return show(v._d()) + ":" + (v._d() == 32767 ? show(v.big()) : "");
}
inline std::string show(const Interop::ByLong& v) {
  return show(v._d()) + ":" + (v._d() == 1 ? show(v.p()) : v._d() == -2147483647 ? show(v.data()) : "");
}
inline std::string show(const Interop::ByULong& v) {
  return show(v._d()) + ":" + (v._d() == 2147483647 ? show(v.d()) : show(v.c()));
}
inline std::string show(const Interop::ByLongLong& v) {
  return show(v._d()) + ":" + (v._d() == -5 ? show(v.s()) : v._d() == 5 ? show_items(v.r(), 3) : show(v.o()));
}
inline std::string show(const Interop::ByULongLong& v) {
  return show(v._d()) + ":" + (v._d() == 3 ? show(v.texts()) : show(bool(v.b())));
}
inline std::string show(const Interop::ByChar& v) {
  return show(v._d()) + ":" + (v._d() == 'a' ? show(v.s()) : v._d() == 'z' ? show(v.l()) : "");
}
inline std::string show(const Interop::ByBoolean& v) {
  return show(bool(v._d())) + ":" + (v._d() ? show(v.s()) : show(v.d()));
}
inline std::string show(const Interop::ByEnum& v) {
  std::string label = show(v._d()) + ":";
  return label + (v._d() == Interop::red ? show(v.outline()) : v._d() == Interop::green ? show(v.rec()) : show(v.l()));
}
inline std::string show(const Interop::ByMiddle& v) {
  std::string label = show(v._d()) + ":";
  return label + (v._d() == Interop::green ? show(v.s()) : v._d() == Interop::blue ? show(v.l()) : "");
}
inline std::string show(const Interop::Nested& v) {
  return show(v._d()) + ":" + (v._d() == 1 ? show(v.inner()) : show(v.paint()));
}
inline std::string show(const Interop::WideChoice& v) {
  return show(v._d()) + ":" + (v._d() == 1 ? show(v.c()) : show(v.s()));
}
inline std::string show(const InteropOmniorb::FarLabels& v) {
  return show(v._d()) + ":" + (v._d() < 0 ? show(v.s()) : show(v.t()));
}
inline std::string show(const InteropOmniorb::TopLabels& v) { return show(v._d()) + ":" + show(v.d()); }
