// omniORB's client of name servers: runs every check by name against any ORB's server, one line each.
#include <algorithm>
#include <functional>
#include <iostream>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

#include <omniORB4/CORBA.h>
#include <omniORB4/Naming.hh>

using namespace CosNaming;

static CORBA::ORB_var orb;
static std::string url, other, skip;
static int failures = 0;

static std::string describe(const CORBA::Exception& e) {
  std::ostringstream out;
  out << e._rep_id();
  if (auto* system = CORBA::SystemException::_downcast(const_cast<CORBA::Exception*>(&e)))
    out << " minor 0x" << std::hex << system->minor();
  return out.str();
}

static void check(const std::string& name, const std::function<void()>& run) {
  if (skip.find("," + name + ",") != std::string::npos) return;
  try {
    run();
    std::cout << "PASS " << name << std::endl;
    return;
  } catch (const std::string& why) {
    std::cout << "FAIL " << name << ": " << why << std::endl;
  } catch (const CORBA::Exception& e) {
    std::cout << "FAIL " << name << ": expected no exception, got " << describe(e) << std::endl;
  }
  ++failures;
}

static void holds(bool condition, const std::string& what) {
  if (!condition) throw "expected " + what;
}

template <class Exception>
static Exception raises(const std::string& what, const std::function<void()>& run) {
  try {
    run();
  } catch (const Exception& e) {
    return e;
  } catch (const CORBA::Exception& e) {
    throw what + ": expected " + Exception::_PD_repoId + ", got " + describe(e);
  }
  throw what + ": expected " + Exception::_PD_repoId;
}

// Makes a name from alternating ids and kinds.
static Name name(std::initializer_list<const char*> parts) {
  Name n;
  n.length(parts.size() / 2);
  CORBA::ULong i = 0;
  for (const char* part : parts) {
    if (i % 2 == 0) n[i / 2].id = part;
    else n[i / 2].kind = part;
    ++i;
  }
  return n;
}

static std::string show(const Name& n) {
  std::string text;
  for (CORBA::ULong i = 0; i < n.length(); ++i)
    text += std::string("[") + n[i].id.in() + "|" + n[i].kind.in() + "]";
  return text;
}

static void not_found(const std::string& what, NamingContext::NotFoundReason why, const Name& rest,
                      const std::function<void()>& run) {
  auto e = raises<NamingContext::NotFound>(what, run);
  holds(e.why == why, what + ": why " + std::to_string(why) + ", got " + std::to_string(e.why));
  holds(show(e.rest_of_name) == show(rest), what + ": rest " + show(rest) + ", got " + show(e.rest_of_name));
}

static std::vector<std::string> ids(const BindingList& list) {
  std::vector<std::string> all;
  for (CORBA::ULong i = 0; i < list.length(); ++i) {
    const Name& n = list[i].binding_name;
    all.push_back(std::string(n[n.length() - 1].id.in()) + (list[i].binding_type == ncontext ? "/" : ""));
  }
  return all;
}

static std::string sorted(std::vector<std::string> all) {
  std::sort(all.begin(), all.end());
  std::string text;
  for (const auto& one : all) text += one + " ";
  return text;
}

static void same(const std::string& what, const std::string& expected, const std::string& got) {
  holds(expected == got, what + " " + expected + ", got " + got);
}

static NamingContextExt_ptr context_at(const std::string& url) {
  CORBA::Object_var object = orb->string_to_object(url.c_str());
  NamingContextExt_ptr context = NamingContextExt::_narrow(object);
  if (CORBA::is_nil(context)) throw std::string("expected a NamingContextExt at " + url);
  return context;
}

static CORBA::Object_ptr object(const char* key) {
  return orb->string_to_object((std::string("corbaloc:iiop:1.2@127.0.0.1:1/") + key).c_str());
}

static void checks() {
  CORBA::Object_var one = object("One"), two = object("Two");
  std::string mine = "omniorb-" + std::to_string(getpid());
  NamingContextExt_var root;
  check("initial_reference", [&] {
    CORBA::Object_var found = orb->resolve_initial_references("NameService");
    root = NamingContextExt::_narrow(found);
    holds(!CORBA::is_nil(root), "a NamingContextExt");
  });
  if (CORBA::is_nil(root)) root = context_at(url);
  NamingContext_var at = root->bind_new_context(name({mine.c_str(), "test"}));
  NamingContextExt_var here = NamingContextExt::_narrow(at);
  auto resolves = [&](const Name& n, CORBA::Object_ptr expected) {
    CORBA::Object_var found = here->resolve(n);
    holds(found->_is_equivalent(expected), show(n) + " to lead to what was bound");
  };
  check("bind_and_resolve", [&] {
    here->bind(name({"one", ""}), one);
    resolves(name({"one", ""}), one);
  });
  check("kinds_differ", [&] {
    here->bind(name({"one", "kind"}), two);
    here->bind(name({"", "one"}), two);
    resolves(name({"one", ""}), one);
    resolves(name({"one", "kind"}), two);
    resolves(name({"", "one"}), two);
  });
  check("already_bound", [&] {
    raises<NamingContext::AlreadyBound>("bind", [&] { here->bind(name({"one", ""}), two); });
    raises<NamingContext::AlreadyBound>("bind_context", [&] { here->bind_context(name({"one", ""}), here); });
    raises<NamingContext::AlreadyBound>("bind_new_context", [&] { NamingContext_var c = here->bind_new_context(name({"one", ""})); });
    resolves(name({"one", ""}), one);
  });
  check("rebind", [&] {
    here->rebind(name({"again", ""}), one);
    here->rebind(name({"again", ""}), two);
    resolves(name({"again", ""}), two);
  });
  check("unbind", [&] {
    here->bind(name({"short", ""}), one);
    here->unbind(name({"short", ""}));
    not_found("resolve", NamingContext::missing_node, name({"short", ""}), [&] { CORBA::Object_var o = here->resolve(name({"short", ""})); });
    not_found("unbind", NamingContext::missing_node, name({"short", ""}), [&] { here->unbind(name({"short", ""})); });
  });
  check("contexts", [&] {
    NamingContext_var a = here->bind_new_context(name({"a", "dir"}));
    NamingContext_var b = a->new_context();
    a->bind_context(name({"b", ""}), b);
    b->bind(name({"deep", ""}), one);
    resolves(name({"a", "dir", "b", "", "deep", ""}), one);
    here->bind(name({"a", "dir", "b", "", "deeper", ""}), two);
    NamingContext_var c = here->bind_new_context(name({"a", "dir", "b", "", "c", ""}));
    CORBA::Object_var found = b->resolve(name({"deeper", ""}));
    holds(found->_is_equivalent(two), "deeper in b");
  });
  check("missing_node", [&] {
    not_found("first", NamingContext::missing_node, name({"x", "", "y", ""}), [&] { CORBA::Object_var o = here->resolve(name({"x", "", "y", ""})); });
    not_found("second", NamingContext::missing_node, name({"x", "", "y", ""}), [&] { here->bind(name({"a", "dir", "x", "", "y", ""}), one); });
    not_found("last", NamingContext::missing_node, name({"x", ""}), [&] { CORBA::Object_var o = here->resolve(name({"a", "dir", "x", ""})); });
  });
  check("not_context", [&] {
    not_found("bind", NamingContext::not_context, name({"one", "", "x", ""}), [&] { here->bind(name({"one", "", "x", ""}), one); });
    not_found("resolve", NamingContext::not_context, name({"deep", "", "x", ""}), [&] { CORBA::Object_var o = here->resolve(name({"a", "dir", "b", "", "deep", "", "x", ""})); });
  });
  check("rebind_wrong_kind", [&] {
    NamingContext_var victim = here->bind_new_context(name({"victim", ""}));
    not_found("rebind", NamingContext::not_object, name({"victim", ""}), [&] { here->rebind(name({"victim", ""}), one); });
    not_found("rebind_context", NamingContext::not_context, name({"one", ""}), [&] { here->rebind_context(name({"one", ""}), here); });
  });
  check("rebind_context", [&] {
    NamingContext_var first = here->bind_new_context(name({"turn", ""})), second = here->new_context();
    here->rebind_context(name({"turn", ""}), second);
    second->bind(name({"in", ""}), one);
    resolves(name({"turn", "", "in", ""}), one);
  });
  check("invalid_name", [&] {
    Name none;
    raises<NamingContext::InvalidName>("resolve", [&] { CORBA::Object_var o = here->resolve(none); });
    raises<NamingContext::InvalidName>("bind", [&] { here->bind(none, one); });
    raises<NamingContext::InvalidName>("unbind", [&] { here->unbind(none); });
  });
  check("not_empty", [&] {
    NamingContext_var full = here->bind_new_context(name({"full", ""}));
    full->bind(name({"x", ""}), one);
    raises<NamingContext::NotEmpty>("destroy", [&] { full->destroy(); });
  });
  check("destroy", [&] {
    NamingContext_var brief = here->bind_new_context(name({"brief", ""}));
    brief->destroy();
    here->unbind(name({"brief", ""}));
    holds(brief->_non_existent(), "the context to be gone");
  });
  NamingContext_var list = here->bind_new_context(name({"list", ""}));
  for (const char* id : {"k", "l", "m", "n", "o"}) list->bind(name({id, ""}), one);
  NamingContext_var sub = list->bind_new_context(name({"sub", ""}));
  check("list", [&] {
    BindingList_var all;
    BindingIterator_var rest;
    list->list(100, all, rest);
    same("bindings", "k l m n o sub/ ", sorted(ids(all)));
    holds(CORBA::is_nil(rest), "no iterator");
  });
  check("iterator", [&] {
    BindingList_var some, more;
    BindingIterator_var rest;
    list->list(2, some, rest);
    holds(some->length() == 2 && !CORBA::is_nil(rest), "two and an iterator");
    auto all = ids(some);
    Binding_var next;
    holds(rest->next_one(next), "a third");
    Binding copy = next;
    all.push_back(std::string(copy.binding_name[0].id.in()) + (copy.binding_type == ncontext ? "/" : ""));
    holds(rest->next_n(2, more), "two more");
    holds(more->length() == 2, "two more");
    for (const auto& id : ids(more)) all.push_back(id);
    while (rest->next_one(next)) {
      copy = next;
      all.push_back(std::string(copy.binding_name[0].id.in()) + (copy.binding_type == ncontext ? "/" : ""));
    }
    same("bindings", "k l m n o sub/ ", sorted(all));
    holds(!rest->next_n(1, more) && more->length() == 0, "the end");
    rest->destroy();
    holds(rest->_non_existent(), "the iterator to be gone");
  });
  check("list_nothing_first", [&] {
    BindingList_var none, all;
    BindingIterator_var rest;
    list->list(0, none, rest);
    holds(none->length() == 0 && !CORBA::is_nil(rest), "an iterator alone");
    holds(rest->next_n(100, all), "all of them");
    same("bindings", "k l m n o sub/ ", sorted(ids(all)));
    rest->destroy();
  });
  check("to_string_and_back", [&] {
    Name n = name({"a/b", "c.d", "", "", "\\", "", "", "k"});
    CORBA::String_var text = here->to_string(n);
    same("text", "a\\/b.c\\.d/./\\\\/.k", text.in());
    Name_var back = here->to_name(text);
    same("name", show(n), show(back.in()));
  });
  check("malformed_text", [&] {
    for (const char* wrong : {"", "a//b", "/a", "a/", "a.b.c"})
      raises<NamingContext::InvalidName>(std::string("to_name ") + wrong, [&] { Name_var n = here->to_name(wrong); });
    raises<NamingContext::InvalidName>("resolve_str", [&] { CORBA::Object_var o = here->resolve_str("a//b"); });
    raises<NamingContext::InvalidName>("to_string", [&] { CORBA::String_var s = here->to_string(Name()); });
  });
  check("trailing_dot", [&] {
    raises<NamingContext::InvalidName>("to_name a.", [&] { Name_var n = here->to_name("a."); });
  });
  check("resolve_str", [&] {
    CORBA::Object_var found = here->resolve_str("a.dir/b/deep");
    holds(found->_is_equivalent(one), "what was bound");
    raises<NamingContext::NotFound>("resolve_str", [&] { CORBA::Object_var o = here->resolve_str("a.dir/x"); });
  });
  check("to_url", [&] {
    CORBA::String_var made = here->to_url(":host:2809/NameService", "a/b c");
    same("url", "corbaname::host:2809/NameService#a/b%20c", made.in());
  });
  check("invalid_address", [&] {
    raises<NamingContextExt::InvalidAddress>("to_url", [&] { CORBA::String_var s = here->to_url("", "a"); });
  });
  check("corbaname", [&] {
    std::string where = "corbaname" + url.substr(url.find(':')) + "#" + mine + ".test/a.dir/b/deep";
    CORBA::Object_var found = orb->string_to_object(where.c_str());
    holds(found->_is_equivalent(one), "what was bound");
  });
  check("latin1", [&] {
    here->bind(name({"gr\xfc\xdf", "\xe4"}), one);
    resolves(name({"gr\xfc\xdf", "\xe4"}), one);
    here->unbind(name({"gr\xfc\xdf", "\xe4"}));
  });
  check("other_server", [&] {
    NamingContextExt_var there = context_at(other);
    here->bind_context(name({"other", ""}), there);
    NamingContext_var made = here->bind_new_context(name({"other", "", mine.c_str(), ""}));
    here->bind(name({"other", "", mine.c_str(), "", "o", ""}), two);
    resolves(name({"other", "", mine.c_str(), "", "o", ""}), two);
    CORBA::Object_var found = there->resolve(name({mine.c_str(), "", "o", ""}));
    holds(found->_is_equivalent(two), "what was bound");
    not_found("resolve", NamingContext::missing_node, name({"x", ""}), [&] { CORBA::Object_var o = here->resolve(name({"other", "", mine.c_str(), "", "x", ""})); });
    here->unbind(name({"other", "", mine.c_str(), "", "o", ""}));
    made->destroy();
    here->unbind(name({"other", "", mine.c_str(), ""}));
  });
}

int main(int argc, char** argv) {
  alarm(300);
  try {
    orb = CORBA::ORB_init(argc, argv);
    for (int i = 1; i + 1 < argc; i += 2) {
      std::string option = argv[i], value = argv[i + 1];
      if (option == "--url") url = value;
      else if (option == "--other") other = value;
      else if (option == "--skip") skip = "," + value + ",";
      else throw "unknown argument " + option;
    }
    checks();
    orb->destroy();
  } catch (const CORBA::Exception& e) {
    std::cout << "FAIL client: " << describe(e) << std::endl;
    return 1;
  } catch (const std::string& why) {
    std::cout << "FAIL client: " << why << std::endl;
    return 1;
  }
  return failures > 0;
}
