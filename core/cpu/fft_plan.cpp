#include "cpu/fft_plan.h"

#include <algorithm>
#include <cmath>
#include <list>
#include <map>
#include <pthread.h>

#include "cpu/fft_run.h"

namespace wisp::cpu {

namespace {

// From this many bytes on, a transform is run as columns and rows that fit into the cache.
constexpr int64_t long_bytes = 1 << 19;
// What the cache of plans holds, per dtype.
constexpr size_t max_plans = 128;
constexpr int64_t max_bytes = 64 << 20;

struct Root {
  double re, im;
};

// exp(-2 pi i k / n). The angle is folded into the first eighth of the circle while it is still a
// fraction, so that it is as exact as cos and sin are.
Root root(int64_t k, int64_t n) {
  k %= n;
  constexpr double pi = 3.14159265358979323846;
  const int64_t eighth = 8 * k / n;                          // 0..7
  const int64_t rest = 8 * k - (eighth + (eighth & 1)) * n;  // from the nearest even eighth
  const double angle = pi / 4 * static_cast<double>(rest) / static_cast<double>(n);
  const double c = std::cos(angle), s = std::sin(angle);
  switch ((eighth + 1) / 2 % 4) {
    case 0:
      return {c, -s};
    case 1:
      return {-s, -c};
    case 2:
      return {-c, s};
    default:
      return {s, c};
  }
}

// Twos in steps of 8 as far as possible, else of 4; then the odd primes. Empty if there is one
// beyond max_radix.
std::vector<int> factors(int64_t n) {
  std::vector<int> result;
  int twos = 0;
  for (; n % 2 == 0; n /= 2) ++twos;
  const int fours = twos % 3 == 2 ? 1 : (twos % 3 == 1 && twos > 1 ? 2 : 0);
  result.assign(static_cast<size_t>((twos - 2 * fours) / 3), 8);
  result.insert(result.end(), static_cast<size_t>(fours), 4);
  if (twos == 1) result.push_back(2);
  for (int p = 3; n > 1; p += 2) {
    if (p > max_radix) return {};
    for (; n % p == 0; n /= p) result.push_back(p);
  }
  return result;
}

bool is_smooth(int64_t n) { return n == 1 || !factors(n).empty(); }

// The shortest length of at least n that is quickly transformed.
int64_t convolution_length(int64_t n) {
  int64_t best = 64;
  while (best < n) best *= 2;
  for (int64_t odd : {3, 5, 9, 15, 25, 27}) {
    int64_t length = 64 * odd;
    while (length < n) length *= 2;
    best = std::min(best, length);
  }
  return best;
}

template <class T>
void put(T* to, Root r) {
  to[0] = static_cast<T>(r.re);
  to[1] = static_cast<T>(r.im);
}

template <class T>
class Builder {
 public:
  explicit Builder(int64_t n) : plan_(std::make_shared<FftPlan<T>>()) { plan_->n = n; }

  std::shared_ptr<const FftPlan<T>> build() {
    const int64_t n = plan_->n;
    if (!is_smooth(n)) {
      add_convolution();
    } else if (const int64_t columns = column_length(); columns > 0) {
      add_long(columns);
    } else {
      add_steps();
    }
    return plan_;
  }

 private:
  T* keep(int64_t size) { return plan_->memory.emplace_back(static_cast<size_t>(size)).data(); }
  template <class F>
  const T* roots(int64_t count, int64_t n, F turns) {
    T* to = keep(2 * count);
    for (int64_t k = 0; k < count; ++k) put(to + 2 * k, root(turns(k), n));
    return to;
  }

  void add_steps() {
    const std::vector<int> radices = factors(plan_->n);
    std::vector<T> table;
    auto append = [&](Root r) {
      table.push_back(static_cast<T>(r.re));
      table.push_back(static_cast<T>(r.im));
    };
    int64_t length = plan_->n;
    for (int radix : radices) {
      FftStep step{radix, length / radix, static_cast<int64_t>(table.size()), 0};
      for (int64_t p = 0; p < step.after; ++p) {
        for (int64_t j = 1; j < radix; ++j) append(root(p * j, length));
      }
      step.roots = static_cast<int64_t>(table.size());
      for (int j = 0; j < radix; ++j) append(root(j, radix));
      plan_->step_list.push_back(step);
      length /= radix;
    }
    T* to = keep(static_cast<int64_t>(table.size()));
    std::copy(table.begin(), table.end(), to);
    plan_->table = to;
    plan_->steps = plan_->step_list.data();
    plan_->step_count = static_cast<int>(plan_->step_list.size());
    if (radices.size() > 1 && radices[0] == 8) add_first();
  }

  void add_first() {
    const int64_t m = plan_->n / 8;
    T* to = keep(2 * 7 * m);
    for (int64_t j = 1; j < 8; ++j) {
      for (int64_t p = 0; p < m; ++p) {
        const Root r = root(j * p, plan_->n);
        to[2 * m * (j - 1) + p] = static_cast<T>(r.re);
        to[2 * m * (j - 1) + m + p] = static_cast<T>(r.im);
      }
    }
    plan_->first = to;
  }

  // How to split a long transform: near the square root, both parts whole vectors. 0: not at all.
  int64_t column_length() const {
    const int64_t n = plan_->n, width = fft_kernels<T>().width;
    if (n * static_cast<int64_t>(2 * sizeof(T)) < long_bytes || n % (width * width) != 0) return 0;
    int64_t columns = width;
    for (int radix : factors(n / (width * width))) {
      if (columns * radix * columns * radix <= 2 * n) columns *= radix;
    }
    return columns;
  }

  void add_long(int64_t columns) {
    const int64_t n = plan_->n, width = fft_kernels<T>().width;
    plan_->columns = fft_plan<T>(columns);
    plan_->rows = fft_plan<T>(n / columns);
    plan_->column_length = columns;
    plan_->row_length = n / columns;
    plan_->fine = roots(int64_t(1) << fine_bits, n, [](int64_t k) { return k; });
    plan_->coarse = roots((n >> fine_bits) + 1, n, [](int64_t k) { return k << fine_bits; });
    T* to = keep(2 * columns * width);
    for (int64_t k = 0; k < columns; ++k) {
      for (int64_t lane = 0; lane < width; ++lane) {
        const Root r = root(k * lane, n);
        to[2 * width * k + lane] = static_cast<T>(r.re);
        to[2 * width * k + width + lane] = static_cast<T>(r.im);
      }
    }
    plan_->lanes = to;
  }

  // Bluestein: j k = (j^2 + k^2 - (k - j)^2) / 2 makes the transform a convolution with a chirp.
  void add_convolution() {
    const int64_t n = plan_->n, length = convolution_length(2 * n - 1);
    auto square = [n](int64_t k) {
      return static_cast<int64_t>(static_cast<unsigned __int128>(k) * static_cast<uint64_t>(k) %
                                  static_cast<uint64_t>(2 * n));
    };
    plan_->inner = fft_plan<T>(length);
    plan_->chirp = roots(n, 2 * n, square);
    std::vector<T> wrapped(static_cast<size_t>(2 * length), T(0));
    for (int64_t k = 0; k < n; ++k) {
      const Root r = root(square(k), 2 * n);
      put(&wrapped[static_cast<size_t>(2 * k)], {r.re, -r.im});
      if (k > 0) put(&wrapped[static_cast<size_t>(2 * (length - k))], {r.re, -r.im});
    }
    T* spectrum = keep(2 * length);
    fft_row<T>(*plan_->inner, wrapped.data(), spectrum, {.scale = T(1) / static_cast<T>(length)});
    plan_->chirp_spectrum = spectrum;
  }

  std::shared_ptr<FftPlan<T>> plan_;
};

// The plans used last.
template <class T>
class Cache {
 public:
  std::shared_ptr<const FftPlan<T>> find(int64_t n) {
    std::lock_guard lock(mutex_);
    auto found = places_.find(n);
    if (found == places_.end()) return nullptr;
    order_.splice(order_.begin(), order_, found->second);
    return order_.front();
  }
  void add(const std::shared_ptr<const FftPlan<T>>& plan) {
    std::lock_guard lock(mutex_);
    if (places_.contains(plan->n)) return;
    order_.push_front(plan);
    places_[plan->n] = order_.begin();
    held_ += plan->bytes();
    while (order_.size() > max_plans || held_ > max_bytes) drop_oldest();
  }
  std::mutex& mutex() { return mutex_; }

 private:
  void drop_oldest() {
    held_ -= order_.back()->bytes();
    places_.erase(order_.back()->n);
    order_.pop_back();
  }

  std::mutex mutex_;
  int64_t held_ = 0;
  std::list<std::shared_ptr<const FftPlan<T>>> order_;  // last used first
  std::map<int64_t, typename decltype(order_)::iterator> places_;
};

template <class T>
Cache<T>& cache() {
  static Cache<T>* made = [] {
    // A forked child must not inherit a mutex that another thread held.
    pthread_atfork([] { cache<T>().mutex().lock(); }, [] { cache<T>().mutex().unlock(); },
                   [] { cache<T>().mutex().unlock(); });
    return new Cache<T>;
  }();
  return *made;
}

}  // namespace

template <class T>
const T* FftPlan<T>::half_roots() const {
  std::call_once(halves_made_, [this] {
    halves_.resize(static_cast<size_t>(this->n / 2 + 1) * 2);
    for (int64_t k = 0; k <= this->n / 2; ++k)
      put(&halves_[static_cast<size_t>(2 * k)], root(k, 2 * this->n));
  });
  return halves_.data();
}

template <class T>
int64_t FftPlan<T>::bytes() const {
  size_t count = static_cast<size_t>(this->n) + 2;
  for (const std::vector<T>& part : memory) count += part.size();
  return static_cast<int64_t>(count * sizeof(T));
}

template <class T>
std::shared_ptr<const FftPlan<T>> fft_plan(int64_t n) {
  if (auto plan = cache<T>().find(n)) return plan;
  auto plan = Builder<T>(n).build();  // outside the lock: two threads may build the same
  cache<T>().add(plan);
  return plan;
}

template struct FftPlan<float>;
template struct FftPlan<double>;
template std::shared_ptr<const FftPlan<float>> fft_plan(int64_t n);
template std::shared_ptr<const FftPlan<double>> fft_plan(int64_t n);

}  // namespace wisp::cpu
