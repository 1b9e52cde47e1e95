// The valuetypes of interop_values.idl, and what makes them when they arrive.
#pragma once
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
// Nobody registers a factory for it.
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

}  // namespace values
