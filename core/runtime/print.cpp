// How tensors look when printed: as in Python (wisp/_tensor_str.py).
#include <cmath>
#include <cstdio>

#include "autograd/meta.h"
#include "runtime/bridge.h"
#include "runtime/modes.h"
#include "runtime/operators.h"

namespace wisp::api {

namespace {

constexpr int precision = 4, edge_items = 3, line_width = 80;
constexpr int64_t threshold = 1000;

std::string formatted(const char* format, double value) {
  char text[400];  // the largest double has 309 digits
  std::snprintf(text, sizeof text, format, precision, value);
  return text;
}

// Floats: all in one notation, padded to the width of the widest that is finite and not zero.
class Reals {
 public:
  void look_at(double value) {
    if (value == 0 || !std::isfinite(value)) return;
    any_ = true;
    low_ = std::min(low_, std::abs(value));
    high_ = std::max(high_, std::abs(value));
    whole_ &= value == std::floor(value);
  }
  void choose() { scientific_ = any_ && (high_ / low_ > 1000 || high_ > 1e8 || low_ < 1e-4); }
  void measure(double value) {
    if (value != 0 && std::isfinite(value)) width = std::max(width, text(value).size());
  }
  std::string text(double value) const {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    if (scientific_) return formatted("%.*e", value);
    if (!whole_) return formatted("%.*f", value);
    char digits[400];
    std::snprintf(digits, sizeof digits, "%.0f.", value);
    return digits;
  }
  size_t width = 1;

 private:
  bool any_ = false, whole_ = true, scientific_ = false;
  double low_ = INFINITY, high_ = 0;
};

std::string padded(std::string text, size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

class Printer {
 public:
  explicit Printer(const Tensor& tensor) : dtype_(tensor.dtype()) {
    abbreviated_ = tensor.numel() > threshold;
    if (wisp::is_complex(dtype_) || is_floating(dtype_)) {
      for_shown(tensor, [&](wisp::Scalar s) { real_.look_at(s.real()), imag_.look_at(s.imag()); });
      real_.choose(), imag_.choose();
      for_shown(tensor, [&](wisp::Scalar s) { real_.measure(s.real()), imag_.measure(s.imag()); });
      width_ = real_.width + (wisp::is_complex(dtype_) ? imag_.width + 1 : 0);
    } else {
      for_shown(tensor, [&](wisp::Scalar s) { width_ = std::max(width_, word(s).size()); });
    }
  }

  std::string contents(const Tensor& tensor, size_t indent) const {
    if (tensor.dim() == 0) return element(tensor.item());
    return tensor.dim() == 1 ? row(tensor, indent) : rows(tensor, indent);
  }

 private:
  // The indices shown of a dimension; -1 stands for those left out.
  std::vector<int64_t> shown(int64_t size) const {
    std::vector<int64_t> indices;
    for (int64_t i = 0; i < size; ++i) {
      if (abbreviated_ && size > 2 * edge_items && i == edge_items) {
        indices.push_back(-1);
        i = size - edge_items;
      }
      indices.push_back(i);
    }
    return indices;
  }

  template <class F>
  void for_shown(const Tensor& tensor, const F& f) const {
    if (tensor.dim() == 0) return f(tensor.item());
    for (int64_t i : shown(tensor.size(0))) {
      if (i >= 0) for_shown(tensor[i], f);
    }
  }

  std::string word(wisp::Scalar value) const {
    if (dtype_ == kBool) return value.truth() ? "True" : "False";
    return std::to_string(value.integer());
  }
  std::string element(wisp::Scalar value) const {
    if (wisp::is_complex(dtype_)) {
      const std::string imag = imag_.text(value.imag()) + "j";
      const bool has_sign = imag[0] == '-' || imag[0] == '+';
      return padded(real_.text(value.real()), real_.width) + (has_sign ? "" : "+") + imag;
    }
    return padded(is_floating(dtype_) ? real_.text(value.real()) : word(value), width_);
  }

  std::string row(const Tensor& tensor, size_t indent) const {
    const size_t per_line =
        std::max<size_t>(1, (line_width - std::min<size_t>(indent, line_width)) / (width_ + 2));
    std::string text = "[";
    size_t count = 0;
    for (int64_t i : shown(tensor.size(0))) {
      if (count) text += count % per_line ? ", " : ",\n" + std::string(indent + 1, ' ');
      text += i < 0 ? " ..." : element(tensor[i].item());
      ++count;
    }
    return text + "]";
  }
  std::string rows(const Tensor& tensor, size_t indent) const {
    const std::string separator = "," + std::string(static_cast<size_t>(tensor.dim()) - 1, '\n') +
                                  std::string(indent + 1, ' ');
    std::string text = "[";
    for (int64_t i : shown(tensor.size(0))) {
      if (text.size() > 1) text += separator;
      text += i < 0 ? "..." : contents(tensor[i], indent + 1);
    }
    return text + "]";
  }

  DType dtype_;
  bool abbreviated_;
  size_t width_ = 1;
  Reals real_, imag_;
};

bool tells_its_dtype(DType dtype) {
  return dtype == default_dtype() || dtype == default_complex_dtype() || dtype == kInt64 ||
         dtype == kBool;
}

std::string tuple_text(IntList sizes) {
  std::string text = "(";
  for (size_t i = 0; i < sizes.size(); ++i) text += (i ? ", " : "") + std::to_string(sizes[i]);
  return text + (sizes.size() == 1 ? ",)" : ")");
}

// What is said behind the numbers.
std::vector<std::string> suffixes(const Tensor& tensor) {
  std::vector<std::string> found;
  const bool meta = core(tensor)->is_meta(), bare = meta || tensor.numel() == 0;
  if (meta) found.push_back("device='meta'");
  if (meta || (bare && tensor.dim() != 1)) found.push_back("size=" + tuple_text(tensor.sizes()));
  if (bare ? tensor.dtype() != default_dtype() : !tells_its_dtype(tensor.dtype())) {
    found.push_back(std::string("dtype=wisp.") + name(tensor.dtype()));
  }
  if (wisp::autograd::Node* node = wisp::autograd::grad_fn(core(tensor))) {
    found.push_back("grad_fn=<" + node->name() + ">");
  } else if (tensor.requires_grad()) {
    found.push_back("requires_grad=True");
  }
  return found;
}

}  // namespace

std::string to_string(const Tensor& tensor) {
  if (!tensor.defined()) return "None";
  const std::string prefix = "tensor(";
  std::string text = prefix;
  if (core(tensor)->is_meta()) {
    text += "...";
  } else if (tensor.numel() == 0) {
    text += "[]";
  } else {
    const NoGradGuard unrecorded;
    const Tensor plain = tensor.detach();
    text += Printer(plain).contents(plain, prefix.size());
  }
  size_t column = text.size() - (text.rfind('\n') + 1) + 2;
  for (const std::string& suffix : suffixes(tensor)) {
    const bool fits = column + suffix.size() <= line_width;
    text += (fits ? ", " : ",\n" + std::string(prefix.size(), ' ')) + suffix;
    column = (fits ? column + 2 : prefix.size()) + suffix.size();
  }
  return text + ")";
}

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) {
  return out << to_string(tensor);
}

}  // namespace wisp::api
