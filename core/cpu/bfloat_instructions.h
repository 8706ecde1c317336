#pragma once

namespace wisp::cpu {

struct Kernels;

// Puts kernels that use instructions for bfloat16 into the table if this processor has them. For a
// table of AVX-512 kernels.
void use_bfloat_instructions(Kernels& table);

}  // namespace wisp::cpu
