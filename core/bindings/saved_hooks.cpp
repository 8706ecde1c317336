// Python functions that saved tensors pass through: autograd.graph.saved_tensors_hooks.
#include "autograd/saved_hooks.h"

#include <vector>

#include "bindings/module.h"
#include "bindings/tensor_object.h"

namespace wisp::python {

namespace {

using autograd::SavedHooks;

// What a pack hook returned, whatever it is.
class PackedObject final : public Object {
 public:
  explicit PackedObject(Ref value) : value_(value.release()) {}
  ~PackedObject() override {
    const FreeingLock lock;
    if (lock) Py_DECREF(value_);
  }
  PyObject* value() const { return value_; }

 private:
  PyObject* value_;
};

class PythonSavedHooks final : public SavedHooks {
 public:
  PythonSavedHooks(PyObject* pack, PyObject* unpack) : pack_(pack), unpack_(unpack) {
    Py_INCREF(pack_);
    Py_INCREF(unpack_);
  }
  ~PythonSavedHooks() override {
    const FreeingLock lock;
    if (!lock) return;
    Py_DECREF(pack_);
    Py_DECREF(unpack_);
  }
  wisp::Ref<Object> pack(const Tensor& tensor) override {
    const Ref argument(wrap(tensor));
    Ref made = owned(PyObject_CallOneArg(pack_, argument.get()));
    return wisp::Ref<Object>::adopt(new PackedObject(std::move(made)));
  }
  Tensor unpack(Object& packed) override {
    const Ref made =
        owned(PyObject_CallOneArg(unpack_, static_cast<PackedObject&>(packed).value()));
    WISP_CHECK_TYPE(is_tensor(made.get()),
                    "Output of saved tensor unpack_hook expected to be a Tensor but got result of ",
                    "type ", Py_TYPE(made.get())->tp_name);
    return tensor_of(made.get());
  }

 private:
  PyObject *pack_, *unpack_;
};

// Of this thread: the hooks it is inside of, and the message of whoever forbids any.
struct Hooks {
  std::vector<wisp::Ref<SavedHooks>> stack;
  std::string forbidden;
  bool is_forbidden = false;
};

Hooks& hooks() {
  thread_local Hooks hooks;
  return hooks;
}

void use_innermost() {
  autograd::saved_hooks = hooks().stack.empty() ? nullptr : hooks().stack.back().get();
}

PyObject* push(PyObject*, PyObject* args) {
  PyObject *pack, *unpack;
  if (!PyArg_ParseTuple(args, "OO", &pack, &unpack)) return nullptr;
  return guarded([&] {
    WISP_CHECK(!hooks().is_forbidden, hooks().forbidden);
    hooks().stack.push_back(wisp::Ref<SavedHooks>::adopt(new PythonSavedHooks(pack, unpack)));
    use_innermost();
    return none();
  });
}

PyObject* pop(PyObject*, PyObject*) {
  return guarded([] {
    WISP_CHECK(!hooks().stack.empty(), "there are no saved tensor hooks to leave");
    const wisp::Ref<SavedHooks> last = std::move(hooks().stack.back());
    hooks().stack.pop_back();
    use_innermost();
    return none();
  });
}

// forbid(message or None): what was set before.
PyObject* forbid(PyObject*, PyObject* message) {
  return guarded([&] {
    Hooks& own = hooks();
    if (message != Py_None && !own.stack.empty()) fail(ErrorKind::runtime, text_of(message));
    Ref before = own.is_forbidden ? string(own.forbidden) : Ref(none());
    own.is_forbidden = message != Py_None;
    own.forbidden = own.is_forbidden ? text_of(message) : std::string();
    return before.release();
  });
}

PyMethodDef functions[] = {{"_push_saved_hooks", push, METH_VARARGS, nullptr},
                           {"_pop_saved_hooks", pop, METH_NOARGS, nullptr},
                           {"_forbid_saved_hooks", forbid, METH_O, nullptr},
                           {}};

}  // namespace

void add_saved_hooks(PyObject* module) { must_succeed(PyModule_AddFunctions(module, functions)); }

}  // namespace wisp::python
