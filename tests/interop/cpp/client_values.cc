// Checks of valuetypes: see interop_values.idl.
#include "check.hh"
#include "values.hh"

using namespace InteropValues;

void values_tests(Interop::Suite_ptr suite) {
  // Not those of interop.idl.
  using InteropValues::Node;
  using InteropValues::Node_var;
  using InteropValues::Nodes;
  using InteropValues::Nodes_var;

  values::known_all(orb);
  CORBA::Object_var object = suite->extras("values");
  InteropValues::Suite_var o = InteropValues::Suite::_narrow(object);
  if (CORBA::is_nil(o)) throw std::string("the server has no tests of valuetypes");
  auto node = [](CORBA::Long id) { return new values::NodeValue(id); };

  check("value_null", [&] {
    Node_var none = o->echo_node(nullptr);
    holds(!none.in(), "null");
    CORBA::String_var name = o->name_of(nullptr);
    same("name", std::string("null"), std::string(name.in()));
  });
  check("value_sharing", [&] {
    Node_var one = node(1), two = node(2);
    one->next(two);
    one->other(two);
    Node_var back = o->echo_node(one);
    holds(back->id() == 1 && back->next()->id() == 2, "nodes 1 and 2");
    holds(back->next() == back->other(), "the same node twice");
  });
  check("value_cycle", [&] {
    Node_var one = node(1), two = node(2);
    one->next(two);
    two->next(one);
    two->other(two);
    Node_var back = o->echo_node(one);
    Node* second = back->next();
    holds(back->id() == 1 && second->id() == 2, "nodes 1 and 2");
    holds(second->next() == back.in() && second->other() == second, "two cycles");
    for (Node* ring : {one.in(), back.in()}) {
      ring->next()->other(nullptr);
      ring->next()->next(nullptr);
    }
  });
  check("value_list", [&] {
    Node_var first = node(0), last = first;
    for (int i = 1; i < 100; ++i) {
      Node_var more = node(i);
      last->next(more);
      last = more;
    }
    Node_var back = o->echo_node(first);
    int length = 0;
    for (Node* at = back; at; at = at->next()) holds(at->id() == length++, "the node in its place");
    same("length", 100, length);
  });
  check("value_in_two_parameters", [&] {
    Node_var shared = node(5), alone = node(6);
    Nodes all;
    all.length(3);
    all[0] = shared;
    all[1] = alone;
    Node_var again;
    Nodes_var back = o->echo_nodes(all, shared, again.out());
    same("length", CORBA::ULong(3), back->length());
    holds(back[0].in() == again.in() && again->id() == 5, "the same node in the sequence and the parameter");
    holds(back[1]->id() == 6 && !back[2].in(), "another node, and null");
  });
  check("value_derived", [&] {
    Base_var known = new values::KnownValue(5, "five"), base = new values::BaseValue(6);
    CORBA::String_var name = o->name_of(known), plain = o->name_of(base);
    same("derived", std::string("Known 5 five"), std::string(name.in()));
    same("base", std::string("Base 6"), std::string(plain.in()));
    Base_var back = o->echo_base(known);
    same("back", std::string("Known 5 five"), values::name_of(back));
  });
  check("value_truncated_by_server", [&] {
    Base_var far = new values::FarValue;
    CORBA::String_var name = o->name_of(far);
    same("name", std::string("Base 7"), std::string(name.in()));
  });
  check("value_truncated_by_client", [&] {
    Base_var far = o->far();
    same("name", std::string("Base 7"), values::name_of(far));
  });
  check("value_boxed", [&] {
    Text_var one = new Text("shared"), two = new Text("other");
    CORBA::Boolean shared = false;
    Text_var back = o->echo_text(one, one, shared);
    holds(shared, "the same box");
    same("text", std::string("shared"), std::string(back->_value()));
    back = o->echo_text(one, two, shared);
    holds(!shared, "two boxes");
    back = o->echo_text(nullptr, two, shared);
    holds(!back.in(), "no box");
  });
  check("abstract_object", [&] {
    Printable_var page = o->page();
    CORBA::String_var text = page->print();
    same("called here", std::string("page"), std::string(text.in()));
    Printable_var back = o->echo_printable(page);
    text = o->printed(back);
    same("called there", std::string("page"), std::string(text.in()));
  });
  check("abstract_value", [&] {
    Form_var form = new values::FormValue("A1");
    CORBA::String_var text = o->printed(form);
    same("called there", std::string("form A1"), std::string(text.in()));
    Printable_var back = o->echo_printable(form);
    text = back->print();
    same("called here", std::string("form A1"), std::string(text.in()));
  });
  check("value_base", [&] {
    Base_var known = new values::KnownValue(5, "five");
    CORBA::ValueBase_var back = o->echo_value(known);
    same("back", std::string("Known 5 five"), values::name_of(Base::_downcast(back)));
  });
  check("any_value", [&] {
    Node_var one = node(1);
    Node_var two = node(2);
    one->next(two);
    one->other(two);
    CORBA::Any any;
    any <<= one.in();
    CORBA::Any_var back = o->echo_any(any);
    Node* found = nullptr;
    holds(back.in() >>= found, "a node in the any");
    holds(found->id() == 1 && found->next()->id() == 2 && found->next() == found->other(), "the same graph");
  });
}
