// A product is cut into pieces of C. For each, some rows of B are brought into panels as wide as
// the tiles (they stay in the second-level cache), and all rows of A go over them, a few at a time.
// Every element of C is made by the same operations in the same order wherever the cuts are: sums
// of depth_of(k) terms, added up one after the other. Where C is too small to be cut, the terms are
// (by the shape alone, too), and both halves added up in the end.
#include "cpu/packed_gemm.h"

#include <algorithm>

#include "base/parallel.h"
#include "cpu/kernels/kernels.h"
#include "cpu/scratch.h"

namespace wisp::cpu {

namespace {

constexpr int64_t tile_rows = 6, tile_vectors = 4;  // what the registers hold
constexpr int64_t line_bytes = 64;                  // what comes out of memory together

const GemmKernels<float>& tile_kernels() { return kernels().gemm_f32; }

int64_t ceil_div(int64_t n, int64_t by) { return (n + by - 1) / by; }

// Where part `index` of `parts` about equal ones begins.
int64_t begin_of(int64_t n, int64_t index, int64_t parts) { return n * index / parts; }

const float* at(const Matrix& m, int64_t i, int64_t j) {
  return reinterpret_cast<const float*>(m.data) + i * m.row + j * m.col;
}

// Terms of a sum that are added up in registers: as many as leave room in the second-level cache.
int64_t depth_of(int64_t k) { return ceil_div(k, ceil_div(k, 384)); }

// Asks for a part of B, a few lines at a time, while something else is computed.
class Fetcher {
 public:
  Fetcher() = default;
  Fetcher(const float* data, int64_t step, int64_t columns, int64_t terms, int64_t parts)
      : data_(reinterpret_cast<const char*>(data)),
        step_(step * static_cast<int64_t>(sizeof(float))),
        lines_(ceil_div(terms * static_cast<int64_t>(sizeof(float)), line_bytes)),
        left_(columns * lines_),
        share_(ceil_div(left_, parts)) {}
  void next() {
    for (int64_t i = std::min(share_, left_); i > 0; --i, --left_) {
      __builtin_prefetch(data_ + at_ * line_bytes);
      if (++at_ == lines_) at_ = 0, data_ += step_;
    }
  }

 private:
  const char* data_ = nullptr;
  int64_t step_ = 0, lines_ = 0, left_ = 0, share_ = 0, at_ = 0;
};

// How C is cut: rows into a power of two of parts, so that few threads get equal shares.
struct Cut {
  int64_t down = 1, across = 1;
  Cut(int64_t m, int64_t vectors) : across(ceil_div(vectors, 4 * tile_vectors)) {
    while (down * across < 4 && m / down >= 32 * tile_rows) down *= 2;
    while (down * across < 4 && vectors / across >= 2 * tile_vectors) across *= 2;
    if (across % 2 == 1 && across < 16 && down == 1 && m >= 16 * tile_rows) down = 2;
  }
  int64_t count() const { return down * across; }
};

// Of C that is too small to be cut, either half of the terms is added up on its own. By
// measurement: of 36 to 95 rows and 32 to 112 columns, 1,000 terms are 0.98 to 1.7 times as fast so
// as before (median 1.14), 3,000 are 1.1 to 1.9 times (1.3); 400 would be slower.
bool cuts_terms(const Matrix& a, const Matrix& b) {
  const int64_t vectors = ceil_div(b.cols, tile_kernels().width);
  return a.cols >= 768 && a.rows * a.cols * b.cols >= 1'500'000 &&
         Cut(a.rows, vectors).count() == 1;
}

// A part of C, in panels of columns that differ by at most one vector.
struct Piece {
  int64_t top, bottom, left, right, width;
  int64_t rows() const { return bottom - top; }
  int64_t columns() const { return right - left; }
  int64_t vectors() const { return ceil_div(columns(), width); }
  int64_t panels() const { return ceil_div(vectors(), tile_vectors); }
  int64_t tiles() const { return ceil_div(rows(), tile_rows); }
  int64_t begin(int64_t panel) const { return begin_of(vectors(), panel, panels()) * width; }
  int64_t stride(int64_t panel) const { return begin(panel + 1) - begin(panel); }
  int64_t size(int64_t panel) const { return std::min(columns(), begin(panel + 1)) - begin(panel); }
};

class Product {
 public:
  Product(const Matrix& a, const Matrix& b, const Matrix& c, float alpha, float beta,
          const float* row)
      : a_(a),
        b_(b),
        c_(c),
        alpha_(alpha),
        beta_(beta),
        row_(row),
        width_(tile_kernels().width),
        vectors_(ceil_div(b.cols, width_)),
        cut_(a.rows, vectors_) {}

  void run() const {
    parallel_for(cut_.count(), 1, [&](int64_t index, int64_t) { make(piece_at(index), index); });
  }

 private:
  Piece piece_at(int64_t index) const {
    const int64_t i = index / cut_.across, j = index % cut_.across;
    return {begin_of(a_.rows, i, cut_.down), begin_of(a_.rows, i + 1, cut_.down),
            begin_of(vectors_, j, cut_.across) * width_,
            std::min(b_.cols, begin_of(vectors_, j + 1, cut_.across) * width_), width_};
  }

  void make(const Piece& piece, int64_t index) const {
    const int64_t depth = depth_of(a_.cols);
    const Scratch<float> panels(depth * piece.vectors() * width_);
    for (int64_t p = 0; p < a_.cols; p += depth) {
      const int64_t terms = std::min(depth, a_.cols - p);
      pack(piece, p, terms, panels.data());
      add_product(piece, p, terms, panels.data(), following(piece, index, p + depth));
    }
  }

  void pack(const Piece& piece, int64_t p, int64_t terms, float* to) const {
    for (int64_t j = 0; j < piece.panels(); ++j) {
      const int64_t stride = piece.stride(j), size = piece.size(j);
      float* panel = to + piece.begin(j) * terms;
      if (size < stride) std::fill_n(panel, terms * stride, 0.0f);
      tile_kernels().transpose(at(b_, p, piece.left + piece.begin(j)), b_.col, panel, stride, terms,
                               size);
    }
  }

  // The part of B that is packed next: by the same piece, or by the one that comes after it.
  Fetcher following(const Piece& piece, int64_t index, int64_t p) const {
    const bool more = p < a_.cols;
    if (!more && index + 1 == cut_.count()) return {};
    const Piece next = more ? piece : piece_at(index + 1);
    const int64_t from = more ? p : 0, terms = std::min(depth_of(a_.cols), a_.cols - from);
    return {at(b_, from, next.left), b_.col, next.columns(), terms, piece.tiles() * piece.panels()};
  }

  void add_product(const Piece& piece, int64_t p, int64_t terms, const float* panels,
                   Fetcher next_panels) const {
    for (int64_t i = 0; i < piece.tiles(); ++i) {
      const int64_t begin = piece.top + begin_of(piece.rows(), i, piece.tiles()),
                    end = piece.top + begin_of(piece.rows(), i + 1, piece.tiles());
      for (int64_t j = 0; j < piece.panels(); ++j) {
        next_panels.next();
        const int64_t column = piece.left + piece.begin(j), size = piece.size(j);
        float* c = reinterpret_cast<float*>(c_.data) + begin * c_.row + column;
        fetch(c, end - begin, size);
        tile_kernels().small(at(a_, begin, p), a_.row, 1, panels + piece.begin(j) * terms,
                             piece.stride(j), c, c_.row, end - begin, size, terms, alpha_,
                             p == 0 ? beta_ : 1);
        if (row_ && p + terms == a_.cols) add_row(c, end - begin, column, size);
      }
    }
  }

  // A tile of C comes out of memory while it is computed.
  void fetch(const float* c, int64_t rows, int64_t size) const {
    constexpr int64_t step = line_bytes / sizeof(float);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < size; j += step) __builtin_prefetch(c + i * c_.row + j, 1);
    }
  }

  // Ones times the row.
  void add_row(float* c, int64_t rows, int64_t column, int64_t size) const {
    const float one = 1;
    tile_kernels().small(&one, 0, 0, row_ + column, size, c, c_.row, rows, size, 1, 1, 1);
  }

  const Matrix a_, b_, c_;
  const float alpha_, beta_;
  const float* row_;
  const int64_t width_, vectors_;
  const Cut cut_;
};

}  // namespace

namespace {

void add_halves(const Matrix& a, const Matrix& b, const Matrix& c, float alpha, float beta,
                const float* row) {
  const int64_t half = a.cols / 2;
  const Scratch<float> other(c.rows * c.cols);
  const Matrix second{reinterpret_cast<char*>(other.data()), c.rows, c.cols, c.cols, 1};
  parallel_for(2, 1, [&](int64_t index, int64_t) {
    Matrix left = a, right = b;
    left.cols = right.rows = index == 0 ? half : a.cols - half;
    left.data = reinterpret_cast<char*>(const_cast<float*>(at(a, 0, index * half)));
    right.data = reinterpret_cast<char*>(const_cast<float*>(at(b, index * half, 0)));
    index == 0 ? Product(left, right, c, alpha, beta, row).run()
               : Product(left, right, second, alpha, 0, nullptr).run();
  });
  for (int64_t i = 0; i < c.rows; ++i) {
    float* sums = reinterpret_cast<float*>(c.data) + i * c.row;
    for (int64_t j = 0; j < c.cols; ++j) sums[j] += other[i * c.cols + j];
  }
}

}  // namespace

bool prefers_packed(const Matrix& a, const Matrix& b, const Matrix& c) {
  const bool lie_well = a.col == 1 && b.row == 1 && b.col != 1 && c.col == 1;
  const bool can_be_cut = a.rows >= 32 * tile_rows || b.cols >= 128 || cuts_terms(a, b);
  return lie_well && can_be_cut && tile_kernels().masks &&
         std::min({a.rows, a.cols, b.cols}) >= 32 && a.rows * a.cols * b.cols > 64 * 64 * 64;
}

bool packed_by_rows(const Matrix& a, const Matrix& b) {
  return !cuts_terms(a, b) && depth_of(a.cols) == a.cols;
}

void packed_gemm(const Matrix& a, const Matrix& b, const Matrix& c, float alpha, float beta,
                 const float* row) {
  cuts_terms(a, b) ? add_halves(a, b, c, alpha, beta, row)
                   : Product(a, b, c, alpha, beta, row).run();
}

}  // namespace wisp::cpu
