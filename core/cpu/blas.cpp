#include "cpu/blas.h"

#include <cstdlib>
#include <dlfcn.h>
#include <string>

#include "base/error.h"
#include "cpu/library.h"

namespace wisp::cpu {

namespace {

void* open_blas() {
  // Its own threads would fight ours: kernels call it from one thread per piece of work instead.
  const char* previous = std::getenv("OPENBLAS_NUM_THREADS");
  const std::string saved = previous ? previous : "";
  setenv("OPENBLAS_NUM_THREADS", "1", 1);
  std::string tried;
  void* handle = open_library(WISP_BLAS_NAME, WISP_BLAS_PATH, tried);
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
  static void* const handle = open_blas();
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
