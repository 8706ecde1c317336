#include "bindings/op_object.h"

#include <map>
#include <structmember.h>

#include "autograd/meta.h"
#include "bindings/overrides.h"
#include "bindings/types.h"
#include "dispatch/call.h"
#include "dispatch/registry.h"

namespace wisp::python {

namespace {

// All overloads of one name under one spelling.
struct OpObject {
  PyObject_HEAD;
  vectorcallfunc vectorcall;
  std::vector<Signature>* overloads;  // tried in order
  std::string* name;                  // as the user writes it
  std::string* home;                  // "wisp", "wisp.nn.functional", ...
  PyTypeObject* result_type;          // named tuple, if the results have names
  PyObject* attributes;               // what programs have set, as they may for Python's functions
  Spelling spelling;
};

PyTypeObject* function_type = nullptr;
PyTypeObject* method_type = nullptr;

OpObject* op_of(PyObject* self) { return reinterpret_cast<OpObject*>(self); }

[[noreturn]] void fail_arguments(const OpObject& op, PyObject* const* args, Py_ssize_t nargs,
                                 PyObject* kwnames) {
  const Py_ssize_t first = op.spelling == Spelling::function ? 0 : 1;
  Parsed parsed;
  if (op.overloads->size() == 1) {
    std::string why;
    op.overloads->front().parse(args, nargs, kwnames, parsed, &why);
    fail(ErrorKind::type, *op.name, "(): ", why);
  }
  std::string got;
  for (Py_ssize_t i = first; i < nargs; ++i) got += (got.empty() ? "" : ", ") + type_name(args[i]);
  for (Py_ssize_t k = 0; kwnames && k < PyTuple_GET_SIZE(kwnames); ++k) {
    got += (got.empty() ? "" : ", ") + text_of(PyTuple_GET_ITEM(kwnames, k)) + "=" +
           type_name(args[nargs + k]);
  }
  std::string expected;
  for (const Signature& signature : *op.overloads) {
    std::string why;
    parsed.reset();
    signature.parse(args, nargs, kwnames, parsed, &why);
    expected += "\n * " + signature.text() + "\n      didn't match: " + why;
  }
  fail(ErrorKind::type, *op.name, "() received an invalid combination of arguments - got (", got,
       "), but expected one of:", expected);
}

// Results that were asked for; a single one stands alone.
PyObject* wrap_present(TensorList& outs) {
  TensorList present;
  for (Tensor& out : outs) {
    if (out.defined()) present.push(std::move(out));
  }
  return present.size() == 1 ? wrap(std::move(present[0]))
                             : wrap_tuple({present.data(), present.size()});
}

PyObject* wrap_results(const OpObject& op, const OpDef& def, TensorList& outs) {
  const auto& returns = def.sig.returns;
  if (returns.size() == 1 && !returns[0].is_list) {
    if (WISP_LIKELY(returns[0].is_tensor)) return wrap(std::move(outs[0]));
    const Scalar value = outs[0].item();
    if (returns[0].type == "bool") return boolean(value.truth());
    return returns[0].type == "int" ? PyLong_FromLongLong(value.integer())
                                    : PyFloat_FromDouble(value.real());
  }
  if (returns.empty()) Py_RETURN_NONE;
  if (returns.back().optional) return wrap_present(outs);
  if (!op.result_type) return wrap_tuple({outs.data(), outs.size()});
  Ref result = owned(PyStructSequence_New(op.result_type));
  for (size_t i = 0; i < outs.size(); ++i) {
    PyStructSequence_SET_ITEM(result.get(), static_cast<Py_ssize_t>(i), wrap(std::move(outs[i])));
  }
  return result.release();
}

// Fills in the device that new tensors shall live on, and refuses to mix devices.
void prepare_devices(const OpDef& def, Parsed& parsed) {
  if (def.has(trait::factory) && !parsed.args()[0].is_tensor()) {
    const int at = def.sig.find("device");
    if (at >= 0 && parsed[at].is_none()) parsed[at] = Arg(default_device());
  }
  if (def.homes != home::internal) check_one_device(def, parsed.args());
}

PyObject* run_parsed(const OpObject& op, const Signature& signature, PyObject* self,
                     Parsed& parsed) {
  const OpDef& def = signature.op();
  if (WISP_UNLIKELY(devices_matter())) prepare_devices(def, parsed);
  if (op.spelling == Spelling::in_place) {
    call_in_place(def, parsed.args());
    Py_INCREF(self);
    return self;
  }
  if (WISP_UNLIKELY(parsed.out_object != nullptr)) {
    call_out(def, parsed.args(), parsed.out());
    if (parsed.requires_grad) autograd::set_requires_grad(parsed.out()[0], true);
    Py_INCREF(parsed.out_object);
    return parsed.out_object;
  }
  TensorList outs;
  call(def, parsed.args(), outs);
  if (WISP_UNLIKELY(parsed.requires_grad)) autograd::set_requires_grad(outs[0], true);
  return wrap_results(op, def, outs);
}

PyObject* op_vectorcall(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames);

// add(x, alpha, y), addmm(beta, x, alpha, a, b), addcmul(x, value, a, b): numbers before the
// tensors they multiply, as old programs write them. The call with these as keywords; null if it is
// none.
WISP_COLD PyObject* call_in_old_order(PyObject* self, PyObject* const* args, Py_ssize_t nargs,
                                      PyObject* kwnames) {
  const Schema& schema = op_of(self)->overloads->front().op().sig;
  std::vector<const char*> names;
  for (const char* name : {"beta", "alpha", "value"}) {
    const int at = schema.find(name);
    if (at >= 0 && schema.params[at].keyword_only) names.push_back(name);
  }
  Py_ssize_t last = nargs;
  while (last > 0 && !is_tensor(args[last - 1])) --last;
  std::vector<PyObject*> rest, numbers;
  for (Py_ssize_t i = 0; i < nargs; ++i) {
    (i < last && !is_tensor(args[i]) ? numbers : rest).push_back(args[i]);
  }
  if (kwnames || numbers.empty() || numbers.size() > names.size()) return nullptr;
  Ref keywords = owned(PyTuple_New(static_cast<Py_ssize_t>(numbers.size())));
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (!PyNumber_Check(numbers[i])) return nullptr;
    PyTuple_SET_ITEM(keywords.get(), static_cast<Py_ssize_t>(i), string(names[i]).release());
  }
  const size_t count = rest.size();
  rest.insert(rest.end(), numbers.begin(), numbers.end());
  warn(str("This overload of ", *op_of(self)->name, " is deprecated: give ", names[0],
           " by its name, after the tensors"));
  return must(op_vectorcall(self, rest.data(), count, keywords.get()));
}

PyObject* op_vectorcall(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  const OpObject& op = *op_of(self);
  const Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
  return guarded([&]() -> PyObject* {
    if (WISP_UNLIKELY(overrides_exist)) {
      if (PyObject* result = call_override(self, args, nargs, kwnames)) return result;
    }
    if (op.spelling != Spelling::function) {
      WISP_CHECK_TYPE(nargs > 0 && is_tensor(args[0]), "descriptor '", *op.name,
                      "' of 'wisp.Tensor' object needs a Tensor");
    }
    Parsed parsed;
    for (const Signature& signature : *op.overloads) {
      if (signature.parse(args, nargs, kwnames, parsed))
        return run_parsed(op, signature, nargs ? args[0] : nullptr, parsed);
      parsed.reset();
    }
    // What is no tensor may still know what to do with the call.
    if (PyObject* result = call_override(self, args, nargs, kwnames)) return result;
    if (PyObject* result = call_in_old_order(self, args, nargs, kwnames)) return result;
    fail_arguments(op, args, nargs, kwnames);
  });
}

PyObject* op_repr(PyObject* self) {
  const OpObject& op = *op_of(self);
  if (op.spelling == Spelling::function)
    return PyUnicode_FromFormat("<built-in function %s>", op.name->c_str());
  return PyUnicode_FromFormat("<method '%s' of 'wisp.Tensor' objects>", op.name->c_str());
}

std::string signature_line(const OpObject& op, const Signature& signature) {
  std::string line = *op.name + "(";
  bool star = false;
  const char* separator = "";
  for (const auto& param : signature.python_params()) {
    if (op.spelling != Spelling::function && param.name == "self") continue;
    line += separator;
    separator = ", ";
    if (param.keyword_only && !star) {
      line += "*, ";
      star = true;
    }
    line += param.name;
    if (!param.default_text.empty()) line += "=" + param.default_text;
  }
  return line + ")";
}

PyObject* op_doc(PyObject* self, void*) {
  const OpObject& op = *op_of(self);
  std::string text;
  for (const Signature& signature : *op.overloads) {
    if (!text.empty()) text += "\n\n";
    text += signature_line(op, signature) + " -> ";
    const auto& returns = signature.op().sig.returns;
    text += returns.size() == 1 ? returns[0].type + (returns[0].is_list ? " (several)" : "")
                                : "(several Tensors)";
    text += std::string("\n\n") + signature.op().doc;
  }
  return PyUnicode_FromString(text.c_str());
}

PyObject* op_name(PyObject* self, void*) {
  return PyUnicode_FromString(op_of(self)->name->c_str());
}
PyObject* op_module(PyObject* self, void*) {
  return PyUnicode_FromString(op_of(self)->home->c_str());
}
PyObject* op_qualname(PyObject* self, void*) {
  const OpObject& op = *op_of(self);
  return PyUnicode_FromFormat(op.spelling == Spelling::function ? "%s" : "Tensor.%s",
                              op.name->c_str());
}

// Built in Python, where inspect lives; imported only if somebody asks.
PyObject* op_signature(PyObject* self, void*) {
  return guarded([&] {
    static PyObject* build = import_attribute("wisp._signatures", "build");
    const OpObject& op = *op_of(self);
    const auto params = op.overloads->front().python_params();
    Ref list = owned(PyList_New(0));
    for (const auto& param : params) {
      const Ref item =
          owned(Py_BuildValue("(siz)", param.name.c_str(), param.keyword_only ? 1 : 0,
                              param.default_text.empty() ? nullptr : param.default_text.c_str()));
      must_succeed(PyList_Append(list.get(), item.get()));
    }
    return must(PyObject_CallOneArg(build, list.get()));
  });
}

PyObject* op_reduce(PyObject* self, PyObject*) {
  const OpObject& op = *op_of(self);
  if (op.spelling == Spelling::function) return PyUnicode_FromString(op.name->c_str());
  const Ref getattr(import_attribute("builtins", "getattr"));
  return Py_BuildValue("O(Os)", getattr.get(), reinterpret_cast<PyObject*>(tensor_type),
                       op.name->c_str());
}

PyObject* method_get(PyObject* self, PyObject* object, PyObject*) {
  if (!object || object == Py_None) {
    Py_INCREF(self);
    return self;
  }
  return PyMethod_New(self, object);
}

void op_dealloc(PyObject* self) {
  OpObject* op = op_of(self);
  delete op->overloads;
  delete op->name;
  delete op->home;
  Py_XDECREF(op->attributes);
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

PyGetSetDef op_getset[] = {{"__doc__", op_doc, nullptr, nullptr, nullptr},
                           {"__name__", op_name, nullptr, nullptr, nullptr},
                           {"__qualname__", op_qualname, nullptr, nullptr, nullptr},
                           {"__module__", op_module, nullptr, nullptr, nullptr},
                           {"__signature__", op_signature, nullptr, nullptr, nullptr},
                           {}};
PyMethodDef op_methods[] = {{"__reduce__", op_reduce, METH_NOARGS, nullptr}, {}};
PyMemberDef op_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(OpObject, vectorcall), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(OpObject, attributes), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyType_Slot function_slots[] = {{Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                                {Py_tp_repr, reinterpret_cast<void*>(op_repr)},
                                {Py_tp_dealloc, reinterpret_cast<void*>(op_dealloc)},
                                {Py_tp_getset, op_getset},
                                {Py_tp_methods, op_methods},
                                {Py_tp_members, op_members},
                                {0, nullptr}};
PyType_Slot method_slots[] = {{Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                              {Py_tp_repr, reinterpret_cast<void*>(op_repr)},
                              {Py_tp_dealloc, reinterpret_cast<void*>(op_dealloc)},
                              {Py_tp_descr_get, reinterpret_cast<void*>(method_get)},
                              {Py_tp_getset, op_getset},
                              {Py_tp_methods, op_methods},
                              {Py_tp_members, op_members},
                              {0, nullptr}};
constexpr unsigned long op_flags =
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION;
PyType_Spec function_spec = {"wisp._C.builtin_function", sizeof(OpObject), 0, op_flags,
                             function_slots};
PyType_Spec method_spec = {"wisp._C.builtin_method", sizeof(OpObject), 0,
                           op_flags | Py_TPFLAGS_METHOD_DESCRIPTOR, method_slots};

// One field a line, as tensors take several.
PyObject* result_repr(PyObject* self) {
  return guarded([&] {
    std::string text = shown_package() + std::string(Py_TYPE(self)->tp_name).substr(4) + "(\n";
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self); ++i) {
      const Ref value = owned(PyObject_Repr(PyTuple_GET_ITEM(self, i)));
      text += (i ? ",\n" : "") + std::string(Py_TYPE(self)->tp_members[i].name) + "=" +
              text_of(value.get());
    }
    return string(text + ")").release();
  });
}

// A named tuple for the results of e.g. max(dim): wisp.return_types.max
PyTypeObject* result_type_of(const OpDef& op) {
  const auto& returns = op.sig.returns;
  if (returns.size() < 2 || returns[0].name.empty()) return nullptr;
  static std::map<std::string, PyTypeObject*> made;
  PyTypeObject*& type = made[op.sig.base];
  if (type) return type;
  auto* fields = new std::vector<PyStructSequence_Field>;
  for (const Return& result : returns) fields->push_back({strdup(result.name.c_str()), nullptr});
  fields->push_back({nullptr, nullptr});
  const std::string full = "wisp.return_types." + op.sig.base;
  PyStructSequence_Desc desc = {strdup(full.c_str()), nullptr, fields->data(),
                                static_cast<int>(returns.size())};
  type = PyStructSequence_NewType(&desc);
  if (!type) throw PythonError();
  type->tp_repr = result_repr;
  return type;
}

class Builder {
 public:
  explicit Builder(PyObject* module) : module_(module) {}

  void add(const std::string& name, const std::vector<const OpDef*>& overloads) {
    uint32_t homes = 0, traits = 0;
    for (const OpDef* op : overloads) {
      homes |= op->homes;
      traits |= op->traits;
    }
    if (homes & home::internal) homes &= home::method;  // what Python code of wisp calls
    if (homes & home::function) put(home::function, "wisp", name, overloads, Spelling::function);
    if (homes & home::functional)
      put(home::functional, "wisp.nn.functional", name, overloads, Spelling::function);
    for (const home::Space& space : home::spaces) {
      if (!(homes & space.home)) continue;
      const std::string inside(Registry::name_in(space, name));
      put(space.home, str("wisp.", space.name).c_str(), inside, overloads, Spelling::function);
    }
    if (homes & home::method) put_method(name, overloads, Spelling::method);
    if (traits & trait::in_place) {
      if (homes & home::method) put_method(name + "_", overloads, Spelling::in_place);
      if ((homes & home::function) && takes_one_tensor(*overloads[0])) {
        put(home::function, "wisp", name + "_", overloads, Spelling::in_place);
      }
    }
  }

 private:
  // wisp.exp_(x) exists, wisp.add_(x, y) does not.
  static bool takes_one_tensor(const OpDef& op) {
    int count = 0;
    for (const Param& param : op.sig.params)
      count +=
          param.type == ParamType::tensor || (param.type == ParamType::operand && !param.optional);
    return count == 1;
  }
  Ref make(const std::string& name, const char* where, uint32_t home,
           const std::vector<const OpDef*>& overloads, Spelling spelling) {
    PyTypeObject* type =
        spelling == Spelling::function || home != home::method ? function_type : method_type;
    Ref object = owned(type->tp_alloc(type, 0));
    OpObject* op = op_of(object.get());
    op->vectorcall = op_vectorcall;
    op->overloads = new std::vector<Signature>;
    for (const OpDef* def : overloads) {
      if (!(def->homes & home)) continue;
      if (spelling == Spelling::in_place && !def->has(trait::in_place)) continue;
      if (spelling != Spelling::in_place && def->has(trait::in_place_only)) continue;
      op->overloads->emplace_back(*def, spelling);
    }
    op->name = new std::string(name);
    op->home = new std::string(where);
    op->spelling = spelling;
    for (const OpDef* def : overloads) {
      if (!op->result_type) op->result_type = result_type_of(*def);
    }
    if (op->result_type) {
      must_succeed(PyDict_SetItemString(dict("_return_types"), overloads.front()->sig.base.c_str(),
                                        reinterpret_cast<PyObject*>(op->result_type)));
    }
    return object;
  }
  PyObject* space(uint32_t home) {
    for (const home::Space& space : home::spaces) {
      if (home == space.home) return dict(str("_", space.name).c_str());
    }
    return dict(home == home::function ? "_functions" : "_functional");
  }
  PyObject* dict(const char* key) {
    if (!PyObject_HasAttrString(module_, key)) {
      const Ref fresh = owned(PyDict_New());
      must_succeed(PyObject_SetAttrString(module_, key, fresh.get()));
    }
    const Ref found = owned(PyObject_GetAttrString(module_, key));
    return found.get();  // the module keeps it
  }
  void put(uint32_t home, const char* where, const std::string& name,
           const std::vector<const OpDef*>& overloads, Spelling spelling) {
    const Ref object = make(name, where, home, overloads, spelling);
    if (op_of(object.get())->overloads->empty()) return;
    must_succeed(PyDict_SetItemString(space(home), name.c_str(), object.get()));
  }
  void put_method(const std::string& name, const std::vector<const OpDef*>& overloads,
                  Spelling spelling) {
    const Ref object = make(name, "wisp", home::method, overloads, spelling);
    if (op_of(object.get())->overloads->empty()) return;
    must_succeed(PyObject_SetAttrString(reinterpret_cast<PyObject*>(tensor_type), name.c_str(),
                                        object.get()));
  }

  PyObject* module_;
};

}  // namespace

void add_operators(PyObject* module) {
  function_type = reinterpret_cast<PyTypeObject*>(must(PyType_FromSpec(&function_spec)));
  method_type = reinterpret_cast<PyTypeObject*>(must(PyType_FromSpec(&method_spec)));
  std::map<std::string, std::vector<const OpDef*>> names;
  for (const OpDef& op : registry().ops()) names[op.sig.base].push_back(&op);
  for (const auto& [other, name] : registry().aliases()) names[other] = names[name];
  Builder builder(module);
  for (const auto& [name, overloads] : names) builder.add(name, overloads);
}

}  // namespace wisp::python
