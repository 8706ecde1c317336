// From Python arguments to Arg values, by the schema.
#pragma once

#include <vector>

#include "bindings/tensor_object.h"
#include "bindings/tracing.h"
#include "dispatch/op_def.h"

namespace wisp::python {

// How a call is spelled in Python: wisp.add(...), x.add(...) or x.add_(...).
enum class Spelling : uint8_t { function, method, in_place };

// The arguments of one call, and what they point to. Cheap to make: most calls fill a few entries.
class Parsed {
 public:
  static constexpr int max_args = 16;
  Parsed() {}
  ~Parsed() {
    if (WISP_UNLIKELY(more_ != nullptr)) delete more_;
  }
  Parsed(const Parsed&) = delete;
  Parsed& operator=(const Parsed&) = delete;

  Arg& operator[](int i) { return args()[i]; }
  Arg* args() { return reinterpret_cast<Arg*>(args_); }
  int64_t* ints(size_t n) { return take(int_pool_, int_used_, n, &More::ints); }
  TensorImpl** tensors(size_t n) { return take(tensor_pool_, tensor_used_, n, &More::tensors); }
  double* reals(size_t n) {
    static_assert(sizeof(double) == sizeof(int64_t));
    return reinterpret_cast<double*>(ints(n));
  }
  std::vector<Tensor>& out() { return more().out; }  // the out= tensors
  void reset() {
    int_used_ = tensor_used_ = 0;
    out_object = nullptr;
    requires_grad = false;
    if (more_) more_->out.clear();
    if (WISP_UNLIKELY(tracing != nullptr)) tracing->forget_notes();
  }

  PyObject* out_object = nullptr;
  bool requires_grad = false;

 private:
  struct More {
    std::vector<Tensor> out;
    std::vector<std::vector<int64_t>> ints;
    std::vector<std::vector<TensorImpl*>> tensors;
  };
  More& more() {
    if (!more_) more_ = new More;
    return *more_;
  }
  template <class T, size_t N>
  T* take(T (&pool)[N], uint32_t& used, size_t n, std::vector<std::vector<T>> More::* overflow) {
    if (used + n <= N) {
      T* result = pool + used;
      used += static_cast<uint32_t>(n);
      return result;
    }
    return (more().*overflow).emplace_back(n).data();
  }

  alignas(Arg) unsigned char args_[max_args * sizeof(Arg)];  // filled by Signature::parse
  int64_t int_pool_[32];
  TensorImpl* tensor_pool_[16];
  uint32_t int_used_ = 0, tensor_used_ = 0;
  More* more_ = nullptr;
};

// One overload under one spelling.
class Signature {
 public:
  Signature(const OpDef& op, Spelling spelling);
  const OpDef& op() const { return *op_; }
  // Fills `parsed`; false if the arguments do not fit. With `why`, says what does not.
  bool parse(PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames, Parsed& parsed,
             std::string* why = nullptr) const;
  std::string text() const;  // "(Tensor input, Tensor other, *, Number alpha)"
  // Name, kind ("positional" or "keyword") and default of each parameter, for inspect.signature.
  struct PythonParam {
    std::string name;
    bool keyword_only;
    std::string default_text;  // empty: required
  };
  std::vector<PythonParam> python_params() const;

 private:
  std::string python_name(int param) const;
  int find_keyword(PyObject* name) const;
  bool convert_positional(PyObject* const* args, Py_ssize_t nargs, Parsed& parsed, uint32_t& filled,
                          std::string* why) const;
  bool convert_rest(PyObject* const* args, Py_ssize_t nargs, Py_ssize_t begin, Parsed& parsed,
                    uint32_t& filled, std::string* why) const;
  bool convert_keywords(PyObject* const* values, PyObject* kwnames, Parsed& parsed,
                        uint32_t& filled, std::string* why) const;
  bool convert_special(PyObject* name, PyObject* value, Parsed& parsed, std::string* why) const;
  bool fill_defaults(Parsed& parsed, uint32_t filled, std::string* why) const;

  const OpDef* op_;
  Spelling spelling_;
  int self_ = -1;                 // the parameter a method is called on
  std::vector<int> positional_;   // parameter of each position
  int varargs_ = -1;              // position at which ints (or tensors) may be given one by one
  std::vector<PyObject*> names_;  // interned keyword of each parameter
};

// Converts one value; false if it is of the wrong kind (no Python error is set).
bool convert(PyObject* value, const Param& param, Parsed& parsed, Arg& arg);
bool to_scalar(PyObject* value, Scalar& scalar);
bool to_int(PyObject* value, int64_t& result);
bool is_integer(PyObject* value);  // an int that is not a bool, or something with __index__

// "int", "Tensor", "tuple of (int, int)": how messages call a value's type.
std::string type_name(PyObject* value);

}  // namespace wisp::python
