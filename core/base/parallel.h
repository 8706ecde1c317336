// One pool of threads for every kernel. Work is cut by size alone, never by the number of threads,
// so that results do not depend on it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace wisp {

// Upper bound of threads used. Starts as the processors this process may use (affinity mask, cgroup
// quota), or WISP_NUM_THREADS, or OMP_NUM_THREADS.
int num_threads();
void set_num_threads(int count);
bool in_parallel_region();

namespace detail {
using Chunk = void (*)(void* context, int64_t index);
// Runs chunk(context, i) for i in [0, count), on several threads where that helps. The first
// exception is rethrown on the calling thread when all have stopped.
void run_chunks(int64_t count, Chunk chunk, void* context);
// Runs body(context) on all of them.
void run_team(int threads, void (*body)(void* context), void* context);
}  // namespace detail

// Runs f() once on every thread of the pool that a region of so many threads uses.
template <class F>
void on_each_thread(int threads, F&& f) {
  detail::run_team(
      threads, [](void* context) { (*static_cast<std::remove_reference_t<F>*>(context))(); }, &f);
}

// f(begin, end) over [0, n) in pieces of `grain`; a single piece runs on the calling thread, which
// never wakes the pool.
template <class F>
void parallel_for(int64_t n, int64_t grain, F&& f) {
  if (n <= 0) return;
  if (n <= grain) {
    f(int64_t(0), n);
    return;
  }
  struct Context {
    std::remove_reference_t<F>* f;
    int64_t n, grain;
  } context{&f, n, grain};
  detail::run_chunks((n + grain - 1) / grain,
                     [](void* pointer, int64_t index) {
                       auto& c = *static_cast<Context*>(pointer);
                       const int64_t begin = index * c.grain;
                       (*c.f)(begin, std::min(begin + c.grain, c.n));
                     },
                     &context);
}

}  // namespace wisp
