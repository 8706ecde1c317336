#include "cpu/rnn.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/parallel.h"
#include "cpu/bfloat_gemm.h"
#include "cpu/bfloat_panels.h"
#include "cpu/gemm.h"
#include "cpu/kernels/kernels.h"
#include "cpu/scratch.h"

namespace wisp::cpu {

namespace {

template <class T>
const GemmKernels<T>& gemm_kernels() {
  if constexpr (std::is_same_v<T, float>) {
    return kernels().gemm_f32;
  } else {
    return kernels().gemm_f64;
  }
}
template <class T>
const RnnKernels<T>& rnn_kernels() {
  if constexpr (std::is_same_v<T, float>) {
    return kernels().rnn_f32;
  } else {
    return kernels().rnn_f64;
  }
}

template <class T>
const T* as(const char* p) {
  return reinterpret_cast<const T*>(p);
}
template <class T>
T* as(char* p) {
  return reinterpret_cast<T*>(p);
}

// Units are worked on in blocks: a block's sums and gates are made by the same thread in one go.
constexpr int64_t block = 32;
int64_t blocks_of(int64_t n) { return (n + block - 1) / block; }

int64_t grain_for(int64_t work_per_block, int64_t least = 1 << 17) {
  return std::max<int64_t>(1, least / std::max<int64_t>(1, work_per_block));
}

// Matrices that are multiplied with something new in every time step. They are packed once, in
// panels of one block of columns, unless there are too few rows in all to make up for that.
template <class T>
class Panels {
 public:
  // `count` matrices (depth x cols) one after the other, or their transposes.
  Panels(const T* data, int64_t count, int64_t depth, int64_t cols, bool transposed, bool packed)
      : data_(data),
        depth_(depth),
        cols_(cols),
        transposed_(transposed),
        packed_(packed),
        far_(GemmKernels<T>::is_far(count * depth * cols)),
        memory_(packed ? count * blocks_of(cols) * depth * block : 0) {
    if (!packed) return;
    parallel_for(count * blocks_of(cols), 4, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) pack(i / blocks_of(cols), i % blocks_of(cols));
    });
  }

  bool packed() const { return packed_; }

  // Columns [first, end) of C = A * matrix + beta * C; a block of them, if packed.
  void multiply(const T* a, int64_t a_row, int64_t rows, int64_t number, int64_t first, int64_t end,
                T* c, int64_t c_row, T beta) const {
    const auto& kernel = gemm_kernels<T>();
    const int64_t n = end - first;
    if (packed_) {
      // A part of a panel stays in the first-level cache while all rows go over it.
      for (int64_t p = 0; p < std::max<int64_t>(1, depth_); p += part)
        kernel.small(a + p, a_row, 1, panel(number, first / block) + p * block, block, c + first,
                     c_row, rows, n, std::min(part, depth_ - p), T(1), p == 0 ? beta : T(1));
      return;
    }
    const T* from = columns(number, first);
    for (int64_t r = 0; r < rows; ++r, a += a_row, c += c_row) {
      if (transposed_) {
        kernel.gemv_rows(from, depth_, a, c + first, 1, n, depth_, T(1), beta, far_);
      } else {
        kernel.gemv_columns(from, cols_, a, 1, c + first, n, depth_, T(1), beta);
      }
    }
  }

 private:
  static constexpr int64_t part = 768 / static_cast<int64_t>(sizeof(T));
  const T* columns(int64_t number, int64_t first) const {
    return data_ + number * depth_ * cols_ + (transposed_ ? first * depth_ : first);
  }
  T* panel(int64_t number, int64_t index) const {
    return memory_.data() + (number * blocks_of(cols_) + index) * depth_ * block;
  }
  void pack(int64_t number, int64_t index) {
    const int64_t first = index * block, n = std::min(block, cols_ - first);
    T* to = panel(number, index);
    if (n < block) std::fill_n(to, depth_ * block, T(0));
    if (transposed_) {
      gemm_kernels<T>().transpose(columns(number, first), depth_, to, block, depth_, n);
    } else {
      gemm_kernels<T>().pack(columns(number, first), cols_, to, block, depth_, n);
    }
  }

  const T* data_;
  int64_t depth_, cols_;
  bool transposed_, packed_, far_;
  Scratch<T> memory_;
};

// Members of the batch.
struct Rows {
  int64_t begin, end;
  int64_t count() const { return end - begin; }
};

// Weights of the state as panels, of T or, with rows of factors that are rounded for them,
// bfloat16.
template <class T>
class StateWeights {
 public:
  StateWeights(const char* data, int64_t count, int64_t depth, int64_t cols, bool transposed,
               bool packed, bool bfloat16)
      : packed_(packed) {
    static_assert(BFloatPanels::width == block);
    if (bfloat16) {
      halves_.emplace(as<BFloat16>(data), count, depth, cols, transposed, packed);
    } else {
      panels_.emplace(as<T>(data), count, depth, cols, transposed, packed);
    }
  }
  bool packed() const { return packed_; }

  // See Panels; `halves` are the same rows, rounded.
  void multiply(const T* a, int64_t a_row, const BFloatRows& halves, const Rows& rows,
                int64_t number, int64_t first, int64_t end, T* c, int64_t c_row, bool adds) const {
    if (panels_)
      return panels_->multiply(a, a_row, rows.count(), number, first, end, c, c_row,
                               adds ? T(1) : T(0));
    if constexpr (std::is_same_v<T, float>)
      halves_->multiply(halves.at(rows.begin), halves.row(), rows.count(), number, first, end, c,
                        c_row, adds);
  }

 private:
  bool packed_;
  std::optional<Panels<T>> panels_;
  std::optional<BFloatPanels> halves_;
};

template <class T>
char* bytes(T* p) {
  return reinterpret_cast<char*>(p);
}

// Where the time steps lie in packed memory.
struct Steps {
  explicit Steps(const RnnShape& shape) : sizes(shape.batch_sizes), reverse(shape.reverse) {
    int64_t at = 0;
    for (int64_t size : sizes) {
      offsets.push_back(at);
      at += size;
    }
    total = at;
  }
  int64_t count() const { return static_cast<int64_t>(sizes.size()); }
  int64_t size(int64_t t) const { return sizes[static_cast<size_t>(t)]; }
  int64_t offset(int64_t t) const { return offsets[static_cast<size_t>(t)]; }
  int64_t batch() const { return sizes[0]; }
  // The step whose state step t starts from, and for how many rows: the others start from the given
  // state.
  int64_t before(int64_t t) const { return reverse ? t + 1 : t - 1; }
  int64_t carried(int64_t t) const {
    const int64_t p = before(t);
    return p < 0 || p >= count() ? 0 : std::min(size(p), size(t));
  }
  // Packing costs about as much as a product with a few rows.
  bool worth_packing() const { return batch() > 1 && total >= 8; }
  // Those of some members of the batch that take part in step t.
  Rows at(int64_t t, const Rows& members) const {
    return {members.begin, std::max(members.begin, std::min(members.end, size(t)))};
  }

  IntSpan sizes;
  bool reverse;
  Dims offsets;
  int64_t total = 0;
};

// Members of the batch have nothing to do with one another: threads that have some each need not
// wait for the others between the steps. Each then reads all weights in every step, so these must
// fit into its second-level cache, and there must be enough rows to make up for that. The same
// numbers come out either way.
int64_t members_at_once(const Steps& steps, int64_t weight_bytes) {
  constexpr int64_t least = 10, cache = 768 << 10;
  if (!steps.worth_packing() || weight_bytes > cache) return steps.batch();
  int64_t parts = 1;
  while (steps.batch() / (2 * parts) >= least) parts *= 2;
  return parts < num_threads() ? steps.batch() : (steps.batch() + parts - 1) / parts;
}

Matrix matrix(const char* data, int64_t rows, int64_t cols, int64_t row) {
  return {const_cast<char*>(data), rows, cols, row, 1};
}
Matrix transpose_of(const char* data, int64_t rows, int64_t cols) {
  return {const_cast<char*>(data), rows, cols, 1, rows};
}

template <class T>
class Forward {
 public:
  explicit Forward(const RnnCall& call)
      : call_(call),
        shape_(call.shape),
        steps_(call.shape),
        row_(std::max<int64_t>(1, rnn_kept(shape_.kind)) * shape_.hidden),
        own_sums_(call.kept ? 0 : steps_.total * row_),
        sums_(call.kept ? as<T>(call.kept) : own_sums_.data()),
        bias_(rnn_sums(shape_.kind) * shape_.hidden),
        other_(steps_.batch() * shape_.outputs),
        unprojected_(call.w_hr ? steps_.batch() * shape_.hidden : 0),
        halves_{{call.bfloat16 ? steps_.batch() : 0, shape_.outputs},
                {call.bfloat16 ? steps_.batch() : 0, shape_.outputs}},
        weights_(call.w_hh, rnn_gates(shape_.kind), shape_.outputs, shape_.hidden, true,
                 steps_.worth_packing(), call.bfloat16) {}

  void run() {
    if (!is_single_row()) project_input();
    join_biases();
    const int64_t weights = rnn_gates(shape_.kind) * shape_.outputs * shape_.hidden;
    const int64_t members = members_at_once(steps_, weights * static_cast<int64_t>(sizeof(T)));
    parallel_for(steps_.batch(), call_.w_hr ? steps_.batch() : members,
                 [&](int64_t begin, int64_t end) { run({begin, end}); });
  }

 private:
  // All steps of some members of the batch.
  void run(const Rows& members) {
    T *now = as<T>(call_.h), *next = other_.data();
    round(now, 0, shape_.outputs, members);
    for (int64_t i = 0; i < steps_.count(); ++i) {
      step(shape_.reverse ? steps_.count() - 1 - i : i, members, now, next);
      std::swap(now, next);
    }
    const int64_t outputs = shape_.outputs;
    if (now == other_.data())
      std::copy(now + members.begin * outputs, now + members.end * outputs,
                as<T>(call_.h) + members.begin * outputs);
  }

  // What all inputs add to the gates, in one product.
  void project_input() {
    const int64_t cols = rnn_gates(shape_.kind) * shape_.hidden;
    const Matrix x = matrix(call_.x, steps_.total, shape_.inputs, shape_.inputs);
    const Matrix weight = transpose_of(call_.w_ih, shape_.inputs, cols);
    const Matrix sums = matrix(bytes(sums_), steps_.total, cols, row_);
    if (call_.bfloat16) {
      bfloat_product_to_float(x, weight, sums, 1, 0);
    } else {
      gemm(shape_.dtype, x, weight, sums);
    }
  }

  // The states, rounded for the products of bfloat16.
  const BFloatRows& halves_of(const T* states) const {
    return halves_[states == as<T>(call_.h) ? 0 : 1];
  }
  void round(const T* states, int64_t begin, int64_t end, const Rows& rows) const {
    if constexpr (std::is_same_v<T, float>) {
      for (int64_t r = rows.begin; call_.bfloat16 && r < rows.end; ++r)
        halves_of(states).round(r, states + r * shape_.outputs, begin, end);
    }
  }

  // A single row makes the product with its input beside that with its state: the weights of both
  // are read once, by whoever computes these units.
  // (Steps may have no row at all.)
  bool is_single_row() const { return steps_.total == 1 && steps_.count() == 1 && !call_.bfloat16; }

  // Both biases add up, but for the candidate of the gru: the reset gate is between them.
  void join_biases() {
    const int64_t h = shape_.hidden, cols = rnn_gates(shape_.kind) * h;
    const int64_t joined = shape_.kind == RnnKind::gru ? 2 * h : cols;
    std::fill(bias_.begin(), bias_.end(), T(0));
    if (call_.b_ih) std::copy_n(as<T>(call_.b_ih), cols, bias_.data());
    if (call_.b_hh) {
      const T* from = as<T>(call_.b_hh);
      for (int64_t i = 0; i < joined; ++i) bias_[i] += from[i];
      std::copy_n(from + joined, cols - joined, bias_.end() - (cols - joined));
    }
  }

  void step(int64_t t, const Rows& members, const T* now, T* next) {
    const int64_t outputs = shape_.outputs;
    const Rows rows = steps_.at(t, members);
    T* made = call_.w_hr ? unprojected_.data() : next;
    parallel_for(shape_.hidden, grain(rows.count()), [&](int64_t begin, int64_t end) {
      const int64_t size = weights_.packed() ? block : end - begin;
      for (; begin < end; begin += size) {
        const int64_t last = std::min(end, begin + size);
        step_units(t, rows, begin, last, now, made);
        if (!call_.w_hr) round(next, begin, last, rows);
      }
    });
    if (call_.w_hr) {
      gemm(shape_.dtype, matrix(bytes(made), rows.count(), shape_.hidden, shape_.hidden),
           transpose_of(call_.w_hr, shape_.hidden, outputs),
           matrix(bytes(next), rows.count(), outputs, outputs));
      round(next, 0, outputs, rows);
    }
    deliver(t, rows, next);
    // Sequences that are over, or have not begun, keep their state.
    std::copy(now + rows.end * outputs, now + members.end * outputs, next + rows.end * outputs);
    round(next, 0, outputs, {rows.end, members.end});
  }

  void deliver(int64_t t, const Rows& rows, const T* next) const {
    const int64_t outputs = shape_.outputs, at = (steps_.offset(t) + rows.begin) * outputs;
    if (!call_.bfloat16) {
      std::copy(next + rows.begin * outputs, next + rows.end * outputs, as<T>(call_.out) + at);
      return;
    }
    BFloat16* out = as<BFloat16>(call_.out) + at;
    for (int64_t r = rows.begin; r < rows.end; ++r, out += outputs)
      std::copy_n(halves_of(next).at(r), outputs, out);
  }

  // How many units are one piece of a step. Products with few rows take as long as the weights do
  // to come out of a cache: small pieces, so that all threads have their share, but together enough
  // to wake them for, and each a stretch of the weights that makes up for its slow start.
  int64_t grain(int64_t rows) const {
    const int64_t terms = shape_.outputs + 16 + (is_single_row() ? shape_.inputs : 0);
    const int64_t work = rows * rnn_gates(shape_.kind) * terms * block;
    if (weights_.packed()) return block * grain_for(work);
    const bool alone = blocks_of(shape_.hidden) * work < (1 << 17);
    if (alone) return shape_.hidden;
    return rows == 1 && shape_.hidden >= 16 * block ? 2 * block : block * grain_for(work, 1 << 14);
  }

  void step_units(int64_t t, const Rows& rows, int64_t begin, int64_t end, const T* now, T* made) {
    const int64_t h = shape_.hidden;
    T* sums = sums_ + (steps_.offset(t) + rows.begin) * row_;
    const BFloatRows& halves = halves_of(now);
    now += rows.begin * shape_.outputs;
    for (int64_t gate = 0; gate < rnn_gates(shape_.kind); ++gate) {
      const bool apart = shape_.kind == RnnKind::gru && gate == 2;
      if (is_single_row()) start_sums(gate, begin, end, sums + gate * h);
      weights_.multiply(now, shape_.outputs, halves, rows, gate, begin, end,
                        sums + (apart ? 3 : gate) * h, row_, !apart);
    }
    rnn_kernels<T>().step[static_cast<int>(shape_.kind)](
        {.rows = rows.count(),
         .begin = begin,
         .end = end,
         .hidden = h,
         .gates = sums,
         .gates_row = row_,
         .bias = bias_.data(),
         .cells = call_.c ? as<T>(call_.c) + rows.begin * h : nullptr,
         .before = now,
         .out = made + rows.begin * h});
  }

  void start_sums(int64_t gate, int64_t begin, int64_t end, T* sums) const {
    const int64_t size = rnn_gates(shape_.kind) * shape_.hidden * shape_.inputs;
    const T* weight = as<T>(call_.w_ih) + (gate * shape_.hidden + begin) * shape_.inputs;
    gemm_kernels<T>().gemv_rows(weight, shape_.inputs, as<T>(call_.x), sums + begin, 1, end - begin,
                                shape_.inputs, T(1), T(0), GemmKernels<T>::is_far(size));
  }

  const RnnCall& call_;
  const RnnShape& shape_;
  Steps steps_;
  int64_t row_;
  Scratch<T> own_sums_;
  T* sums_;
  Scratch<T> bias_, other_, unprojected_;
  BFloatRows halves_[2];
  StateWeights<T> weights_;
};

template <class T>
class BackwardPass {
 public:
  explicit BackwardPass(const RnnGradCall& call)
      : call_(call),
        shape_(call.shape),
        steps_(call.shape),
        kept_row_(rnn_kept(shape_.kind) * shape_.hidden),
        sum_row_(rnn_gates(shape_.kind) * shape_.hidden),
        unprojected_(call.w_hr ? steps_.batch() * shape_.hidden : 0),
        halves_(call.bfloat16 ? steps_.batch() : 0, sum_row_),
        weights_(call.w_hh, 1, sum_row_, shape_.outputs, false, steps_.worth_packing(),
                 call.bfloat16) {}

  void run() {
    const int64_t weights = sum_row_ * shape_.outputs;
    const int64_t members = members_at_once(steps_, weights * static_cast<int64_t>(sizeof(T)));
    parallel_for(steps_.batch(), call_.w_hr ? steps_.batch() : members,
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = 0; i < steps_.count(); ++i) {
                     const int64_t t = shape_.reverse ? i : steps_.count() - 1 - i;
                     step(t, steps_.at(t, {begin, end}));
                   }
                 });
  }

 private:
  bool is_gru() const { return shape_.kind == RnnKind::gru; }
  // What is multiplied by the weights of the state; some units, rounded for products of bfloat16.
  const T* multiplied_at(int64_t t) const { return is_gru() ? hidden_at(t) : sums_at(t); }
  void round(int64_t t, const Rows& rows, int64_t begin, int64_t end) const {
    if constexpr (std::is_same_v<T, float>) {
      for (int64_t r = rows.begin; call_.bfloat16 && r < rows.end; ++r)
        for (int64_t unit = 0; unit < sum_row_; unit += shape_.hidden)
          halves_.round(r, multiplied_at(t) + r * sum_row_, unit + begin, unit + end);
    }
  }

  T* sums_at(int64_t t) const { return as<T>(call_.sum_grad) + steps_.offset(t) * sum_row_; }
  T* hidden_at(int64_t t) const {
    return is_gru() ? as<T>(call_.hidden_grad) + steps_.offset(t) * sum_row_ : nullptr;
  }

  void step(int64_t t, const Rows& rows) {
    if (rows.count() == 0) return;
    const int64_t outputs = shape_.outputs;
    T* grad = as<T>(call_.h_grad);
    add_output_grad(t, rows, grad);
    T* inner = call_.w_hr ? unproject(t, grad) : grad;
    parallel_for(blocks_of(shape_.hidden), grain_for(rows.count() * block * 64),
                 [&](int64_t begin, int64_t end) {
                   gates(t, rows, begin, end, inner);
                   round(t, rows, begin * block, std::min(shape_.hidden, end * block));
                 });
    const T* from = multiplied_at(t) + rows.begin * sum_row_;
    grad += rows.begin * outputs;
    parallel_for(blocks_of(outputs), grain_for(rows.count() * block * sum_row_),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t first = begin * block; first < end * block; first += block)
                     weights_.multiply(from, sum_row_, halves_, rows, 0, first,
                                       std::min(outputs, first + block), grad, outputs, is_gru());
                 });
  }

  void add_output_grad(int64_t t, const Rows& rows, T* grad) const {
    if (!call_.out_grad) return;
    const T* from = as<T>(call_.out_grad) + steps_.offset(t) * shape_.outputs;
    for (int64_t i = rows.begin * shape_.outputs; i < rows.end * shape_.outputs; ++i)
      grad[i] += from[i];
  }

  // The gradient in front of the projection; that behind it is noted for its weight.
  T* unproject(int64_t t, T* grad) const {
    const int64_t rows = steps_.size(t), outputs = shape_.outputs, h = shape_.hidden;
    std::copy_n(grad, rows * outputs, as<T>(call_.hidden_grad) + steps_.offset(t) * outputs);
    gemm(shape_.dtype, matrix(bytes(grad), rows, outputs, outputs),
         matrix(call_.w_hr, outputs, h, h), matrix(bytes(unprojected_.data()), rows, h, h));
    return unprojected_.data();
  }

  // Some blocks of units: first the rows that went on from another step, then those that began
  // here.
  void gates(int64_t t, const Rows& rows, int64_t begin, int64_t end, T* grad) const {
    const int64_t h = shape_.hidden;
    const int64_t carried = std::clamp<int64_t>(steps_.carried(t) - rows.begin, 0, rows.count());
    RnnStepGrad<T> part{.rows = carried,
                        .begin = begin * block,
                        .end = std::min(h, end * block),
                        .hidden = h,
                        .gates = as<T>(call_.kept) + steps_.offset(t) * kept_row_,
                        .gates_row = kept_row_,
                        .before = nullptr,
                        .before_row = is_gru() ? h : kept_row_,
                        .out = as<T>(call_.out) + steps_.offset(t) * shape_.outputs,
                        .grad = grad,
                        .cell_grad = as<T>(call_.c_grad),
                        .sum_grad = sums_at(t),
                        .sum_row = sum_row_,
                        .hidden_grad = hidden_at(t)};
    skip_rows(part, rows.begin);
    if (carried > 0) {
      const int64_t at = steps_.offset(steps_.before(t)) + rows.begin;
      part.before =
          is_gru() ? as<T>(call_.out) + at * h : as<T>(call_.kept) + at * kept_row_ + 4 * h;
      run(part);
    }
    if (carried == rows.count()) return;
    skip_rows(part, carried);
    part.rows = rows.count() - carried;
    part.before = as<T>(is_gru() ? call_.h : call_.c);
    part.before += part.before ? (rows.begin + carried) * h : 0;
    part.before_row = h;
    run(part);
  }

  static void skip_rows(RnnStepGrad<T>& part, int64_t rows) {
    part.gates += rows * part.gates_row;
    part.out += rows * part.hidden;
    part.grad += rows * part.hidden;
    if (part.cell_grad) part.cell_grad += rows * part.hidden;
    part.sum_grad += rows * part.sum_row;
    if (part.hidden_grad) part.hidden_grad += rows * part.sum_row;
  }

  void run(const RnnStepGrad<T>& part) const {
    rnn_kernels<T>().step_grad[static_cast<int>(shape_.kind)](part);
  }

  const RnnGradCall& call_;
  const RnnShape& shape_;
  Steps steps_;
  int64_t kept_row_, sum_row_;
  Scratch<T> unprojected_;
  BFloatRows halves_;
  StateWeights<T> weights_;
};

}  // namespace

void rnn(const RnnCall& call) {
  visit<dtypes::real_math>(call.shape.dtype, "rnn", [&]<class T>() { Forward<T>(call).run(); });
}

void rnn_grad(const RnnGradCall& call) {
  visit<dtypes::real_math>(call.shape.dtype, "rnn",
                           [&]<class T>() { BackwardPass<T>(call).run(); });
}

}  // namespace wisp::cpu
