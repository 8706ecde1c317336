// Samplers that take a varying number of random numbers: each element has a stream of its own.
#pragma once

#include <cstdint>

namespace wisp::cpu {

// Steele, Lea and Flood's SplitMix64, started at a random word.
class ElementStream {
 public:
  explicit ElementStream(uint64_t seed) : state_(seed) {}
  uint64_t bits() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  // In (0, 1).
  double uniform() { return (static_cast<double>(bits() >> 11) + 0.5) * 0x1p-53; }
  double normal();

 private:
  uint64_t state_;
};

double sample_poisson(double rate, ElementStream& stream);
// NaN if count or probability is NaN.
double sample_binomial(double count, double probability, ElementStream& stream);
// Of scale 1.
double sample_gamma(double shape, ElementStream& stream);

}  // namespace wisp::cpu
