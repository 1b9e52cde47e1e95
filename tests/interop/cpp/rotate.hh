// Common code of the servants of the omniORB server.
#pragma once
#include "common.hh"

// ---- rotation: see interop.idl ---------------------------------------------

#define ROTATE_BASIC(T, op) \
  T op(T a, T& b, T& c) override { T old = b; c = old; b = a; return old; }
#define ROTATE_FIXED(T, op) \
  T op(const T& a, T& b, T& c) override { T old = b; c = old; b = a; return old; }
#define ROTATE_VARIABLE(T, op) \
  T* op(const T& a, T& b, T##_out c) override { \
    T* old = new T(b); c = new T(b); b = a; return old; }
#define ROTATE_STRING(Out, op) \
  char* op(const char* a, char*& b, Out c) override { \
    char* old = b; c = CORBA::string_dup(old); b = CORBA::string_dup(a); return old; }
#define ROTATE_WSTRING(Out, op) \
  CORBA::WChar* op(const CORBA::WChar* a, CORBA::WChar*& b, Out c) override { \
    CORBA::WChar* old = b; c = CORBA::wstring_dup(old); b = CORBA::wstring_dup(a); return old; }
#define ROTATE_FIXED_ARRAY(T, op) \
  T##_slice* op(const T a, T b, T c) override { \
    T##_slice* old = T##_dup(b); T##_copy(c, old); T##_copy(b, a); return old; }
#define ROTATE_VARIABLE_ARRAY(T, op) \
  T##_slice* op(const T a, T b, T##_out c) override { \
    T##_slice* old = T##_dup(b); c = T##_dup(old); T##_copy(b, a); return old; }
#define ROTATE_REFERENCE(T, Scope, op) \
  Scope T##_ptr op(Scope T##_ptr a, Scope T##_ptr& b, Scope T##_out c) override { \
    Scope T##_ptr old = b; c = Scope T::_duplicate(old); b = Scope T::_duplicate(a); return old; }

#define ROTATE_VALUE(T, op) \
  T* op(T* a, T*& b, T##_out c) override { \
    T* old = b; CORBA::add_ref(old); c = old; CORBA::add_ref(a); b = a; return old; }

// Returns the only object of a servant class.
template <class Servant>
auto reference() {
  static PortableServer::Servant_var<Servant> servant = new Servant;
  return servant->_this();
}
