// Lazy evaluation: kernels are collected instead of being run, until somebody looks at a result.
// Then pointwise ones that follow each other on the same shape run as one (cpu/fused.h), and what
// nobody will see is not written. Everything above kernels (checks, shapes, views, autograd)
// happens as ever.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace wisp::lazy {

enum class Extent : uint8_t {
  none,
  large,  // calls on many elements: what gains from being fused. Whoever asks for this runs them
          // soon, so what they read may be shared with others
  all,
  endless,  // all, for the rest of the program: there is no end at which it could be judged
};

// Kernels on fewer elements take no longer than writing them down does.
constexpr int64_t worthwhile = 1 << 15;

// What kernels of a thread are collected. Calls on fewer elements than `least` run at once, unless
// something that is put off concerns them; so do, if it `learns`, calls that gained nothing so far
// where they are made.
struct Collecting {
  Extent extent = Extent::none;
  int64_t least = worthwhile;
  bool learns = false;
};
// From now on these. Returns what it was.
Collecting collect(const Collecting& what);
// The same as one number, for hosts.
int64_t to_number(const Collecting& what);
Collecting from_number(int64_t number);

// Runs everything that was put off, on whichever thread.
void run();
// The same, because the function has ended whose calls these are.
void run_at_end();

// How things went since the process started, or since the counts were taken.
struct Counts {
  int64_t kernels = 0;  // that were put off
  int64_t fused = 0;    // of these, run together with others
  int64_t groups = 0;   // in so many groups
  int64_t dropped = 0;  // never run: nobody wanted the result
  int64_t runs = 0;     // of what had been collected
  int64_t plans = 0;    // made, because the sequence of kernels was new
};
Counts counts();

// Lines while on: what was run when, which calls of which lines together, which plans were new and
// why.
void report(bool on);
std::vector<std::string> take_report();

// Forgets all plans, and what was learnt of places.
void forget();

// To be called once at start.
void install();

}  // namespace wisp::lazy
