// Programs that Python compiled and saved (wisp.jit.save), loaded and run without Python.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/nn/module.h"
#include "runtime/serialization/value.h"

#pragma GCC visibility push(default)
namespace wisp::api::jit {

using IValue = Value;

// What a method can be called with to try it.
struct Example {
  struct Input {
    std::string name;
    Value value;
    std::string reason;  // why it is that: "as it was traced", "conv2d takes 3 channels"
  };
  std::vector<Input> inputs;
  std::vector<Value> values() const {
    std::vector<Value> all;
    for (const Input& input : inputs) all.push_back(input.value);
    return all;
  }
};

// A compiled module or function. It holds what it is, as a variable in Python does: copies share
// it. Threads may share one for inference.
class Module {
 public:
  Module() = default;  // none yet
  // Calls forward(), or the function that was saved. What it raises is an Error whose message shows
  // the lines of the script.
  Value forward(std::vector<Value> inputs) const {
    return run_method("forward", std::move(inputs));
  }
  Value operator()(std::vector<Value> inputs) const { return forward(std::move(inputs)); }
  template <class... Inputs>
  Value operator()(const Inputs&... inputs) const {
    return forward({Value(inputs)...});
  }
  // Calls a method by its name. Arguments that are missing at the end have their defaults.
  Value run_method(const std::string& method, std::vector<Value> inputs) const;
  template <class... Inputs>
  Value run_method(const std::string& method, const Inputs&... inputs) const {
    return run_method(method, std::vector<Value>{Value(inputs)...});
  }
  bool has_method(const std::string& method) const;
  // Inputs like those that the method was traced with, or called with first, before it was saved:
  // of the same shapes and dtypes, with random numbers. Where the file does not say, such that are
  // found by looking at the graph and trying; an Error if none are.
  Example example(const std::string& method = "forward") const;
  // The same as the file says it; without inputs if it does not.
  Example saved_example(const std::string& method = "forward") const;
  std::vector<std::string> methods() const;

  // By their dotted names, in Python's order, each tensor once.
  OrderedDict<Tensor> named_parameters() const;
  OrderedDict<Tensor> named_buffers() const;
  Tensors parameters() const { return named_parameters().values(); }
  Tensors buffers() const { return named_buffers().values(); }

  // Switches this module and all below it between training and evaluation. What was frozen stays.
  void train(bool on = true) const;
  void eval() const { train(false); }
  bool is_training() const;

  // The value of an attribute; a module inside this one.
  Value attr(const std::string& name) const;
  bool hasattr(const std::string& name) const;
  Module child(const std::string& name) const;

  // The name of the class or function that was compiled.
  std::string name() const;
  // What a method computes, as text; inlined: with the methods that it calls in place of the calls.
  std::string graph(const std::string& method = "forward") const;
  std::string inlined_graph(const std::string& method = "forward") const;

  const Module* operator->() const { return this; }
  Module* operator->() { return this; }

 private:
  struct Impl;
  explicit Module(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  friend Module load(const std::string& path);
  const Impl& impl() const;
  std::shared_ptr<const Impl> impl_;
};

namespace script {
using jit::Module;
}

// Loads what wisp.jit.save() wrote in Python. A damaged or hostile file is an Error.
Module load(const std::string& path);

}  // namespace wisp::api::jit
#pragma GCC visibility pop
