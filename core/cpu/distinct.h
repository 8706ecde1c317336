// Runs of equal neighbours.
#pragma once

#include "base/dtype.h"

namespace wisp::cpu {

// n rows of `width` elements, one behind the other. Rows are equal if all of their elements are;
// NaN equals nothing.
struct Neighbours {
  DType dtype;
  int64_t n, width;
  const char* in;
};

// Which rows differ from the one before: there a run begins. The first one does.
void mark_run_starts(const Neighbours& rows, uint8_t* starts);
int64_t count_runs(const uint8_t* starts, int64_t n);

// What is wanted of the runs; null, if it is not.
struct RunParts {
  char* firsts;          // the first row of each run
  int64_t* numbers;      // of the run that each row belongs to
  const int64_t* order;  // where the number of a row is written; null: at its own place
  int64_t* lengths;      // of the runs
};
void split_runs(const Neighbours& rows, const uint8_t* starts, const RunParts& parts);

}  // namespace wisp::cpu
