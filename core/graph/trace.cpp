#include "graph/trace.h"

#include <algorithm>

#include "dispatch/call.h"
#include "graph/builtins.h"
#include "graph/effects.h"
#include "graph/interpreter.h"
#include "graph/link.h"

namespace wisp::graph {

TypeRef exact_type(const Tensor& tensor) {
  const IntSpan sizes = tensor.sizes();
  return tensor_of(tensor.dtype(), std::vector<int64_t>(sizes.begin(), sizes.end()));
}

// --- Functions

void Recorder::begin(const std::string& function, ClassDef* cls, Path path) {
  Function& made = program_->add_function(free_function_name(*program_, function));
  made.graph = std::make_unique<Graph>();
  made.graph->program = program_.get();
  frames_.push_back({&made, made.graph.get(), cls, std::move(path), {}, {}, {}, {}});
  if (cls) {
    frame().attributes[""] = &made.graph->add_param(made.graph->top(), object_of(*cls), "self");
  }
}

Value& Recorder::add_param(std::string name, TypeRef type) {
  return frame().graph->add_param(frame().graph->top(), std::move(type), std::move(name));
}

Function& Recorder::end(Value& result) {
  Frame ended = std::move(frame());
  ended.graph->add_result(ended.graph->top(), result);
  frames_.pop_back();
  for (const auto& [tensor, value] : ended.known) gone_.insert(tensor);
  last_outer_ = std::move(ended.outer);
  verify(*ended.graph);
  ended.function->set_signature();
  return *ended.function;
}

Value& Recorder::call_method(const Path& object, const std::string& method,
                             std::vector<Value*> arguments) {
  Value& self = attribute(frame(), object);
  const Function& function = *self.type->cls->methods.at(method);
  Node& node = frame().graph->make(Prim::CallMethod);
  node.attributes["name"] = Datum(method);
  arguments.insert(arguments.begin(), &self);
  const std::vector<Value*> outer = std::exchange(last_outer_, {});
  arguments.insert(arguments.end(), outer.begin(), outer.end());
  for (Value* argument : arguments) frame().graph->add_input(node, *argument);
  Value& result = frame().graph->add_output(node, without_shapes(function.result));
  append(node);
  return result;
}

Value& Recorder::call_function(const std::string& name, std::span<Value* const> arguments,
                               TypeRef type) {
  Node& node = frame().graph->make(Prim::CallFunction);
  node.attributes["name"] = Datum(name);
  for (Value* argument : arguments) frame().graph->add_input(node, *argument);
  Value& result = frame().graph->add_output(node, std::move(type));
  append(node);
  return result;
}

// --- Values

Node& Recorder::append(Node& node) {
  node.span = place();
  frame().graph->append(frame().graph->top(), node);
  return node;
}

void Recorder::keep(const Tensor& tensor) {
  if (!kept_.emplace(tensor.impl(), tensor).second) return;
  by_storage_[&tensor->storage()].push_back(tensor.impl());
}

void Recorder::know(const Tensor& tensor, Value& value) {
  keep(tensor);
  frame().known[tensor.impl()] = &value;
  gone_.erase(tensor.impl());
}

Value& Recorder::constant(const Datum& value, TypeRef type) {
  Graph& graph = *frame().graph;
  Node& node = graph.make(Prim::Constant);
  node.attributes["value"] = value;
  Value& made = graph.add_output(node, std::move(type));
  append(node);
  return made;
}

Value& Recorder::construct(Prim prim, std::span<Value* const> parts, TypeRef type) {
  Graph& graph = *frame().graph;
  Node& node = graph.make(prim);
  for (Value* part : parts) graph.add_input(node, *part);
  Value& made = graph.add_output(node, std::move(type));
  append(node);
  return made;
}

std::vector<Value*> Recorder::unpack(Value& whole, const std::vector<TypeRef>& types) {
  Graph& graph = *frame().graph;
  Node& node = graph.make(whole.type->kind == Kind::tuple ? Prim::TupleUnpack : Prim::ListUnpack);
  graph.add_input(node, whole);
  std::vector<Value*> parts;
  for (const TypeRef& type : types) parts.push_back(&graph.add_output(node, type));
  append(node);
  return parts;
}

Value& Recorder::builtin(std::string_view full_name, std::span<Value* const> inputs, TypeRef type) {
  const Builtin* found = find_builtin(full_name);
  WISP_CHECK(found, "trace: there is no function ", full_name);
  Graph& graph = *frame().graph;
  Node& node = graph.make(*found);
  for (Value* input : inputs) graph.add_input(node, *input);
  Value& made = graph.add_output(node, std::move(type));
  append(node);
  return made;
}

namespace {

std::string dotted(const Recorder::Path& path, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) text += (i ? "." : "") + path[i];
  return text;
}

bool begins_with(const Recorder::Path& path, const Recorder::Path& start) {
  return path.size() >= start.size() && std::equal(start.begin(), start.end(), path.begin());
}

bool same_place(const TensorImpl& a, const TensorImpl& b) {
  return a.offset() == b.offset() && a.dtype() == b.dtype() && wisp::same(a.sizes(), b.sizes()) &&
         wisp::same(a.strides(), b.strides());
}

}  // namespace

// Follows a path from the object of the frame's method; objects on the way are read once.
Value& Recorder::attribute(Frame& frame, const Path& path) {
  Value* at = frame.attributes.at("");
  for (size_t n = frame.path.size() + 1; n <= path.size(); ++n) {
    Value*& step = frame.attributes[dotted(path, n)];
    if (!step) {
      const ClassDef& cls = *at->type->cls;
      const int slot = cls.find(path[n - 1]);
      WISP_CHECK(slot >= 0, "trace: ", cls.name, " has no attribute '", path[n - 1], "'");
      Node& node = frame.graph->make(Prim::GetAttr);
      node.attributes["name"] = Datum(path[n - 1]);
      frame.graph->add_input(node, *at);
      step = &frame.graph->add_output(node, cls.attributes[static_cast<size_t>(slot)].type);
      frame.graph->append(frame.graph->top(), node);
    }
    at = step;
  }
  return *at;
}

Value* Recorder::find_attribute(const Tensor& tensor, Frame& frame) {
  const auto named = names_.find(tensor.impl());
  if (named == names_.end() || !frame.cls) return nullptr;
  for (const Path& path : named->second) {
    if (begins_with(path, frame.path)) return &attribute(frame, path);
  }
  return nullptr;
}

// A parameter of a function for a value of the one around it.
Value& Recorder::lift(size_t level, Value& outer) {
  Frame& inner = frames_[level];
  Value*& param = inner.lifted[&outer];
  if (!param) {
    param = &inner.graph->add_param(inner.graph->top(), outer.type);
    inner.outer.push_back(&outer);
  }
  return *param;
}

Value* Recorder::find(const Tensor& tensor, size_t level) {
  Frame& frame = frames_[level];
  const auto known = frame.known.find(tensor.impl());
  if (known != frame.known.end()) return known->second;
  if (Value* found = find_attribute(tensor, frame)) return found;
  if (level == 0) return nullptr;
  Value* outer = find(tensor, level - 1);
  if (!outer) return nullptr;
  return frame.known[tensor.impl()] = &lift(level, *outer);
}

// Of a tensor that came about without a call: x.data, x.detach().
Value* Recorder::find_alias(const Tensor& tensor) {
  const auto others = by_storage_.find(&tensor->storage());
  if (others == by_storage_.end()) return nullptr;
  for (const TensorImpl* other : others->second) {
    if (!same_place(*other, *tensor.impl())) continue;
    Value* found = find(kept_.at(other), frames_.size() - 1);
    if (!found) continue;
    return &without_history(*found, tensor);
  }
  return nullptr;
}

Value& Recorder::without_history(Value& value, const Tensor& tensor) {
  Graph& graph = *frame().graph;
  Node& node = graph.make(op_def<"detach">());
  graph.add_input(node, value);
  Value& made = graph.add_output(node, exact_type(tensor));
  append(node);
  return made;
}

void Recorder::forget_history(const Tensor& tensor) {
  know(tensor, without_history(value_of(tensor), tensor));
}

bool Recorder::replace(const Tensor& tensor, const Tensor& source) {
  for (auto& [storage, tensors] : by_storage_) std::erase(tensors, tensor.impl());
  kept_.erase(tensor.impl());
  const bool whole = same_place(*tensor.impl(), *source.impl());
  know(tensor, whole ? without_history(value_of(source), tensor)
                     : constant(Datum(detached(tensor)), exact_type(tensor)));
  return whole;
}

Value& Recorder::value_of(const Tensor& tensor) {
  frame();
  Value* found = find(tensor, frames_.size() - 1);
  if (!found && strict_) doubt("it uses a tensor that comes from nowhere known");
  if (!found) found = find_alias(tensor);
  if (!found) {
    leaked_ = leaked_ || gone_.contains(tensor.impl());
    found = &constant(Datum(detached(tensor)), exact_type(tensor));
  }
  know(tensor, *found);
  return *found;
}

bool Recorder::knows(const Value& value) {
  return std::any_of(frames_.begin(), frames_.end(),
                     [&](const Frame& frame) { return frame.graph == value.block->graph; });
}

void Recorder::require(Value& value, const Datum& expected, const std::string& name) {
  Graph& graph = *frame().graph;
  Value* const both[] = {&value, &constant(expected, value.type)};
  Node& branch = graph.make(Prim::If);
  graph.add_input(branch, builtin("eq.any", both, simple_type(Kind::boolean)));
  append(branch);
  graph.add_block(branch);
  Block& otherwise = graph.add_block(branch);
  const TypeRef& text = simple_type(Kind::string);
  const std::string message = "the trace was recorded with " + name + "=" + repr(expected) +
                              ", and is right for that value only";
  Value* const parts[] = {&constant(Datum(message), text), &constant(Datum("RuntimeError"), text)};
  Node& raise = graph.make(Prim::RaiseException);
  for (Value* part : parts) graph.add_input(raise, *part);
  raise.span = branch.span;
  graph.append(otherwise, raise);
  for (Value* part : parts) graph.move_before(branch, *part->node);
}

void Recorder::close() {
  names_.clear();
  by_storage_.clear();
  gone_.clear();
  kept_.clear();
}

Value& Recorder::here(Value& value) {
  size_t level = 0;
  while (level < frames_.size() && frames_[level].graph != value.block->graph) ++level;
  WISP_CHECK(level < frames_.size(), "trace: a number is used outside of the function it is from");
  Value* at = &value;
  while (++level < frames_.size()) at = &lift(level, *at);
  return *at;
}

// --- Arguments of operators

Value* Recorder::noted(const void* address, int64_t bits) {
  const auto found = notes_.find(address);
  if (found == notes_.end() || found->second.bits != bits) return nullptr;
  return &here(*found->second.value);
}

Value& Recorder::ints(const Arg& arg) {
  const TypeRef& integer = simple_type(Kind::integer);
  std::vector<Datum> numbers;
  std::vector<Value*> values;
  bool dynamic = false;
  for (const int64_t& number : arg.integers()) {
    numbers.emplace_back(number);
    Value* value = noted(&number, number);
    // A tensor may stand for a number of a list too, but only numbers are items of one.
    if (value && value->type->kind == Kind::tensor)
      value = &builtin("Int.Tensor", std::span(&value, 1), integer);
    values.push_back(value);
    dynamic = dynamic || values.back();
  }
  if (!dynamic) return constant(Datum::list(std::move(numbers)), graph::list_of(integer));
  for (size_t i = 0; i < values.size(); ++i) {
    if (!values[i]) values[i] = &constant(numbers[i], integer);
  }
  return construct(Prim::ListConstruct, values, graph::list_of(integer));
}

Value& Recorder::tensors(const Arg& arg) {
  std::vector<Value*> values;
  TypeRef element = simple_type(Kind::tensor);
  for (const Tensor& tensor : arg.tensors()) {
    if (!tensor.defined()) element = optional_of(simple_type(Kind::tensor));
    values.push_back(tensor.defined() ? &value_of(tensor)
                                      : &constant(Datum(), simple_type(Kind::none)));
  }
  return construct(Prim::ListConstruct, values, graph::list_of(element));
}

Value& Recorder::argument(const Arg& arg, const Param& param) {
  const auto named = named_notes_.find(param.name);
  if (named != named_notes_.end()) return here(*named->second);
  switch (arg.kind) {
    case ArgKind::tensor:
      return value_of(arg.tensor());
    case ArgKind::boolean:
      return constant(Datum(arg.as.integer != 0), simple_type(Kind::boolean));
    case ArgKind::integer:
      if (Value* value = noted(&arg.as, arg.as.integer)) return *value;
      return constant(Datum(arg.as.integer), simple_type(Kind::integer));
    case ArgKind::real:
      if (Value* value = noted(&arg.as, arg.as.integer)) return *value;
      return constant(Datum(arg.as.real), simple_type(Kind::real));
    case ArgKind::complex:
      return constant(Datum(arg.scalar()), simple_type(Kind::complex));
    case ArgKind::string:
      return constant(Datum(std::string(arg.as.string, arg.size)), simple_type(Kind::string));
    case ArgKind::dtype:
      return constant(Datum(arg.dtype), simple_type(Kind::dtype));
    case ArgKind::device:
      return constant(Datum(arg.as.device), simple_type(Kind::device));
    case ArgKind::memory_format:
      return constant(Datum(arg.as.memory_format), simple_type(Kind::memory_format));
    case ArgKind::integers:
      return ints(arg);
    case ArgKind::reals: {
      std::vector<Datum> items(arg.as.reals, arg.as.reals + arg.size);
      return constant(Datum::list(std::move(items)), graph::list_of(simple_type(Kind::real)));
    }
    case ArgKind::tensors:
      return tensors(arg);
    default:  // also generators: the program that runs the graph has its own
      return constant(Datum(), simple_type(Kind::none));
  }
}

// --- Calls

Span Recorder::place() {
  if (!host.here || strict_) return {};
  Place place = host.here();
  if (!place.code) return {};
  std::string text = host.describe(place);
  host.drop(place);
  std::shared_ptr<const Source>& source = sources_[text];
  if (!source) {
    text.resize(std::min(text.rfind(" in "), text.size()));
    const size_t colon = text.rfind(':');
    Source made;
    made.file = text.substr(0, colon);
    made.first_line = colon == std::string::npos ? 1 : std::atoi(text.c_str() + colon + 1);
    if (graph_host.source_line) made.text = graph_host.source_line(made.file, made.first_line);
    source = std::make_shared<const Source>(std::move(made));
    program_->sources.push_back(source);
  }
  const size_t begin = std::min(source->text.find_first_not_of(' '), source->text.size());
  return {source, static_cast<int>(begin), static_cast<int>(source->text.size())};
}

void Recorder::add_results(Node& node, TensorList& outs) {
  Graph& graph = *frame().graph;
  const std::vector<Return>& returns = node.op->sig.returns;
  if (node.op->sig.returns_list()) {
    Value& list = graph.add_output(node, graph::list_of(simple_type(Kind::tensor)));
    append(node);
    std::vector<TypeRef> types;
    for (const Tensor& out : outs) types.push_back(exact_type(out));
    const std::vector<Value*> parts = unpack(list, types);
    for (size_t i = 0; i < outs.size(); ++i) know(outs[i], *parts[i]);
    return;
  }
  append(node);
  for (size_t i = 0; i < returns.size(); ++i) {
    const Tensor out = i < outs.size() ? outs[i] : Tensor();
    if (!returns[i].is_tensor) {
      graph.add_output(node, simple_type(returns[i].type == "bool"  ? Kind::boolean
                                         : returns[i].type == "int" ? Kind::integer
                                                                    : Kind::real));
    } else if (returns[i].optional) {
      graph.add_output(node, optional_of(simple_type(Kind::tensor)));
      if (out.defined()) {
        know(out, construct(Prim::UncheckedCast, {{node.outputs[i]}}, exact_type(out)));
      }
    } else {
      know(out, graph.add_output(node, exact_type(out)));
    }
  }
}

// The first reason is told.
void Recorder::doubt(const char* reason) {
  if (!doubt_.empty()) return;
  doubt_ = reason;
  Place place = host.here ? host.here() : Place{};
  if (!place.code) return;
  doubt_ += str(" (", host.describe(place), ")");
  host.drop(place);
}

namespace {

// Dropout of nothing, and out of training.
bool draws_nothing(const OpDef& op, const Arg* args) {
  const int p = op.sig.find("p"), training = op.sig.find("training");
  if (p < 0 || training < 0) return false;
  const bool in_training = args[training].as.integer != 0;
  return !in_training || (args[p].kind == ArgKind::real && args[p].as.real == 0.0);
}

}  // namespace

void Recorder::examine(const OpDef& op, const Arg* args, Form form) {
  if (form == Form::out || op.sig.returns.empty()) {
    doubt("it writes into tensors");
  } else if (form == Form::in_place && op.view) {
    doubt("it changes the shape of a tensor");
  } else if (std::any_of(args, args + op.sig.params.size(),
                         [](const Arg& arg) { return arg.kind == ArgKind::generator; })) {
    doubt("it draws random numbers from a generator of its own");
  } else if (std::any_of(op.sig.returns.begin(), op.sig.returns.end(),
                         [](const Return& made) { return !made.is_tensor; })) {
    doubt("it looks at what a tensor holds");
  }
  draws_ = draws_ || ((op.traits & trait::random) && !draws_nothing(op, args));
  uses_defaults_ = uses_defaults_ || ((op.traits & trait::factory) && !args[0].is_tensor());
}

// Calls are made again in the mode that they were made in.
void Recorder::note_modes() {
  if (mode.inference != inference_) doubt("it switches inference mode");
  if (mode.grad == grad_) return;
  grad_ = mode.grad;
  switches_grad_ = true;
  const TypeRef& boolean = simple_type(Kind::boolean);
  Value* const enabled = &constant(Datum(grad_), boolean);
  builtin("_set_grad_enabled", {{enabled}}, boolean);
}

void Recorder::note_writes(const Node& node, const Arg* args) {
  const std::vector<Value*> written = written_inputs(node);
  if (!written.empty() && !node.in_place && !node.op->has(trait::writes_inputs))
    doubt("it writes into tensors");
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const bool writes = std::find(written.begin(), written.end(), node.inputs[i]) != written.end();
    if (writes && args[i].is_tensor()) written_.insert(&args[i].tensor()->storage());
  }
}

bool Recorder::intercept(const OpDef& op, const Arg* args, Form form, TensorList& outs) {
  if (op.body && (!alone || apart_ == &op)) {
    apart_ = nullptr;
    return false;
  }
  if (strict_) {
    // Of two matrices it is mm(), whatever they hold: one call less each time.
    if (&op == &op_def<"matmul">() && args[0].tensor().ndim() == 2 && args[1].tensor().ndim() == 2)
      return false;
    examine(op, args, form);
    note_modes();
  }
  std::vector<Value*> inputs;
  for (size_t i = 0; i < op.sig.params.size(); ++i) {
    inputs.push_back(&argument(args[i], op.sig.params[i]));
  }
  forget_notes();
  const bool in_place = form == Form::in_place;
  if (in_place) {
    call_in_place(op, args);
  } else {
    call(op, args, outs);
  }
  Graph& graph = *frame().graph;
  Node& node = graph.make(op, in_place);
  for (Value* input : inputs) graph.add_input(node, *input);
  if (strict_) note_writes(node, args);
  if (in_place) {
    append(node);
    know(args[0].tensor(), graph.add_output(node, exact_type(args[0].tensor())));
  } else {
    add_results(node, outs);
  }
  return true;
}

}  // namespace wisp::graph
