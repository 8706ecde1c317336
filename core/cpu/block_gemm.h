// Products of blocks that lie in the caches of the calling thread's core, on that thread alone.
#pragma once

#include "cpu/gemm.h"

namespace wisp::cpu {

// C = beta * C + alpha * A * B for T of float and double. C's rows are consecutive.
template <class T>
void block_gemm(const Matrix& a, const Matrix& b, const Matrix& c, T alpha, T beta);

}  // namespace wisp::cpu
