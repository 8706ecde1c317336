// Work of threads that are not of the pool, beside that of the pool.
#pragma once

namespace wisp {

// How many threads compute, or are about to, that are not of the pool: kernels leave as many free.
void set_threads_elsewhere(int count);

// For a scope of a thread that is not of the pool: its kernels run on it alone.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  const int team_;  // of libraries that make regions of their own
};

}  // namespace wisp
