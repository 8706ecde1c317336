#include "runtime/internal/guess.h"

#include <algorithm>
#include <array>
#include <functional>
#include <unordered_set>

#include "graph/effects.h"
#include "graph/example.h"
#include "graph/passes.h"

namespace wisp::api::jit {

using graph::Datum;
using graph::Kind;
using graph::Node;
using graph::Prim;
using graph::Tag;

namespace {

using Sizes = std::vector<int64_t>;

// Widths of images, those in use first, then all that are not large.
std::vector<int64_t> image_widths() {
  std::vector<int64_t> widths = {224, 32, 28, 64, 128, 256, 96, 299, 84, 227, 112, 160, 192, 512};
  for (int64_t width = 1; width <= 128; ++width) {
    if (std::find(widths.begin(), widths.end(), width) == widths.end()) widths.push_back(width);
  }
  return widths;
}

// The values of a graph that do not depend on its inputs, as far as they are constants or
// attributes of the method's own object.
class Known {
 public:
  Known(const graph::Graph& graph, graph::ObjectData* self) : self_(self) {
    if (self) self_value_ = graph.top().params[0];
  }

  const Datum* find(const graph::Value& value) const {
    if (const Datum* constant = graph::constant_of(value)) return constant;
    if (!value.node || !value.node->is(Prim::GetAttr)) return nullptr;
    const graph::ObjectData* object = object_in(*value.node->inputs[0]);
    const int at = object ? object->cls->find(value.node->attributes.at("name").string()) : -1;
    return at < 0 || static_cast<size_t>(at) >= object->slots.size()
               ? nullptr
               : &object->slots[static_cast<size_t>(at)];
  }

  // Null if it is not known.
  const wisp::Tensor* tensor(const graph::Value* value) const {
    const Datum* found = value ? find(*value) : nullptr;
    return found && found->is_tensor() ? &found->tensor() : nullptr;
  }
  std::vector<const wisp::Tensor*> tensors(const graph::Value* value) const {
    std::vector<const wisp::Tensor*> all;
    if (value && value->node && value->node->is(Prim::ListConstruct)) {
      for (const graph::Value* item : value->node->inputs) all.push_back(tensor(item));
    }
    return all;
  }
  int64_t number(const graph::Value* value, int64_t otherwise) const {
    const Datum* found = value ? find(*value) : nullptr;
    const bool counts = found && (found->tag() == Tag::integer || found->tag() == Tag::boolean);
    return counts ? found->integer() : otherwise;
  }

 private:
  const graph::ObjectData* object_in(const graph::Value& value) const {
    if (&value == self_value_) return self_;
    const Datum* found = find(value);
    return found && found->tag() == Tag::object ? &found->object() : nullptr;
  }

  graph::ObjectData* self_;
  const graph::Value* self_value_ = nullptr;
};

// What a value is called in the blocks of a node that takes it, and behind them.
std::vector<const graph::Value*> other_names(const Node& node, const graph::Value& value) {
  std::vector<const graph::Value*> found;
  if (node.is(Prim::UncheckedCast)) found.push_back(node.outputs[0]);
  if (node.is(Prim::Parallel)) return found;
  // A loop has a count and a condition first, and gives a condition first.
  const size_t ahead = node.is(Prim::Loop) ? 1 : 0;
  for (const graph::Block* block : node.blocks) {
    for (size_t i = 2 * ahead; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == &value && i - ahead < block->params.size())
        found.push_back(block->params[i - ahead]);
    }
    for (size_t i = ahead; i < block->results.size(); ++i) {
      if (block->results[i] == &value && i - ahead < node.outputs.size())
        found.push_back(node.outputs[i - ahead]);
    }
  }
  return found;
}

// What one tensor may be, from the operators that read it.
class Reads {
 public:
  Reads(const Known& known, std::vector<Guess>& found) : known_(known), found_(found) {}

  // Follows the value through operators that take anything.
  void follow(const graph::Value& value) {
    if (!seen_.insert(&value).second || seen_.size() > most_values) return;
    for (const Node* user : value.uses) {
      if (!user) continue;
      if (user->is(Prim::ListConstruct)) follow_states(user->output());
      const bool told = user->op && look_at(*user, value);
      if (!told && passes_on(*user)) follow(user->output());
      for (const graph::Value* same : other_names(*user, value)) follow(*same);
    }
  }

 private:
  static constexpr size_t most_values = 256;

  static bool passes_on(const Node& node) {
    if (!node.op || node.outputs.size() != 1) return false;
    constexpr std::array names{"contiguous", "dropout", "to", "clone", "flatten", "unsqueeze"};
    return node.op->has(trait::pointwise) ||
           std::find(names.begin(), names.end(), node.op->sig.base) != names.end();
  }

  // Whether the operator tells what the value has to be.
  bool look_at(const Node& node, const graph::Value& value) {
    const std::string& name = node.op->sig.base;
    const auto is_argument = [&](const char* param) {
      return graph::argument(node, param) == &value;
    };
    if (name == "embedding") return !is_argument("weight") && embedding(node);
    if (name.starts_with("conv")) return is_argument("input") && convolution(node);
    if (name == "linear") return is_argument("input") && linear(node);
    if (name == "lstm" || name == "gru" || name.starts_with("rnn_"))
      return is_argument("input") ? recurrent(node) : is_argument("hx") && state(node);
    if (name.ends_with("_cell")) return cell(node, value);
    if (name == "layer_norm") return layer_norm(node);
    if (name == "batch_norm") return channels(node, "running_mean");
    if (name == "group_norm" || name == "instance_norm") return channels(node, "weight");
    if (name == "matmul" || name == "mm") return product(node, value);
    return node.op->has(trait::pointwise) && node.inputs.size() >= 2 && other_operand(node, value);
  }

  void add(const Node& node, const wisp::Tensor& weight, Sizes sizes) {
    const DType dtype = weight.dtype();
    std::string reason = str(node.op->sig.base, " meets it with a weight of ", weight.sizes());
    found_.push_back({graph::uniform(dtype, sizes, 0), std::move(reason)});
  }

  const wisp::Tensor* weight_of(const Node& node, const char* name, int64_t dims) const {
    const wisp::Tensor* weight = known_.tensor(graph::argument(node, name));
    return weight && weight->ndim() >= dims ? weight : nullptr;
  }

  bool embedding(const Node& node) {
    const wisp::Tensor* weight = weight_of(node, "weight", 2);
    if (!weight) return false;
    const int64_t rows = (*weight)->size(0);
    for (const Sizes& sizes : {Sizes{1, 16}, Sizes{1, 4}, Sizes{16}, Sizes{1, 1}, Sizes{1}}) {
      found_.push_back({graph::uniform(DType::int64, sizes, rows - 1),
                        str("embedding has ", rows, " rows for it")});
    }
    return true;
  }

  bool convolution(const Node& node) {
    const wisp::Tensor* weight = weight_of(node, "weight", 3);
    if (!weight) return false;
    const bool transposed = node.op->sig.base.starts_with("conv_transpose");
    const int64_t groups = known_.number(graph::argument(node, "groups"), 1);
    const int64_t channels = transposed ? (*weight)->size(0) : (*weight)->size(1) * groups;
    for (const int64_t width : image_widths()) {
      Sizes sizes = {1, channels};
      for (int64_t i = 2; i < weight->ndim(); ++i) sizes.push_back(width);
      add(node, *weight, std::move(sizes));
    }
    return true;
  }

  // Rows of so many numbers, or a sequence of them.
  bool rows(const Node& node, const wisp::Tensor& weight, int64_t width) {
    for (const Sizes& sizes : {Sizes{1, width}, Sizes{1, 16, width}, Sizes{2, width}})
      add(node, weight, sizes);
    return true;
  }
  bool linear(const Node& node) {
    const wisp::Tensor* weight = weight_of(node, "weight", 2);
    return weight && rows(node, *weight, (*weight)->size(1));
  }

  bool recurrent(const Node& node) {
    const auto weights = known_.tensors(graph::argument(node, "params"));
    if (weights.empty() || !weights[0] || weights[0]->ndim() != 2) return false;
    const int64_t width = (*weights[0])->size(1);
    const bool batch_first = known_.number(graph::argument(node, "batch_first"), 0) != 0;
    add(node, *weights[0], batch_first ? Sizes{1, 16, width} : Sizes{16, 1, width});
    add(node, *weights[0], {16, width});
    return true;
  }
  // A row for each layer and direction.
  bool state(const Node& node) {
    const auto weights = known_.tensors(graph::argument(node, "params"));
    if (weights.size() < 2 || !weights[1] || weights[1]->ndim() != 2) return false;
    const int64_t layers = known_.number(graph::argument(node, "num_layers"), 1),
                  ways = 1 + known_.number(graph::argument(node, "bidirectional"), 0);
    add(node, *weights[1], {layers * ways, 1, (*weights[1])->size(1)});
    add(node, *weights[1], {layers * ways, (*weights[1])->size(1)});
    return true;
  }
  // Of an LSTM, which takes them as a list.
  void follow_states(const graph::Value& list) {
    for (const Node* user : list.uses) {
      if (user && user->op) look_at(*user, list);
    }
  }

  bool cell(const Node& node, const graph::Value& value) {
    const bool input = graph::argument(node, "input") == &value;
    const wisp::Tensor* weight = weight_of(node, input ? "w_ih" : "w_hh", 2);
    return weight && rows(node, *weight, (*weight)->size(1));
  }

  bool layer_norm(const Node& node) {
    const wisp::Tensor* weight = weight_of(node, "weight", 1);
    if (!weight) return false;
    for (const Sizes& front : {Sizes{1}, Sizes{1, 16}}) {
      Sizes sizes = front;
      sizes.insert(sizes.end(), weight->sizes().begin(), weight->sizes().end());
      add(node, *weight, std::move(sizes));
    }
    return true;
  }

  bool channels(const Node& node, const char* name) {
    const wisp::Tensor* weight = weight_of(node, name, 1);
    if (!weight) return false;
    const int64_t count = weight->numel();
    for (const Sizes& sizes : {Sizes{1, count, 32, 32}, Sizes{2, count}, Sizes{1, count, 32},
                               Sizes{1, count, 16, 16, 16}})
      add(node, *weight, sizes);
    return true;
  }

  bool product(const Node& node, const graph::Value& value) {
    const bool left = node.inputs[0] == &value;
    const wisp::Tensor* weight = known_.tensor(node.inputs[left ? 1 : 0]);
    if (!weight || weight->ndim() < 2) return false;
    const int64_t last = weight->ndim() - 1;
    if (left) return rows(node, *weight, (*weight)->size(last - 1));
    add(node, *weight, {(*weight)->size(last), 1});
    return true;
  }

  bool other_operand(const Node& node, const graph::Value& value) {
    const wisp::Tensor* weight = known_.tensor(node.inputs[node.inputs[0] == &value ? 1 : 0]);
    if (!weight || weight->ndim() == 0) return false;
    add(node, *weight, Sizes(weight->sizes().begin(), weight->sizes().end()));
    return true;
  }

  const Known& known_;
  std::vector<Guess>& found_;
  std::unordered_set<const graph::Value*> seen_;
};

// Something for a parameter of which the graph says nothing.
const std::vector<Sizes>& usual_sizes() {
  static const std::vector<Sizes> all = {{1}, {1, 8}, {1, 16, 16}, {1, 3, 224, 224}, {}};
  return all;
}

class Guesser {
 public:
  Guesser(const graph::Graph& graph, graph::ObjectData* self) : known_(graph, self) {}

  // What a parameter, or a part of one, may be; `values` is what it is called in the graph.
  std::vector<Guess> run(const graph::Type& type, const std::vector<const graph::Value*>& values) {
    constexpr const char* plain = "the simplest of its type";
    switch (type.kind) {
      case Kind::tensor:
        return tensors(type, values);
      case Kind::optional:
      case Kind::none:
        return {{Datum(), plain}};
      case Kind::boolean:
        return {{Datum(false), plain}};
      case Kind::integer:
      case Kind::number:
        return {{Datum(1), plain}};
      case Kind::real:
        return {{Datum(1.0), plain}};
      case Kind::tuple:
        return tuples(type, values);
      default:
        return {};
    }
  }

 private:
  std::vector<Guess> tensors(const graph::Type& type,
                             const std::vector<const graph::Value*>& values) {
    std::vector<Guess> found;
    const auto is_known = [](int64_t size) { return size >= 0; };
    if (type.sizes && std::all_of(type.sizes->begin(), type.sizes->end(), is_known)) {
      found.push_back({graph::uniform(type.dtype.value_or(DType::float32), *type.sizes, 0),
                       "the graph says so"});
    }
    for (const graph::Value* value : values) Reads(known_, found).follow(*value);
    if (!found.empty()) return found;
    for (const DType dtype : {DType::float32, DType::int64}) {
      for (const Sizes& sizes : usual_sizes())
        found.push_back({graph::uniform(dtype, sizes, 0), "nothing in the graph says what it is"});
    }
    return found;
  }

  // Of each item the first guess, then of each the second, ...
  std::vector<Guess> tuples(const graph::Type& type,
                            const std::vector<const graph::Value*>& values) {
    std::vector<std::vector<Guess>> items;
    size_t most = 1;
    for (size_t i = 0; i < type.items.size(); ++i) {
      items.push_back(run(*type.items[i], items_of(values, i)));
      if (items.back().empty()) return {};
      most = std::max(most, items.back().size());
    }
    std::vector<Guess> found;
    for (size_t k = 0; k < most; ++k) {
      std::vector<Datum> parts;
      std::string reason;
      for (const std::vector<Guess>& some : items) {
        const Guess& guess = some[std::min(k, some.size() - 1)];
        parts.push_back(guess.value);
        reason += (reason.empty() ? "" : "; ") + guess.reason;
      }
      found.push_back({Datum::tuple(std::move(parts)), std::move(reason)});
    }
    return found;
  }

  static std::vector<const graph::Value*> items_of(std::vector<const graph::Value*> tuples,
                                                   size_t i) {
    std::vector<const graph::Value*> found;
    std::unordered_set<const graph::Value*> seen;
    while (!tuples.empty()) {
      const graph::Value& tuple = *tuples.back();
      tuples.pop_back();
      if (!seen.insert(&tuple).second) continue;
      for (const Node* user : tuple.uses) {
        if (!user) continue;
        if (user->is(Prim::TupleUnpack)) found.push_back(user->outputs[i]);
        const bool takes = user->is(Prim::TupleIndex) &&
                           user->attributes.at("index").integer() == static_cast<int64_t>(i);
        if (takes) found.push_back(user->outputs[0]);
        for (const graph::Value* same : other_names(*user, tuple)) tuples.push_back(same);
      }
    }
    return found;
  }

  const Known known_;
};

}  // namespace

std::vector<std::vector<Guess>> guesses(const graph::Function& function, graph::ObjectData* self) {
  const std::unique_ptr<graph::Graph> graph = function.graph->clone();
  for (const char* pass : {"inlining", "lower_tuples"})
    graph::run_pass(*graph, *graph::find_pass(pass));
  const std::vector<graph::Value*>& params = graph->top().params;
  const size_t first = params.size() - function.params.size();
  Guesser guesser(*graph, self);
  std::vector<std::vector<Guess>> all;
  for (size_t i = 0; i < function.params.size(); ++i)
    all.push_back(guesser.run(*function.params[i].type, {params[first + i]}));
  return all;
}

}  // namespace wisp::api::jit
