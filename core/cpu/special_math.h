// Special functions of single numbers that vector code falls back on.
#pragma once

namespace wisp::cpu {

// The quantile of the normal distribution: where its lower tail has probability p.
double ndtri(double p);

}  // namespace wisp::cpu
