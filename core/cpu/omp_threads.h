// How many threads a library that uses OpenMP takes.
#pragma once

extern "C" {
void omp_set_num_threads(int count);
int omp_get_max_threads();
}

namespace wisp::cpu {

// As long as this lives, for what the calling thread asks for.
class Threads {
 public:
  explicit Threads(int count) : before_(omp_get_max_threads()) {
    if (count != before_) omp_set_num_threads(count);
  }
  ~Threads() { omp_set_num_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

}  // namespace wisp::cpu
