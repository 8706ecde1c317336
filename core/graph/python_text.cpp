// Graphs as Python: one statement per node, with constants and values that are used once written
// where they are used.
#include <algorithm>
#include <set>
#include <unordered_map>

#include "graph/builtins.h"
#include "graph/effects.h"
#include "graph/graph.h"
#include "graph/op_args.h"
#include "graph/python_words.h"

namespace wisp::graph {

namespace {

class PythonWriter {
 public:
  PythonWriter(const Graph& graph, const Function* function) : graph_(graph), function_(function) {}

  std::string write(std::string_view function) {
    const Block& top = graph_.top();
    std::string params;
    for (size_t i = 0; i < top.params.size(); ++i) {
      const Value& param = *top.params[i];
      params += (params.empty() ? "" : ", ") + declare(param);
      if (param.name != "self") params += ": " + python_type(*param.type) + fallback(i);
    }
    text_ = str("def ", function, "(", params, ") -> ", result_type(top), ":\n");
    const size_t empty = text_.size();
    write_nodes(top);
    if (!top.results.empty()) line("return " + tuple(top.results));
    if (text_.size() == empty) line("pass");
    return std::move(text_);
  }

 private:
  // What a parameter is without an argument; lists can be changed, so Python has none of them.
  std::string fallback(size_t param) {
    if (!function_) return "";
    const size_t own = graph_.top().params.size() - function_->params.size();  // self
    if (param < own || !function_->params[param - own].has_default) return "";
    const Datum& value = function_->params[param - own].fallback;
    const bool plain = value.tag() != Tag::list && value.tag() != Tag::dict;
    return plain ? "=" + constant(value).text : "";
  }

  void line(const std::string& text) {
    text_.append(4 * indent_, ' ');
    text_ += text + "\n";
  }

  // --- Names and values

  std::string new_name(const std::string& wanted) {
    std::string name = wanted;
    std::replace(name.begin(), name.end(), '.', '_');
    if (std::isdigit(static_cast<unsigned char>(name[0]))) name = "_" + name;
    while (is_keyword(name) || !taken_.insert(name).second) name += "_";
    return name;
  }
  std::string declare(const Value& value) {
    std::string name = new_name(value.name);
    values_[&value] = {name, tight};
    return name;
  }

  const Expression& expression(const Value& value) {
    Expression& found = values_[&value];
    const Datum* known = constant_of(value);
    if (found.text.empty() && known) found = constant(*known);
    return found;
  }
  std::string text_of(const Value& value, Strength at_least = loose) {
    const Expression& found = expression(value);
    return found.strength < at_least ? "(" + found.text + ")" : found.text;
  }

  Expression constant(const Datum& value) {
    switch (value.tag()) {
      case Tag::tensor:
        return {str("CONSTANTS.c", constants_++), tight};
      case Tag::device:
        return {str("wisp.device(", constant_text(value), ")"), tight};
      case Tag::integer:
      case Tag::real: {
        const std::string text = constant_text(value);
        return {text, text[0] == '-' ? sign : tight};
      }
      default:
        return {constant_text(value), tight};
    }
  }

  std::string list(const std::vector<Value*>& values, size_t from = 0) {
    std::string text;
    for (size_t i = from; i < values.size(); ++i)
      text += (i > from ? ", " : "") + text_of(*values[i]);
    return text;
  }
  // One value as it is, several as a tuple.
  std::string tuple(const std::vector<Value*>& values) {
    return values.size() == 1 ? text_of(*values[0]) : "(" + list(values) + ")";
  }

  // --- Statements

  void write_nodes(const Block& block) {
    for (const Node* node = block.first; node; node = node->next) write_node(*node);
  }

  void write_node(const Node& node) {
    switch (node.prim) {
      case Prim::Constant:
      case Prim::Uninitialized:
        if (node.is(Prim::Uninitialized)) {
          const std::string type = python_type(*node.output().type);
          values_[node.outputs[0]] = {"wisp.jit._uninitialized(" + type + ")", tight};
        }
        return;
      case Prim::If:
        return write_if(node);
      case Prim::Loop:
        return write_loop(node);
      case Prim::SetAttr:
        return line(attribute(node) + " = " + text_of(node.input(1)));
      case Prim::RaiseException:
        return write_raise(node);
      case Prim::TupleUnpack:
      case Prim::ListUnpack:
        return write_unpack(node);
      case Prim::FusionGroup:
      case Prim::Fork:
        return write_group(node);
      case Prim::Parallel:
        return write_parallel(node);
      default:
        return write_call(node);
    }
  }

  void write_call(const Node& node) {
    if (write_as_statement(node)) return;
    Expression made = call(node);
    if (node.outputs.empty()) return line(made.text);
    if (node.outputs.size() > 1) return assign(node.outputs, made.text);
    set_value(node, std::move(made));
  }

  // The one output of a node: written where it is used, or a variable.
  void set_value(const Node& node, Expression made) {
    const Value& output = node.output();
    if (is_written_in_place_of_use(node) && made.text.size() < 60) {
      values_[&output] = std::move(made);
    } else if (output.uses.empty() && node.has_side_effects()) {
      line(made.text);
    } else {
      const bool typed = needs_type(node);
      const std::string name = declare(output);
      line(name + (typed ? ": " + python_type(*output.type) : "") + " = " + made.text);
    }
  }

  // What Python spells without a call.
  bool write_as_statement(const Node& node) {
    if (!node.builtin) return false;
    const std::string& name = node.builtin->name;
    if (name == "_set_item") {
      line(text_of(node.input(0), tight) + "[" + text_of(node.input(1)) +
           "] = " + text_of(node.input(2)));
    } else if (name == "__delitem__") {
      line("del " + text_of(node.input(0), tight) + "[" + text_of(node.input(1)) + "]");
    } else {
      return false;
    }
    return true;
  }

  // Empty lists and None say nothing of their types.
  static bool needs_type(const Node& node) {
    return (node.is(Prim::ListConstruct) || node.is(Prim::DictConstruct)) && node.inputs.empty();
  }

  // Whether a value may be computed where it is used: once, in the same block, with nothing between
  // that could make a difference.
  static bool is_written_in_place_of_use(const Node& node) {
    const Value& output = node.output();
    if (output.uses.size() != 1 || node.has_side_effects() || needs_type(node)) return false;
    const Node* user = output.uses[0];
    for (const Node* between = node.next; between && between != user; between = between->next) {
      if (between->has_side_effects() || !between->blocks.empty()) return false;
    }
    return is_result_of(output) || (user && user->block == node.block);
  }
  static bool is_result_of(const Value& value) {
    const auto& results = value.block->results;
    return std::find(results.begin(), results.end(), &value) != results.end();
  }

  void assign(const std::vector<Value*>& outputs, const std::string& value) {
    std::string names;
    for (const Value* output : outputs) names += (names.empty() ? "" : ", ") + declare(*output);
    line((outputs.size() == 1 ? "(" + names + ",)" : names) + " = " + value);
  }

  void write_unpack(const Node& node) {
    if (!node.outputs.empty()) assign(node.outputs, text_of(node.input(0)));
  }

  void write_raise(const Node& node) {
    const Datum* cls = constant_of(node.input(1));
    const std::string name = cls && !cls->string().empty() ? cls->string() : "RuntimeError";
    line("raise " + name + "(" + text_of(node.input(0)) + ")");
  }

  void write_group(const Node& node) {
    const Block& body = *node.blocks[0];
    for (size_t i = 0; i < body.params.size(); ++i) {
      values_[body.params[i]] = expression(node.input(static_cast<int>(i)));
    }
    write_nodes(body);
    for (size_t i = 0; i < body.results.size(); ++i) {
      values_[node.outputs[i]] = expression(*body.results[i]);
    }
  }

  void write_parallel(const Node& node) {
    size_t output = 0;
    for (const Block* block : node.blocks) {
      write_nodes(*block);
      for (const Value* result : block->results) {
        const std::string text = text_of(*result);
        line(declare(*node.outputs[output++]) + " = " + text);
      }
    }
  }

  // --- Control flow

  void write_if(const Node& node) {
    if (is_conditional_expression(node)) return write_conditional(node);
    const Block &yes = *node.blocks[0], &no = *node.blocks[1];
    const bool only_else = node.outputs.empty() && is_empty(yes);
    const std::string condition = text_of(node.input(0), only_else ? comparison : loose);
    std::vector<std::string> names;
    for (const Value* output : node.outputs) names.push_back(declare(*output));
    line((only_else ? "if not " : "if ") + condition + ":");
    write_branch(only_else ? no : yes, names);
    if (names.empty() && (only_else || is_empty(no))) return;
    line("else:");
    write_branch(no, names);
  }

  // a if c else b, where both are short.
  static bool is_conditional_expression(const Node& node) {
    if (node.outputs.size() != 1) return false;
    for (const Block* block : node.blocks) {
      int size = 0;
      for (const Node* inner = block->first; inner; inner = inner->next) {
        if (inner->is(Prim::Constant)) continue;
        const bool inlined = inner->outputs.size() == 1 && inner->blocks.empty() &&
                             !inner->is(Prim::Uninitialized) && is_written_in_place_of_use(*inner);
        if (!inlined || ++size > 3) return false;
      }
      const Node* result = block->results[0]->node;
      if (result && result->is(Prim::Uninitialized)) return false;
    }
    return true;
  }

  void write_conditional(const Node& node) {
    for (const Block* block : node.blocks) {
      for (const Node* inner = block->first; inner; inner = inner->next) {
        if (!inner->is(Prim::Constant)) values_[inner->outputs[0]] = call(*inner);
      }
    }
    const Value &yes = *node.blocks[0]->results[0], &no = *node.blocks[1]->results[0];
    set_value(node, {conditional(node.input(0), yes, no), loose});
  }

  std::string conditional(const Value& condition, const Value& yes, const Value& no) {
    const std::string left = text_of(condition, comparison);
    if (is_bool(no, false)) return left + " and " + text_of(yes, comparison);
    if (is_bool(yes, true)) return left + " or " + text_of(no, comparison);
    return text_of(yes, comparison) + " if " + left + " else " + text_of(no, comparison);
  }

  void write_branch(const Block& block, const std::vector<std::string>& names) {
    ++indent_;
    const size_t before = text_.size();
    write_nodes(block);
    set_all(names, block.results, 0);
    if (text_.size() == before) line("pass");
    --indent_;
  }

  // names = values[from:], all at once.
  void set_all(const std::vector<std::string>& names, const std::vector<Value*>& values,
               size_t from, bool in_loop = false) {
    std::string left, right;
    for (size_t i = 0; i < names.size(); ++i) {
      const Value& value = *values[i + from];
      const std::string text = text_of(value);
      // At the end of a round, a variable without a value keeps the one that it has.
      const bool nothing = in_loop && value.node && value.node->is(Prim::Uninitialized);
      if (text == names[i] || nothing) continue;
      left += (left.empty() ? "" : ", ") + names[i];
      right += (right.empty() ? "" : ", ") + text;
    }
    if (!left.empty()) line(left + " = " + right);
  }

  void write_loop(const Node& node) {
    const Block& body = *node.blocks[0];
    std::vector<std::string> names;
    for (size_t i = 1; i < body.params.size(); ++i) {
      names.push_back(declare(*body.params[i]));
      values_[node.outputs[i - 1]] = {names.back(), tight};
      line(names.back() + ": " + python_type(*body.params[i]->type) + " = " +
           text_of(*node.inputs[i + 1]));
    }
    const bool conditional = !is_true(node.input(1)) || !is_true(*body.results[0]);
    const std::string condition = conditional ? new_name("condition") : "";
    if (conditional) line(condition + " = " + text_of(node.input(1)));
    write_loop_head(node, condition);
    write_nodes(body);
    if (conditional) names.insert(names.begin(), condition);
    const size_t before = text_.size();
    set_all(names, body.results, conditional ? 0 : 1, true);
    if (!body.first && text_.size() == before) line("pass");
    --indent_;
  }

  void write_loop_head(const Node& node, const std::string& condition) {
    const Datum* trips = constant_of(node.input(0));
    const Value& counter = *node.blocks[0]->params[0];
    const bool endless = trips && counter.uses.empty() && trips->integer() >= (int64_t(1) << 31);
    if (endless && !condition.empty()) {
      line("while " + condition + ":");
      ++indent_;
      return;
    }
    line("for " + declare(counter) + " in range(" + text_of(node.input(0)) + "):");
    ++indent_;
    if (condition.empty()) return;
    line("if not " + condition + ":");
    ++indent_;
    line("break");
    --indent_;
  }

  // --- Expressions

  Expression call(const Node& node) {
    if (node.op) return op_call(node);
    if (node.builtin) return builtin_call(node);
    return prim_call(node);
  }

  Expression binary(const Operator& op, const Value& a, const Value& b) {
    // What stands on the right of - or / has to hold together more tightly; and a < b < c is not
    // what it looks like.
    const auto tighter = static_cast<Strength>(op.strength + 1);
    const Strength left = op.strength == comparison ? tighter : op.strength;
    return {text_of(a, left) + " " + op.text + " " + text_of(b, tighter), op.strength};
  }

  Expression op_call(const Node& node) {
    const Schema& schema = node.op->sig;
    if (!node.in_place && schema.overload.empty() && has_plain_rest(node)) {
      if (const Operator* op = find_operator(schema.base)) {
        return binary(*op, node.input(0), node.input(1));
      }
      if (schema.base == "neg") return {"-" + text_of(node.input(0), sign), sign};
    }
    if (node.in_place) {
      return {text_of(node.input(0), tight) + "." + schema.base + "_(" + arguments(node, 1) + ")",
              tight};
    }
    if (schema.name == "slice" && known_dim(node.input(1)) >= 0) return tensor_slice(node);
    if (schema.name == "to") {
      return {text_of(node.input(0), tight) + ".to(" + arguments(node, 1, true) + ")", tight};
    }
    return {function_name(*node.op, node) + "(" + arguments(node, is_method(*node.op)) + ")",
            tight};
  }

  // Whether all arguments beyond the first two have their defaults.
  static bool has_plain_rest(const Node& node) {
    for (size_t i = 2; i < node.inputs.size(); ++i) {
      if (!has_default(node, i)) return false;
    }
    return true;
  }
  static bool has_default(const Node& node, size_t i) {
    const Param& param = node.op->sig.params[i];
    const Datum* given = constant_of(*node.inputs[i]);
    return given && is_fallback(*given, param);
  }

  std::string function_name(const OpDef& op, const Node& node) {
    const std::string& base = op.sig.base;
    if (is_method(op)) return text_of(node.input(0), tight) + "." + base;
    if (op.homes & home::function) return "wisp." + base;
    if (op.homes & home::functional) return "wisp.nn.functional." + base;
    for (const home::Space& space : home::spaces) {
      if (op.homes & space.home) {
        return str("wisp.", space.name, ".", Registry::name_in(space, base));
      }
    }
    return "wisp." + base;
  }

  // Defaults are left out; what follows one that was, and what is only known by name, is named.
  std::string arguments(const Node& node, size_t from, bool named = false) {
    std::string text;
    for (size_t i = from; i < node.inputs.size(); ++i) {
      const Param& param = node.op->sig.params[i];
      if (has_default(node, i)) {
        named = true;
        continue;
      }
      text += text.empty() ? "" : ", ";
      if (named || param.keyword_only) text += param.name + "=";
      text += text_of(*node.inputs[i]);
    }
    return text;
  }

  Expression builtin_call(const Node& node) {
    const std::string& name = node.builtin->name;
    if (std::string special = special_call(node); !special.empty()) return {special, tight};
    if (const Operator* op = find_operator(name)) {
      return binary(*op, node.input(0), node.input(1));
    }
    if (name == "pow") {
      return {text_of(node.input(0), tight) + " ** " + text_of(node.input(1), tight), power};
    }
    if (name == "neg") return {"-" + text_of(node.input(0), sign), sign};
    if (name == "__not__") return {"not " + text_of(node.input(0), comparison), loose};
    if (name == "__getitem__") {
      return {text_of(node.input(0), tight) + "[" + text_of(node.input(1)) + "]", tight};
    }
    if (name == "__contains__") {
      return {text_of(node.input(1), sum) + " in " + text_of(node.input(0), sum), comparison};
    }
    if (name == "slice") return slice(node);
    if (const char* python = find_python_function(name)) {
      return {str(python, "(", list(node.inputs), ")"), tight};
    }
    if (is_python_function(name) || node.inputs.empty()) {
      return {name + "(" + list(node.inputs) + ")", tight};
    }
    return named_builtin(node);
  }

  Expression slice(const Node& node) {
    return {text_of(node.input(0), tight) + "[" + range(node, 1) + "]", tight};
  }
  Expression tensor_slice(const Node& node) {
    std::string all;
    for (int64_t i = 0; i < known_dim(node.input(1)); ++i) all += ":, ";
    return {text_of(node.input(0), tight) + "[" + all + range(node, 2) + "]", tight};
  }
  // start:stop:step, which are three inputs.
  std::string range(const Node& node, int first) {
    const auto part = [&](int i) {
      const Value& value = node.input(i);
      const Datum* known = constant_of(value);
      return known && known->is_none() ? std::string() : text_of(value);
    };
    const std::string step = part(first + 2);
    return part(first) + ":" + part(first + 1) + (step.empty() || step == "1" ? "" : ":" + step);
  }

  Expression named_builtin(const Node& node) {
    const std::string& name = node.builtin->name;
    const std::string self = text_of(node.input(0), tight);
    if (is_property(name)) return {self + "." + name, tight};
    const std::string& first = node.builtin->params[0].name;
    if (first == "self") return {self + "." + name + "(" + list(node.inputs, 1) + ")", tight};
    const std::string space = node.builtin->overload == "float" ? "math." : "wisp.";
    return {space + name + "(" + list(node.inputs) + ")", tight};
  }

  std::string special_call(const Node& node) {
    std::vector<std::string> inputs;
    for (const Value* input : node.inputs) inputs.push_back(text_of(*input, tight));
    if (node.builtin->overload == "like")
      return str("wisp.tensor(", inputs[0], ", dtype=", inputs[1], ".dtype)");
    if (node.builtin->name == "tolist")
      return str("wisp.jit.annotate(", python_type(*node.output().type), ", ", inputs[0],
                 ".tolist())");
    return python_special_call(node.builtin->name, inputs);
  }

  std::string attribute(const Node& node) {
    const std::string& name = node.attributes.at("name").string();
    const std::string object = text_of(node.input(0), tight);
    return is_identifier(name) ? object + "." + name : "getattr(" + object + ", \"" + name + "\")";
  }

  Expression prim_call(const Node& node) {
    switch (node.prim) {
      case Prim::ListConstruct:
        return {"[" + list(node.inputs) + "]", tight};
      case Prim::TupleConstruct:
        return {tuple_construct(node), tight};
      case Prim::DictConstruct:
        return {dict_construct(node), tight};
      case Prim::TupleIndex:
        return tuple_index(node);
      case Prim::GetAttr:
        return {attribute(node), tight};
      case Prim::CallMethod:
        return {attribute(node) + "(" + list(node.inputs, 1) + ")", tight};
      case Prim::UncheckedCast:
        return cast(node);
      case Prim::Wait:
        return expression(node.input(0));
      case Prim::Print:
        return {"print(" + list(node.inputs) + ")", tight};
      case Prim::CreateObject: {
        const std::string& name = node.attributes.at("name").string();
        return {name + ".__new__(" + name + ")", tight};
      }
      case Prim::HostCall:
        return {
            host_function_name(node.attributes.at("name").string()) + "(" + list(node.inputs) + ")",
            tight};
      default:  // calls of functions
        return {node.attributes.at("name").string() + "(" + list(node.inputs) + ")", tight};
    }
  }

  // Of an Optional it is plain from what stands around.
  Expression cast(const Node& node) {
    const Value& value = node.input(0);
    if (value.type->kind != Kind::any && value.type->kind != Kind::number) return expression(value);
    return {str("wisp.jit._unchecked_cast(", python_type(*node.output().type), ", ", text_of(value),
                ")"),
            tight};
  }

  std::string tuple_construct(const Node& node) {
    const std::string& name = node.output().type->name;
    if (const Datum* member = member_name(node)) return name + "." + member->string();
    return name + "(" + list(node.inputs) + (node.inputs.size() == 1 && name.empty() ? ",)" : ")");
  }

  // Of a member of an Enum, which is its name and its value.
  static const Datum* member_name(const Node& node) {
    const auto& fields = node.output().type->fields;
    return !fields.empty() && fields[0] == "_name_" ? constant_of(node.input(0)) : nullptr;
  }

  std::string dict_construct(const Node& node) {
    std::string text;
    for (size_t i = 0; i + 1 < node.inputs.size(); i += 2) {
      text += (i ? ", " : "") + text_of(*node.inputs[i]) + ": " + text_of(*node.inputs[i + 1]);
    }
    return "{" + text + "}";
  }

  Expression tuple_index(const Node& node) {
    const int64_t index = node.attributes.at("index").integer();
    const Type& type = *node.input(0).type;
    const std::string tuple = text_of(node.input(0), tight);
    if (!type.fields.empty()) {
      const std::string& field = type.fields[index];
      return {tuple + "." +
                  (field == "_name_"    ? "name"
                   : field == "_value_" ? "value"
                                        : field),
              tight};
    }
    return {str(tuple, "[", index, "]"), tight};
  }

  const Graph& graph_;
  const Function* function_;  // may be null
  std::string text_;
  int indent_ = 1, constants_ = 0;
  std::set<std::string> taken_;
  std::unordered_map<const Value*, Expression> values_;
};

}  // namespace

std::string to_python(const Graph& graph, std::string_view function_name) {
  return PythonWriter(graph, nullptr).write(function_name);
}
std::string to_python(const Function& function, std::string_view name) {
  return PythonWriter(*function.graph, &function).write(name);
}

}  // namespace wisp::graph
