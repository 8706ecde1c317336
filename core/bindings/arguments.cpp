#include "bindings/arguments.h"

#include <algorithm>
#include <cstring>

#include "bindings/generator.h"
#include "bindings/types.h"

namespace wisp::python {

namespace {

bool is_numpy_array(PyObject* value) {
  return std::strcmp(Py_TYPE(value)->tp_name, "numpy.ndarray") == 0;
}

// NumPy's scalars are numbers although most are not subclasses of Python's.
bool is_numpy_scalar(PyObject* value) {
  return std::strncmp(Py_TYPE(value)->tp_name, "numpy.", 6) == 0 && !is_numpy_array(value) &&
         PyNumber_Check(value);
}

bool is_scalar_tensor(PyObject* value) { return is_tensor(value) && impl_of(value)->numel() == 1; }

}  // namespace

bool is_integer(PyObject* value) {
  if (PyLong_Check(value)) return !PyBool_Check(value);
  if (is_tensor(value)) {
    const TensorImpl* impl = impl_of(value);
    return impl->numel() == 1 && is_integral(impl->dtype()) && !impl->requires_grad();
  }
  return PyIndex_Check(value) && !PyBool_Check(value);
}

bool to_int(PyObject* value, int64_t& result) {
  if (!is_integer(value)) return false;
  if (PyLong_CheckExact(value)) {
    int overflow;
    result = PyLong_AsLongLongAndOverflow(value, &overflow);
    WISP_CHECK_VALUE(!overflow, "Overflow when unpacking long long");
    return true;
  }
  if (is_tensor(value)) {
    result = tensor_of(value).item().integer();
  } else {
    const Ref index = owned(PyNumber_Index(value));
    int overflow;
    result = PyLong_AsLongLongAndOverflow(index.get(), &overflow);
    WISP_CHECK_VALUE(!overflow, "Overflow when unpacking long long");
  }
  note_number(value, &result, result);
  return true;
}

bool to_scalar(PyObject* value, Scalar& scalar) {
  if (PyFloat_Check(value)) {
    scalar = PyFloat_AS_DOUBLE(value);
  } else if (PyBool_Check(value)) {
    scalar = value == Py_True;
  } else if (PyLong_Check(value)) {
    int overflow;
    const int64_t number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow) {  // up to 64 bits as a float; beyond them OverflowError
      const unsigned long long wide = PyLong_AsUnsignedLongLong(value);
      if (wide == ~0ull && PyErr_Occurred()) throw PythonError();
      scalar = static_cast<double>(wide);
    } else {
      scalar = number;
    }
  } else if (PyComplex_Check(value)) {
    scalar = std::complex<double>(PyComplex_RealAsDouble(value), PyComplex_ImagAsDouble(value));
  } else if (is_tensor(value)) {
    if (!is_scalar_tensor(value)) return false;
    WISP_CHECK(impl_of(value)->ndim() == 0 || !impl_of(value)->requires_grad(),
               "only one-element tensors without grad can stand for a number");
    scalar = tensor_of(value).item();
  } else if (is_numpy_scalar(value)) {
    if (std::strstr(Py_TYPE(value)->tp_name, "bool")) {
      scalar = truth_of(value);
    } else if (PyIndex_Check(value)) {
      const Ref index = owned(PyNumber_Index(value));
      return to_scalar(index.get(), scalar);
    } else if (std::strstr(Py_TYPE(value)->tp_name, "complex")) {
      const Py_complex z = PyComplex_AsCComplex(value);
      if (PyErr_Occurred()) throw PythonError();
      scalar = std::complex<double>(z.real, z.imag);
    } else {
      const double real = PyFloat_AsDouble(value);
      if (real == -1.0 && PyErr_Occurred()) {
        PyErr_Clear();
        return false;
      }
      scalar = real;
    }
  } else if (PyIndex_Check(value) && !is_numpy_array(value)) {
    const Ref index = owned(PyNumber_Index(value));
    return to_scalar(index.get(), scalar);
  } else {
    return false;
  }
  return true;
}

namespace {

bool is_sequence(PyObject* value) { return PyTuple_Check(value) || PyList_Check(value); }

bool convert_ints(PyObject* value, const Param& param, Parsed& parsed, Arg& arg) {
  int64_t single;
  if (!is_sequence(value)) {
    if (param.list_size == 0 || !to_int(value, single)) return false;
    const size_t n = static_cast<size_t>(param.list_size);
    int64_t* items = parsed.ints(n);
    std::fill_n(items, n, single);
    for (size_t i = 0; i < n; ++i) note_number(value, items + i, single);
    arg = Arg(IntSpan(items, n));
    return true;
  }
  const size_t n = static_cast<size_t>(PySequence_Fast_GET_SIZE(value));
  int64_t* items = parsed.ints(n);
  for (size_t i = 0; i < n; ++i) {
    if (!to_int(PySequence_Fast_GET_ITEM(value, static_cast<Py_ssize_t>(i)), items[i]))
      return false;
  }
  arg = Arg(IntSpan(items, n));
  return true;
}

bool convert_reals(PyObject* value, Parsed& parsed, Arg& arg) {
  if (!is_sequence(value)) return false;
  const size_t n = static_cast<size_t>(PySequence_Fast_GET_SIZE(value));
  double* items = parsed.reals(n);
  for (size_t i = 0; i < n; ++i) {
    Scalar scalar;
    if (!to_scalar(PySequence_Fast_GET_ITEM(value, static_cast<Py_ssize_t>(i)), scalar))
      return false;
    items[i] = scalar.real();
  }
  arg = Arg(std::span<const double>(items, n));
  return true;
}

bool convert_tensors(PyObject* value, bool may_be_none, Parsed& parsed, Arg& arg) {
  if (!is_sequence(value)) return false;
  const size_t n = static_cast<size_t>(PySequence_Fast_GET_SIZE(value));
  TensorImpl** items = parsed.tensors(n);
  for (size_t i = 0; i < n; ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(value, static_cast<Py_ssize_t>(i));
    if (is_tensor(item)) {
      items[i] = impl_of(item);
    } else if (may_be_none && item == Py_None) {
      items[i] = nullptr;
    } else {
      return false;
    }
  }
  arg = Arg(std::span<const Tensor>(reinterpret_cast<const Tensor*>(items), n));
  return true;
}

bool convert_scalar(PyObject* value, Arg& arg) {
  Scalar scalar;
  if (!to_scalar(value, scalar)) return false;
  arg = Arg(scalar);
  note_number(value, &arg.as, arg.as.integer);
  return true;
}

bool convert_real(PyObject* value, Arg& arg) {
  Scalar scalar;
  if (!to_scalar(value, scalar) || scalar.is_complex()) return false;
  arg = Arg(scalar.real());
  note_number(value, &arg.as, arg.as.integer);
  return true;
}

bool convert_bool(PyObject* value, Arg& arg) {
  if (PyBool_Check(value)) {
    arg = Arg(value == Py_True);
    return true;
  }
  if (std::strcmp(Py_TYPE(value)->tp_name, "numpy.bool") == 0 ||
      std::strcmp(Py_TYPE(value)->tp_name, "numpy.bool_") == 0) {
    arg = Arg(truth_of(value));
    return true;
  }
  return false;
}

bool convert_string(PyObject* value, Arg& arg) {
  if (!PyUnicode_Check(value)) return false;
  Py_ssize_t size;
  const char* text = PyUnicode_AsUTF8AndSize(value, &size);
  if (!text) throw PythonError();
  arg = Arg(std::string_view(text, static_cast<size_t>(size)));
  return true;
}

}  // namespace

bool convert(PyObject* value, const Param& param, Parsed& parsed, Arg& arg) {
  if (value == Py_None && param.optional) {
    arg = Arg();
    return true;
  }
  int64_t integer;
  DType dtype;
  MemoryFormat format;
  switch (param.type) {
    case ParamType::tensor:
      if (!is_tensor(value)) return false;
      arg = Arg(impl_of(value));
      return true;
    case ParamType::operand:
      if (is_tensor(value)) {
        arg = Arg(impl_of(value));
        return true;
      }
      return convert_scalar(value, arg);
    case ParamType::scalar:
      return convert_scalar(value, arg);
    case ParamType::integer:
      if (!to_int(value, integer)) return false;
      arg = Arg(integer);
      note_number(value, &arg.as, integer);
      return true;
    case ParamType::real:
      return convert_real(value, arg);
    case ParamType::boolean:
      return convert_bool(value, arg);
    case ParamType::only_true:
      return convert_bool(value, arg) && arg.as.integer;
    case ParamType::only_false:
      return convert_bool(value, arg) && !arg.as.integer;
    case ParamType::string:
      return convert_string(value, arg);
    case ParamType::dtype:
      if (!to_dtype(value, dtype)) return false;
      arg = Arg(dtype);
      return true;
    case ParamType::device:
      if (!is_device(value) && !PyUnicode_Check(value) && !PyLong_Check(value)) return false;
      arg = Arg(to_device(value));
      return true;
    case ParamType::layout:
      return is_layout(value);
    case ParamType::memory_format:
      if (!to_memory_format(value, format)) return false;
      arg = Arg(format);
      return true;
    case ParamType::generator:
      if (!is_generator(value)) return false;
      arg = Arg(generator_of(value));
      return true;
    case ParamType::integers:
      return convert_ints(value, param, parsed, arg);
    case ParamType::reals:
      return convert_reals(value, parsed, arg);
    case ParamType::tensors:
      return convert_tensors(value, false, parsed, arg);
    case ParamType::maybe_tensors:
      return convert_tensors(value, true, parsed, arg);
  }
  return false;
}

namespace {

const char* python_type(ParamType type) {
  switch (type) {
    case ParamType::tensor:
      return "Tensor";
    case ParamType::operand:
      return "Tensor or Number";
    case ParamType::scalar:
      return "Number";
    case ParamType::integer:
      return "int";
    case ParamType::real:
      return "float";
    case ParamType::boolean:
    case ParamType::only_true:
    case ParamType::only_false:
      return "bool";
    case ParamType::string:
      return "str";
    case ParamType::dtype:
      return "wisp.dtype";
    case ParamType::device:
      return "wisp.device";
    case ParamType::layout:
      return "wisp.layout";
    case ParamType::memory_format:
      return "wisp.memory_format";
    case ParamType::generator:
      return "wisp.Generator";
    case ParamType::integers:
      return "tuple of ints";
    case ParamType::reals:
      return "tuple of floats";
    case ParamType::tensors:
    case ParamType::maybe_tensors:
      return "tuple of Tensors";
  }
  return "";
}

// NumPy's names for common parameters, and PyTorch's where an overload or a namespace has its own.
const char* second_name(const std::string& name) {
  constexpr const char* pairs[][2] = {{"dim", "axis"},         {"dim0", "axis0"},
                                      {"dim1", "axis1"},       {"elements", "element"},
                                      {"keepdim", "keepdims"}, {"other", "x2"},
                                      {"src", "other"},        {"test_elements", "test_element"},
                                      {"training", "train"}};
  for (const auto& [own, second] : pairs) {
    if (name == own) return second;
  }
  return nullptr;
}

}  // namespace

std::string type_name(PyObject* value) {
  if (is_exact_tensor(value)) return "Tensor";
  const char* name = Py_TYPE(value)->tp_name;
  if (!is_sequence(value)) return name;
  std::string text = std::string(name) + " of (";
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(value);
  for (Py_ssize_t i = 0; i < std::min<Py_ssize_t>(n, 6); ++i) {
    text += (i ? ", " : "") + std::string(Py_TYPE(PySequence_Fast_GET_ITEM(value, i))->tp_name);
  }
  return text + (n > 6 ? ", ...)" : ")");
}

Signature::Signature(const OpDef& op, Spelling spelling) : op_(&op), spelling_(spelling) {
  const auto& params = op.sig.params;
  self_ = op.sig.find("self");
  if (spelling != Spelling::function && self_ < 0) self_ = 0;
  if (spelling != Spelling::function) positional_.push_back(self_);
  for (int i = 0; i < static_cast<int>(params.size()); ++i) {
    if (!params[i].keyword_only && !(spelling != Spelling::function && i == self_))
      positional_.push_back(i);
    names_.push_back(must(PyUnicode_InternFromString(params[i].name.c_str())));
  }
  // Sizes may be given one by one if they are the first argument (after self).
  for (size_t at = 0; at < positional_.size(); ++at) {
    const Param& param = params[positional_[at]];
    if (param.variadic) varargs_ = static_cast<int>(at);
    if (param.takes_tensor() || param.type == ParamType::string) continue;
    if (param.type == ParamType::integers && param.list_size == 0) varargs_ = static_cast<int>(at);
    break;
  }
}

std::string Signature::python_name(int param) const {
  const std::string& name = op_->sig.params[param].name;
  return name == "self" && spelling_ == Spelling::function ? "input" : name;
}

int Signature::find_keyword(PyObject* name) const {
  for (size_t i = 0; i < names_.size(); ++i) {
    if (names_[i] == name) return static_cast<int>(i);
  }
  for (size_t i = 0; i < names_.size(); ++i) {
    const std::string& own = op_->sig.params[i].name;
    if (PyUnicode_CompareWithASCIIString(name, own.c_str()) == 0) return static_cast<int>(i);
    if (own == "self") {
      for (const char* other : {"input", "x", "a", "x1", "tensor"}) {
        if (PyUnicode_CompareWithASCIIString(name, other) == 0) return static_cast<int>(i);
      }
    }
    const char* other = second_name(own);
    if (other && PyUnicode_CompareWithASCIIString(name, other) == 0) return static_cast<int>(i);
  }
  return -1;
}

// Whether a list begins here whose items are given one by one: x.view(2, 3), meshgrid(a, b).
static bool starts_rest(PyObject* value, const Param& param) {
  return param.variadic ? is_tensor(value) : !is_sequence(value) && is_integer(value);
}

bool Signature::convert_rest(PyObject* const* args, Py_ssize_t nargs, Py_ssize_t begin,
                             Parsed& parsed, uint32_t& filled, std::string* why) const {
  const size_t n = static_cast<size_t>(nargs - begin);
  const int index = positional_[begin];
  const bool tensors = op_->sig.params[index].variadic;
  int64_t* ints = tensors ? nullptr : parsed.ints(n);
  TensorImpl** impls = tensors ? parsed.tensors(n) : nullptr;
  for (size_t k = 0; k < n; ++k) {
    PyObject* item = args[begin + static_cast<Py_ssize_t>(k)];
    const bool fits = tensors ? is_tensor(item) : to_int(item, ints[k]);
    if (!fits) {
      if (why) {
        *why = str("argument '", python_name(index), "' (position ", begin + 1, ") must be ",
                   python_type(op_->sig.params[index].type), ", but found element of type ",
                   type_name(item), " at pos ", k);
      }
      return false;
    }
    if (tensors) impls[k] = impl_of(item);
  }
  parsed[index] = tensors ? Arg(std::span<const Tensor>(reinterpret_cast<const Tensor*>(impls), n))
                          : Arg(IntSpan(ints, n));
  filled |= 1u << index;
  return true;
}

bool Signature::convert_positional(PyObject* const* args, Py_ssize_t nargs, Parsed& parsed,
                                   uint32_t& filled, std::string* why) const {
  const auto& params = op_->sig.params;
  const Py_ssize_t places = static_cast<Py_ssize_t>(positional_.size());
  for (Py_ssize_t i = 0; i < nargs; ++i) {
    if (i == varargs_ && starts_rest(args[i], params[positional_[i]])) {
      return convert_rest(args, nargs, i, parsed, filled, why);
    }
    if (i >= places) {
      const int first = spelling_ == Spelling::function ? 0 : 1;
      if (why)
        *why = str("takes ", places - first, " positional arguments but ", nargs - first,
                   " were given");
      return false;
    }
    const int index = positional_[i];
    if (!convert(args[i], params[index], parsed, parsed[index])) {
      if (why) {
        const Py_ssize_t position = spelling_ == Spelling::function ? i + 1 : i;
        *why = str("argument '", python_name(index), "' (position ", position, ") must be ",
                   python_type(params[index].type), ", not ", type_name(args[i]));
      }
      return false;
    }
    filled |= 1u << index;
  }
  return true;
}

// Arguments every operator of a kind takes, which are not in its schema.
bool Signature::convert_special(PyObject* name, PyObject* value, Parsed& parsed,
                                std::string* why) const {
  auto is = [&](const char* text) { return PyUnicode_CompareWithASCIIString(name, text) == 0; };
  if (is("out") && op_->has(trait::out) && spelling_ == Spelling::function) {
    if (value == Py_None) return true;
    parsed.out_object = value;
    if (is_tensor(value)) {
      parsed.out().push_back(tensor_of(value));
    } else if (is_sequence(value)) {
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); ++i) {
        PyObject* item = PySequence_Fast_GET_ITEM(value, i);
        if (!is_tensor(item)) break;
        parsed.out().push_back(tensor_of(item));
      }
    }
    if (parsed.out().size() == op_->sig.returns.size()) return true;
    if (why)
      *why = str("argument 'out' must be ",
                 op_->sig.returns.size() == 1 ? "Tensor" : "tuple of Tensors", ", not ",
                 type_name(value));
    return false;
  }
  if (op_->has(trait::factory)) {
    if (is("requires_grad") && PyBool_Check(value)) {
      parsed.requires_grad = value == Py_True;
      return true;
    }
    if (is("layout") && (value == Py_None || is_layout(value))) return true;
    if (is("pin_memory") && (value == Py_None || PyBool_Check(value))) return true;
  }
  if (why) *why = str("got an unexpected keyword argument '", text_of(name), "'");
  return false;
}

bool Signature::convert_keywords(PyObject* const* values, PyObject* kwnames, Parsed& parsed,
                                 uint32_t& filled, std::string* why) const {
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(kwnames); ++k) {
    PyObject* name = PyTuple_GET_ITEM(kwnames, k);
    const int index = find_keyword(name);
    if (index < 0) {
      if (!convert_special(name, values[k], parsed, why)) return false;
      continue;
    }
    if ((filled >> index) & 1) {
      if (why) *why = str("got multiple values for argument '", text_of(name), "'");
      return false;
    }
    if (!convert(values[k], op_->sig.params[index], parsed, parsed[index])) {
      if (why) {
        *why = str("argument '", text_of(name), "' must be ",
                   python_type(op_->sig.params[index].type), ", not ", type_name(values[k]));
      }
      return false;
    }
    filled |= 1u << index;
  }
  return true;
}

bool Signature::fill_defaults(Parsed& parsed, uint32_t filled, std::string* why) const {
  const auto& params = op_->sig.params;
  std::string missing;
  for (size_t i = 0; i < params.size(); ++i) {
    if ((filled >> i) & 1) continue;
    if (!params[i].has_default) {
      // With nothing at all, sizes given one by one mean a 0-d tensor: zeros(*x.size()).
      if (varargs_ >= 0 && positional_[varargs_] == static_cast<int>(i) &&
          op_->has(trait::factory)) {
        parsed[i] = Arg(IntSpan());
        continue;
      }
      if (params[i].variadic) {
        parsed[i] = Arg(std::span<const Tensor>());
        continue;
      }
      if (!why) return false;
      missing += (missing.empty() ? "\"" : ", \"") + python_name(static_cast<int>(i)) + "\"";
      continue;
    }
    parsed[i] = params[i].fallback;
  }
  if (missing.empty()) return true;
  *why = "missing required positional arguments: " + missing;
  return false;
}

bool Signature::parse(PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames, Parsed& parsed,
                      std::string* why) const {
  uint32_t filled = 0;
  if (!convert_positional(args, nargs, parsed, filled, why)) return false;
  if (kwnames && !convert_keywords(args + nargs, kwnames, parsed, filled, why)) return false;
  const uint32_t all = (1u << op_->sig.params.size()) - 1;
  return filled == all || fill_defaults(parsed, filled, why);
}

std::string Signature::text() const {
  std::string text = "(";
  bool star = false;
  const char* separator = "";
  for (size_t i = 0; i < op_->sig.params.size(); ++i) {
    const Param& param = op_->sig.params[i];
    if (spelling_ != Spelling::function && static_cast<int>(i) == self_) continue;
    text += separator;
    separator = ", ";
    if (param.keyword_only && !star) {
      text += "*, ";
      star = true;
    }
    text += std::string(python_type(param.type)) + " " + python_name(static_cast<int>(i));
    if (param.has_default) text += " = " + param.default_text;
  }
  return text + ")";
}

std::vector<Signature::PythonParam> Signature::python_params() const {
  std::vector<PythonParam> result;
  for (int index : positional_) {
    const Param& param = op_->sig.params[index];
    if (spelling_ != Spelling::function && index == self_) {
      result.push_back({"self", false, ""});
    } else {
      result.push_back({python_name(index), false, param.has_default ? param.default_text : ""});
    }
  }
  for (size_t i = 0; i < op_->sig.params.size(); ++i) {
    const Param& param = op_->sig.params[i];
    if (param.keyword_only)
      result.push_back({param.name, true, param.has_default ? param.default_text : ""});
  }
  if (op_->has(trait::out) && spelling_ == Spelling::function)
    result.push_back({"out", true, "None"});
  if (op_->has(trait::factory)) result.push_back({"requires_grad", true, "False"});
  return result;
}

}  // namespace wisp::python
