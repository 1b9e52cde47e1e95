// Values built with DynAny, part by part.
#pragma once
#include "common.hh"

namespace dynany {

using namespace DynamicAny;

inline void copy(DynAny_ptr from, DynAny_ptr to);

inline void copy_components(DynAny_ptr from, DynAny_ptr to) {
  for (CORBA::ULong i = 0; i < from->component_count(); ++i) {
    from->seek(i), to->seek(i);
    DynAny_var part = from->current_component(), copied = to->current_component();
    copy(part, copied);
  }
}

inline void copy_union(DynUnion_ptr from, DynUnion_ptr to) {
  DynAny_var discriminator = from->get_discriminator();
  to->set_discriminator(discriminator);
  if (from->has_no_active_member()) return;
  DynAny_var member = from->member(), copied = to->member();
  copy(member, copied);
}

inline CORBA::TCKind kind(DynAny_ptr value) {
  CORBA::TypeCode_var type = value->type();
  while (type->kind() == CORBA::tk_alias) type = type->content_type();
  return type->kind();
}

inline void copy(DynAny_ptr from, DynAny_ptr to) {
  switch (kind(from)) {
#define COPY(name) case CORBA::tk_##name: return to->insert_##name(from->get_##name());
    COPY(octet) COPY(boolean) COPY(char) COPY(wchar) COPY(short) COPY(ushort) COPY(long) COPY(ulong)
    COPY(longlong) COPY(ulonglong) COPY(float) COPY(double) COPY(longdouble)
#undef COPY
    case CORBA::tk_string: return to->insert_string(CORBA::String_var(from->get_string()));
    case CORBA::tk_wstring: return to->insert_wstring(CORBA::WString_var(from->get_wstring()));
    case CORBA::tk_any: return to->insert_any(CORBA::Any_var(from->get_any()));
    case CORBA::tk_TypeCode: return to->insert_typecode(CORBA::TypeCode_var(from->get_typecode()));
    case CORBA::tk_objref: return to->insert_reference(CORBA::Object_var(from->get_reference()));
    case CORBA::tk_enum:
      return DynEnum_var(DynEnum::_narrow(to))->set_as_ulong(DynEnum_var(DynEnum::_narrow(from))->get_as_ulong());
    case CORBA::tk_fixed: {
      CORBA::String_var text = DynFixed_var(DynFixed::_narrow(from))->get_value();
      DynFixed_var(DynFixed::_narrow(to))->set_value(text);
      return;
    }
    case CORBA::tk_union: return copy_union(DynUnion_var(DynUnion::_narrow(from)), DynUnion_var(DynUnion::_narrow(to)));
    case CORBA::tk_sequence: DynSequence_var(DynSequence::_narrow(to))->set_length(from->component_count());  // falls through
    default: copy_components(from, to);
  }
}

// Returns the value of an any in another any, read and built with DynAny.
inline CORBA::Any rebuilt(CORBA::ORB_ptr orb, const CORBA::Any& any) {
  CORBA::Object_var object = orb->resolve_initial_references("DynAnyFactory");
  DynAnyFactory_var factory = DynAnyFactory::_narrow(object);
  CORBA::TypeCode_var type = any.type();
  DynAny_var from = factory->create_dyn_any(any), to = factory->create_dyn_any_from_type_code(type);
  copy(from, to);
  CORBA::Any_var made = to->to_any();
  from->destroy(), to->destroy();
  return made.in();
}

}  // namespace dynany
