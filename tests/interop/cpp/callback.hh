// Servant of Callback, which clients and servers use.
#pragma once
#include <atomic>
#include <mutex>

#include "common.hh"

// POA in which Callback servants are activated: the root POA, unless another one is set.
inline PortableServer::POA_var callback_poa;

// Permits requests to Callback servants over connections that this side opened.
inline void allow_bidirectional(CORBA::ORB_ptr orb, PortableServer::POA_ptr root) {
  CORBA::Any both;
  both <<= BiDirPolicy::BOTH;
  CORBA::PolicyList policies;
  policies.length(2);
  policies[0] = orb->create_policy(BiDirPolicy::BIDIRECTIONAL_POLICY_TYPE, both);
  policies[1] = root->create_implicit_activation_policy(PortableServer::IMPLICIT_ACTIVATION);
  PortableServer::POAManager_var manager = root->the_POAManager();
  callback_poa = root->create_POA("bidirectional", manager, policies);
}

class CallbackServant : public POA_Interop::Callback {
 public:
  PortableServer::POA_ptr _default_POA() override {
    if (CORBA::is_nil(callback_poa)) return POA_Interop::Callback::_default_POA();
    return PortableServer::POA::_duplicate(callback_poa);
  }

  std::string heard() {
    std::lock_guard<std::mutex> guard(lock_);
    return heard_;
  }

  CORBA::Long answer(CORBA::Long question) override { return question * 2; }
  void fail(CORBA::Long code) override {
    Interop::Detailed why;
    why.reason = "asked to";
    why.code = code;
    why.context_record.name = "callback";
    why.context_record.paint = Interop::blue;
    for (int i = 0; i < 5; ++i) why.context_record.checksum[i] = i;
    why.context_record.position = Interop::Point{1, 2.0, 3, 4, true};
    throw why;
  }
  CORBA::Long down(Interop::Callback_ptr other, CORBA::Long depth) override {
    if (depth == 0) return 0;
    Interop::Callback_var me = _this();
    return 1 + other->down(me, depth - 1);
  }
  void tell(const char* news) override {
    std::lock_guard<std::mutex> guard(lock_);
    heard_ = news;
  }

 private:
  std::mutex lock_;
  std::string heard_;
};
