// Tensor's number protocol: +, -, @, ==, +=, bool() and the like.
#include "bindings/arguments.h"
#include "bindings/creation.h"
#include "bindings/overrides.h"
#include "bindings/tensor_object.h"
#include "dispatch/call.h"
#include "ops/ops.h"

namespace wisp::python {

namespace {

// A tensor or number; anything else is left to the other operand's class.
WISP_COLD bool to_unusual_operand(PyObject* value, Arg& arg) {
  if (is_tensor(value)) {
    arg = Arg(impl_of(value));
    return true;
  }
  Scalar scalar;
  if (!to_scalar(value, scalar)) return false;
  arg = Arg(scalar);
  note_number(value, &arg.as, arg.as.integer);
  return true;
}

WISP_INLINE bool to_operand(PyObject* value, Arg& arg) {
  if (WISP_UNLIKELY(!is_exact_tensor(value))) return to_unusual_operand(value, arg);
  arg = Arg(impl_of(value));
  return true;
}

PyObject* not_implemented() {
  Py_INCREF(Py_NotImplemented);
  return Py_NotImplemented;
}

// For operands that are neither tensors nor numbers.
WISP_COLD PyObject* foreign(const char* method, const char* reflected, PyObject* a, PyObject* b) {
  PyObject* result = call_operator_override(method, reflected, a, b);
  return result ? result : not_implemented();
}

// `Method` of the left operand, or `Reflected` of the right one, is what __torch_function__ is
// told.
template <OpName Name, OpName Method, OpName Reflected>
PyObject* binary(PyObject* a, PyObject* b) {
  return guarded([&]() -> PyObject* {
    if (WISP_UNLIKELY(overrides_exist)) {
      if (PyObject* result = call_operator_override(Method.text, Reflected.text, a, b))
        return result;
    }
    const OpDef& op = op_def<Name>();
    Arg args[3];
    if (!to_operand(a, args[0]) || !to_operand(b, args[1]))
      return foreign(Method.text, Reflected.text, a, b);
    if (op.sig.params.size() > 2) args[2] = op.sig.params[2].fallback;  // alpha
    if (WISP_UNLIKELY(Storage::any_meta())) check_one_device(op, args);
    TensorList outs;
    call(op, args, outs);
    return wrap(std::move(outs[0]));
  });
}

template <OpName Name, OpName Method>
PyObject* binary_in_place(PyObject* a, PyObject* b) {
  return guarded([&]() -> PyObject* {
    if (WISP_UNLIKELY(overrides_exist)) {
      if (PyObject* result = call_operator_override(Method.text, Method.text, a, b)) return result;
    }
    const OpDef& op = op_def<Name>();
    Arg args[3];
    if (!is_tensor(a) || !to_operand(a, args[0]) || !to_operand(b, args[1]))
      return not_implemented();
    if (op.sig.params.size() > 2) args[2] = op.sig.params[2].fallback;
    if (WISP_UNLIKELY(Storage::any_meta())) check_one_device(op, args);
    call_in_place(op, args);
    Py_INCREF(a);
    return a;
  });
}

template <OpName Name, OpName Method>
PyObject* unary(PyObject* a) {
  return guarded([&] {
    if (WISP_UNLIKELY(overrides_exist)) {
      if (PyObject* result = call_method_override(Method.text, &a, 1)) return result;
    }
    return wrap(invoke<Name>(tensor_of(a)));
  });
}

PyObject* invert(PyObject* a) {
  return guarded([&] {
    WISP_CHECK_TYPE(!is_differentiable(impl_of(a)->dtype()),
                    "~ (operator.invert) is only implemented on integer and Boolean-type tensors");
    return unary<"bitwise_not", "__invert__">(a);
  });
}

PyObject* positive(PyObject* a) {
  Py_INCREF(a);
  return a;
}

PyObject* power(PyObject* a, PyObject* b, PyObject* modulus) {
  if (modulus != Py_None) return not_implemented();
  return binary<"pow", "__pow__", "__rpow__">(a, b);
}

PyObject* power_in_place(PyObject* a, PyObject* b, PyObject*) {
  return binary_in_place<"pow", "__ipow__">(a, b);
}

PyObject* matrix_multiply(PyObject* a, PyObject* b) {
  if (is_tensor(a) && is_tensor(b)) return binary<"matmul", "matmul", "__rmatmul__">(a, b);
  return guarded([&] { return foreign("matmul", "__rmatmul__", a, b); });
}

Scalar value_of(PyObject* self, const char* what) {
  const Tensor& t = tensor_of(self);
  note_read(what);
  WISP_CHECK_VALUE(t.numel() == 1,
                   "only one element tensors can be converted to Python scalars: ", what,
                   " of a tensor with ", t.numel(), " elements");
  return t.item();
}

int truth(PyObject* self) {
  return guarded_int([&]() -> int {
    const Tensor& t = tensor_of(self);
    note_read("bool()");
    WISP_CHECK(t.numel() != 0, "Boolean value of Tensor with no values is ambiguous");
    WISP_CHECK(t.numel() == 1, "Boolean value of Tensor with more than one value is ambiguous");
    return t.item().truth();
  });
}

PyObject* to_python_int(PyObject* self) {
  return guarded([&] {
    const Scalar value = value_of(self, "int()");
    WISP_CHECK(!value.is_complex() || value.imag() == 0,
               "value cannot be converted to type int without overflow");
    return must(value.is_integer() ? PyLong_FromLongLong(value.integer())
                                   : PyLong_FromDouble(value.real()));
  });
}

PyObject* to_python_float(PyObject* self) {
  return guarded([&] {
    const Scalar value = value_of(self, "float()");
    WISP_CHECK(!value.is_complex() || value.imag() == 0,
               "value cannot be converted to type double without overflow");
    return must(PyFloat_FromDouble(value.real()));
  });
}

PyObject* to_index(PyObject* self) {
  return guarded([&] {
    const Tensor& t = tensor_of(self);
    note_read("an index");
    WISP_CHECK_TYPE(t.numel() == 1 && !is_differentiable(t.dtype()),
                    "only integer tensors of a single element can be converted to an index");
    return must(PyLong_FromLongLong(t.item().integer()));
  });
}

// == and != take arrays too: left to NumPy they would compare identities.
template <OpName Name, OpName Method>
PyObject* compare_equal(PyObject* a, PyObject* b) {
  if (!is_array(b)) return binary<Name, Method, Method>(a, b);
  return guarded(
      [&] { return wrap(invoke<Name>(tensor_of(a), tensor_from_python(b, "comparison"))); });
}

}  // namespace

PyNumberMethods* number_slots() {
  static PyNumberMethods slots = [] {
    PyNumberMethods n = {};
    n.nb_add = binary<"add", "add", "add">;
    n.nb_subtract = binary<"sub", "sub", "__rsub__">;
    n.nb_multiply = binary<"mul", "mul", "mul">;
    n.nb_true_divide = binary<"div", "div", "__rtruediv__">;
    n.nb_floor_divide = binary<"floor_divide", "__floordiv__", "__rfloordiv__">;
    n.nb_remainder = binary<"remainder", "remainder", "__rmod__">;
    n.nb_power = power;
    n.nb_matrix_multiply = matrix_multiply;
    n.nb_and = binary<"bitwise_and", "__and__", "bitwise_and">;
    n.nb_or = binary<"bitwise_or", "__or__", "bitwise_or">;
    n.nb_xor = binary<"bitwise_xor", "__xor__", "bitwise_xor">;
    n.nb_lshift = binary<"bitwise_left_shift", "__lshift__", "__rlshift__">;
    n.nb_rshift = binary<"bitwise_right_shift", "__rshift__", "__rrshift__">;
    n.nb_negative = unary<"neg", "neg">;
    n.nb_positive = positive;
    n.nb_absolute = unary<"abs", "abs">;
    n.nb_invert = invert;
    n.nb_inplace_add = binary_in_place<"add", "add_">;
    n.nb_inplace_subtract = binary_in_place<"sub", "sub_">;
    n.nb_inplace_multiply = binary_in_place<"mul", "mul_">;
    n.nb_inplace_true_divide = binary_in_place<"div", "div_">;
    n.nb_inplace_floor_divide = binary_in_place<"floor_divide", "__ifloordiv__">;
    n.nb_inplace_remainder = binary_in_place<"remainder", "remainder_">;
    n.nb_inplace_power = power_in_place;
    n.nb_inplace_and = binary_in_place<"bitwise_and", "__iand__">;
    n.nb_inplace_or = binary_in_place<"bitwise_or", "__ior__">;
    n.nb_inplace_xor = binary_in_place<"bitwise_xor", "__ixor__">;
    n.nb_inplace_lshift = binary_in_place<"bitwise_left_shift", "__ilshift__">;
    n.nb_inplace_rshift = binary_in_place<"bitwise_right_shift", "__irshift__">;
    n.nb_bool = truth;
    n.nb_int = to_python_int;
    n.nb_float = to_python_float;
    n.nb_index = to_index;
    return n;
  }();
  return &slots;
}

PyObject* tensor_compare(PyObject* a, PyObject* b, int op) {
  if (!is_tensor(a)) return not_implemented();
  switch (op) {
    case Py_EQ:
      return compare_equal<"eq", "__eq__">(a, b);
    case Py_NE:
      return compare_equal<"ne", "ne">(a, b);
    case Py_LT:
      return binary<"lt", "lt", "gt">(a, b);
    case Py_LE:
      return binary<"le", "le", "ge">(a, b);
    case Py_GT:
      return binary<"gt", "gt", "lt">(a, b);
    default:
      return binary<"ge", "ge", "le">(a, b);
  }
}

}  // namespace wisp::python
