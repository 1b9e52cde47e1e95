// Common code of client and server: the generated code and the rotating servant methods.
#pragma once
#include <omniORB4/CORBA.h>
#include <omniORB4/sslContext.h>
#include <unistd.h>

#include <string>

#include "interop.hh"
#include "interop_any.hh"
#include "interop_omniorb.hh"

// Arguments of the test itself. The ORB removes its own arguments from argv.
struct Options {
  std::string ior;       // server: file to write; client: reference to call
  std::string corbaloc;  // client: the same object as corbaloc
  std::string skip;      // client: ",name,name," not to run
  bool utf8 = false;     // the native char code set is UTF-8 rather than ISO 8859-1
  bool shutdown = false; // client: end the server after the checks
  bool bidirectional = false; // callbacks come over the connection that the client opened
};

inline Options parse(int argc, char** argv) {
  alarm(300);  // ends by itself, whatever becomes of the harness
  Options options;
  for (int i = 1; i < argc; ++i) {
    std::string name = argv[i];
    auto value = [&] { return std::string(i + 1 < argc ? argv[++i] : ""); };
    if (name == "--ior" || name == "--ior-file") options.ior = value();
    else if (name == "--corbaloc") options.corbaloc = value();
    else if (name == "--skip") options.skip = "," + value() + ",";
    else if (name == "--utf8") options.utf8 = true;
    else if (name == "--shutdown") options.shutdown = true;
    else if (name == "--bidirectional") options.bidirectional = true;
    else throw std::string("unknown argument " + name);
  }
  return options;
}
