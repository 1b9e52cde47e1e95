// The valuetypes of interop_values.idl, and their factories.
#pragma once
#include <sstream>
#include <string>

#include "common.hh"
#include "interop_values.hh"
#include "interop_values_far.hh"

namespace values {

using namespace InteropValues;

struct NodeValue : OBV_InteropValues::Node {
  NodeValue() {}
  explicit NodeValue(CORBA::Long id) : OBV_InteropValues::Node(id, nullptr, nullptr) {}
};
struct BaseValue : OBV_InteropValues::Base {
  BaseValue() {}
  explicit BaseValue(CORBA::Long id) : OBV_InteropValues::Base(id) {}
};
struct KnownValue : OBV_InteropValues::Known {
  KnownValue() {}
  KnownValue(CORBA::Long number, const char* text) {
    id(number);
    name(text);
  }
};
struct FormValue : OBV_InteropValues::Form, CORBA::DefaultValueRefCountBase {
  FormValue() {}
  explicit FormValue(const char* body) : OBV_InteropValues::Form(body) {}
  char* print() override { return CORBA::string_dup((std::string("form ") + body()).c_str()); }
};
struct WholeValue : OBV_InteropValues::Whole {};
// Valuetype without a registered factory.
struct FarValue : OBV_InteropFar::Far {
  FarValue() {
    id(7);
    weight(2.5);
    CORBA::ValueBase_var one(new NodeValue(8));
    extra(InteropValues::Node::_downcast(one));
  }
};

template <class Value>
struct Factory : CORBA::ValueFactoryBase {
  CORBA::ValueBase* create_for_unmarshal() override { return new Value; }
};

template <class Value>
void known(CORBA::ORB_ptr orb, const char* name) {
  CORBA::ValueFactoryBase* factory = new Factory<Value>;
  CORBA::ValueFactoryBase* before =
      orb->register_value_factory((std::string("IDL:interop.oxorb.org/InteropValues/") + name + ":1.0").c_str(), factory);
  if (before) before->_remove_ref();
  factory->_remove_ref();
}

inline void known_all(CORBA::ORB_ptr orb) {
  known<NodeValue>(orb, "Node");
  known<BaseValue>(orb, "Base");
  known<KnownValue>(orb, "Known");
  known<FormValue>(orb, "Form");
  known<WholeValue>(orb, "Whole");
}

template <class Value>
Value* kept(Value* value) {
  CORBA::add_ref(value);
  return value;
}

inline std::string name_of(Base* it) {
  if (!it) return "null";
  if (Known* one = Known::_downcast(it)) return "Known " + std::to_string(one->id()) + " " + one->name();
  return "Base " + std::to_string(it->id());
}

inline std::string described(Whole* it) {
  CORBA::Long content = 0;
  it->content() >>= content;
  std::ostringstream out;
  out << int(it->small()) << ' ' << it->plain().name << ' ' << it->choice()._d() << ' ' << content << ' '
      << it->tagged().after << ' ' << it->tagged().held->id() << ' ';
  if (it->chosen()._d()) out << it->chosen().one()->id();
  else out << it->chosen().words()->_value();
  out << ' ' << it->pair().both[0]->id() << ' ' << it->pair().both[1]->id() << ' ' << it->all().length() << ' '
      << it->figures()->_value().length() << ' ' << it->place()->y();
  if (it->tagged().held.in() == it->pair().both[0].in()) out << " shared";
  return out.str();
}

// Calls `take` with the value, in a form that can be put into an any. Returns false for an unknown type.
template <class Take>
bool visit(const CORBA::Any& any, Take take) {
#define VALUE(T) { T* v; if (any >>= v) return take(v), true; }
#define PLAIN(T) { const T* v; if (any >>= v) return take(*v), true; }
  VALUE(InteropValues::Node) VALUE(Known) VALUE(Base) VALUE(Form) VALUE(Whole) VALUE(Text) VALUE(Tally) VALUE(Spot)
  PLAIN(Tag) PLAIN(Either) PLAIN(InteropValues::Nodes)
#undef VALUE
#undef PLAIN
  return false;
}

}  // namespace values
