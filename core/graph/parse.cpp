// Graphs and their nodes; types and constants are in parse_parts.cpp.
#include <charconv>

#include "graph/builtins.h"
#include "graph/reader.h"

namespace wisp::graph {

namespace {

// "add_" and "clamp_.tensor" name the forms of "add" and "clamp.tensor" that overwrite self.
const OpDef* find_in_place(std::string_view name) {
  const size_t end = std::min(name.find('.'), name.size());
  if (end == 0 || name[end - 1] != '_') return nullptr;
  const std::string functional = str(name.substr(0, end - 1), name.substr(end));
  const OpDef* op = registry().find(functional);
  return op && op->has(trait::in_place) ? op : nullptr;
}

Prim find_prim(std::string_view text) {
#define WISP_MATCH(name) \
  if (text == #name) return Prim::name;
  WISP_FOR_EACH_PRIM(WISP_MATCH)
#undef WISP_MATCH
  return Prim::none;
}

bool is_block_label(std::string_view word) {
  return word.size() > 5 && word.starts_with("block") &&
         word.find_first_not_of("0123456789", 5) == std::string_view::npos;
}

// Programs of earlier versions compare numbers with tensors as they were written, `1 < x`. What
// says the same with the tensor in front, or null.
const OpDef* reflected(const Node& node, const std::vector<Value*>& inputs) {
  static constexpr std::pair<std::string_view, std::string_view> names[] = {
      {"lt", "gt"}, {"le", "ge"}, {"gt", "lt"}, {"ge", "le"}, {"eq", "eq"}, {"ne", "ne"}};
  if (!node.op || node.in_place || inputs.size() != 2) return nullptr;
  if (inputs[0]->type->kind == Kind::tensor || inputs[1]->type->kind != Kind::tensor)
    return nullptr;
  for (const auto& [name, other] : names) {
    if (node.op->sig.name == name) return registry().find(other);
  }
  return nullptr;
}

// Takes an int off the front of `text`.
bool take_int(std::string_view& text, int& value) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return false;
  text.remove_prefix(end - text.data());
  return true;
}

}  // namespace

std::unique_ptr<Graph> Reader::graph() {
  auto made = std::make_unique<Graph>();
  made->program = program_;
  graph_ = made.get();
  values_.clear();
  if (!in.accept_word("graph")) in.bad("expected 'graph'");
  params(made->top());
  in.expect(":");
  nodes(made->top(), "return");
  results(made->top());
  return made;
}

void Reader::params(Block& block) {
  in.expect("(");
  if (in.accept(")")) return;
  for (const Output& param : outputs()) {
    define(graph_->add_param(block, param.type, param.name), param.name);
  }
  in.expect(")");
}

void Reader::results(Block& block) {
  in.expect("(");
  if (in.accept(")")) return;
  do {
    graph_->add_result(block, value());
  } while (in.accept(","));
  in.expect(")");
}

void Reader::nodes(Block& block, std::string_view end) {
  if (++block_depth_ > max_block_depth) in.bad("blocks are nested too deeply");
  while (!in.accept(end)) {
    if (in.at_end()) in.bad("the text ends inside of a graph");
    node(block);
  }
  --block_depth_;
}

void Reader::node(Block& block) {
  const std::vector<Output> made = in.peek() == '%' ? outputs() : std::vector<Output>();
  if (!in.accept("=") && !made.empty()) in.bad("expected '='");
  const std::string_view space = in.word();
  in.expect("::");
  Node& node = named_node(space, in.word());
  attributes(node);
  inputs(node);
  node.span = place(in.comment());
  graph_->append(block, node);
  blocks(node);
  if (node.is(Prim::Constant) && made.size() == 1 && node.attributes.contains("value")) {
    Datum& constant = node.attributes["value"];
    constant = converted(constant, *made[0].type);
  }
  for (const Output& output : made) {
    define(graph_->add_output(node, output.type, output.name), output.name);
  }
}

void Reader::inputs(Node& node) {
  std::vector<Value*> read;
  in.expect("(");
  if (!in.accept(")")) {
    do {
      read.push_back(&value());
    } while (in.accept(","));
    in.expect(")");
  }
  if (const OpDef* op = reflected(node, read)) {
    node.op = op;
    std::swap(read[0], read[1]);
  }
  for (Value* input : read) graph_->add_input(node, *input);
}

void Reader::blocks(Node& node) {
  while (is_block_label(in.peek_word())) {
    in.word();
    Block& block = graph_->add_block(node);
    params(block);
    in.expect(":");
    nodes(block, "->");
    results(block);
  }
}

Node& Reader::named_node(std::string_view space, std::string_view name) {
  if (space == "prim") {
    const Prim prim = find_prim(name);
    if (prim != Prim::none) return graph_->make(prim);
  } else if (space == "aten") {
    if (const OpDef* op = registry().find(name)) return graph_->make(*op);
    if (const Builtin* builtin = find_builtin(name)) return graph_->make(*builtin);
    if (const OpDef* op = find_in_place(name)) return graph_->make(*op, true);
  }
  in.bad(str("there is no operation ", space, "::", name));
}

std::vector<Reader::Output> Reader::outputs() {
  std::vector<Output> found;
  do {
    std::string name = value_name();
    in.expect(":");
    found.push_back({std::move(name), type()});
  } while (in.accept(","));
  return found;
}

void Reader::attributes(Node& node) {
  if (!in.accept("[")) return;
  do {
    const std::string name(in.word());
    in.expect("=");
    if (!node.attributes.emplace(name, constant()).second) in.bad("an attribute stands here twice");
  } while (in.accept(","));
  in.expect("]");
}

std::string Reader::value_name() {
  in.expect("%");
  return std::string(in.word());
}

Value& Reader::value() {
  const std::string name = value_name();
  const auto found = values_.find(name);
  if (found == values_.end()) in.bad(str("nothing above is called %", name));
  return *found->second;
}

void Reader::define(Value& value, const std::string& name) {
  if (!values_.emplace(name, &value).second) in.bad(str("%", name, " is defined twice"));
}

// "@0 120 134", or "file.py:12", or something else that is no place.
Span Reader::place(std::string_view comment) {
  if (comment.starts_with('@')) return numbered_place(comment.substr(1));
  const size_t colon = comment.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return {};
  std::string_view digits = comment.substr(colon + 1);
  int line = 0;
  if (!take_int(digits, line) || !digits.empty()) return {};
  const std::string file(comment.substr(0, colon));
  auto& source = lines_[{file, line}];
  if (!source) source = std::make_shared<const Source>(Source{file, line, ""});
  return {source, 0, 0};
}

Span Reader::numbered_place(std::string_view comment) {
  int number = -1, begin = 0, end = 0;
  if (!take_int(comment, number) || !take_int(comment, begin) || !take_int(comment, end)) return {};
  if (number < 0 || number >= static_cast<int>(sources.size()) || !sources[number]) {
    in.bad(str("there is no source ", number));
  }
  const int size = static_cast<int>(sources[number]->text.size());
  if (begin < 0 || begin > end || end > size) in.bad("a place lies outside of its source");
  return {sources[number], begin, end};
}

std::unique_ptr<Graph> parse(std::string_view text, Program* program) {
  Reader reader(text, program);
  if (program) reader.sources = program->sources;
  auto graph = reader.graph();
  if (!reader.in.at_end()) reader.in.bad("unexpected text at the end");
  verify(*graph);
  return graph;
}

}  // namespace wisp::graph
