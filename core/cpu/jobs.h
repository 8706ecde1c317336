// Jobs of very different sizes.
#pragma once

#include <span>
#include <vector>

#include "base/parallel.h"

namespace wisp::cpu {

// run(job) for each. Large ones, which cut their work themselves, run one after the other; small
// ones are shared out whole, so many that each thread takes about half a large one at a time.
template <class Job, class Size, class Run>
void run_jobs(std::span<const Job> jobs, int64_t large, Size size_of, Run run) {
  std::vector<const Job*> small;
  int64_t total = 0;
  for (const Job& job : jobs) {
    const int64_t size = size_of(job);
    if (size >= large) {
      run(job);
    } else {
      small.push_back(&job);
      total += size;
    }
  }
  const auto count = static_cast<int64_t>(small.size());
  const int64_t each = total / std::max<int64_t>(count, 1) + 1;
  parallel_for(count, std::max<int64_t>(1, large / 2 / each), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) run(*small[static_cast<size_t>(i)]);
  });
}

}  // namespace wisp::cpu
