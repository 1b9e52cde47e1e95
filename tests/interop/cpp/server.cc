// The omniORB server of the interoperability test.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <thread>

#include "callback.hh"
#include "rotate.hh"

using namespace Interop;

static CORBA::ORB_var orb;

class NumbersServant : public POA_Interop::Numbers {
  ROTATE_BASIC(CORBA::Boolean, rotate_boolean)
  ROTATE_BASIC(CORBA::Octet, rotate_octet)
  ROTATE_BASIC(CORBA::Short, rotate_short)
  ROTATE_BASIC(CORBA::UShort, rotate_ushort)
  ROTATE_BASIC(CORBA::Long, rotate_long)
  ROTATE_BASIC(CORBA::ULong, rotate_ulong)
  ROTATE_BASIC(CORBA::LongLong, rotate_longlong)
  ROTATE_BASIC(CORBA::ULongLong, rotate_ulonglong)
  ROTATE_BASIC(CORBA::Float, rotate_float)
  ROTATE_BASIC(CORBA::Double, rotate_double)
  Constants* constant_values() override {
    Constants_var values = new Constants;
    values->yes = YES;
    values->mask = MASK;
    values->letter = LETTER;
    values->low = LOW;
    values->high = HIGH;
    values->product = PRODUCT;
    values->bits = BITS;
    values->far_away = FAR;
    values->huge_number = HUGE_NUMBER;
    values->ratio = RATIO;
    values->greeting = GREETING;
    values->favourite = FAVOURITE;
    return values._retn();
  }
  CORBA::Double mixed(CORBA::Octet o, CORBA::Double d, char*& s, CORBA::Short& n, const Point& p,
                      CORBA::LongLong& far, Octets& data, CORBA::Boolean& is,
                      CORBA::Boolean no) override {
    std::string louder = std::string(s) + "!";
    CORBA::string_free(s);
    s = CORBA::string_dup(louder.c_str());
    n = o;
    far = p.y;
    for (CORBA::ULong i = 0, j = data.length(); i + 1 < j; ++i, --j) std::swap(data[i], data[j - 1]);
    is = !no;
    return 2 * d;
  }
};

class TextsServant : public POA_Interop::Texts {
  ROTATE_BASIC(CORBA::Char, rotate_char)
  ROTATE_STRING(CORBA::String_out, rotate_string)
  ROTATE_STRING(ShortText_out, rotate_bounded)
  ROTATE_VARIABLE(Strings, rotate_strings)
  ROTATE_VARIABLE(ShortTexts, rotate_bounded_strings)
};

class WideTextsServant : public POA_Interop::WideTexts {
  ROTATE_BASIC(CORBA::WChar, rotate_wchar)
  ROTATE_WSTRING(CORBA::WString_out, rotate_wstring)
  ROTATE_VARIABLE(WideStrings, rotate_wstrings)
  ROTATE_VARIABLE(WideChars, rotate_wchars)
  ROTATE_VARIABLE(WideRecord, rotate_record)
  ROTATE_VARIABLE(WideChoice, rotate_choice)
  CORBA::WChar* echo_bounded(const CORBA::WChar* a) override { return CORBA::wstring_dup(a); }
  CORBA::WChar* constant_values(CORBA::WChar& letter) override {
    letter = WIDE_LETTER;
    return CORBA::wstring_dup(WIDE_GREETING);
  }
};

class AggregatesServant : public POA_Interop::Aggregates {
  ROTATE_BASIC(Colour, rotate_enum)
  ROTATE_BASIC(Metres, rotate_typedef)
  ROTATE_FIXED(Point, rotate_point)
  ROTATE_VARIABLE(Record, rotate_record)
  ROTATE_VARIABLE(Tree, rotate_tree)
  ROTATE_FIXED(Words, rotate_words)
  ROTATE_FIXED_ARRAY(Matrix, rotate_matrix)
  ROTATE_VARIABLE_ARRAY(Names, rotate_names)
  ROTATE_VARIABLE_ARRAY(Pair, rotate_pair)
  ROTATE_FIXED_ARRAY(Grid, rotate_grid)
};

class ChoicesServant : public POA_Interop::Choices {
  ROTATE_VARIABLE(ByShort, rotate_short)
  ROTATE_FIXED(ByUShort, rotate_ushort)
  ROTATE_VARIABLE(ByLong, rotate_long)
  ROTATE_FIXED(ByULong, rotate_ulong)
  ROTATE_FIXED(ByLongLong, rotate_longlong)
  ROTATE_VARIABLE(ByULongLong, rotate_ulonglong)
  ROTATE_VARIABLE(ByChar, rotate_char)
  ROTATE_VARIABLE(ByBoolean, rotate_boolean)
  ROTATE_VARIABLE(ByEnum, rotate_enum)
  ROTATE_VARIABLE(ByMiddle, rotate_middle)
  ROTATE_VARIABLE(Nested, rotate_nested)
  ROTATE_VARIABLE(Unions, rotate_unions)
};

class SequencesServant : public POA_Interop::Sequences {
  ROTATE_VARIABLE(Octets, rotate_octets)
  ROTATE_VARIABLE(Booleans, rotate_booleans)
  ROTATE_VARIABLE(Chars, rotate_chars)
  ROTATE_VARIABLE(Shorts, rotate_shorts)
  ROTATE_VARIABLE(UShorts, rotate_ushorts)
  ROTATE_VARIABLE(Longs, rotate_longs)
  ROTATE_VARIABLE(ULongs, rotate_ulongs)
  ROTATE_VARIABLE(LongLongs, rotate_longlongs)
  ROTATE_VARIABLE(ULongLongs, rotate_ulonglongs)
  ROTATE_VARIABLE(Floats, rotate_floats)
  ROTATE_VARIABLE(Doubles, rotate_doubles)
  ROTATE_VARIABLE(Colours, rotate_enums)
  ROTATE_VARIABLE(Points, rotate_points)
  ROTATE_VARIABLE(Records, rotate_records)
  ROTATE_VARIABLE(LongLists, rotate_lists)
  ROTATE_VARIABLE(Rows, rotate_rows)
  ROTATE_VARIABLE(FewLongs, rotate_bounded)
  ROTATE_VARIABLE(FewStrings, rotate_bounded_strings)
  Octets* echo_octets(const Octets& a) override { return new Octets(a); }
  Doubles* echo_doubles(const Doubles& a) override { return new Doubles(a); }
  Points* echo_points(const Points& a) override { return new Points(a); }
  Strings* echo_strings(const Strings& a) override { return new Strings(a); }
  char* echo_string(const char* a) override { return CORBA::string_dup(a); }
};

class PropertiesServant : public POA_Interop::Properties {
  CORBA::Long count() override { return count_; }
  void count(CORBA::Long v) override { ++writes_, count_ = v; }
  char* title() override { return CORBA::string_dup(title_); }
  void title(const char* v) override { ++writes_, title_ = CORBA::string_dup(v); }
  Colour paint() override { return paint_; }
  void paint(Colour v) override { ++writes_, paint_ = v; }
  Record* last() override { return new Record(last_); }
  void last(const Record& v) override { ++writes_, last_ = v; }
  Record* first() override { return new Record(first_); }
  void first(const Record& v) override { ++writes_, first_ = v; }
  CORBA::ULong writes() override { return writes_; }
  void nudge(CORBA::Long by) override { count_ += by; }
  void store(const Octets& data) override { stored_ = data.length(); }
  CORBA::ULong stored() override { return stored_; }

  std::atomic<CORBA::Long> count_{0};
  std::atomic<CORBA::ULong> writes_{0}, stored_{0};
  CORBA::String_var title_ = CORBA::string_dup("");
  Colour paint_ = red;
  Record last_{}, first_{};
};

class BottomServant : public POA_Interop::Bottom {
  char* who() override { return CORBA::string_dup("bottom"); }
  Interop::Root::Mood temper() override { return Interop::Root::tense; }
  char* from_left() override { return CORBA::string_dup("left"); }
  CORBA::Long side() override { return side_; }
  void side(CORBA::Long v) override { side_ = v; }
  char* from_right(Interop::Root::Mood m) override {
    return CORBA::string_dup(m == Interop::Root::calm ? "right, calm" : "right, tense");
  }
  char* from_bottom() override { return CORBA::string_dup("below"); }

  std::atomic<CORBA::Long> side_{Interop::Bottom::LEVEL};
};

// ---- exceptions ----------------------------------------------------------------

class FaultsServant : public POA_Interop::Faults {
  static Detailed detailed() {
    Detailed why;
    why.reason = "because";
    why.code = -7;
    why.context_record.name = "record";
    why.context_record.position = Point{9, -1.5, -2, 3, true};
    why.context_record.paint = green;
    why.context_record.numbers.length(2);
    why.context_record.numbers[0] = 1;
    why.context_record.numbers[1] = -1;
    for (int i = 0; i < 5; ++i) why.context_record.checksum[i] = 5 - i;
    why.context_record.notes.length(1);
    why.context_record.notes[0] = "noted";
    return why;
  }
  CORBA::Long raise_user(CORBA::Long which) override {
    if (which == 1) throw Empty();
    if (which == 2) throw detailed();
    if (which == 3) {
      Chosen chosen;
      chosen.choice.l(77);
      chosen.choice._d(7);
      throw chosen;
    }
    return which;
  }
  void raise_system(const char* wanted, CORBA::ULong minor, CORBA::ULong completed) override {
    std::string name = wanted;
    auto status = static_cast<CORBA::CompletionStatus>(completed);
#define RAISE(n) if (name == #n) throw CORBA::n(minor, status);
    OMNIORB_FOR_EACH_SYS_EXCEPTION(RAISE)
#undef RAISE
  }
  void maybe(CORBA::Boolean now) override {
    if (now) throw Empty();
  }
  char* maybe_out(CORBA::Boolean now, Octets_out data) override {
    if (now) throw detailed();
    data = new Octets;
    data->length(3);
    for (CORBA::ULong i = 0; i < 3; ++i) data[i] = i;
    return CORBA::string_dup("fine");
  }
};

// ---- references ------------------------------------------------------------------

class NodeServant : public POA_Interop::Node {
 public:
  explicit NodeServant(CORBA::Long value) : value_(value) {}
  CORBA::Long value() override { return value_; }
  Node_ptr next() override {
    PortableServer::Servant_var<NodeServant> next = new NodeServant(value_ + 1);
    return next->_this();
  }

 private:
  CORBA::Long value_;
};

// Forwards every request to another Node.
class ForwardingServant : public POA_Interop::Node {
 public:
  explicit ForwardingServant(Node_ptr there) : there_(Interop::Node::_duplicate(there)) {}
  CORBA::Long value() override { throw omniORB::LOCATION_FORWARD(CORBA::Object::_duplicate(there_), false); }
  Node_ptr next() override { throw omniORB::LOCATION_FORWARD(CORBA::Object::_duplicate(there_), false); }

 private:
  Node_var there_;
};

class ReferencesServant : public POA_Interop::References {
  // omniORB uses a client's connection to call back objects that came with a request to such a POA.
  PortableServer::POA_ptr _default_POA() override {
    if (CORBA::is_nil(callback_poa)) return POA_Interop::References::_default_POA();
    return PortableServer::POA::_duplicate(callback_poa);
  }
  Node_ptr make_node(CORBA::Long value) override {
    PortableServer::Servant_var<NodeServant> node = new NodeServant(value);
    return node->_this();
  }
  Node_ptr make_nil() override { return Node::_nil(); }
  CORBA::Boolean is_nil(Node_ptr n) override { return CORBA::is_nil(n); }
  ROTATE_REFERENCE(Node, Interop::, rotate_node)
  ROTATE_REFERENCE(Object, CORBA::, rotate_object)
  ROTATE_VARIABLE(Nodes, rotate_nodes)
  ROTATE_VARIABLE(Holder, rotate_holder)
  Node_ptr make_forwarded(CORBA::Long value) override {
    Node_var there = make_node(value);
    PortableServer::Servant_var<ForwardingServant> here = new ForwardingServant(there);
    return here->_this();
  }
  Node_ptr make_stale() override {
    PortableServer::Servant_var<NodeServant> node = new NodeServant(0);
    Node_var reference = node->_this();
    PortableServer::POA_var poa = node->_default_POA();
    PortableServer::ObjectId_var id = poa->servant_to_id(node);
    poa->deactivate_object(id);
    return reference._retn();
  }
  CORBA::Long call_back(Callback_ptr who, CORBA::Long n) override {
    CORBA::Long sum = 0;
    for (CORBA::Long i = 1; i <= n; ++i) sum += who->answer(i);
    return sum;
  }
  void fail_back(Callback_ptr who, CORBA::Long code) override { who->fail(code); }
  Callback_ptr make_callback() override {
    PortableServer::Servant_var<CallbackServant> servant = new CallbackServant;
    return servant->_this();
  }
  void tell_back(Callback_ptr who, const char* news) override { who->tell(news); }
  CORBA::Long slow(CORBA::ULong milliseconds, CORBA::Long value) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    return value;
  }
};

// ---- types that only omniORB and OxORB support --------------------------------------

class ExtrasServant : public POA_InteropOmniorb::Extras {
  using FarLabels = InteropOmniorb::FarLabels;
  using FarLabels_out = InteropOmniorb::FarLabels_out;
  using TopLabels = InteropOmniorb::TopLabels;
  ROTATE_VARIABLE(FarLabels, rotate_far)
  ROTATE_FIXED(TopLabels, rotate_top)
  ROTATE_BASIC(CORBA::LongDouble, rotate_longdouble)
  char* with_context(CORBA::Long, CORBA::Context_ptr context) override {
    CORBA::NVList_var values;
    context->get_values("", 0, "colour", values.out());
    const char* text = "";
    if (values->count() > 0) *values->item(0)->value() >>= text;
    return CORBA::string_dup(text);
  }
};

// ---- the object that clients resolve first -----------------------------------------

// server_any.cc
CORBA::Object_ptr any_suite(CORBA::ORB_ptr orb);
// server_async.cc
CORBA::Object_ptr async_office();
// server_values.cc
CORBA::Object_ptr values_suite(CORBA::ORB_ptr orb);

class SuiteServant : public POA_Interop::Suite {
  Numbers_ptr number_tests() override { return reference<NumbersServant>(); }
  Texts_ptr text_tests() override { return reference<TextsServant>(); }
  WideTexts_ptr wide_tests() override { return reference<WideTextsServant>(); }
  Aggregates_ptr aggregate_tests() override { return reference<AggregatesServant>(); }
  Choices_ptr choice_tests() override { return reference<ChoicesServant>(); }
  Sequences_ptr sequence_tests() override { return reference<SequencesServant>(); }
  Properties_ptr property_tests() override { return reference<PropertiesServant>(); }
  Bottom_ptr inheritance_tests() override { return reference<BottomServant>(); }
  Faults_ptr fault_tests() override { return reference<FaultsServant>(); }
  References_ptr reference_tests() override { return reference<ReferencesServant>(); }
  CORBA::Object_ptr extras(const char* name) override {
    if (std::string(name) == "omniorb") return reference<ExtrasServant>();
    if (std::string(name) == "any") return any_suite(orb);
    if (std::string(name) == "async") return async_office();
    if (std::string(name) == "values") return values_suite(orb);
    return CORBA::Object::_nil();
  }
  void shutdown() override { orb->shutdown(false); }
};

int main(int argc, char** argv) try {
  orb = CORBA::ORB_init(argc, argv);
  Options options = parse(argc, argv);
  CORBA::Object_var root = orb->resolve_initial_references("RootPOA");
  PortableServer::POA_var poa = PortableServer::POA::_narrow(root);
  PortableServer::POAManager_var manager = poa->the_POAManager();
  manager->activate();
  if (options.bidirectional) allow_bidirectional(orb, poa);
  Suite_var suite = reference<SuiteServant>();
  // The object is also at corbaloc::host:port/Suite.
  CORBA::Object_var named = orb->resolve_initial_references("omniINSPOA");
  PortableServer::POA_var named_poa = PortableServer::POA::_narrow(named);
  PortableServer::POAManager_var named_manager = named_poa->the_POAManager();
  named_manager->activate();
  PortableServer::Servant_var<SuiteServant> named_suite = new SuiteServant;
  PortableServer::ObjectId_var name = PortableServer::string_to_ObjectId("Suite");
  named_poa->activate_object_with_id(name, named_suite);
  CORBA::String_var ior = orb->object_to_string(suite);
  std::string unfinished = options.ior + ".new";
  std::ofstream(unfinished) << ior.in();
  std::rename(unfinished.c_str(), options.ior.c_str());
  orb->run();
  orb->destroy();
  return 0;
} catch (const CORBA::Exception& e) {
  std::cerr << "server: " << e._rep_id() << std::endl;
  return 1;
} catch (const std::string& message) {
  std::cerr << "server: " << message << std::endl;
  return 2;
}
