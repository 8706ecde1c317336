#include "cpu/isa.h"

#include <cstdlib>
#include <string_view>

namespace wisp::cpu {

namespace {

Isa detect() {
#if defined(WISP_ALL_ISAS)
  __builtin_cpu_init();
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                  __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  const char* wanted = std::getenv("WISP_ISA");
  const std::string_view limit = wanted ? wanted : "";
  if (limit == "baseline" || !v3) return Isa::baseline;
  return v4 && limit != "avx2" ? Isa::avx512 : Isa::avx2;
#else
  return Isa::baseline;
#endif
}

}  // namespace

Isa isa() {
  static const Isa best = detect();
  return best;
}

bool has_whole_vectors() {
#if defined(WISP_ALL_ISAS)
  static const bool has = isa() == Isa::avx512 && !__builtin_cpu_is("amdfam19h");
  return has;
#else
  return false;
#endif
}

bool has_bfloat_instructions() {
#if defined(WISP_ALL_ISAS)
  static const bool has = isa() == Isa::avx512 && __builtin_cpu_supports("avx512bf16");
  return has;
#else
  return false;
#endif
}

const char* name(Isa isa) {
  switch (isa) {
    case Isa::avx2:
      return "avx2";
    case Isa::avx512:
      return "avx512";
    default:
      return "baseline";
  }
}

}  // namespace wisp::cpu
