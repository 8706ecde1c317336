#include "cpu/onednn_gemm.h"

#include <dlfcn.h>
#include <string>

#include "cpu/isa.h"
#include "cpu/library.h"
#include "cpu/omp_threads.h"

namespace wisp::cpu {

namespace {

using Function = int (*)(char trans_a, char trans_b, int64_t m, int64_t n, int64_t k, float alpha,
                         const float* a, int64_t lda, const float* b, int64_t ldb, float beta,
                         float* c, int64_t ldc);

Function function() {
#ifdef WISP_ONEDNN_NAME
  static const Function found = []() -> Function {
    if (isa() != Isa::avx512) return nullptr;
    std::string errors;
    void* library = open_library(WISP_ONEDNN_NAME, WISP_ONEDNN_PATH, errors);
    return library ? reinterpret_cast<Function>(dlsym(library, "dnnl_sgemm")) : nullptr;
  }();
  return found;
#else
  return nullptr;
#endif
}

}  // namespace

bool has_onednn_gemm() { return function() != nullptr; }

void onednn_gemm(const FloatProduct& job) {
  const Threads one(1);
  function()(job.turns_a ? 'T' : 'N', job.turns_b ? 'T' : 'N', job.m, job.n, job.k, job.alpha,
             job.a, job.lda, job.b, job.ldb, job.beta, job.c, job.ldc);
}

}  // namespace wisp::cpu
