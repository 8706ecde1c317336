// Settings and facts of the process: threads, memory, dtypes, random seeds.
#include "base/memory.h"
#include "base/parallel.h"
#include "bindings/arguments.h"
#include "bindings/generator.h"
#include "bindings/module.h"
#include "bindings/tensor_object.h"
#include "bindings/types.h"
#include "cpu/isa.h"
#include "cpu/onednn.h"
#include "cpu/winograd.h"
#include "dispatch/registry.h"
#include "ops/promotion.h"

namespace wisp::python {

namespace {

PyObject* get_num_threads(PyObject*, PyObject*) { return PyLong_FromLong(num_threads()); }
PyObject* set_num_threads_function(PyObject*, PyObject* value) {
  return guarded([&] {
    int64_t count;
    WISP_CHECK_TYPE(to_int(value, count), "set_num_threads expects an int, but got ",
                    Py_TYPE(value)->tp_name);
    WISP_CHECK(count > 0 && count < 65536, "set_num_threads expects a positive integer, got ",
               count);
    set_num_threads(static_cast<int>(count));
    return none();
  });
}

PyObject* memory_stats(PyObject*, PyObject*) {
  const memory::Stats s = memory::stats();
  return Py_BuildValue(
      "{s:L,s:L,s:L,s:L,s:L}", "current", static_cast<long long>(s.current), "peak",
      static_cast<long long>(s.peak), "cached", static_cast<long long>(s.cached), "cache_limit",
      static_cast<long long>(s.cache_limit), "reserved", static_cast<long long>(s.reserved));
}
PyObject* memory_reset_peak(PyObject*, PyObject*) {
  memory::reset_peak();
  Py_RETURN_NONE;
}
PyObject* memory_empty_cache(PyObject*, PyObject*) {
  memory::empty_cache();
  Py_RETURN_NONE;
}
PyObject* memory_set_cache_limit(PyObject*, PyObject* value) {
  return guarded([&] {
    int64_t bytes;
    WISP_CHECK_TYPE(to_int(value, bytes), "expected a number of bytes, got ",
                    Py_TYPE(value)->tp_name);
    memory::set_cache_limit(bytes);
    return none();
  });
}
PyObject* memory_snapshot(PyObject*, PyObject*) {
  return guarded([&] {
    Ref list = owned(PyList_New(0));
    for (const memory::SizeCount& row : memory::snapshot()) {
      const Ref item = owned(Py_BuildValue(
          "{s:L,s:L,s:L}", "size", static_cast<long long>(row.size), "in_use",
          static_cast<long long>(row.in_use), "cached", static_cast<long long>(row.cached)));
      must_succeed(PyList_Append(list.get(), item.get()));
    }
    return list.release();
  });
}

PyObject* get_default_dtype(PyObject*, PyObject*) { return wrap(default_dtype()); }
PyObject* set_default_dtype_function(PyObject*, PyObject* value) {
  return guarded([&] {
    DType dtype;
    WISP_CHECK_TYPE(
        to_dtype(value, dtype),
        "invalid dtype object: only floating-point types are supported as the default type");
    set_default_dtype(dtype);
    return none();
  });
}

DType expect_dtype(PyObject* value, const char* function) {
  DType dtype;
  WISP_CHECK_TYPE(to_dtype(value, dtype), function, ": expected a dtype, got ",
                  Py_TYPE(value)->tp_name);
  return dtype;
}

PyObject* promote_types(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"type1", "type2", nullptr};
  PyObject *a, *b;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO", const_cast<char**>(names), &a, &b))
    return nullptr;
  return guarded([&] {
    return wrap(promote(expect_dtype(a, "promote_types()"), expect_dtype(b, "promote_types()")));
  });
}

PyObject* can_cast_function(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"from_", "to", nullptr};
  PyObject *a, *b;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO", const_cast<char**>(names), &a, &b))
    return nullptr;
  return guarded([&] {
    return boolean(can_cast(expect_dtype(a, "can_cast()"), expect_dtype(b, "can_cast()")));
  });
}

PyObject* result_type(PyObject*, PyObject* args) {
  PyObject *a, *b;
  if (!PyArg_ParseTuple(args, "OO", &a, &b)) return nullptr;
  return guarded([&] {
    auto to_arg = [](PyObject* value) {
      Scalar scalar;
      if (is_tensor(value)) return Arg(impl_of(value));
      WISP_CHECK_TYPE(to_scalar(value, scalar), "result_type(): expected Tensors or numbers, got ",
                      Py_TYPE(value)->tp_name);
      return Arg(scalar);
    };
    return wrap(ops::result_type(to_arg(a), to_arg(b)));
  });
}

PyObject* cpu_capability(PyObject*, PyObject*) {
  return PyUnicode_FromString(cpu::name(cpu::isa()));
}

PyObject* onednn_available(PyObject*, PyObject*) { return boolean(cpu::onednn::available()); }
PyObject* onednn_enabled(PyObject*, PyObject*) { return boolean(cpu::onednn::enabled()); }
// What was put off was asked for before.
PyObject* onednn_set_enabled(PyObject*, PyObject* value) {
  return guarded([&] {
    const bool wanted = truth_of(value);
    if (Storage::any_deferred()) Storage::run_deferred();
    cpu::onednn::set_enabled(wanted);
    return none();
  });
}

PyObject* winograd_enabled(PyObject*, PyObject*) { return boolean(cpu::winograd::enabled()); }
PyObject* winograd_set_enabled(PyObject*, PyObject* value) {
  return guarded([&] {
    const bool wanted = truth_of(value);
    if (Storage::any_deferred()) Storage::run_deferred();
    cpu::winograd::set_enabled(wanted);
    return none();
  });
}

// For tests: whether the memory of an image lies in blocks of channels just now.
PyObject* is_arranged(PyObject*, PyObject* tensor) {
  return guarded([&] {
    if (Storage::any_awaited()) Storage::run_deferred();
    return boolean(expect_tensor(tensor, "_is_arranged")->storage().is_arranged());
  });
}

const char* word(Jvp jvp) {
  switch (jvp) {
    case Jvp::none:
      return "none";
    case Jvp::elementwise:
      return "elementwise";
    case Jvp::linear:
      return "linear";
    case Jvp::bilinear:
      return "bilinear";
    case Jvp::transposed:
      return "transposed";
    case Jvp::unset:
      break;
  }
  return "";
}

const char* word(Batch batch) {
  static constexpr const char* words[] = {"", "pointwise", "along", "front", "join", "loop"};
  return words[static_cast<int>(batch)];
}

// The operator table as plain data: what stubs, reference docs and tests are made from.
PyObject* op_table(PyObject*, PyObject*) {
  return guarded([&] {
    Ref list = owned(PyList_New(0));
    for (const OpDef& op : registry().ops()) {
      Ref params = owned(PyList_New(0));
      for (const Param& param : op.sig.params) {
        const Ref item = owned(Py_BuildValue(
            "{s:s,s:s,s:O,s:z}", "name", param.name.c_str(), "type", type_text(param).c_str(),
            "keyword_only", param.keyword_only ? Py_True : Py_False, "default",
            param.has_default ? param.default_text.c_str() : nullptr));
        must_succeed(PyList_Append(params.get(), item.get()));
      }
      Ref returns = owned(PyList_New(0));
      for (const Return& result : op.sig.returns) {
        const Ref item =
            owned(Py_BuildValue("{s:s,s:s,s:O}", "name", result.name.c_str(), "type",
                                result.type.c_str(), "list", result.is_list ? Py_True : Py_False));
        must_succeed(PyList_Append(returns.get(), item.get()));
      }
      Ref rules = owned(PyList_New(0));
      for (const Vjp& rule : op.vjp) {
        const Ref item = owned(Py_BuildValue("(ss)", rule.input, rule.saves));
        must_succeed(PyList_Append(rules.get(), item.get()));
      }
      const Ref row = owned(Py_BuildValue(
          "{s:s,s:s,s:s,s:s,s:O,s:O,s:O,s:s,s:s,s:s,s:k,s:k,s:s}", "name", op.sig.name.c_str(),
          "base", op.sig.base.c_str(), "schema", op.schema, "doc", op.doc, "params", params.get(),
          "returns", returns.get(), "vjp", rules.get(), "jvp", word(op.jvp), "batch",
          word(op.batch), "onnx", op.onnx, "traits", static_cast<unsigned long>(op.traits), "homes",
          static_cast<unsigned long>(op.homes), "node", op.node_name.c_str()));
      must_succeed(PyList_Append(list.get(), row.get()));
    }
    Ref aliases = owned(PyDict_New());
    for (const auto& [other, name] : registry().aliases()) {
      const Ref target = string(name);
      must_succeed(PyDict_SetItemString(aliases.get(), other.c_str(), target.get()));
    }
    return must(Py_BuildValue("(OO)", list.get(), aliases.get()));
  });
}

#define WISP_KEYWORDS(function) \
  reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function))

PyMethodDef functions[] = {
    {"get_num_threads", get_num_threads, METH_NOARGS, "How many threads kernels may use."},
    {"set_num_threads", set_num_threads_function, METH_O,
     "set_num_threads(n): how many threads kernels may use."},
    {"_memory_stats", memory_stats, METH_NOARGS, nullptr},
    {"_memory_reset_peak", memory_reset_peak, METH_NOARGS, nullptr},
    {"_memory_empty_cache", memory_empty_cache, METH_NOARGS, nullptr},
    {"_memory_set_cache_limit", memory_set_cache_limit, METH_O, nullptr},
    {"_memory_snapshot", memory_snapshot, METH_NOARGS, nullptr},
    {"get_default_dtype", get_default_dtype, METH_NOARGS,
     "The dtype of new floating-point tensors."},
    {"set_default_dtype", set_default_dtype_function, METH_O,
     "set_default_dtype(d): the dtype of new floating-point tensors."},
    {"promote_types", WISP_KEYWORDS(promote_types), METH_VARARGS | METH_KEYWORDS,
     "promote_types(type1, type2): the smallest dtype both fit in."},
    {"can_cast", WISP_KEYWORDS(can_cast_function), METH_VARARGS | METH_KEYWORDS,
     "can_cast(from_, to): whether results of one dtype may be written into the other."},
    {"result_type", result_type, METH_VARARGS,
     "result_type(tensor1, tensor2): the dtype an operation of both gives."},
    {"_cpu_capability", cpu_capability, METH_NOARGS, nullptr},
    {"_onednn_available", onednn_available, METH_NOARGS, nullptr},
    {"_onednn_enabled", onednn_enabled, METH_NOARGS, nullptr},
    {"_onednn_set_enabled", onednn_set_enabled, METH_O, nullptr},
    {"_winograd_enabled", winograd_enabled, METH_NOARGS, nullptr},
    {"_winograd_set_enabled", winograd_set_enabled, METH_O, nullptr},
    {"_is_arranged", is_arranged, METH_O, nullptr},
    {"_op_table", op_table, METH_NOARGS, nullptr},
    {}};

}  // namespace

void add_runtime_functions(PyObject* module) {
  must_succeed(PyModule_AddFunctions(module, functions));
}

}  // namespace wisp::python
