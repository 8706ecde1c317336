// The gates of recurrent layers: everything of a time step that is not a matrix product.
#include "cpu/kernels/tile.h"
#include "cpu/vmath.h"

namespace wisp::cpu {

namespace {

template <class T, bool relu>
void plain(const RnnStep<T>& s) {
  for (int64_t r = 0; r < s.rows; ++r) {
    const T *sum = s.gates + r * s.gates_row, *bias = s.bias;
    T* out = s.out + r * s.hidden;
#pragma GCC ivdep
    for (int64_t j = s.begin; j < s.end; ++j) {
      const T x = sum[j] + bias[j];
      if constexpr (relu) {
        out[j] = x < 0 ? T(0) : x;
      } else {
        out[j] = vmath::tanh(x);
      }
    }
  }
}

template <class T, bool relu>
void plain_grad(const RnnStepGrad<T>& s) {
  for (int64_t r = 0; r < s.rows; ++r) {
    const T *out = s.out + r * s.hidden, *grad = s.grad + r * s.hidden;
    T* sum = s.sum_grad + r * s.sum_row;
#pragma GCC ivdep
    for (int64_t j = s.begin; j < s.end; ++j) {
      if constexpr (relu) {
        sum[j] = out[j] <= 0 ? T(0) : grad[j];
      } else {
        sum[j] = grad[j] * (T(1) - out[j] * out[j]);
      }
    }
  }
}

template <class T>
void lstm(const RnnStep<T>& s) {
  const int64_t h = s.hidden;
  const T* bias = s.bias;
  for (int64_t r = 0; r < s.rows; ++r) {
    T *gates = s.gates + r * s.gates_row, *cells = s.cells + r * h, *out = s.out + r * h;
#pragma GCC ivdep
    for (int64_t j = s.begin; j < s.end; ++j) {
      const T in = vmath::sigmoid(gates[j] + bias[j]);
      const T forget = vmath::sigmoid(gates[h + j] + bias[h + j]);
      const T candidate = vmath::tanh(gates[2 * h + j] + bias[2 * h + j]);
      const T read = vmath::sigmoid(gates[3 * h + j] + bias[3 * h + j]);
      const T cell = forget * cells[j] + in * candidate;
      gates[j] = in;
      gates[h + j] = forget;
      gates[2 * h + j] = candidate;
      gates[3 * h + j] = read;
      gates[4 * h + j] = cell;
      cells[j] = cell;
      out[j] = read * vmath::tanh(cell);
    }
  }
}

template <class T>
void lstm_grad(const RnnStepGrad<T>& s) {
  const int64_t h = s.hidden;
  for (int64_t r = 0; r < s.rows; ++r) {
    const T *gates = s.gates + r * s.gates_row, *before = s.before + r * s.before_row;
    const T* grad = s.grad + r * h;
    T *cell_grad = s.cell_grad + r * h, *sum = s.sum_grad + r * s.sum_row;
#pragma GCC ivdep
    for (int64_t j = s.begin; j < s.end; ++j) {
      const T in = gates[j], forget = gates[h + j], candidate = gates[2 * h + j];
      const T read = gates[3 * h + j], squashed = vmath::tanh(gates[4 * h + j]);
      const T cell = cell_grad[j] + grad[j] * read * (T(1) - squashed * squashed);
      sum[j] = cell * candidate * in * (T(1) - in);
      sum[h + j] = cell * before[j] * forget * (T(1) - forget);
      sum[2 * h + j] = cell * in * (T(1) - candidate * candidate);
      sum[3 * h + j] = grad[j] * squashed * read * (T(1) - read);
      cell_grad[j] = cell * forget;
    }
  }
}

template <class T>
void gru(const RnnStep<T>& s) {
  const int64_t h = s.hidden;
  const T* bias = s.bias;
  for (int64_t r = 0; r < s.rows; ++r) {
    T *gates = s.gates + r * s.gates_row, *out = s.out + r * h;
    const T* before = s.before + r * h;
#pragma GCC ivdep
    for (int64_t j = s.begin; j < s.end; ++j) {
      const T reset = vmath::sigmoid(gates[j] + bias[j]);
      const T update = vmath::sigmoid(gates[h + j] + bias[h + j]);
      const T product = gates[3 * h + j] + bias[3 * h + j];
      const T candidate = vmath::tanh(gates[2 * h + j] + bias[2 * h + j] + reset * product);
      gates[j] = reset;
      gates[h + j] = update;
      gates[2 * h + j] = candidate;
      gates[3 * h + j] = product;
      out[j] = candidate + update * (before[j] - candidate);
    }
  }
}

template <class T>
void gru_grad(const RnnStepGrad<T>& s) {
  const int64_t h = s.hidden;
  for (int64_t r = 0; r < s.rows; ++r) {
    const T *gates = s.gates + r * s.gates_row, *before = s.before + r * s.before_row;
    T *grad = s.grad + r * h, *sum = s.sum_grad + r * s.sum_row;
    T* product = s.hidden_grad + r * s.sum_row;
#pragma GCC ivdep
    for (int64_t j = s.begin; j < s.end; ++j) {
      const T reset = gates[j], update = gates[h + j], candidate = gates[2 * h + j];
      const T inner = grad[j] * (T(1) - update) * (T(1) - candidate * candidate);
      const T reset_sum = inner * gates[3 * h + j] * reset * (T(1) - reset);
      const T update_sum = grad[j] * (before[j] - candidate) * update * (T(1) - update);
      sum[j] = reset_sum;
      sum[h + j] = update_sum;
      sum[2 * h + j] = inner;
      product[j] = reset_sum;
      product[h + j] = update_sum;
      product[2 * h + j] = inner * reset;
      grad[j] *= update;
    }
  }
}

template <class T>
RnnKernels<T> rnn_kernels() {
  return {{plain<T, false>, plain<T, true>, lstm<T>, gru<T>},
          {plain_grad<T, false>, plain_grad<T, true>, lstm_grad<T>, gru_grad<T>}};
}

}  // namespace

namespace WISP_ISA {

void fill_rnn(Kernels& table) {
  table.rnn_f32 = rnn_kernels<float>();
  table.rnn_f64 = rnn_kernels<double>();
}

}  // namespace WISP_ISA
}  // namespace wisp::cpu
