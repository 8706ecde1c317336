#include "cpu/blas.h"

#include <cstdlib>
#include <dlfcn.h>
#include <string>

#include "base/error.h"

namespace wisp::cpu {

namespace {

// The folder this library was loaded from; OpenBLAS lies next to it.
std::string own_folder() {
  Dl_info info;
  if (!dladdr(reinterpret_cast<void*>(&own_folder), &info) || !info.dli_fname) return "";
  const std::string path = info.dli_fname;
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

void* open_library() {
  // Its own threads would fight ours: kernels call it from one thread per piece of work instead.
  const char* previous = std::getenv("OPENBLAS_NUM_THREADS");
  const std::string saved = previous ? previous : "";
  setenv("OPENBLAS_NUM_THREADS", "1", 1);
  const std::string folder = own_folder();
  std::string tried;
  void* handle = nullptr;
  for (const std::string& path : {folder + WISP_BLAS_NAME, std::string(WISP_BLAS_PATH)}) {
    handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle) break;
    tried += "\n  " + std::string(dlerror());
  }
  if (previous) {
    setenv("OPENBLAS_NUM_THREADS", saved.c_str(), 1);
  } else {
    unsetenv("OPENBLAS_NUM_THREADS");
  }
  WISP_CHECK(handle,
             "cannot load OpenBLAS, which is installed together with wisp; reinstall wisp:", tried);
  return handle;
}

template <class F>
void bind(void* handle, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(handle, name));
  WISP_CHECK(function, "OpenBLAS has no function ", name);
}

void* library() {
  static void* const handle = open_library();
  return handle;
}

Blas load() {
  void* handle = library();
  void (*set_threads)(int);
  bind(handle, "scipy_openblas_set_num_threads", set_threads);
  set_threads(1);
  Blas table;
  bind(handle, "scipy_cblas_sgemm", table.sgemm);
  bind(handle, "scipy_cblas_dgemm", table.dgemm);
  bind(handle, "scipy_cblas_cgemm", table.cgemm);
  bind(handle, "scipy_cblas_zgemm", table.zgemm);
  return table;
}

}  // namespace

const Blas& blas() {
  static const Blas table = load();
  return table;
}

void* blas_function(const char* name) {
  blas();  // settles the number of threads
  void* function;
  bind(library(), ("scipy_" + std::string(name) + "_").c_str(), function);
  return function;
}

}  // namespace wisp::cpu
