#include "cpu/library.h"

#include <dlfcn.h>

namespace wisp::cpu {

namespace {

// The folder this library was loaded from.
std::string own_folder() {
  Dl_info info;
  if (!dladdr(reinterpret_cast<void*>(&own_folder), &info) || !info.dli_fname) return "";
  const std::string path = info.dli_fname;
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

}  // namespace

void* open_library(const char* name, const char* built_from, std::string& errors) {
  // Beside this library; where libwisp is in lib/, one folder up; or where it was when this was
  // built.
  for (const std::string& path :
       {own_folder() + name, own_folder() + "../" + name, std::string(built_from)}) {
    if (void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
    errors += "\n  " + std::string(dlerror());
  }
  return nullptr;
}

}  // namespace wisp::cpu
