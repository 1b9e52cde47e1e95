// Contents of an any: the server puts them into another any, and the client prints them.
#pragma once
#include "show.hh"

inline std::string show(CORBA::TypeCode_ptr type) {
  switch (type->kind()) {
    case CORBA::tk_objref: case CORBA::tk_struct: case CORBA::tk_union: case CORBA::tk_enum: case CORBA::tk_alias:
    case CORBA::tk_except: return std::string("type ") + type->id();
    default: return "type " + std::to_string(type->kind());
  }
}
template <CORBA::UShort digits, CORBA::UShort scale>
inline std::string show(const _omni_Fixed<digits, scale>& v) { return std::string(CORBA::String_var(CORBA::Fixed(v).NP_asString()).in()); }
inline std::string show(const CORBA::Fixed& v) { return std::string(CORBA::String_var(v.NP_asString()).in()); }
inline std::string show(const InteropAny::Priced& v) {
  return "{" + show(v.before) + " " + show(v.amount) + " " + show(v.after) + "}";
}
inline std::string show(const InteropAny::Labelled& v) {
  return "{" + show(v.before) + " " + show(v.content) + " " + show(v.after) + " " + show(v.label.in()) + "}";
}
inline std::string show(const InteropAny::Choice& v) {
  return show(v._d()) + ":" + (v._d() == 1 ? show(v.content()) : v._d() == 2 ? show(v.kind()) : show(v.plain()));
}
inline std::string show(const InteropAny::TypeCodes& v) {
  return show_sequence(v, [](CORBA::TypeCode_ptr element) { return element; });
}
inline std::string show_two(const InteropAny::TwoAnys_slice* v) { return show_items(v, 2); }

inline bool is_node(const CORBA::Any& any) {
  return CORBA::TypeCode_var(any.type())->equivalent(Interop::_tc_Node);
}

template <class T>
void insert(CORBA::Any& any, const T& value) { any <<= value; }
// (A copy of a fixed has no limits and cannot be sent; one that was assigned to has.)
inline void insert(CORBA::Any& any, const InteropAny::Priced& value) {
  auto* own = new InteropAny::Priced;
  *own = value;
  any <<= own;
}

// Calls `take` with the contents in a form that can be put into an any, and with a function that prints them. Returns
// false for an empty any or an unknown type.
template <class Take>
bool visit(const CORBA::Any& any, Take take) {
  using namespace Interop;
#define BASIC_CONTENT(T) { CORBA::T v; if (any >>= v) return take(v, [&] { return #T " " + show(v); }), true; }
#define WRAPPED_CONTENT(T, name) { CORBA::T v; if (any >>= CORBA::Any::to_##name(v)) \
    return take(CORBA::Any::from_##name(v), [&] { return #name " " + show(v); }), true; }
#define CONTENT(T) { const T* v; if (any >>= v) return take(*v, [&] { return #T " " + show(*v); }), true; }
#define ARRAY_CONTENT(T, shown) { T##_forany v; if (any >>= v) return take(v, [&] { return #T " " + shown(v.in()); }), true; }
#define FIXED_CONTENT(d, s) { CORBA::Fixed v; if (any >>= CORBA::Any::to_fixed(v, d, s)) \
    return take(CORBA::Any::from_fixed(v, d, s), [&] { return "fixed " + show(v); }), true; }
  BASIC_CONTENT(Short) BASIC_CONTENT(UShort) BASIC_CONTENT(Long) BASIC_CONTENT(ULong)
  BASIC_CONTENT(LongLong) BASIC_CONTENT(ULongLong) BASIC_CONTENT(Float) BASIC_CONTENT(Double) BASIC_CONTENT(LongDouble)
  WRAPPED_CONTENT(Octet, octet) WRAPPED_CONTENT(Boolean, boolean) WRAPPED_CONTENT(Char, char) WRAPPED_CONTENT(WChar, wchar)
  { const char* v; if (any >>= v) return take(v, [&] { return show(v); }), true; }
  { const CORBA::WChar* v; if (any >>= v) return take(v, [&] { return show(v); }), true; }
  { const char* v; if (any >>= CORBA::Any::to_string(v, BOUND))
      return take(CORBA::Any::from_string(const_cast<char*>(v), BOUND), [&] { return "short " + show(v); }), true; }
  { const CORBA::WChar* v; if (any >>= CORBA::Any::to_wstring(v, BOUND))
      return take(CORBA::Any::from_wstring(const_cast<CORBA::WChar*>(v), BOUND), [&] { return "short " + show(v); }), true; }
  { Colour v; if (any >>= v) return take(v, [&] { return show(v); }), true; }
  { CORBA::TypeCode_ptr v; if (any >>= v) return take(v, [&] { return show(v); }), true; }
  // (A Node can also be taken out of an any of an Object.)
  { CORBA::Object_var v; if (!is_node(any) && (any >>= CORBA::Any::to_object(v.out())))
      return take(v.in(), [&] { return "object, " + show(Node_var(Node::_narrow(v)).in()); }), true; }
  { Node_ptr v; if (any >>= v) return take(v, [&] { return show(v); }), true; }
  CONTENT(CORBA::Any)
  CONTENT(Point) CONTENT(Record) CONTENT(Tree) CONTENT(Words) CONTENT(WideRecord) CONTENT(Holder)
  CONTENT(ByShort) CONTENT(ByUShort) CONTENT(ByLong) CONTENT(ByULong) CONTENT(ByLongLong) CONTENT(ByULongLong)
  CONTENT(ByChar) CONTENT(ByBoolean) CONTENT(ByEnum) CONTENT(ByMiddle) CONTENT(Nested) CONTENT(WideChoice)
  CONTENT(Octets) CONTENT(Booleans) CONTENT(Chars) CONTENT(Shorts) CONTENT(UShorts) CONTENT(Longs) CONTENT(ULongs)
  CONTENT(LongLongs) CONTENT(ULongLongs) CONTENT(Floats) CONTENT(Doubles) CONTENT(Strings) CONTENT(ShortTexts)
  CONTENT(WideStrings) CONTENT(WideChars) CONTENT(Colours) CONTENT(Points) CONTENT(Records) CONTENT(Trees) CONTENT(Unions)
  CONTENT(LongLists) CONTENT(Rows) CONTENT(Nodes) CONTENT(FewLongs) CONTENT(FewStrings)
  ARRAY_CONTENT(Matrix, show_matrix) ARRAY_CONTENT(Names, show_names) ARRAY_CONTENT(Pair, show_pair)
  ARRAY_CONTENT(Digest, show_digest) ARRAY_CONTENT(Grid, show_grid) ARRAY_CONTENT(InteropAny::TwoAnys, show_two)
  CONTENT(InteropAny::Labelled) CONTENT(InteropAny::Choice) CONTENT(InteropAny::Anys) CONTENT(InteropAny::TypeCodes)
  CONTENT(InteropAny::Prices) CONTENT(InteropAny::Priced)
  FIXED_CONTENT(5, 2) FIXED_CONTENT(4, 4) FIXED_CONTENT(31, 0)
#undef BASIC_CONTENT
#undef WRAPPED_CONTENT
#undef CONTENT
#undef ARRAY_CONTENT
#undef FIXED_CONTENT
  return false;
}

inline bool is_empty(const CORBA::Any& any) { return CORBA::TypeCode_var(any.type())->kind() == CORBA::tk_null; }

// Contents that cannot be extracted cannot be printed.
inline std::string show(const CORBA::Any& any) {
  std::string out = "any";
  if (is_empty(any) || visit(any, [&](const auto&, auto shown) { out += " " + shown(); })) return out;
  throw "cannot take out a value of " + show(CORBA::TypeCode_var(any.type()).in());
}

// Type codes that type_named supports.
inline CORBA::TypeCode_ptr type_named(const std::string& name) {
#define TYPE(T) if (name == "Interop/" #T) return Interop::_tc_##T;
  TYPE(Colour) TYPE(Metres) TYPE(ShortText) TYPE(Point) TYPE(Record) TYPE(Tree) TYPE(WideRecord)
  TYPE(ByShort) TYPE(ByUShort) TYPE(ByLong) TYPE(ByULong)
  TYPE(ByChar) TYPE(ByBoolean) TYPE(ByEnum) TYPE(ByMiddle) TYPE(Nested) TYPE(Octets) TYPE(FewLongs) TYPE(FewStrings) TYPE(Rows)
  TYPE(Trees) TYPE(Matrix) TYPE(Grid) TYPE(Pair) TYPE(Empty) TYPE(Detailed) TYPE(Chosen) TYPE(Node)
#undef TYPE
#define TYPE(T) if (name == "InteropAny/" #T) return InteropAny::_tc_##T;
  TYPE(Anys) TYPE(TwoAnys) TYPE(Labelled) TYPE(Choice) TYPE(Carrying) TYPE(Price) TYPE(Fraction) TYPE(Prices) TYPE(Priced)
#undef TYPE
  throw CORBA::BAD_PARAM(0, CORBA::COMPLETED_NO);
}
const char* const TYPE_NAMES[] = {
  "Interop/Colour", "Interop/Metres", "Interop/ShortText", "Interop/Point", "Interop/Record", "Interop/Tree",
  "Interop/WideRecord", "Interop/ByShort", "Interop/ByUShort", "Interop/ByLong", "Interop/ByULong",
  "Interop/ByChar", "Interop/ByBoolean", "Interop/ByEnum", "Interop/ByMiddle",
  "Interop/Nested", "Interop/Octets", "Interop/FewLongs", "Interop/FewStrings", "Interop/Rows", "Interop/Trees",
  "Interop/Matrix", "Interop/Grid", "Interop/Pair", "Interop/Empty", "Interop/Detailed", "Interop/Chosen", "Interop/Node", "InteropAny/Anys",
  "InteropAny/TwoAnys", "InteropAny/Labelled", "InteropAny/Choice", "InteropAny/Carrying", "InteropAny/Price",
  "InteropAny/Fraction", "InteropAny/Prices", "InteropAny/Priced",
};
