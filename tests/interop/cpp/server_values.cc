// The servants for interop_values.idl.
#include "rotate.hh"
#include "values.hh"

using namespace InteropValues;
using values::kept;

class PageServant : public POA_InteropValues::Page {
  char* print() override { return CORBA::string_dup("page"); }
};

class ValuesServant : public POA_InteropValues::Suite {
  Node* echo_node(Node* it) override { return kept(it); }
  Nodes* echo_nodes(const Nodes& all, Node* one, Node_out again) override {
    again = kept(one);
    return new Nodes(all);
  }
  Base* echo_base(Base* it) override { return kept(it); }
  char* name_of(Base* it) override { return CORBA::string_dup(values::name_of(it).c_str()); }
  Text* echo_text(Text* a, Text* b, CORBA::Boolean& shared) override {
    shared = a == b;
    return kept(a);
  }
  Printable_ptr page() override {
    Page_var made = reference<PageServant>();
    return Page::_duplicate(made);
  }
  Printable_ptr echo_printable(Printable_ptr it) override { return Printable::_duplicate(it); }
  char* printed(Printable_ptr it) override { return it->print(); }
  CORBA::ValueBase* echo_value(CORBA::ValueBase* it) override { return kept(it); }
  ROTATE_VALUE(Node, rotate_node)
  ROTATE_VALUE(Base, rotate_base)
  ROTATE_VALUE(Whole, rotate_whole)
  ROTATE_VARIABLE(Tag, rotate_tag)
  ROTATE_VARIABLE(Either, rotate_either)
  ROTATE_REFERENCE(Printable, , rotate_printable)
  char* described(Whole* it) override { return CORBA::string_dup(values::described(it).c_str()); }
  CORBA::Any* retype(const CORBA::Any& it) override {
    CORBA::Any_var b = new CORBA::Any;
    if (!values::visit(it, [&](const auto& value) { b.inout() <<= value; })) throw CORBA::BAD_PARAM(0, CORBA::COMPLETED_NO);
    return b._retn();
  }
  Base* far() override { return new values::FarValue; }
};

CORBA::Object_ptr values_suite(CORBA::ORB_ptr orb) {
  values::known_all(orb);
  return reference<ValuesServant>();
}
