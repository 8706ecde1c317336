// Functions by tables: a polynomial for each of the short pieces that an interval is cut into.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/compiler.h"

namespace wisp::cpu {

// What the polynomial of a piece without zeros is multiplied by.
inline constexpr uint64_t plain_piece = std::bit_cast<uint64_t>(1.0);

template <int pieces, int count>
struct Table {
  // Where a piece has a zero of the function in it, the polynomial is multiplied by the distance
  // from that; else by 1. Which of the two is a matter of bits: nobody could predict a branch.
  struct Piece {
    double zero, zero_rest;  // in two parts
    uint64_t factor;         // the bits of what the polynomial is multiplied by; 0: the distance
    double powers[count];    // of s, which goes from -1 to 1
  };
  double first, pieces_per_unit;
  Piece piece[pieces];

  // Even and odd powers apart: they do not wait for each other.
  WISP_INLINE double operator()(double x) const {
    const double at = (x - first) * pieces_per_unit;
    const int i = std::min(static_cast<int>(at), pieces - 1);
    const double s = 2 * (at - i) - 1, square = s * s;
    const Piece& here = piece[i];
    constexpr int last_even = (count - 1) / 2 * 2, last_odd = (count - 2) / 2 * 2 + 1;
    double even = here.powers[last_even], odd = here.powers[last_odd];
    for (int k = last_even - 2; k >= 0; k -= 2) even = even * square + here.powers[k];
    for (int k = last_odd - 2; k >= 1; k -= 2) odd = odd * square + here.powers[k];
    const uint64_t distance = std::bit_cast<uint64_t>((x - here.zero) - here.zero_rest);
    const uint64_t chosen = here.factor | (distance & (uint64_t(here.factor != 0) - 1));
    return std::bit_cast<double>(chosen) * (even + s * odd);
  }
};

}  // namespace wisp::cpu
