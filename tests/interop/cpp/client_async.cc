// Checks of servants that reply later: see interop_async.idl.
#include <atomic>
#include <thread>

#include "check.hh"
#include "interop_async.hh"

using namespace InteropAsync;

void async_tests(Interop::Suite_ptr suite) {
  CORBA::Object_var object = suite->extras("async");
  Office_var office = Office::_narrow(object);
  if (CORBA::is_nil(office)) throw std::string("the server has no asynchronous tests");
  Worker_var o = office->find_worker();
  auto work = [&](CORBA::ULong milliseconds, CORBA::Long value) {
    Parcel what;
    what.label = "crate";
    what.weight = 2.5;
    CORBA::Double half = 0;
    CORBA::Long result = o->work(milliseconds, value, what, half);
    same("label", std::string("crate!"), std::string(what.label.in()));
    holds(what.weight == 3.5 && half == value / 2.0, "weight 3.5 and half the value");
    return result;
  };

  check("later_results", [&] { same("result", 84, int(work(0, 42))); });
  check("later_order", [&] {
    std::atomic<bool> late(false), right(false);
    std::thread slow([&] {
      try {
        right = work(1000, 1) == 2;
      } catch (...) {
      }
      late = true;
    });
    usleep(100000);
    int quick = work(0, 2);
    bool before = !late;
    slow.join();
    same("quick", 4, quick);
    holds(before, "the quick answer before the slow one");
    holds(right, "the slow answer in the end");
  });
  check("later_user_exception", [&] {
    try {
      work(5, -3);
    } catch (const Refused& e) {
      same("why", std::string("negative"), std::string(e.why.in()));
      return same("limit", -3, int(e.limit));
    }
    throw std::string("expected Refused");
  });
  check("later_system_exception", [&] {
    try {
      work(5, 0);
    } catch (const CORBA::NO_PERMISSION& e) {
      return holds(e.minor() == 7 && e.completed() == CORBA::COMPLETED_NO, "minor 7, COMPLETED_NO");
    }
    throw std::string("expected NO_PERMISSION");
  });
  check("later_attributes", [&] {
    o->level(5);
    same("level", 5, int(o->level()));
    try {
      CORBA::String_var broken = o->broken();
    } catch (const CORBA::NO_RESOURCES& e) {
      return holds(e.minor() == 5 && e.completed() == CORBA::COMPLETED_YES, "minor 5, COMPLETED_YES");
    }
    throw std::string("expected NO_RESOURCES");
  });
}
