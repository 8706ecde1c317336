#include "runtime/jit/module.h"

#include <algorithm>
#include <unordered_set>

#include "graph/interpreter.h"
#include "graph/passes.h"
#include "lazy/lazy.h"
#include "runtime/bridge.h"
#include "runtime/internal/datums.h"
#include "runtime/internal/jit_module.h"

namespace wisp::api::jit {

using graph::Attribute;
using graph::Datum;
using graph::Function;
using graph::ObjectData;
using graph::Tag;

const Function* Module::Impl::find(const std::string& method) const {
  if (what.function) return method == "forward" || method == what.name ? what.function : nullptr;
  const auto found = what.module->cls->methods.find(method);
  return found == what.module->cls->methods.end() ? nullptr : found->second;
}

const Function& Module::Impl::get(const std::string& method) const {
  const Function* found = find(method);
  WISP_CHECK(found, "'", what.name, "' has no method '", method, "'");
  return *found;
}

const Datum* Module::Impl::attribute(const std::string& name) const {
  const int at = what.module ? what.module->cls->find(name) : -1;
  return at < 0 ? nullptr : &what.module->slots[static_cast<size_t>(at)];
}

const Module::Impl& Module::impl() const {
  WISP_CHECK(impl_, "this module is empty: see jit::load()");
  return *impl_;
}

// --- loading

namespace {

std::string show(const wisp::Tensor& tensor) { return to_string(wrap(tensor)); }

// Once per process: operators are there, fusion groups run fused, scripts print tensors.
void make_ready() {
  static const bool ready = [] {
    entry("add");
    lazy::install();
    graph::graph_host.show = show;
    return true;
  }();
  (void)ready;
}

}  // namespace

Module load(const std::string& path) {
  make_ready();
  auto impl = std::make_shared<Module::Impl>(Module::Impl{read_archive(path)});
  // Now, so that several threads may call it first.
  for (const Function& function : impl->what.program->functions()) graph::prepare(function);
  return Module(std::move(impl));
}

// --- calling

Value Module::run_method(const std::string& method, std::vector<Value> inputs) const {
  return call(impl().get(method), impl().what.module.get(), inputs);
}

bool Module::has_method(const std::string& method) const { return impl().find(method); }

std::vector<std::string> Module::methods() const {
  if (impl().what.function) return {"forward"};
  std::vector<std::string> names;
  for (const auto& [name, function] : impl().what.module->cls->methods) names.push_back(name);
  return names;
}

// --- members

namespace {

// Calls f with every module and the prefix of its members' names, a module before those inside it,
// and each only once. Not recursive: a file may hold a chain as long as it likes.
template <class F>
void for_each_module(const Ref<ObjectData>& root, F f) {
  std::vector<std::pair<ObjectData*, std::string>> waiting;
  std::unordered_set<const ObjectData*> seen;
  if (root) waiting.emplace_back(root.get(), "");
  while (!waiting.empty()) {
    const auto [object, prefix] = std::move(waiting.back());
    waiting.pop_back();
    if (!seen.insert(object).second) continue;
    f(*object, prefix);
    for (size_t i = object->slots.size(); i-- > 0;) {
      const Datum& slot = object->slots[i];
      if (slot.tag() == Tag::object && slot.object().cls->is_module)
        waiting.emplace_back(&slot.object(), prefix + object->cls->attributes[i].name + ".");
    }
  }
}

OrderedDict<Tensor> named_tensors(const Ref<ObjectData>& root,
                                  std::initializer_list<Attribute::Role> roles) {
  OrderedDict<Tensor> found;
  std::unordered_set<const TensorImpl*> seen;
  for_each_module(root, [&](const ObjectData& object, const std::string& prefix) {
    for (size_t i = 0; i < object.slots.size(); ++i) {
      const Attribute& attribute = object.cls->attributes[i];
      const bool wanted = std::find(roles.begin(), roles.end(), attribute.role) != roles.end();
      if (!wanted || !object.slots[i].is_tensor()) continue;
      Tensor tensor = wrap(object.slots[i].tensor());
      if (seen.insert(tensor.impl()).second) found.insert(prefix + attribute.name, tensor);
    }
  });
  return found;
}

}  // namespace

OrderedDict<Tensor> Module::named_parameters() const {
  return named_tensors(impl().what.module, {Attribute::parameter});
}
OrderedDict<Tensor> Module::named_buffers() const {
  return named_tensors(impl().what.module, {Attribute::buffer, Attribute::temporary_buffer});
}

void Module::train(bool on) const {
  for_each_module(impl().what.module, [on](ObjectData& object, const std::string&) {
    const int at = object.cls->find("training");
    if (at < 0) return;
    Datum& training = object.slots[static_cast<size_t>(at)];
    if (training.tag() == Tag::boolean) training = on;
  });
}

bool Module::is_training() const {
  const Datum* training = impl().attribute("training");
  return training && training->tag() == Tag::boolean && training->boolean();
}

Value Module::attr(const std::string& name) const {
  const Datum* found = impl().attribute(name);
  WISP_CHECK(found, "'", impl().what.name, "' object has no attribute '", name, "'");
  return to_value(*found);
}

bool Module::hasattr(const std::string& name) const { return impl().attribute(name); }

Module Module::child(const std::string& name) const {
  const Datum* found = impl().attribute(name);
  const bool is_module = found && found->tag() == Tag::object && found->object().cls->is_module;
  WISP_CHECK(is_module, "'", impl().what.name, "' has no module '", name, "'");
  const std::string& cls = found->object().cls->name;
  return Module(std::make_shared<Impl>(
      Impl{{impl().what.program, nullptr, Ref<ObjectData>::share(&found->object()),
            cls.substr(cls.rfind('.') + 1)}}));
}

// --- looking

std::string Module::name() const { return impl().what.name; }

std::string Module::graph(const std::string& method) const {
  return graph::to_text(*impl().get(method).graph);
}

std::string Module::inlined_graph(const std::string& method) const {
  const std::unique_ptr<graph::Graph> copy = impl().get(method).graph->clone();
  graph::run_pass(*copy, *graph::find_pass("inlining"));
  return graph::to_text(*copy);
}

}  // namespace wisp::api::jit
