// Common code of the checks of the omniORB client: comparison, reports and sample values.
#pragma once
#include <functional>
#include <iostream>
#include <thread>
#include <type_traits>

#include "show.hh"

using namespace Interop;

inline CORBA::ORB_var orb;
inline Options options;
inline int failures = 0;

// ---- checks ----------------------------------------------------------------

inline std::string describe(const CORBA::SystemException& e) {
  std::ostringstream out;
  out << e._rep_id() << " minor 0x" << std::hex << e.minor() << std::dec << " completed " << int(e.completed());
  return out.str();
}

inline void check(const std::string& name, const std::function<void()>& run) {
  if (options.skip.find("," + name + ",") != std::string::npos) return;
  try {
    run();
    std::cout << "PASS " << name << std::endl;
    return;
  } catch (const std::string& why) {
    std::cout << "FAIL " << name << ": " << why << std::endl;
  } catch (const CORBA::SystemException& e) {
    std::cout << "FAIL " << name << ": expected no exception, got " << describe(e) << std::endl;
  } catch (const CORBA::Exception& e) {
    std::cout << "FAIL " << name << ": expected no exception, got " << e._rep_id() << std::endl;
  }
  ++failures;
}

inline void same(const std::string& what, const std::string& expected, const std::string& got) {
  if (expected == got) return;
  auto brief = [](const std::string& s) { return s.size() > 400 ? s.substr(0, 400) + "..." : s; };
  throw what + ": expected " + brief(expected) + ", got " + brief(got);
}
template <class T>
void same(const std::string& what, const T& expected, const T& got) {
  same(what, show(expected), show(got));
}
inline void holds(bool condition, const std::string& what) {
  if (!condition) throw "expected " + what;
}

// Waits until a condition holds that results from a oneway call.
inline void eventually(const std::string& what, const std::function<bool()>& condition) {
  for (int i = 0; i < 1000; ++i) {
    if (condition()) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  throw "expected " + what + " within 5 s";
}

// Rotates basic values: see interop.idl.
template <class T, class Op>
void rotate(T x, T y, Op op) {
  T b = y, c{}, result = op(x, b, c);
  same("result", y, result);
  same("inout", x, b);
  same("out", y, c);
}
template <class T, class Op>
void rotate_all(const std::string& name, std::initializer_list<T> values, Op op) {
  check(name, [&] {
    for (const T* v = values.begin(); v + 1 < values.end(); ++v) rotate<T>(v[0], v[1], op);
  });
}
// Prepares a _var to be an out parameter: arrays of fixed size need memory.
template <class Var>
Var empty_var() {
  if constexpr (std::is_same_v<Var, Matrix_var>) return Var(Matrix_alloc());
  else if constexpr (std::is_same_v<Var, Grid_var>) return Var(Grid_alloc());
  else return Var();
}
// Rotates values held by a _var.
template <class Var, class Op, class Show>
void rotate_var(const Var& x, const Var& y, Op op, Show shown) {
  Var b(y), c = empty_var<Var>();
  Var result(op(x, b, c));
  same("result", shown(y), shown(result));
  same("inout", shown(x), shown(b));
  same("out", shown(y), shown(c));
}
template <class Var, class Op>
void rotate_var(const Var& x, const Var& y, Op op) {
  rotate_var(x, y, op, [](const Var& v) { return show(v.in()); });
}
// Operation `op` of object `o`, as a function with parameters held by a _var.
#define CALL(o, op) [&](const auto& a, auto& b, auto& c) { return o->op(a.in(), b.inout(), c.out()); }
#define BASIC(o, op) [&](auto a, auto& b, auto& c) { return o->op(a, b, c); }

template <class Sequence, class T>
Sequence* sequence(std::initializer_list<T> items) {
  auto* s = new Sequence;
  s->length(items.size());
  CORBA::ULong i = 0;
  for (const T& item : items) (*s)[i++] = item;
  return s;
}
template <class Sequence, class T, class Op>
void rotate_sequence(const std::string& name, std::initializer_list<T> x, std::initializer_list<T> y, Op op) {
  check(name, [&] {
    typename Sequence::_var_type first(sequence<Sequence>(x)), second(sequence<Sequence>(y)), none(new Sequence);
    rotate_var(first, second, op);
    rotate_var(second, none, op);
    rotate_var(none, first, op);
  });
}

// ---- values ------------------------------------------------------------------

inline Point point(int n) { return Point{CORBA::Octet(n), n + 0.5, CORBA::Short(-n), n * 1000, n % 2 == 1}; }

inline Record record(const char* name, int n) {
  Record r;
  r.name = name;
  r.position = point(n);
  r.paint = Colour(n % 3);
  r.numbers.length(n);
  for (int i = 0; i < n; ++i) r.numbers[i] = i * n - 3;
  for (int i = 0; i < 5; ++i) r.checksum[i] = 250 + i;
  r.notes.length(2);
  r.notes[0] = "";
  r.notes[1] = "a note";
  return r;
}

inline Tree tree(const std::string& label, int depth) {
  Tree t;
  t.label = label.c_str();
  t.branches.length(depth);
  for (int i = 0; i < depth; ++i) t.branches[i] = tree(label + char('0' + i), depth - 1);
  return t;
}

inline ByShort by_short(int label) {
  ByShort u;
  if (label == -1) u.o(200);
  else if (label == 0 || label == 7) u.l(-12345), u._d(label);
  else u.s("by default"), u._d(label);
  return u;
}
