// Which instruction set the kernels use, decided once from what the processor offers.
#pragma once

namespace wisp::cpu {

enum class Isa { baseline, avx2, avx512 };

// The best one built in that this processor supports. WISP_ISA=baseline|avx2 in the environment
// lowers it, for tests.
Isa isa();

// Whether vectors of 64 bytes are computed at once; Zen 4 computes them half after half.
bool has_whole_vectors();

// Whether kernels may use AVX512-BF16, on top of AVX-512.
bool has_bfloat_instructions();

const char* name(Isa isa);

// Calls fill(table) as the namespace of that instruction set defines it.
#if defined(WISP_ALL_ISAS)
#define WISP_FILL_FOR_ISA(fill, table)        \
  (isa() == Isa::avx512 ? avx512::fill(table) \
   : isa() == Isa::avx2 ? avx2::fill(table)   \
                        : baseline::fill(table))
#else
#define WISP_FILL_FOR_ISA(fill, table) baseline::fill(table)
#endif

}  // namespace wisp::cpu
