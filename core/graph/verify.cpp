// What has to hold of every graph, whoever made or changed it.
#include <unordered_map>
#include <unordered_set>

#include "graph/builtins.h"
#include "graph/graph.h"

namespace wisp::graph {

namespace {

bool is_number(const Type& type) { return is_subtype(type, *simple_type(Kind::number)); }

bool fits_list(const Type& type, const Param& param);

// Whether a value of a type may be given for a parameter of an operator. A tensor of one element
// may stand where a number is wanted; whether it has one is seen when it runs.
bool fits(const Type& type, const Param& param) {
  if (type.kind == Kind::any) return true;
  if (type.kind == Kind::none) return param.optional;
  if (type.kind == Kind::optional) return param.optional && fits(*type.items[0], param);
  switch (param.type) {
    case ParamType::tensor:
      return type.kind == Kind::tensor;
    case ParamType::operand:
    case ParamType::scalar:
    case ParamType::real:
      return type.kind == Kind::tensor || is_number(type);
    case ParamType::integer:
      return type.kind == Kind::tensor || type.kind == Kind::integer ||
             type.kind == Kind::boolean || type.kind == Kind::number;
    case ParamType::boolean:
    case ParamType::only_true:
    case ParamType::only_false:
      return type.kind == Kind::boolean || type.kind == Kind::integer;
    case ParamType::string:
      return type.kind == Kind::string;
    case ParamType::dtype:
      return type.kind == Kind::dtype;
    case ParamType::device:
      return type.kind == Kind::device || type.kind == Kind::string;
    case ParamType::layout:
      return type.kind == Kind::layout;
    case ParamType::memory_format:
      return type.kind == Kind::memory_format;
    case ParamType::generator:
      return type.kind == Kind::generator;
    default:
      return fits_list(type, param);
  }
}

bool fits_item(const Type& type, ParamType list) {
  switch (list) {
    case ParamType::integers:
      return type.kind == Kind::integer || type.kind == Kind::tensor ||
             type.kind == Kind::boolean || type.kind == Kind::number;
    case ParamType::reals:
      return type.kind == Kind::tensor || is_number(type);
    case ParamType::maybe_tensors:
      return is_subtype(type, *optional_of(simple_type(Kind::tensor)));
    default:
      return type.kind == Kind::tensor;
  }
}

bool fits_list(const Type& type, const Param& param) {
  if (type.kind != Kind::list && type.kind != Kind::tuple) {
    return param.type == ParamType::integers && param.list_size > 0 &&
           fits_item(type, param.type);  // int[2]: a single int stands for two
  }
  for (const TypeRef& item : type.items) {
    if (item->kind != Kind::any && !fits_item(*item, param.type)) return false;
  }
  return true;
}

TypeRef result_type(const Return& result) {
  TypeRef type = simple_type(Kind::tensor);
  if (!result.is_tensor) {
    type = simple_type(result.type == "bool"    ? Kind::boolean
                       : result.type == "int"   ? Kind::integer
                       : result.type == "float" ? Kind::real
                                                : Kind::number);
  }
  if (result.is_list) type = list_of(type);
  return result.optional ? optional_of(type) : type;
}

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph) {}

  void run() {
    check_block(graph_.top(), nullptr);
    check_uses();
  }

 private:
  template <class... Parts>
  [[noreturn]] void bad(const Parts&... parts) const {
    std::string text = str("invalid graph: ", parts...);
    if (node_) text += str(" (at ", shown(*node_), ")");
    fail(ErrorKind::runtime, text);
  }
  template <class... Parts>
  void need(bool ok, const Parts&... parts) const {
    if (!ok) bad(parts...);
  }
  static std::string shown(const Node& node) {
    std::string text;
    for (const Value* output : node.outputs) text += (text.empty() ? "%" : ", %") + output->name;
    text += (text.empty() ? "" : " = ") + node.kind();
    if (node.span.source) text += str(", ", node.span.source->file, ":", node.span.line());
    return text;
  }

  // --- Structure: who stands where, and who sees whom

  void check_block(const Block& block, const Node* owner) {
    need(block.graph == &graph_ && block.owner == owner, "a block belongs elsewhere");
    const size_t outside = scope_.size();
    for (size_t i = 0; i < block.params.size(); ++i) {
      const Value& param = *block.params[i];
      need(!param.node && param.block == &block && param.index == static_cast<int>(i),
           "the parameter %", param.name, " belongs elsewhere");
      define(param);
    }
    const Node* previous = nullptr;
    for (const Node* node = block.first; node; node = node->next) {
      need(node->block == &block && node->previous == previous, "nodes are out of order");
      check_node(*node);
      previous = node;
    }
    node_ = owner;
    need(block.last == previous, "nodes are out of order");
    for (const Value* result : block.results) use(*result, owner);
    leave(outside);
  }

  void define(const Value& value) {
    need(value.type != nullptr, "%", value.name, " has no type");
    need(names_.insert(value.name).second, "two values are called %", value.name);
    need(visible_.insert(&value).second, "%", value.name, " is defined twice");
    scope_.push_back(&value);
    all_.push_back(&value);
  }
  void leave(size_t outside) {
    for (; scope_.size() > outside; scope_.pop_back()) visible_.erase(scope_.back());
  }
  void use(const Value& value, const Node* user) {
    need(visible_.contains(&value), "%", value.name, " is used where it is not known");
    uses_[&value].push_back(user);
  }

  void check_uses() {
    for (const Value* value : all_) {
      std::unordered_map<const Node*, int> balance;
      for (const Node* user : uses_[value]) ++balance[user];
      for (const Node* user : value->uses) --balance[user];
      for (const auto& [user, count] : balance) {
        need(count == 0, "the list of uses of %", value->name, " is wrong");
      }
    }
  }

  void check_node(const Node& node) {
    node_ = &node;
    for (const Value* input : node.inputs) use(*input, &node);
    for (const Block* block : node.blocks) check_block(*block, &node);
    node_ = &node;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const Value& output = *node.outputs[i];
      need(
          output.node == &node && output.block == node.block && output.index == static_cast<int>(i),
          "%", output.name, " belongs elsewhere");
      define(output);
    }
    if (node.op) {
      check_op(node);
    } else if (node.builtin) {
      check_builtin(node);
    } else {
      check_prim(node);
    }
  }

  // --- Types

  void need_fit(const TypeRef& from, const TypeRef& to, const char* what) const {
    need(is_subtype(*without_shapes(from), *without_shapes(to)), what, " is ", to_string(*from),
         " where ", to_string(*to), " is expected");
  }
  void need_kind(const Node& node, int input, Kind kind) const {
    const Type& type = *node.inputs[input]->type;
    need(type.kind == kind, "an input is ", to_string(type), " where ", name(kind), " is expected");
  }
  void need_inputs(const Node& node, size_t count) const {
    need(node.inputs.size() == count, "it has ", node.inputs.size(), " inputs and needs ", count);
  }
  void need_outputs(const Node& node, size_t count) const {
    need(node.outputs.size() == count, "it has ", node.outputs.size(), " outputs and needs ",
         count);
  }
  void need_blocks(const Node& node, size_t count) const {
    need(node.blocks.size() == count, "it has ", node.blocks.size(), " blocks and needs ", count);
  }
  const Datum& attribute(const Node& node, const char* name, Tag tag) const {
    const auto found = node.attributes.find(name);
    need(found != node.attributes.end() && found->second.tag() == tag, "the attribute ", name,
         " is missing or of another type");
    return found->second;
  }

  void check_op(const Node& node) {
    const Schema& schema = node.op->sig;
    need_inputs(node, schema.params.size());
    need_blocks(node, 0);
    for (size_t i = 0; i < schema.params.size(); ++i) {
      const Type& type = *node.inputs[i]->type;
      need(fits(type, schema.params[i]), "the argument '", schema.params[i].name, "' is ",
           to_string(type), " where ", type_text(schema.params[i]), " is expected");
    }
    if (node.in_place) {
      need(node.op->has(trait::in_place), "it has no form that overwrites");
      need_kind(node, 0, Kind::tensor);
    }
    need_outputs(node, schema.returns.size());
    for (size_t i = 0; i < schema.returns.size(); ++i) {
      need_fit(result_type(schema.returns[i]), node.outputs[i]->type, "a result");
    }
  }

  void check_builtin(const Node& node) {
    std::vector<TypeRef> types;
    for (const Value* input : node.inputs) types.push_back(without_shapes(input->type));
    const TypeRef result = graph::result_type(*node.builtin, types);
    need(result != nullptr, "the arguments do not fit ", node.builtin->schema);
    need_blocks(node, 0);
    need_outputs(node, node.builtin->result.empty() ? 0 : 1);
    if (!node.outputs.empty()) need_fit(result, node.outputs[0]->type, "the result");
  }

  void check_prim(const Node& node) {
    const bool has_blocks = node.is(Prim::If) || node.is(Prim::Loop) ||
                            node.is(Prim::FusionGroup) || node.is(Prim::Fork) ||
                            node.is(Prim::Parallel);
    if (!has_blocks) need_blocks(node, 0);
    switch (node.prim) {
      case Prim::Constant:
        return check_constant(node);
      case Prim::If:
        return check_if(node);
      case Prim::Loop:
        return check_loop(node);
      case Prim::ListConstruct:
        return check_list(node);
      case Prim::TupleConstruct:
        return check_tuple(node);
      case Prim::DictConstruct:
        return check_dict(node);
      case Prim::ListUnpack:
        need_inputs(node, 1);
        need_kind(node, 0, Kind::list);
        for (const Value* output : node.outputs) {
          need_fit(node.input(0).type->items[0], output->type, "an item");
        }
        return;
      case Prim::TupleUnpack:
        return check_unpack(node);
      case Prim::TupleIndex:
        return check_index(node);
      case Prim::GetAttr:
      case Prim::SetAttr:
        return check_attribute(node);
      case Prim::CallFunction:
      case Prim::CallMethod:
        return check_call(node);
      default:
        return check_rest(node);
    }
  }

  void check_constant(const Node& node) {
    need_inputs(node, 0);
    need_outputs(node, 1);
    const auto value = node.attributes.find("value");
    need(value != node.attributes.end(), "the attribute value is missing");
    need(is_of_type(value->second, *node.outputs[0]->type), "the value is not of type ",
         to_string(*node.outputs[0]->type));
  }

  void check_if(const Node& node) {
    need_inputs(node, 1);
    need_kind(node, 0, Kind::boolean);
    need_blocks(node, 2);
    for (const Block* block : node.blocks) {
      need(block->params.empty(), "a branch has no parameters");
      need(block->results.size() == node.outputs.size(), "a branch has another number of results");
      for (size_t i = 0; i < node.outputs.size(); ++i) {
        need_fit(block->results[i]->type, node.outputs[i]->type, "the result of a branch");
      }
    }
  }

  void check_loop(const Node& node) {
    need(node.inputs.size() >= 2, "a loop needs a number of rounds and a condition");
    need_kind(node, 0, Kind::integer);
    need_kind(node, 1, Kind::boolean);
    need_blocks(node, 1);
    const Block& body = *node.blocks[0];
    const size_t carried = node.inputs.size() - 2;
    need(body.params.size() == carried + 1 && body.results.size() == carried + 1 &&
             node.outputs.size() == carried,
         "the values carried from round to round differ in number");
    need(body.params[0]->type->kind == Kind::integer, "the first parameter counts the rounds");
    need(body.results[0]->type->kind == Kind::boolean, "the first result is the condition");
    for (size_t i = 0; i < carried; ++i) {
      need_fit(node.inputs[i + 2]->type, body.params[i + 1]->type, "what enters a loop");
      need_fit(body.results[i + 1]->type, body.params[i + 1]->type, "what a round ends with");
      need_fit(body.params[i + 1]->type, node.outputs[i]->type, "what leaves a loop");
    }
  }

  void check_list(const Node& node) {
    need_outputs(node, 1);
    const Type& list = *node.outputs[0]->type;
    need(list.kind == Kind::list, "its result has to be a list");
    for (const Value* input : node.inputs) need_fit(input->type, list.items[0], "an item");
  }

  void check_tuple(const Node& node) {
    need_outputs(node, 1);
    const Type& tuple = *node.outputs[0]->type;
    need(tuple.kind == Kind::tuple, "its result has to be a tuple");
    need_inputs(node, tuple.items.size());
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      need_fit(node.inputs[i]->type, tuple.items[i], "an item");
    }
  }

  void check_dict(const Node& node) {
    need_outputs(node, 1);
    const Type& dict = *node.outputs[0]->type;
    need(dict.kind == Kind::dict, "its result has to be a dict");
    need(node.inputs.size() % 2 == 0, "a key has no value");
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      need_fit(node.inputs[i]->type, dict.items[i % 2], i % 2 ? "a value" : "a key");
    }
  }

  void check_unpack(const Node& node) {
    need_inputs(node, 1);
    need_kind(node, 0, Kind::tuple);
    const Type& tuple = *node.input(0).type;
    need_outputs(node, tuple.items.size());
    for (size_t i = 0; i < tuple.items.size(); ++i) {
      need_fit(tuple.items[i], node.outputs[i]->type, "an item");
    }
  }

  void check_index(const Node& node) {
    need_inputs(node, 1);
    need_outputs(node, 1);
    need_kind(node, 0, Kind::tuple);
    const Type& tuple = *node.input(0).type;
    const int64_t index = attribute(node, "index", Tag::integer).integer();
    need(index >= 0 && index < static_cast<int64_t>(tuple.items.size()), "there is no item ",
         index);
    need_fit(tuple.items[index], node.outputs[0]->type, "the item");
  }

  // --- Objects and functions of the program

  void check_attribute(const Node& node) {
    const bool get = node.is(Prim::GetAttr);
    need_inputs(node, get ? 1 : 2);
    need_outputs(node, get ? 1 : 0);
    need_kind(node, 0, Kind::object);
    const ClassDef& cls = *node.input(0).type->cls;
    const std::string& name = attribute(node, "name", Tag::string).string();
    const int index = cls.find(name);
    need(index >= 0, "objects of ", cls.name, " have no attribute ", name);
    const TypeRef& type = cls.attributes[index].type;
    if (get) need_fit(type, node.outputs[0]->type, "the attribute");
    if (!get) need_fit(node.input(1).type, type, "what is assigned");
  }

  const Function& callee(const Node& node) const {
    const std::string& name = attribute(node, "name", Tag::string).string();
    if (node.is(Prim::CallMethod)) {
      need(!node.inputs.empty(), "a method needs its object");
      need_kind(node, 0, Kind::object);
      const auto& methods = node.input(0).type->cls->methods;
      const auto found = methods.find(name);
      need(found != methods.end(), "there is no method ", name);
      return *found->second;
    }
    const Function* found = graph_.program ? graph_.program->find_function(name) : nullptr;
    need(found && found->graph, "there is no function ", name);
    return *found;
  }

  void check_call(const Node& node) {
    const bool method = node.is(Prim::CallMethod) && !node.inputs.empty();
    if (method && node.input(0).type->kind == Kind::any) {  // which is checked when it is made
      attribute(node, "name", Tag::string);
      return need_outputs(node, 1);
    }
    const Block& body = callee(node).graph->top();
    need_inputs(node, body.params.size());
    for (size_t i = 0; i < body.params.size(); ++i) {
      need_fit(node.inputs[i]->type, body.params[i]->type, "an argument");
    }
    const bool one = node.outputs.size() == 1 && body.results.size() != 1;
    if (one) return check_joint_result(node, body);
    need_outputs(node, body.results.size());
    for (size_t i = 0; i < body.results.size(); ++i) {
      need_fit(body.results[i]->type, node.outputs[i]->type, "a result");
    }
  }

  // Several results may be taken as one tuple, and none as None.
  void check_joint_result(const Node& node, const Block& body) {
    std::vector<TypeRef> types;
    for (const Value* result : body.results) types.push_back(result->type);
    need_fit(types.empty() ? simple_type(Kind::none) : tuple_of(std::move(types)),
             node.outputs[0]->type, "the result");
  }

  void check_rest(const Node& node) {
    switch (node.prim) {
      case Prim::CreateObject: {
        need_inputs(node, 0);
        need_outputs(node, 1);
        const std::string& name = attribute(node, "name", Tag::string).string();
        const Type& type = *node.outputs[0]->type;
        need(type.kind == Kind::object && type.cls->name == name, "the result is no ", name);
        break;
      }
      case Prim::Uninitialized:
        need_inputs(node, 0);
        need_outputs(node, 1);
        break;
      case Prim::UncheckedCast:
        need_inputs(node, 1);
        need_outputs(node, 1);
        break;
      case Prim::RaiseException:
        need_inputs(node, 2);
        need_outputs(node, 0);
        need_kind(node, 0, Kind::string);
        need_kind(node, 1, Kind::string);
        break;
      case Prim::Print:
        need_outputs(node, 0);
        break;
      case Prim::HostCall:
        attribute(node, "name", Tag::string);
        need(node.outputs.size() <= 1, "it has more than one result");
        break;
      case Prim::Fork:
        check_fork(node);
        break;
      case Prim::Wait:
        need_inputs(node, 1);
        need_outputs(node, 1);
        need_kind(node, 0, Kind::future);
        need_fit(node.inputs[0]->type->items[0], node.outputs[0]->type, "the result");
        break;
      case Prim::FusionGroup:
        check_group(node);
        break;
      case Prim::Parallel:
        check_parallel(node);
        break;
      default:
        bad("it is no operation");
    }
  }

  // A block whose parameters are the inputs and whose results are the outputs.
  void check_group(const Node& node) {
    need_blocks(node, 1);
    const Block& body = *node.blocks[0];
    need_inputs(node, body.params.size());
    need_outputs(node, body.results.size());
    for (size_t i = 0; i < body.params.size(); ++i) {
      need_fit(node.inputs[i]->type, body.params[i]->type, "an input");
    }
    for (size_t i = 0; i < body.results.size(); ++i) {
      need_fit(body.results[i]->type, node.outputs[i]->type, "an output");
    }
  }

  void check_fork(const Node& node) {
    need_inputs(node, 0);
    need_outputs(node, 1);
    need_blocks(node, 1);
    const Block& body = *node.blocks[0];
    need(body.params.empty() && body.results.size() == 1,
         "its block has one result and nothing else");
    need_fit(future_of(body.results[0]->type), node.outputs[0]->type, "the future");
  }

  // Blocks without parameters whose results are the outputs, one block after the other.
  void check_parallel(const Node& node) {
    need_inputs(node, 0);
    need(node.blocks.size() >= 2, "it needs two blocks or more");
    size_t results = 0;
    for (const Block* block : node.blocks) {
      need(block->params.empty(), "its blocks have no parameters");
      for (const Value* result : block->results) {
        need(results < node.outputs.size(), "it has fewer outputs than its blocks have results");
        need_fit(result->type, node.outputs[results++]->type, "an output");
      }
    }
    need_outputs(node, results);
  }

  const Graph& graph_;
  const Node* node_ = nullptr;  // being checked
  std::unordered_set<std::string> names_;
  std::unordered_set<const Value*> visible_;
  std::vector<const Value*> scope_;  // what is visible, outermost first
  std::vector<const Value*> all_;
  std::unordered_map<const Value*, std::vector<const Node*>> uses_;
};

}  // namespace

void verify(const Graph& graph) { Verifier(graph).run(); }

}  // namespace wisp::graph
