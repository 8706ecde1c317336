#include "base/parallel.h"

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <mutex>
#include <pthread.h>
#include <sched.h>
#include <string>

#include "base/compiler.h"
#include "base/error.h"
#include "base/one_thread.h"

// libgomp's own entry points, declared here so that any compiler can link them: it is the pool that
// oneDNN uses too, and a second one would fight it for the cores.
extern "C" {
void GOMP_parallel(void (*body)(void*), void* context, unsigned threads, unsigned flags);
void omp_set_num_threads(int count);
int omp_get_max_threads();
int omp_get_thread_num();
}

namespace wisp {

namespace {

WISP_THREAD_LOCAL bool inside = false;

// After fork() the pool's threads are gone but libgomp still counts on them: waking it would hang.
std::atomic<bool> forked_child{false};

std::atomic<int> elsewhere{0};  // threads that compute and are not of the pool

int from_environment(const char* variable) {
  const char* text = std::getenv(variable);
  return text ? std::atoi(text) : 0;
}

// Processors granted by a cgroup (v2 cpu.max, v1 cfs quota); 0 if unlimited.
int cgroup_limit() {
  std::string quota;
  double period = 0;
  if (std::ifstream v2("/sys/fs/cgroup/cpu.max"); v2 >> quota >> period && quota != "max") {
    return static_cast<int>(std::ceil(std::atof(quota.c_str()) / period));
  }
  std::ifstream quota_file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
  std::ifstream period_file("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  double value = -1;
  if (quota_file >> value && period_file >> period && value > 0 && period > 0) {
    return static_cast<int>(std::ceil(value / period));
  }
  return 0;
}

int available_processors() {
  cpu_set_t set;
  int count = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
  if (const int limit = cgroup_limit(); limit > 0) count = std::min(count, limit);
  return std::max(count, 1);
}

std::atomic<int>& thread_setting() {
  static std::atomic<int> setting = [] {
    pthread_atfork(nullptr, nullptr, [] {
      forked_child.store(true);
      omp_set_num_threads(1);
    });
    int count = from_environment("WISP_NUM_THREADS");
    if (count <= 0) count = from_environment("OMP_NUM_THREADS");
    return count > 0 ? count : available_processors();
  }();
  return setting;
}

// The chunks of a region, in as many runs as there are threads. A thread takes its own run first,
// so that repeated calls over the same memory find it in the caches of the same core, then helps
// with the others.
struct Region {
  struct alignas(64) Run {
    std::atomic<int64_t> next;
    int64_t end;
  };
  static constexpr int most_runs = 64;

  Region(int64_t count, int threads, detail::Chunk chunk, void* context)
      : runs(std::min(threads, most_runs)), chunk(chunk), context(context) {
    for (int k = 0; k < runs; ++k) {
      run[k].next.store(count * k / runs, std::memory_order_relaxed);
      run[k].end = count * (k + 1) / runs;
    }
  }

  void work() {
    inside = true;
    const int own = omp_get_thread_num();
    for (int k = 0; k < runs; ++k) finish(run[(own + k) % runs]);
    inside = false;
  }

  void finish(Run& some) {
    for (int64_t i = some.next++; i < some.end && !stopped; i = some.next++) {
      try {
        chunk(context, i);
      } catch (...) {
        std::lock_guard lock(mutex);
        if (!error) error = std::current_exception();
        stopped = true;
      }
    }
  }

  Run run[most_runs];
  const int runs;
  const detail::Chunk chunk;
  void* const context;
  std::atomic<bool> stopped{false};
  std::mutex mutex;
  std::exception_ptr error;
};

}  // namespace

int num_threads() { return forked_child ? 1 : thread_setting().load(std::memory_order_relaxed); }

void set_num_threads(int count) {
  WISP_CHECK(count > 0, "set_num_threads(): expected a positive number of threads, got ", count);
  thread_setting().store(count);
}

bool in_parallel_region() { return inside; }

void set_threads_elsewhere(int count) { elsewhere.store(count, std::memory_order_relaxed); }

OneThread::OneThread() : team_(omp_get_max_threads()) {
  inside = true;
  omp_set_num_threads(1);
}

OneThread::~OneThread() {
  inside = false;
  omp_set_num_threads(team_);
}

void detail::run_chunks(int64_t count, Chunk chunk, void* context) {
  const int free = num_threads() - elsewhere.load(std::memory_order_relaxed);
  const int threads = static_cast<int>(std::min<int64_t>(free, count));
  if (threads <= 1 || inside) {
    for (int64_t i = 0; i < count; ++i) chunk(context, i);
    return;
  }
  Region region(count, threads, chunk, context);
  GOMP_parallel([](void* r) { static_cast<Region*>(r)->work(); }, &region,
                static_cast<unsigned>(threads), 0);
  if (region.error) std::rethrow_exception(region.error);
}

void detail::run_team(int threads, void (*body)(void* context), void* context) {
  if (threads <= 1 || inside || forked_child) return body(context);
  GOMP_parallel(body, context, static_cast<unsigned>(threads), 0);
}

}  // namespace wisp
