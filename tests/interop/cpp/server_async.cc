// The servants for interop_async.idl. omniORB supports neither AMI nor AMH, so its threads wait.
#include "interop_async.hh"
#include "rotate.hh"

using namespace InteropAsync;

class WorkerServant : public POA_InteropAsync::Worker {
  omni_mutex lock;
  CORBA::Long level_ = 0;

  CORBA::Long level() override {
    omni_mutex_lock hold(lock);
    return level_;
  }
  void level(CORBA::Long value) override {
    omni_mutex_lock hold(lock);
    level_ = value;
  }
  char* broken() override { throw CORBA::NO_RESOURCES(5, CORBA::COMPLETED_YES); }
  CORBA::Long work(CORBA::ULong milliseconds, CORBA::Long value, Parcel& what, CORBA::Double& half) override {
    usleep(milliseconds * 1000);
    if (value < 0) throw Refused("negative", value);
    if (value == 0) throw CORBA::NO_PERMISSION(7, CORBA::COMPLETED_NO);
    what.label = (std::string(what.label.in()) + "!").c_str();
    what.weight += 1;
    half = value / 2.0;
    return 2 * value;
  }
};

class OfficeServant : public POA_InteropAsync::Office {
  Worker_ptr find_worker() override { return reference<WorkerServant>(); }
  CORBA::Object_ptr make_handler() override { return CORBA::Object::_nil(); }
  char* told() override { return CORBA::string_dup(""); }
};

CORBA::Object_ptr async_office() { return reference<OfficeServant>(); }
