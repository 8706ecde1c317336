#include "cpu/kernels/bfloat_gemm.h"

namespace wisp::cpu::WISP_ISA {

void fill_bfloat_gemm(Kernels& table) { table.bfloat_gemm = BFloatGemm<Widened>::run; }

}  // namespace wisp::cpu::WISP_ISA
