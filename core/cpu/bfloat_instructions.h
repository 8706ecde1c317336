#pragma once

namespace wisp::cpu {

struct Kernels;

// Puts kernels that use instructions for bfloat16 into a table, of a processor that has them: see
// has_bfloat_instructions().
void use_bfloat_instructions(Kernels& table);

}  // namespace wisp::cpu
