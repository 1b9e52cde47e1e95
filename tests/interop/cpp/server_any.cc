// The servants for interop_any.idl.
#include "any.hh"
#include "dynany.hh"
#include "rotate.hh"

using namespace InteropAny;

static CORBA::ORB_var orb;

static CORBA::Any retyped(const CORBA::Any& a) {
  CORBA::Any b;
  bool known = is_empty(a) || visit(a, [&](const auto& value, auto) {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, CORBA::Any>) b <<= retyped(value);
    else insert(b, value);
  });
  if (!known) throw CORBA::BAD_PARAM(0, CORBA::COMPLETED_NO);
  return b;
}

class ContentsServant : public POA_InteropAny::Contents {
  using Any = CORBA::Any;
  using Any_out = CORBA::Any_out;
  ROTATE_VARIABLE(Any, rotate_any)
  ROTATE_VARIABLE(Anys, rotate_anys)
  ROTATE_VARIABLE_ARRAY(TwoAnys, rotate_two)
  ROTATE_VARIABLE(Labelled, rotate_labelled)
  ROTATE_VARIABLE(Choice, rotate_choice)
  void raise_any(const CORBA::Any& content) override { throw Carrying(content); }
  CORBA::Any* retype(const CORBA::Any& a) override { return new CORBA::Any(retyped(a)); }
  CORBA::Any* rebuild(const CORBA::Any& a) override { return new CORBA::Any(dynany::rebuilt(orb, a)); }
};

class TypesServant : public POA_InteropAny::Types {
  ROTATE_REFERENCE(TypeCode, CORBA::, rotate_type)
  ROTATE_VARIABLE(TypeCodes, rotate_types)
  CORBA::TypeCode_ptr type_of(const CORBA::Any& a) override { return a.type(); }
  CORBA::TypeCode_ptr type_named(const char* name) override { return CORBA::TypeCode::_duplicate(::type_named(name)); }
};

class DecimalsServant : public POA_InteropAny::Decimals {
  ROTATE_FIXED(Price, rotate_price)
  ROTATE_FIXED(Fraction, rotate_fraction)
  ROTATE_FIXED(Longest, rotate_longest)
  ROTATE_VARIABLE(Prices, rotate_prices)
  ROTATE_FIXED(Priced, rotate_priced)
};

class AnySuiteServant : public POA_InteropAny::Suite {
  Contents_ptr any_tests() override { return reference<ContentsServant>(); }
  Types_ptr type_tests() override { return reference<TypesServant>(); }
  Decimals_ptr decimal_tests() override { return reference<DecimalsServant>(); }
};

CORBA::Object_ptr any_suite(CORBA::ORB_ptr the_orb) {
  orb = CORBA::ORB::_duplicate(the_orb);
  return reference<AnySuiteServant>();
}
