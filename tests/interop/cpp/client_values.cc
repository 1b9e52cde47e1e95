// Checks of valuetypes: see interop_values.idl.
#include "check.hh"
#include "values.hh"

using namespace InteropValues;

void values_tests(Interop::Suite_ptr suite) {
  // The names of interop_values.idl, not those of interop.idl.
  using InteropValues::Node;
  using InteropValues::Node_var;
  using InteropValues::Nodes;
  using InteropValues::Nodes_var;

  using values::kept;

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
  auto tag = [](Node* held) {
    Tag it;
    it.before = 1, it.held = kept(held), it.after = -3;
    return it;
  };
  auto tally = [](CORBA::ULong length) {
    auto* fives = new Tally;
    fives->length(length);
    for (CORBA::ULong i = 0; i < length; ++i) (*fives)[i] = 5;
    return fives;
  };
  auto sample = [&](const char* words) {
    Whole_var it = new values::WholeValue;
    Node_var one = node(1), two = node(2);
    one->next(two);
    it->small(9);
    it->plain(record("whole", 2));
    it->choice(by_short(7));
    CORBA::Any content;
    content <<= CORBA::Long(-12345);
    it->content(content);
    it->tagged(tag(one));
    Either chosen;
    Text_var text = words ? new Text(words) : nullptr;
    if (words) chosen.words(text);
    else chosen.one(one);
    it->chosen(chosen);
    it->pair().both[0] = one, it->pair().both[1] = two;
    Nodes all;
    all.length(3);
    all[0] = two, all[2] = one;
    it->all(all);
    Tally_var figures = tally(2);
    it->figures(figures);
    Spot_var place = new Spot(point(4));
    it->place(place);
    return it;
  };
  const std::string as_node = "9 whole 7 -12345 -3 1 1 1 2 3 2 -4 shared", as_text = "9 whole 7 -12345 -3 1 words 1 2 3 2 -4 shared";
  check("value_rotated", [&] {
    Node_var x = node(1), y = node(2), b = y, c;
    x->next(y);
    Node_var back = o->rotate_node(x, b.inout(), c.out());
    holds(back->id() == 2 && b->id() == 1 && c.in() == back.in(), "nodes 2, 1, and the first again");
    holds(b->next() == c.in(), "what 1 leads to, the same");
    Base_var p = new values::KnownValue(5, "five"), q = new values::BaseValue(6), r;
    Base_var base = o->rotate_base(p, q.inout(), r.out());
    same("inout", std::string("Known 5 five"), values::name_of(q));
    same("out", std::string("Base 6"), values::name_of(r));
  });
  check("value_whole", [&] {
    Whole_var x = sample(nullptr), y = sample("words"), c;
    CORBA::String_var there = o->described(x);
    same("described", as_node, std::string(there.in()));
    Whole_var back = o->rotate_whole(x, y.inout(), c.out());
    same("result", as_text, values::described(back));
    same("inout", as_node, values::described(y));
    holds(c.in() == back.in(), "the same value twice");
  });
  check("value_in_struct", [&] {
    Node_var one = node(1);
    Tag x = tag(one), b = tag(nullptr);
    b.after = 4;
    Tag_var c, back = o->rotate_tag(x, b, c.out());
    holds(!back->held.in() && back->after == 4 && !c->held.in(), "null");
    holds(b.held->id() == 1 && b.after == -3, "node 1");
  });
  check("value_in_union", [&] {
    Either x, b;
    Node_var one = node(1);
    Text_var words = new Text("words");
    x.one(one), b.words(words);
    Either_var c, back = o->rotate_either(x, b, c.out());
    same("text", std::string("words"), std::string(back->words()->_value()));
    holds(b.one()->id() == 1, "node 1");
  });
  check("abstract_rotated", [&] {
    Printable_var page = o->page(), form = new values::FormValue("A1"), c;
    Printable_var back = o->rotate_printable(page, form.inout(), c.out());
    CORBA::String_var result = back->print(), inout = form->print();
    same("result", std::string("form A1"), std::string(result.in()));
    same("inout", std::string("page"), std::string(inout.in()));
  });

  auto retyped = [&](auto* value) {
    CORBA::Any any;
    any <<= value;
    CORBA::Any_var back = o->retype(any);
    std::decay_t<decltype(value)> found = nullptr;
    holds(back.in() >>= found, "a value of the type that was put in");
    return kept(found);
  };
  check("any_value", [&] {
    Node_var one = node(1);
    Node_var two = node(2);
    one->next(two);
    one->other(two);
    Node_var found = retyped(one.in());
    holds(found->id() == 1 && found->next()->id() == 2 && found->next() == found->other(), "the same graph");
  });
  check("any_value_derived", [&] {
    values::KnownValue* known = new values::KnownValue(5, "five");
    Base_var keep = known, back = retyped(static_cast<Known*>(known));
    same("Known", std::string("Known 5 five"), values::name_of(back));
    Base_var base = retyped(keep.in());
    same("Known as Base", std::string("Known 5 five"), values::name_of(base));
  });
  check("any_value_boxed", [&] {
    Text_var text = new Text("boxed"), back = retyped(text.in());
    same("text", std::string("boxed"), std::string(back->_value()));
    Spot_var spot = new Spot(point(4)), place = retyped(spot.in());
    same("struct", point(4), Point(place->_value()));
    Tally_var figures = tally(1), numbers = retyped(figures.in());
    holds(numbers->_value().length() == 1 && numbers->_value()[0] == 5, "one number, 5");
  });
  check("any_value_whole", [&] {
    Whole_var it = sample(nullptr), back = retyped(it.in());
    same("described", as_node, values::described(back));
  });
  check("any_value_in_struct", [&] {
    Node_var one = node(1);
    Either either;
    either.one(one);
    Nodes nodes;
    nodes.length(2), nodes[0] = one, nodes[1] = one;
    CORBA::Any any;
    any <<= tag(one);
    CORBA::Any_var back = o->retype(any);
    const Tag* held;
    holds((back.in() >>= held) && held->held->id() == 1 && held->after == -3, "a struct with node 1");
    any <<= either, back = o->retype(any);
    const Either* chosen;
    holds((back.in() >>= chosen) && chosen->one()->id() == 1, "a union with node 1");
    any <<= nodes, back = o->retype(any);
    const Nodes* all;
    holds((back.in() >>= all) && all->length() == 2 && (*all)[0].in() == (*all)[1].in(), "the same node twice");
  });
}
