// The omniORB client of the interoperability test: runs every check by name against any server, and prints
// one line for each.
#include <chrono>
#include <cmath>
#include <iostream>
#include <limits>
#include <thread>
#include <vector>

#include "callback.hh"
#include "check.hh"

using namespace Interop;

// ---- groups ----------------------------------------------------------------

static void numbers(Suite_ptr suite) {
  Numbers_var o = suite->number_tests();
  rotate_all<CORBA::Boolean>("boolean", {true, false, true}, BASIC(o, rotate_boolean));
  rotate_all<CORBA::Octet>("octet", {0, 255, 127, 128}, BASIC(o, rotate_octet));
  rotate_all<CORBA::Short>("short", {-32768, 32767, -1, 258}, BASIC(o, rotate_short));
  rotate_all<CORBA::UShort>("ushort", {0, 65535, 258, 32768}, BASIC(o, rotate_ushort));
  rotate_all<CORBA::Long>("long", {-2147483647 - 1, 2147483647, -1, 0x01020304}, BASIC(o, rotate_long));
  rotate_all<CORBA::ULong>("ulong", {0, 4294967295u, 0x01020304, 0x80000000u}, BASIC(o, rotate_ulong));
  rotate_all<CORBA::LongLong>("longlong", {std::numeric_limits<CORBA::LongLong>::min(),
      std::numeric_limits<CORBA::LongLong>::max(), -1, 0x0102030405060708}, BASIC(o, rotate_longlong));
  rotate_all<CORBA::ULongLong>("ulonglong", {0, ~CORBA::ULongLong(0), 0x0102030405060708, CORBA::ULongLong(1) << 63},
      BASIC(o, rotate_ulonglong));
  const float finf = std::numeric_limits<float>::infinity();
  rotate_all<CORBA::Float>("float", {1.5f, -0.0f, finf, -finf, std::numeric_limits<float>::max(),
      std::numeric_limits<float>::denorm_min(), 3.14159274f}, BASIC(o, rotate_float));
  const double inf = std::numeric_limits<double>::infinity();
  rotate_all<CORBA::Double>("double", {1.5, -0.0, inf, -inf, std::numeric_limits<double>::max(),
      std::numeric_limits<double>::denorm_min(), 3.141592653589793}, BASIC(o, rotate_double));
  check("mixed_parameters", [&] {
    CORBA::String_var s = CORBA::string_dup("odd");
    CORBA::Short n;
    CORBA::LongLong far;
    Octets_var data = sequence<Octets, int>({1, 2, 3});
    CORBA::Boolean is;
    CORBA::Double result = o->mixed(9, 1.25, s.inout(), n, point(77), far, data.inout(), is, false);
    same("result", 2.5, result);
    same("s", std::string("\"odd!\""), show(s.in()));
    same("n", CORBA::Short(9), n);
    same("far", CORBA::LongLong(-77), far);
    same("data", std::string("3[3 2 1 ]"), show(data.in()));
    holds(is, "is to be true");
  });
  check("constants", [&] {
    Constants_var v = o->constant_values();
    holds(v->yes == YES, "yes");
    same("mask", MASK, v->mask);
    same("letter", LETTER, v->letter);
    same("low", LOW, v->low);
    same("high", HIGH, v->high);
    same("product", PRODUCT, v->product);
    same("bits", BITS, v->bits);
    same("far_away", FAR, v->far_away);
    same("huge_number", HUGE_NUMBER, v->huge_number);
    same("ratio", RATIO, v->ratio);
    same("greeting", show(GREETING), show(v->greeting.in()));
    same("favourite", FAVOURITE, v->favourite);
  });
}

static void texts(Suite_ptr suite) {
  Texts_var o = suite->text_tests();
  auto strings = [&](const std::string& name, const char* x, const char* y) {
    check(name, [&] { rotate_var(CORBA::String_var(x), CORBA::String_var(y), CALL(o, rotate_string)); });
  };
  const char* latin1 = options.utf8 ? "Gr\xc3\xbc\xc3\x9f Gott \xc2\xa9" : "Gr\xfc\xdf Gott \xa9";
  rotate_all<CORBA::Char>("char", {'a', '~', ' ', '\n', '\0'}, BASIC(o, rotate_char));
  rotate_all<CORBA::Char>("char_latin1", {0xe4, 0xff, 'x'}, BASIC(o, rotate_char));
  strings("string", "Hello", "a longer one, with \"punctuation\" and\nlines");
  strings("string_empty", "", "not");
  strings("string_latin1", latin1, "plain");
  // Greek, Chinese, and a musical G clef (beyond the basic plane), in UTF-8.
  strings("string_beyond_latin1", "\xce\xba\xce\xb1\xce\xbb\xce\xb7\xce\xbc\xce\xad\xcf\x81\xce\xb1",
          "\xe6\x97\xa5\xe6\x9c\xac \xf0\x9d\x84\x9e");
  check("string_bounded", [&] {
    rotate_var(CORBA::String_var("12345678"), CORBA::String_var(""), CALL(o, rotate_bounded));
  });
  check("string_too_long", [&] {
    try {
      CORBA::String_var b("x"), c, result = o->rotate_bounded("123456789", b.inout(), c.out());
    } catch (const CORBA::SystemException&) {
      return;
    }
    throw std::string("expected a system exception, got none");
  });
  rotate_sequence<Strings, const char*>("string_sequence", {"one", "", "three"}, {latin1}, CALL(o, rotate_strings));
  rotate_sequence<ShortTexts, const char*>("string_bounded_sequence", {"12345678", ""}, {"a"},
                                           CALL(o, rotate_bounded_strings));
}

static void wide_texts(Suite_ptr suite) {
  WideTexts_var o = suite->wide_tests();
  auto strings = [&](const std::string& name, const wchar_t* x, const wchar_t* y) {
    check(name, [&] { rotate_var(CORBA::WString_var(x), CORBA::WString_var(y), CALL(o, rotate_wstring)); });
  };
  rotate_all<CORBA::WChar>("wchar", {L'a', L' ', L'~'}, BASIC(o, rotate_wchar));
  rotate_all<CORBA::WChar>("wchar_beyond_latin1", {L'\u00e4', L'\u20ac', L'\u65e5'}, BASIC(o, rotate_wchar));
  strings("wstring", L"Hello", L"Gr\u00fc\u00df \u03ba\u03b1\u03bb\u03b7 \u65e5\u672c");
  strings("wstring_empty", L"", L"not");
  // omniORB takes UTF-16 code units, so a clef and an ox are two wide characters each.
  strings("wstring_beyond_bmp", L"clef \xd834\xdd1e", L"\xd83d\xdc02 ox");
  check("wstring_bounded", [&] {
    for (const wchar_t* text : {L"12345678", L"x", L""}) {
      CORBA::WString_var back = o->echo_bounded(text);
      same("result", show(text), show(back.in()));
    }
  });
  rotate_sequence<WideStrings, const wchar_t*>("wstring_sequence", {L"one", L"", L"\u20ac"}, {L"x"}, CALL(o, rotate_wstrings));
  rotate_sequence<WideChars, wchar_t>("wchar_sequence", {L'a', L'\u20ac', L'z'}, {L'b'}, CALL(o, rotate_wchars));
  check("wide_struct", [&] {
    WideRecord_var x(new WideRecord), y(new WideRecord);
    x->shift = 1, x->letter = L'\u20ac', x->text = L"odd", x->after = 2;
    y->shift = 3, y->letter = L'a', y->text = L"", y->after = 4;
    rotate_var(x, y, CALL(o, rotate_record));
  });
  check("wide_union", [&] {
    WideChoice_var x(new WideChoice), y(new WideChoice);
    x->c(L'\u20ac');
    y->s(L"chosen");
    rotate_var(x, y, CALL(o, rotate_choice));
    rotate_var(y, x, CALL(o, rotate_choice));
  });
  check("wide_constants", [&] {
    CORBA::WChar letter;
    CORBA::WString_var greeting = o->constant_values(letter);
    same("letter", WIDE_LETTER, letter);
    same("greeting", show(WIDE_GREETING), show(greeting.in()));
  });
}

static void aggregates(Suite_ptr suite) {
  Aggregates_var o = suite->aggregate_tests();
  rotate_all<Colour>("enum", {red, blue, green}, BASIC(o, rotate_enum));
  rotate_all<Metres>("typedef", {-5, 5}, BASIC(o, rotate_typedef));
  check("struct", [&] { rotate_var(Point_var(new Point(point(1))), Point_var(new Point(point(2))), CALL(o, rotate_point)); });
  check("struct_nested", [&] {
    rotate_var(Record_var(new Record(record("first", 3))), Record_var(new Record(record("", 0))), CALL(o, rotate_record));
  });
  check("struct_recursive", [&] {
    rotate_var(Tree_var(new Tree(tree("t", 4))), Tree_var(new Tree(tree("leaf", 0))), CALL(o, rotate_tree));
  });
  check("struct_reserved_words", [&] {
    rotate_var(Words_var(new Words{1, 2, 3, 4, 5}), Words_var(new Words{-1, -2, -3, -4, -5}), CALL(o, rotate_words));
  });
  check("array", [&] {
    const Matrix a = {{1, 2, 3}, {4, 5, 6}}, b = {{-1, -2, -3}, {-4, -5, -6}};
    rotate_var(Matrix_var(Matrix_dup(a)), Matrix_var(Matrix_dup(b)), CALL(o, rotate_matrix),
               [](const Matrix_var& v) { return show_matrix(v.in()); });
  });
  check("array_of_arrays", [&] {
    const Grid a = {{1, 2, 3}, {4, 5, 6}}, b = {{-1, -2, -3}, {-4, -5, -6}};
    rotate_var(Grid_var(Grid_dup(a)), Grid_var(Grid_dup(b)), CALL(o, rotate_grid),
               [](const Grid_var& v) { return show_grid(v.in()); });
  });
  check("array_of_strings", [&] {
    Names_var x(Names_alloc()), y(Names_alloc());
    x[0] = "left", x[1] = "", y[0] = "", y[1] = "right";
    rotate_var(x, y, CALL(o, rotate_names), [](const Names_var& v) { return show_names(v.in()); });
  });
  check("array_of_structs", [&] {
    Pair_var x(Pair_alloc()), y(Pair_alloc());
    x[0] = record("a", 1), x[1] = record("b", 2), y[0] = record("c", 3), y[1] = record("d", 4);
    rotate_var(x, y, CALL(o, rotate_pair), [](const Pair_var& v) { return show_pair(v.in()); });
  });
}

static void choices(Suite_ptr suite) {
  Choices_var o = suite->choice_tests();
  check("union_short", [&] {
    ByShort_var a(new ByShort(by_short(-1))), b(new ByShort(by_short(0))), c(new ByShort(by_short(7))), d(new ByShort(by_short(1)));
    rotate_var(a, b, CALL(o, rotate_short));
    rotate_var(c, d, CALL(o, rotate_short));
  });
  check("union_ushort", [&] {
    ByUShort_var x(new ByUShort), y(new ByUShort);
    x->big(-9), y->big(9);
    rotate_var(x, y, CALL(o, rotate_ushort));
  });
  check("union_no_member", [&] {
    ByUShort_var x(new ByUShort), y(new ByUShort);
    x->big(-9), y->_default(), y->_d(5);
    rotate_var(x, y, CALL(o, rotate_ushort));
    rotate_var(y, x, CALL(o, rotate_ushort));
    ByMiddle_var first(new ByMiddle), last(new ByMiddle);
    first->_default(), last->l(3);
    rotate_var(first, last, CALL(o, rotate_middle));
    rotate_var(last, first, CALL(o, rotate_middle));
  });
  check("union_long", [&] {
    ByLong_var x(new ByLong), y(new ByLong);
    x->p(point(4));
    Octets_var data = sequence<Octets, int>({9, 8, 7});
    y->data(data);
    rotate_var(x, y, CALL(o, rotate_long));
    rotate_var(y, x, CALL(o, rotate_long));
  });
  check("union_ulong", [&] {
    ByULong_var x(new ByULong), y(new ByULong);
    x->d(-0.5), y->c('u'), y->_d(0);
    rotate_var(x, y, CALL(o, rotate_ulong));
  });
  check("union_longlong", [&] {
    ByLongLong_var x(new ByLongLong), y(new ByLongLong), z(new ByLongLong);
    const Row row = {1, 2, 3};
    x->s(-3), y->r(row), z->o(1), z->_d(0);
    rotate_var(x, y, CALL(o, rotate_longlong));
    rotate_var(y, z, CALL(o, rotate_longlong));
  });
  check("union_ulonglong", [&] {
    ByULongLong_var x(new ByULongLong), y(new ByULongLong);
    Strings_var texts = sequence<Strings, const char*>({"a", "b"});
    x->texts(texts), y->b(true), y->_d(0);
    rotate_var(x, y, CALL(o, rotate_ulonglong));
  });
  check("union_default_label", [&] {
    ByULong_var a(new ByULong), b(new ByULong);
    a->d(1.5), b->c('u'), b->_d(4294967295u);
    rotate_var(a, b, CALL(o, rotate_ulong));
    ByULongLong_var c(new ByULongLong), d(new ByULongLong);
    c->b(true), c->_d(~CORBA::ULongLong(0)), d->b(false), d->_d(CORBA::ULongLong(1) << 40);
    rotate_var(c, d, CALL(o, rotate_ulonglong));
  });
  check("union_char", [&] {
    ByChar_var x(new ByChar), y(new ByChar);
    x->s("a"), y->l(26);
    rotate_var(x, y, CALL(o, rotate_char));
  });
  check("union_boolean", [&] {
    ByBoolean_var x(new ByBoolean), y(new ByBoolean);
    x->s("yes"), y->d(0.0);
    rotate_var(x, y, CALL(o, rotate_boolean));
  });
  check("union_enum", [&] {
    ByEnum_var x(new ByEnum), y(new ByEnum), z(new ByEnum);
    Points_var outline = sequence<Points, Point>({point(1), point(2)});
    x->outline(outline), y->rec(record("green", 2)), z->l(3), z->_d(blue);
    rotate_var(x, y, CALL(o, rotate_enum));
    rotate_var(y, z, CALL(o, rotate_enum));
  });
  check("union_enum_middle", [&] {
    ByMiddle_var x(new ByMiddle), y(new ByMiddle);
    x->s("green"), y->l(-1);
    rotate_var(x, y, CALL(o, rotate_middle));
    rotate_var(y, x, CALL(o, rotate_middle));
  });
  check("union_nested", [&] {
    Nested_var x(new Nested), y(new Nested);
    ByEnum paint;
    paint.l(1), paint._d(blue);
    x->inner(by_short(0)), y->paint(paint);
    rotate_var(x, y, CALL(o, rotate_nested));
  });
  rotate_sequence<Unions, ByShort>("union_sequence", {by_short(-1), by_short(7), by_short(1)}, {by_short(0)},
                                   CALL(o, rotate_unions));
}

static void sequences(Suite_ptr suite) {
  Sequences_var o = suite->sequence_tests();
  rotate_sequence<Octets, int>("sequence_octet", {0, 127, 128, 255}, {1}, CALL(o, rotate_octets));
  rotate_sequence<Booleans, bool>("sequence_boolean", {true, false, true}, {false}, CALL(o, rotate_booleans));
  rotate_sequence<Chars, char>("sequence_char", {'a', 'b', 'c'}, {'z'}, CALL(o, rotate_chars));
  rotate_sequence<Shorts, CORBA::Short>("sequence_short", {-32768, 1, 2}, {7}, CALL(o, rotate_shorts));
  rotate_sequence<UShorts, CORBA::UShort>("sequence_ushort", {65535, 1, 2}, {7}, CALL(o, rotate_ushorts));
  rotate_sequence<Longs, CORBA::Long>("sequence_long", {-2147483647, 1}, {7}, CALL(o, rotate_longs));
  rotate_sequence<ULongs, CORBA::ULong>("sequence_ulong", {4294967295u, 1}, {7}, CALL(o, rotate_ulongs));
  rotate_sequence<LongLongs, CORBA::LongLong>("sequence_longlong", {FAR, 1}, {7}, CALL(o, rotate_longlongs));
  rotate_sequence<ULongLongs, CORBA::ULongLong>("sequence_ulonglong", {HUGE_NUMBER, 1}, {7}, CALL(o, rotate_ulonglongs));
  rotate_sequence<Floats, CORBA::Float>("sequence_float", {-0.0f, 1.5f}, {2}, CALL(o, rotate_floats));
  rotate_sequence<Doubles, CORBA::Double>("sequence_double", {-0.0, 1.5}, {2}, CALL(o, rotate_doubles));
  rotate_sequence<Colours, Colour>("sequence_enum", {blue, red}, {green}, CALL(o, rotate_enums));
  rotate_sequence<Points, Point>("sequence_struct", {point(1), point(2), point(3)}, {point(4)}, CALL(o, rotate_points));
  rotate_sequence<Records, Record>("sequence_record", {record("a", 1), record("", 0)}, {record("b", 5)}, CALL(o, rotate_records));
  check("sequence_of_sequences", [&] {
    LongLists_var x(new LongLists), y(new LongLists);
    x->length(3);
    x[1].length(2), x[1][0] = 1, x[1][1] = 2, x[2].length(1), x[2][0] = 3;
    rotate_var(x, y, CALL(o, rotate_lists));
  });
  check("sequence_of_arrays", [&] {
    Rows_var x(new Rows), y(new Rows);
    x->length(2);
    for (int i = 0; i < 6; ++i) x[i / 3][i % 3] = i;
    rotate_var(x, y, CALL(o, rotate_rows));
  });
  rotate_sequence<FewLongs, CORBA::Long>("sequence_bounded", {1, 2, 3, 4, 5, 6, 7, 8}, {9}, CALL(o, rotate_bounded));
  rotate_sequence<FewStrings, const char*>("sequence_bounded_string", {"a", "b", "c"}, {""}, CALL(o, rotate_bounded_strings));
  check("sequence_too_long", [&] {
    try {
      FewLongs_var a = sequence<FewLongs, int>({1, 2, 3, 4, 5, 6, 7, 8, 9}), b(new FewLongs), c;
      FewLongs_var result = o->rotate_bounded(a, b.inout(), c.out());
    } catch (const CORBA::SystemException&) {
      return;
    }
    throw std::string("expected a system exception, got none");
  });

  check("large_octets", [&] {
    for (CORBA::ULong size : {8192u, 65536u, 65537u, 1048576u, 5u << 20}) {
      Octets_var data(new Octets);
      data->length(size);
      for (CORBA::ULong i = 0; i < size; ++i) data[i] = i * 7 + (i >> 8);
      Octets_var back = o->echo_octets(data);
      same("length", size, back->length());
      holds(std::memcmp(data->get_buffer(), back->get_buffer(), size) == 0, "the same " + std::to_string(size) + " octets");
    }
  });
  check("large_doubles", [&] {
    Doubles_var data(new Doubles);
    data->length(200000);
    for (CORBA::ULong i = 0; i < data->length(); ++i) data[i] = i * 0.5;
    Doubles_var back = o->echo_doubles(data);
    same("length", data->length(), back->length());
    for (CORBA::ULong i = 0; i < data->length(); ++i) same("element " + std::to_string(i), data[i], back[i]);
  });
  check("large_structs", [&] {
    Points_var data(new Points);
    data->length(50000);
    for (CORBA::ULong i = 0; i < data->length(); ++i) data[i] = point(i);
    Points_var back = o->echo_points(data);
    same("length", data->length(), back->length());
    for (CORBA::ULong i = 0; i < data->length(); ++i) same("element " + std::to_string(i), data[i], back[i]);
  });
  check("large_strings", [&] {
    Strings_var data(new Strings);
    data->length(30000);
    for (CORBA::ULong i = 0; i < data->length(); ++i) data[i] = std::string(i % 100, 'a' + i % 26).c_str();
    Strings_var back = o->echo_strings(data);
    same("length", data->length(), back->length());
    for (CORBA::ULong i = 0; i < data->length(); ++i) same("element " + std::to_string(i), show(data[i].in()), show(back[i].in()));
  });
  check("large_string", [&] {
    std::string text(1500000, '.');
    for (size_t i = 0; i < text.size(); ++i) text[i] = 'a' + i % 23;
    CORBA::String_var back = o->echo_string(text.c_str());
    holds(text == back.in(), "the same string");
  });
}

static void properties(Suite_ptr suite) {
  Properties_var o = suite->property_tests();
  check("attribute_long", [&] {
    o->count(-42);
    same("count", -42, o->count());
  });
  check("attribute_string", [&] {
    o->title("title");
    same("title", std::string("\"title\""), show(CORBA::String_var(o->title()).in()));
  });
  check("attribute_enum", [&] {
    o->paint(blue);
    same("paint", blue, o->paint());
  });
  check("attribute_struct", [&] {
    Record last = record("last", 2), first = record("first", 1);
    o->last(last), o->first(first);
    same("last", last, Record_var(o->last()).in());
    same("first", first, Record_var(o->first()).in());
  });
  check("attribute_readonly", [&] {
    CORBA::ULong before = o->writes();
    o->count(1);
    same("writes", before + 1, o->writes());
  });
  check("oneway", [&] {
    o->count(0);
    for (int i = 0; i < 10; ++i) o->nudge(3);
    eventually("count to become 30", [&] { return o->count() == 30; });
  });
  check("large_oneway", [&] {
    Octets_var data(new Octets);
    data->length(300000);
    o->store(data);
    eventually("300000 octets to be stored", [&] { return o->stored() == 300000; });
  });
}

static void inheritance(Suite_ptr suite) {
  Bottom_var o = suite->inheritance_tests();
  check("inherited_operations", [&] {
    same("who", std::string("\"bottom\""), show(CORBA::String_var(o->who()).in()));
    same("temper", Root::tense, o->temper());
    same("from_left", std::string("\"left\""), show(CORBA::String_var(o->from_left()).in()));
    same("from_right", std::string("\"right, calm\""), show(CORBA::String_var(o->from_right(Root::calm)).in()));
    same("from_bottom", std::string("\"below\""), show(CORBA::String_var(o->from_bottom()).in()));
    o->side(12);
    same("side", 12, o->side());
  });
  check("is_a", [&] {
    for (const char* id : {"Bottom", "Left", "Right", "Root"})
      holds(o->_is_a((std::string("IDL:interop.oxorb.org/Interop/") + id + ":1.0").c_str()), std::string("to be a ") + id);
    holds(o->_is_a("IDL:omg.org/CORBA/Object:1.0"), "to be an Object");
    holds(!o->_is_a("IDL:interop.oxorb.org/Interop/Node:1.0"), "not to be a Node");
  });
  check("narrow", [&] {
    CORBA::String_var ior = orb->object_to_string(o);
    CORBA::Object_var object = orb->string_to_object(ior);
    Right_var right = Right::_narrow(object);
    same("from_right", std::string("\"right, tense\""), show(CORBA::String_var(right->from_right(Root::tense)).in()));
    Root_var root = Root::_narrow(right);
    Left_var left = Left::_narrow(root);
    same("from_left", std::string("\"left\""), show(CORBA::String_var(left->from_left()).in()));
    Bottom_var bottom = Bottom::_narrow(left);
    same("from_bottom", std::string("\"below\""), show(CORBA::String_var(bottom->from_bottom()).in()));
  });
  check("narrow_refused", [&] {
    Node_var node = Node::_narrow(o);
    holds(CORBA::is_nil(node), "nil from narrowing to an unrelated interface");
  });
}

// The members that every server puts into its Detailed.
static void check_detailed(const Detailed& e, const char* reason, CORBA::Long code, const char* name) {
  same("reason", show(reason), show(e.reason.in()));
  same("code", code, e.code);
  same("name", show(name), show(e.context_record.name.in()));
}

static void faults(Suite_ptr suite) {
  Faults_var o = suite->fault_tests();
  check("user_exception_none", [&] {
    same("result", 0, o->raise_user(0));
    o->maybe(false);
  });
  check("user_exception_empty", [&] {
    try {
      o->raise_user(1);
    } catch (const Empty&) {
      return;
    }
    throw std::string("expected Empty, got nothing");
  });
  check("user_exception_members", [&] {
    try {
      o->raise_user(2);
    } catch (const Detailed& e) {
      check_detailed(e, "because", -7, "record");
      same("position", Point{9, -1.5, -2, 3, true}, e.context_record.position);
      same("notes", std::string("1[\"noted\" ]"), show(e.context_record.notes));
      return;
    }
    throw std::string("expected Detailed, got nothing");
  });
  check("user_exception_union", [&] {
    try {
      o->raise_user(3);
    } catch (const Chosen& e) {
      same("choice", std::string("7:77"), show(e.choice));
      return;
    }
    throw std::string("expected Chosen, got nothing");
  });
  check("user_exception_void", [&] {
    try {
      o->maybe(true);
    } catch (const Empty&) {
      return;
    }
    throw std::string("expected Empty, got nothing");
  });
  check("user_exception_out", [&] {
    Octets_var data;
    CORBA::String_var result = o->maybe_out(false, data.out());
    same("result", std::string("\"fine\""), show(result.in()));
    same("data", std::string("3[0 1 2 ]"), show(data.in()));
    try {
      result = o->maybe_out(true, data.out());
    } catch (const Detailed& e) {
      check_detailed(e, "because", -7, "record");
      return;
    }
    throw std::string("expected Detailed, got nothing");
  });
  auto system = [&](const std::string& name, CORBA::ULong minor, CORBA::CompletionStatus completed) {
    try {
      o->raise_system(name.c_str(), minor, completed);
    } catch (const CORBA::SystemException& e) {
      same(name, "IDL:omg.org/CORBA/" + name + ":1.0", std::string(e._rep_id()));
      same(name + " minor", minor, e.minor());
      same(name + " completed", CORBA::Long(completed), CORBA::Long(e.completed()));
      return;
    }
    throw "expected " + name + ", got nothing";
  };
  // Without COMM_FAILURE and TRANSIENT, which make some clients retry, and without the latest exceptions, which omniORB
  // lacks.
  check("system_exception", [&] {
    for (const char* name : {"UNKNOWN", "BAD_PARAM", "NO_MEMORY", "IMP_LIMIT", "INV_OBJREF", "OBJECT_NOT_EXIST",
         "NO_PERMISSION", "INTERNAL", "MARSHAL", "INITIALIZE", "NO_IMPLEMENT", "BAD_TYPECODE", "BAD_OPERATION",
         "NO_RESOURCES", "NO_RESPONSE", "PERSIST_STORE", "BAD_INV_ORDER", "FREE_MEM", "INV_IDENT", "INV_FLAG",
         "INTF_REPOS", "BAD_CONTEXT", "OBJ_ADAPTER", "DATA_CONVERSION", "INV_POLICY", "REBIND", "TIMEOUT",
         "TRANSACTION_UNAVAILABLE", "TRANSACTION_MODE", "TRANSACTION_REQUIRED", "TRANSACTION_ROLLEDBACK",
         "INVALID_TRANSACTION", "CODESET_INCOMPATIBLE", "BAD_QOS"})
      system(name, 0x4f580001, CORBA::COMPLETED_NO);
  });
  check("system_exception_minor", [&] {
    for (CORBA::ULong minor : {0u, 1u, 0x4f4d0002u, 0x4f58ffffu, 0xffffffffu}) system("NO_PERMISSION", minor, CORBA::COMPLETED_NO);
  });
  check("system_exception_completion", [&] {
    for (auto completed : {CORBA::COMPLETED_YES, CORBA::COMPLETED_NO, CORBA::COMPLETED_MAYBE}) system("NO_RESOURCES", 5, completed);
  });
  check("unknown_operation", [&] {
    Node_var wrong = Node::_unchecked_narrow(o);
    try {
      wrong->value();
    } catch (const CORBA::BAD_OPERATION&) {
      return;
    }
    throw std::string("expected BAD_OPERATION, got nothing");
  });
}

static void references(Suite_ptr suite) {
  References_var o = suite->reference_tests();
  auto shown = [](const auto& v) {
    if (CORBA::is_nil(v.in())) return std::string("nil");
    Node_var node = Node::_narrow(v.in());
    return show(node->value());
  };
  check("reference", [&] {
    Node_var three = o->make_node(3), four = three->next();
    same("three", 3, three->value());
    same("four", 4, four->value());
    rotate_var(three, four, CALL(o, rotate_node), shown);
    rotate_var(three, Node_var(), CALL(o, rotate_node), shown);
  });
  check("reference_nil", [&] {
    holds(CORBA::is_nil(Node_var(o->make_nil())), "nil back");
    holds(o->is_nil(Node::_nil()), "nil to arrive as nil");
    holds(!o->is_nil(Node_var(o->make_node(1))), "a reference not to arrive as nil");
  });
  check("reference_object", [&] {
    CORBA::Object_var x = o->make_node(5), y = o->make_node(6), nil;
    rotate_var(x, y, CALL(o, rotate_object), shown);
    rotate_var(x, nil, CALL(o, rotate_object), shown);
  });
  check("reference_sequence", [&] {
    Nodes_var x(new Nodes), y(new Nodes);
    x->length(3), x[0] = o->make_node(1), x[2] = o->make_node(2);
    rotate_var(x, y, CALL(o, rotate_nodes), [&](const Nodes_var& v) {
      std::string out;
      for (CORBA::ULong i = 0; i < v->length(); ++i) out += shown(Node_var(Node::_duplicate(v.in()[i]))) + " ";
      return out;
    });
  });
  check("reference_in_struct", [&] {
    Holder_var x(new Holder), y(new Holder);
    x->label = "full", x->inside = o->make_node(8), y->label = "empty";
    rotate_var(x, y, CALL(o, rotate_holder), [&](const Holder_var& v) { return show(v->label.in()) + shown(v->inside); });
  });
  check("reference_stringified", [&] {
    Node_var node = o->make_node(21);
    CORBA::String_var text = orb->object_to_string(node);
    CORBA::Object_var object = orb->string_to_object(text);
    Node_var back = Node::_narrow(object);
    same("value", 21, back->value());
    holds(back->_is_equivalent(node), "an equivalent reference");
    same("hash", node->_hash(1000), back->_hash(1000));
  });
  check("reference_corbaloc", [&] {
    CORBA::Object_var object = orb->string_to_object(options.corbaloc.c_str());
    Suite_var same_suite = Suite::_narrow(object);
    holds(!CORBA::is_nil(same_suite), "a Suite");
    Numbers_var numbers = same_suite->number_tests();
    CORBA::Long b = 2, c, a = numbers->rotate_long(1, b, c);
    same("result", 2, a);
  });
  check("reference_by_name", [&] {
    std::string by_name = options.corbaloc.substr(0, options.corbaloc.rfind('/')) + "/Suite";
    CORBA::Object_var object = orb->string_to_object(by_name.c_str());
    Suite_var named = Suite::_narrow(object);
    holds(!CORBA::is_nil(named), "a Suite");
    same("product", PRODUCT, Constants_var(Numbers_var(named->number_tests())->constant_values())->product);
  });
  check("non_existent", [&] {
    holds(!Node_var(o->make_node(1))->_non_existent(), "a live object to exist");
    Node_var stale = o->make_stale();
    holds(stale->_non_existent(), "a stale reference not to exist");
  });
  check("object_not_exist", [&] {
    Node_var stale = o->make_stale();
    try {
      stale->value();
    } catch (const CORBA::OBJECT_NOT_EXIST& e) {
      same("completed", CORBA::Long(CORBA::COMPLETED_NO), CORBA::Long(e.completed()));
      return;
    }
    throw std::string("expected OBJECT_NOT_EXIST, got nothing");
  });
  check("location_forward", [&] {
    Node_var node = o->make_forwarded(33);
    same("value", 33, node->value());
    same("again", 33, node->value());
    same("next", 34, Node_var(node->next())->value());
  });

  PortableServer::Servant_var<CallbackServant> servant = new CallbackServant;
  Callback_var me = servant->_this();
  check("callback", [&] { same("sum", 110, o->call_back(me, 10)); });
  check("callback_exception", [&] {
    try {
      o->fail_back(me, 55);
    } catch (const Detailed& e) {
      check_detailed(e, "asked to", 55, "callback");
      return;
    }
    throw std::string("expected Detailed, got nothing");
  });
  check("callback_nested", [&] {
    Callback_var there = o->make_callback();
    same("depth", 7, there->down(me, 7));
  });
  check("callback_oneway", [&] {
    o->tell_back(me, "news");
    eventually("the news to arrive", [&] { return servant->heard() == "news"; });
  });
  check("idle_connection", [&] {
    // Long enough for the server to close it.
    same("before", 1, o->slow(0, 1));
    std::this_thread::sleep_for(std::chrono::seconds(5));
    same("after", 2, o->slow(0, 2));
  });
  check("parallel", [&] {
    std::atomic<int> right{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t)
      threads.emplace_back([&, t] {
        try {
          for (int i = 0; i < 20; ++i) right += o->slow(t % 4, t * 100 + i) == t * 100 + i;
        } catch (const CORBA::Exception&) {
        }
      });
    for (auto& thread : threads) thread.join();
    same("right answers", 160, right.load());
  });
}

static void extras(Suite_ptr suite) {
  using namespace InteropOmniorb;
  auto find = [&] {
    CORBA::Object_var object = suite->extras("omniorb");
    Extras_var o = Extras::_narrow(object);
    holds(!CORBA::is_nil(o), "an object with the extras");
    return o;
  };
  check("long_double", [&] {
    Extras_var o = find();
    for (CORBA::LongDouble v : {1.5L, -1e1000L, 3.14159265358979323846L}) rotate<CORBA::LongDouble>(0.0L, v, BASIC(o, rotate_longdouble));
  });
  check("union_far_labels", [&] {
    Extras_var o = find();
    FarLabels_var x(new FarLabels), y(new FarLabels);
    x->s(-3), y->t("far");
    rotate_var(x, y, CALL(o, rotate_far));
    TopLabels_var v(new TopLabels), w(new TopLabels);
    v->d(1.5), w->d(-1.5);
    rotate_var(v, w, CALL(o, rotate_top));
  });
  check("context", [&] {
    CORBA::Context_var context;
    orb->get_default_context(context.out());
    CORBA::Any value;
    value <<= "mauve";
    context->set_one_value("colour", value);
    same("colour", std::string("\"mauve\""), show(CORBA::String_var(find()->with_context(1, context)).in()));
  });
}

// client_any.cc
void any_tests(Suite_ptr suite);
// client_async.cc
void async_tests(Suite_ptr suite);
// client_values.cc
void values_tests(Suite_ptr suite);

int main(int argc, char** argv) try {
  orb = CORBA::ORB_init(argc, argv);
  options = parse(argc, argv);
  CORBA::Object_var root = orb->resolve_initial_references("RootPOA");
  PortableServer::POA_var poa = PortableServer::POA::_narrow(root);
  PortableServer::POAManager_var manager = poa->the_POAManager();
  manager->activate();
  if (options.bidirectional) allow_bidirectional(orb, poa);
  CORBA::Object_var object = orb->string_to_object(options.ior.c_str());
  Suite_var suite = Suite::_narrow(object);
  if (CORBA::is_nil(suite)) throw std::string("the reference is not a Suite");
  for (auto group : {numbers, texts, wide_texts, aggregates, choices, sequences, properties, inheritance, faults,
                     references, extras, any_tests, values_tests, async_tests}) {
    try {
      group(suite);
    } catch (const CORBA::SystemException& e) {
      std::cout << "FAIL group: " << describe(e) << std::endl;
      ++failures;
    }
  }
  if (options.shutdown) suite->shutdown();
  orb->destroy();
  return failures == 0 ? 0 : 1;
} catch (const CORBA::SystemException& e) {
  std::cerr << "client: " << describe(e) << std::endl;
  return 2;
} catch (const std::string& message) {
  std::cerr << "client: " << message << std::endl;
  return 2;
}
