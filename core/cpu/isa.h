// Which instruction set the kernels use, decided once from what the processor offers.
#pragma once

namespace wisp::cpu {

enum class Isa { baseline, avx2, avx512 };

// The best one built in that this processor supports. WISP_ISA=baseline|avx2 in the environment
// lowers it, for tests.
Isa isa();
const char* name(Isa isa);

}  // namespace wisp::cpu
