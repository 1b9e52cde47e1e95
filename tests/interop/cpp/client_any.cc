// Checks of any, TypeCode and fixed: see interop_any.idl.
#include "any.hh"
#include "check.hh"
#include "dynany.hh"

using namespace InteropAny;

static Contents_var contents;

template <class T>
CORBA::Any any_of(const T& value) {
  CORBA::Any any;
  insert(any, value);
  return any;
}
static CORBA::Any any_as(CORBA::TypeCode_ptr type, CORBA::Any any) {
  any.type(type);
  return any;
}

static CORBA::Any short_text(const char* text) { return any_of(CORBA::Any::from_string(const_cast<char*>(text), BOUND)); }
static CORBA::Any short_text(const CORBA::WChar* text) {
  return any_of(CORBA::Any::from_wstring(const_cast<CORBA::WChar*>(text), BOUND));
}

static void same_types(CORBA::TypeCode_ptr expected, CORBA::TypeCode_ptr got) {
  holds(expected->equal(got), "the type " + show(expected) + ", got a different " + show(got));
}

// Rotates neighbouring values, and makes the server extract each from its any. Then does the same with values that
// DynAny builds.
static void anys(const std::string& name, const std::function<std::vector<CORBA::Any>()>& make) {
  check("any_" + name, [&] {
    std::vector<CORBA::Any> values = make();
    values.push_back(values.front());
    for (size_t i = 0; i + 1 < values.size(); ++i) {
      CORBA::Any_var x(new CORBA::Any(values[i])), y(new CORBA::Any(values[i + 1]));
      rotate_var(x, y, CALL(contents, rotate_any));
      CORBA::Any b = y.in();
      CORBA::Any_var c, result = contents->rotate_any(x, b, c.out());
      same_types(CORBA::TypeCode_var(y->type()), CORBA::TypeCode_var(result->type()));
      CORBA::Any_var again = contents->retype(x);
      same("retyped", show(x.in()), show(again.in()));
    }
  });
  check("dynany_" + name, [&] {
    for (const CORBA::Any& value : make()) {
      CORBA::Any built = dynany::rebuilt(orb, value);
      CORBA::Any_var taken = contents->retype(built), back = contents->rebuild(built);
      same("retyped", show(value), show(taken.in()));
      same("rebuilt", show(value), show(back.in()));
      holds(CORBA::TypeCode_var(value.type())->equivalent(CORBA::TypeCode_var(back->type())), "an equivalent type");
    }
  });
}

template <class Sequence, class T>
Sequence items(std::initializer_list<T> values) {
  typename Sequence::_var_type made(sequence<Sequence>(values));
  return made.in();
}

template <class U, class Set>
CORBA::Any chosen(Set set) {
  U value;
  set(value);
  return any_of(value);
}

static void content(Interop::Suite_ptr suite) {
  check("any_empty", [&] {
    CORBA::Any_var x(new CORBA::Any), y(new CORBA::Any(any_of(CORBA::Long(1))));
    rotate_var(x, y, CALL(contents, rotate_any));
    rotate_var(y, x, CALL(contents, rotate_any));
  });
  anys("integers", [] {
    return std::vector<CORBA::Any>{any_of(CORBA::Any::from_octet(255)), any_of(CORBA::Short(-2)), any_of(CORBA::UShort(65535)),
        any_of(CORBA::Long(-2147483647)), any_of(CORBA::ULong(4294967295u)), any_of(CORBA::LongLong(-1) << 40),
        any_of(~CORBA::ULongLong(0))};
  });
  anys("floats", [] { return std::vector<CORBA::Any>{any_of(CORBA::Float(-0.0f)), any_of(CORBA::Double(1.5))}; });
  anys("long_double", [] { return std::vector<CORBA::Any>{any_of(CORBA::LongDouble(1.5)), any_of(CORBA::LongDouble(-2))}; });
  anys("boolean_char", [] {
    return std::vector<CORBA::Any>{any_of(CORBA::Any::from_boolean(true)), any_of(CORBA::Any::from_char('x')), any_of(CORBA::Any::from_boolean(false))};
  });
  anys("string", [] {
    return std::vector<CORBA::Any>{any_of("text"), any_of(""), any_of(items<Strings, const char*>({"one", ""})),
        any_of(items<ShortTexts, const char*>({"12345678"})),
        any_of(items<FewStrings, const char*>({"a", "b", "c"}))};
  });
  anys("wide", [] {
    return std::vector<CORBA::Any>{any_of(CORBA::Any::from_wchar(L'\u20ac')), any_of(L"\u65e5\u672c"), any_of(L""),
        any_of(items<WideStrings, const CORBA::WChar*>({L"one", L"", L"\u20ac"})),
        any_of(items<WideChars, CORBA::WChar>({L'a', L'\u20ac'})), chosen<WideChoice>([](auto& u) { u.s(L"clef \xd834\xdd1e"); })};
  });
  anys("string_named", [] {
    return std::vector<CORBA::Any>{any_as(_tc_ShortText, short_text("12345678")), any_as(_tc_ShortText, short_text(""))};
  });
  anys("wide_named", [] {
    return std::vector<CORBA::Any>{any_as(_tc_ShortWideText, short_text(L"12345678")), any_as(_tc_ShortWideText, short_text(L""))};
  });
  anys("string_bounded", [] { return std::vector<CORBA::Any>{short_text("12345678"), short_text("")}; });
  anys("wide_bounded", [] { return std::vector<CORBA::Any>{short_text(L"12345678"), short_text(L"")}; });
  anys("wide_struct", [] {
    WideRecord record;
    record.shift = 1, record.letter = L'\u20ac', record.text = L"odd", record.after = 2;
    return std::vector<CORBA::Any>{any_of(record), any_of(CORBA::Long(1))};
  });
  anys("enum", [] { return std::vector<CORBA::Any>{any_of(blue), any_of(red)}; });
  anys("typedef", [] {
    CORBA::Any metres = any_of(CORBA::Long(-5));
    return std::vector<CORBA::Any>{any_as(_tc_Metres, metres), any_of(CORBA::Long(5))};
  });
  anys("struct", [] { return std::vector<CORBA::Any>{any_of(point(1)), any_of(record("in an any", 3)), any_of(record("", 0)),
        any_of(Words{1, 2, 3, 4, 5})}; });
  anys("recursive", [] {
    return std::vector<CORBA::Any>{any_of(tree("t", 3)), any_of(tree("leaf", 0))};
  });
  anys("recursive_sequence", [] {
    return std::vector<CORBA::Any>{any_of(tree("sequence", 3).branches), any_of(Trees())};
  });
  anys("union", [] {
    return std::vector<CORBA::Any>{any_of(by_short(-1)), any_of(by_short(1)), chosen<ByUShort>([](auto& u) { u.big(-9); }),
        chosen<ByLong>([](auto& u) { u.p(point(4)); }), chosen<ByULong>([](auto& u) { u.d(-0.5); }),
        chosen<ByChar>([](auto& u) { u.s("a"); }), chosen<ByBoolean>([](auto& u) { u.d(0.25); }),
        chosen<ByEnum>([](auto& u) { u.rec(record("green", 2)); }), chosen<ByEnum>([](auto& u) { u.l(-4); }),
        chosen<ByMiddle>([](auto& u) { u.s("middle"); }), chosen<ByMiddle>([](auto& u) { u.l(9); }), chosen<Nested>([](auto& u) { u.inner(by_short(0)); })};
  });
  anys("union_no_member", [] {
    return std::vector<CORBA::Any>{chosen<ByUShort>([](auto& u) { u._default(), u._d(5); }), chosen<ByLong>([](auto& u) { u._default(); }),
        chosen<ByMiddle>([](auto& u) { u._default(); }), chosen<ByChar>([](auto& u) { u._default(), u._d('m'); })};
  });
  anys("union_longlong", [] {
    return std::vector<CORBA::Any>{chosen<ByLongLong>([](auto& u) { u.s(-3); }),
        chosen<ByULongLong>([](auto& u) { u.texts(items<Strings, const char*>({"a", "b"})); })};
  });
  anys("sequence", [] {
    LongLists lists;
    lists.length(2);
    lists[1] = items<Longs, int>({1, 2});
    Unions unions;
    unions.length(1);
    unions[0] = by_short(0);
    Rows rows;
    rows.length(2);
    for (int i = 0; i < 6; ++i) rows[i / 3][i % 3] = i;
    return std::vector<CORBA::Any>{any_of(items<Octets, int>({0, 255})), any_of(Longs()), any_of(items<Booleans, bool>({true, false})),
        any_of(items<Chars, char>({'a', 'b'})), any_of(items<Shorts, int>({-32768, 1})), any_of(items<UShorts, int>({65535, 1})),
        any_of(items<ULongs, CORBA::ULong>({4294967295u})), any_of(items<LongLongs, CORBA::LongLong>({FAR, 1})),
        any_of(items<ULongLongs, CORBA::ULongLong>({HUGE_NUMBER})), any_of(items<Floats, float>({-0.0f, 1.5f})),
        any_of(items<Doubles, double>({-0.0, 1.5})), any_of(items<Colours, Colour>({blue, red})),
        any_of(items<Points, Point>({point(1), point(2)})), any_of(items<Records, Record>({record("a", 1)})),
        any_of(lists), any_of(rows), any_of(items<FewLongs, int>({7})), any_of(unions)};
  });
  anys("array", [] {
    const Matrix matrix = {{1, 2, 3}, {4, 5, 6}};
    const Grid grid = {{1, 2, 3}, {4, 5, 6}};
    const Digest digest = {1, 2, 3, 4, 255};
    Names_var names(Names_alloc());
    names[0] = "left", names[1] = "";
    Pair_var pair(Pair_alloc());
    pair[0] = record("a", 1), pair[1] = record("b", 2);
    return std::vector<CORBA::Any>{any_of(Matrix_forany(Matrix_dup(matrix))), any_of(Names_forany(Names_dup(names))),
        any_of(Pair_forany(Pair_dup(pair))), any_of(Grid_forany(Grid_dup(grid))), any_of(Digest_forany(Digest_dup(digest)))};
  });
  anys("reference", [&] {
    References_var o = suite->reference_tests();
    Node_var x = o->make_node(12), y = o->make_node(13);
    CORBA::Object_ptr object = x.in();
    Holder holder;
    holder.label = "held", holder.inside = y;
    Nodes nodes;
    nodes.length(2), nodes[0] = x, nodes[1] = y;
    return std::vector<CORBA::Any>{any_of(x.in()), any_of(y.in()), any_of(object), any_of(holder), any_of(nodes)};
  });
  anys("any", [] {
    return std::vector<CORBA::Any>{any_of(any_of(CORBA::Long(7))), any_of(any_of(any_of(record("deep", 2)))), any_of(any_of(any_of("shallow"))),
        any_of(CORBA::Any())};
  });
  anys("typecode", [] { return std::vector<CORBA::Any>{any_of(_tc_Tree), any_of(CORBA::_tc_long), any_of(_tc_ByEnum),
        any_of(items<TypeCodes, CORBA::TypeCode_ptr>({CORBA::TypeCode::_duplicate(_tc_Trees), CORBA::TypeCode::_duplicate(_tc_Pair)}))}; });
  anys("fixed", [] {
    return std::vector<CORBA::Any>{any_of(CORBA::Any::from_fixed(CORBA::Fixed("-123.45"), 5, 2)),
        any_of(CORBA::Any::from_fixed(CORBA::Fixed("0.1234"), 4, 4)), any_of(CORBA::Any::from_fixed(CORBA::Fixed("-1234567890123456789012345678901"), 31, 0)),
        any_of(items<Prices, Price>({Price(CORBA::Fixed("111.25")), Price(CORBA::Fixed("-222.75"))})), any_of(Priced{1, Price(CORBA::Fixed("123.4")), 0.5})};
  });
  check("any_sequence_of_any", [] {
    Anys_var x(new Anys), y(new Anys);
    x->length(4);
    x[0] = any_of(CORBA::Any::from_octet(1)), x[1] = any_of(record("second", 2)), x[2] = any_of(CORBA::Double(0.5));
    x[3] = any_of(x.in());
    rotate_var(x, y, CALL(contents, rotate_anys));
    rotate_var(y, x, CALL(contents, rotate_anys));
  });
  check("any_array_of_any", [] {
    TwoAnys_var x(TwoAnys_alloc()), y(TwoAnys_alloc());
    x[0] = any_of(CORBA::Any::from_char('c')), x[1] = any_of(CORBA::Double(2.5)), y[0] = any_of("s"), y[1] = any_of(blue);
    rotate_var(x, y, CALL(contents, rotate_two), [](const TwoAnys_var& v) { return show(v[0]) + show(v[1]); });
  });
  check("any_in_struct", [] {
    Labelled_var x(new Labelled), y(new Labelled);
    x->before = 1, x->content <<= CORBA::Double(1.25), x->after = 2, x->label = "x";
    y->before = 3, y->content <<= x.in(), y->after = 4, y->label = "y";
    rotate_var(x, y, CALL(contents, rotate_labelled));
    rotate_var(y, x, CALL(contents, rotate_labelled));
  });
  check("any_in_union", [] {
    Choice_var x(new Choice), y(new Choice), z(new Choice);
    x->content(any_of(tree("u", 2))), y->kind(_tc_Record), z->plain(point(3));
    rotate_var(x, y, CALL(contents, rotate_choice));
    rotate_var(y, z, CALL(contents, rotate_choice));
  });
  check("any_in_exception", [] {
    CORBA::Any content = any_of(record("raised", 3));
    try {
      contents->raise_any(content);
    } catch (const Carrying& e) {
      return same("content", show(content), show(e.content));
    }
    throw std::string("expected Carrying, got nothing");
  });
}

static void types(InteropAny::Suite_ptr suite) {
  Types_var o = suite->type_tests();
  auto rotate_types = [&](std::vector<CORBA::TypeCode_ptr> types) {
    types.push_back(types.front());
    for (size_t i = 0; i + 1 < types.size(); ++i) {
      CORBA::TypeCode_var b = CORBA::TypeCode::_duplicate(types[i + 1]), c, result = o->rotate_type(types[i], b.inout(), c.out());
      same_types(types[i + 1], result), same_types(types[i], b), same_types(types[i + 1], c);
    }
  };
  check("typecode_basic", [&] {
    rotate_types({CORBA::_tc_null, CORBA::_tc_void, CORBA::_tc_short, CORBA::_tc_long, CORBA::_tc_ushort, CORBA::_tc_ulong,
        CORBA::_tc_float, CORBA::_tc_double, CORBA::_tc_boolean, CORBA::_tc_char, CORBA::_tc_octet, CORBA::_tc_any,
        CORBA::_tc_TypeCode, CORBA::_tc_string, CORBA::_tc_longlong, CORBA::_tc_ulonglong, CORBA::_tc_wchar,
        CORBA::_tc_wstring, CORBA::_tc_Object});
  });
  check("typecode_constructed", [&] {
    std::vector<CORBA::TypeCode_ptr> types;
    for (const char* name : TYPE_NAMES) types.push_back(type_named(name));
    rotate_types(types);
  });
  check("typecode_sequence", [&] {
    TypeCodes_var x(new TypeCodes), y(new TypeCodes);
    x->length(3);
    x[0] = CORBA::TypeCode::_duplicate(_tc_Tree), x[1] = CORBA::TypeCode::_duplicate(_tc_Record), x[2] = CORBA::TypeCode::_duplicate(_tc_Tree);
    rotate_var(x, y, CALL(o, rotate_types), [](const TypeCodes_var& v) {
      std::string out;
      for (CORBA::ULong i = 0; i < v->length(); ++i) out += show(CORBA::TypeCode_ptr(v.in()[i])) + " ";
      return out;
    });
  });
  check("typecode_of_any", [&] {
    for (const CORBA::Any& any : {any_of(CORBA::Long(1)), any_of(tree("t", 1)), any_of(by_short(1)), any_of(any_of("s"))})
      same_types(CORBA::TypeCode_var(any.type()), CORBA::TypeCode_var(o->type_of(any)));
  });
  check("typecode_of_peer", [&] {
    for (const char* name : TYPE_NAMES) {
      CORBA::TypeCode_var peers = o->type_named(name);
      holds(peers->equivalent(type_named(name)), std::string("the server's ") + name + " to be equivalent");
    }
  });
}

static void decimals(InteropAny::Suite_ptr suite) {
  Decimals_var o = suite->decimal_tests();
// (A copy of a fixed has no limits and cannot be sent; one that was assigned to has.)
#define FIXED(o, op) [&](const auto& a, auto& b, auto& c) { \
    auto own = [](const auto& v) -> std::decay_t<decltype(v)> { return {}; }; \
    decltype(own(a)) x, y; \
    x = a, y = b; \
    decltype(own(a)) result; \
    result = o->op(x, y, c), b = y; \
    return result; }
  auto rotate_numbers = [](auto values, auto op) {
    for (size_t i = 0; i + 1 < values.size(); ++i) rotate(values[i], values[i + 1], op);
  };
  auto price = [](const char* text) { return Price(CORBA::Fixed(text)); };
  auto fraction = [](const char* text) { return Fraction(CORBA::Fixed(text)); };
  auto longest = [](const char* text) { return Longest(CORBA::Fixed(text)); };
  // (With all digits: see fixed_zeros in the harness.)
  check("fixed", [&] {
    rotate_numbers(std::vector<Price>{price("123.45"), price("999.99"), price("-999.99"), price("-100")}, FIXED(o, rotate_price));
  });
  check("fixed_fraction", [&] {
    rotate_numbers(std::vector<Fraction>{fraction("0.1234"), fraction("-0.9876"), fraction("0.5")}, FIXED(o, rotate_fraction));
  });
  check("fixed_longest", [&] {
    rotate_numbers(std::vector<Longest>{longest("9999999999999999999999999999999"), longest("-1234567890123456789012345678901")},
                   FIXED(o, rotate_longest));
  });
  check("fixed_zeros", [&] {
    rotate_numbers(std::vector<Price>{price("0"), price("0.01"), price("-1.5"), price("10")}, FIXED(o, rotate_price));
    rotate_numbers(std::vector<Fraction>{fraction("0"), fraction("-0.0001")}, FIXED(o, rotate_fraction));
    rotate_numbers(std::vector<Longest>{longest("0"), longest("-1")}, FIXED(o, rotate_longest));
  });
  check("fixed_sequence", [&] {
    Prices_var x(new Prices), y(new Prices);
    x->length(2), x[0] = price("111.25"), x[1] = price("-222.75");
    rotate_var(x, y, CALL(o, rotate_prices));
    rotate_var(y, x, CALL(o, rotate_prices));
  });
  check("fixed_in_struct", [&] {
    Priced x{1, price("123.4"), 0.5}, y{2, price("-567.8"), -0.5};
    rotate<Priced>(x, y, FIXED(o, rotate_priced));
  });
#undef FIXED
}

void any_tests(Interop::Suite_ptr suite) {
  CORBA::Object_var object = suite->extras("any");
  InteropAny::Suite_var any_suite = InteropAny::Suite::_narrow(object);
  if (CORBA::is_nil(any_suite)) throw std::string("the server has no tests of any");
  contents = any_suite->any_tests();
  content(suite);
  types(any_suite);
  decimals(any_suite);
  contents = Contents::_nil();
}
