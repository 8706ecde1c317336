// Graphs and constants as text; parse.cpp reads it back.
#include <algorithm>
#include <cmath>

#include "graph/graph.h"

namespace wisp::graph {

namespace {

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += {'\\', c};
    } else if (c == '\n') {
      result += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      constexpr const char* digits = "0123456789abcdef";
      result += std::string("\\u00") + digits[byte >> 4] + digits[byte & 15];
    } else {
      result += c;
    }
  }
  return result + "\"";
}

std::string real_text(double value) {
  if (std::isnan(value)) return "float(\"nan\")";
  if (std::isinf(value)) return value > 0 ? "float(\"inf\")" : "float(\"-inf\")";
  return repr(Datum(value));
}

std::string joined(const std::vector<Datum>& items, std::vector<Tensor>* tensors) {
  std::string text;
  for (const Datum& item : items) {
    text += (text.empty() ? "" : ", ") + constant_text(item, tensors);
  }
  return text;
}

std::string dict_text(const DictData& dict, std::vector<Tensor>* tensors) {
  std::string text;
  for (const auto& [key, value] : dict.entries) {
    text += (text.empty() ? "" : ", ") + constant_text(key, tensors) + ": " +
            constant_text(value, tensors);
  }
  return "{" + text + "}";
}

std::string tensor_text(const Tensor& tensor, std::vector<Tensor>* tensors) {
  if (!tensors) return "<Tensor>";
  const auto found = std::find_if(tensors->begin(), tensors->end(),
                                  [&](const Tensor& other) { return other.is_same(tensor); });
  const size_t index = found - tensors->begin();
  if (found == tensors->end()) tensors->push_back(tensor);
  return "<tensor " + std::to_string(index) + ">";
}

class Writer {
 public:
  Writer(const Graph& graph, TextOptions options) : graph_(graph), options_(options) {}

  std::string write(int indent) {
    line(indent, "graph(" + params(graph_.top()) + "):\n");
    write_nodes(graph_.top(), indent + 1);
    line(indent + 1, "return (" + names(graph_.top().results) + ")\n");
    return std::move(text_);
  }

 private:
  void line(int indent, const std::string& text) {
    text_.append(2 * indent, ' ');
    text_ += text;
  }

  static std::string names(const std::vector<Value*>& values) {
    std::string text;
    for (const Value* value : values) text += (text.empty() ? "%" : ", %") + value->name;
    return text;
  }

  static std::string typed(const std::vector<Value*>& values) {
    std::string text;
    for (const Value* value : values) {
      text += (text.empty() ? "%" : ", %") + value->name + " : " + to_string(*value->type);
    }
    return text;
  }
  static std::string params(const Block& block) { return typed(block.params); }

  std::string attributes(const Node& node) const {
    if (node.attributes.empty()) return "";
    std::string text;
    for (const auto& [name, value] : node.attributes) {
      text += (text.empty() ? "[" : ", ") + name + "=" + constant_text(value, options_.tensors);
    }
    return text + "]";
  }

  // The number of a source among those of the program, or -1.
  int number_of(const Source& source) const {
    if (!graph_.program) return -1;
    const auto& all = graph_.program->sources;
    for (size_t i = 0; i < all.size(); ++i) {
      if (all[i].get() == &source) return static_cast<int>(i);
    }
    return -1;
  }

  std::string place(const Span& span) const {
    if (!span.source || !options_.places) return "";
    const int number = options_.spans ? number_of(*span.source) : -1;
    if (number >= 0) return str("  # @", number, " ", span.begin, " ", span.end);
    return str("  # ", span.source->file, ":", span.line());
  }

  void write_nodes(const Block& block, int indent) {
    for (const Node* node = block.first; node; node = node->next) write_node(*node, indent);
  }

  void write_node(const Node& node, int indent) {
    const std::string outputs = typed(node.outputs);
    line(indent, outputs + (outputs.empty() ? "= " : " = ") + node.kind() + attributes(node) + "(" +
                     names(node.inputs) + ")" + place(node.span) + "\n");
    for (size_t i = 0; i < node.blocks.size(); ++i) {
      const Block& block = *node.blocks[i];
      line(indent + 1, str("block", i, "(", params(block), "):\n"));
      write_nodes(block, indent + 2);
      line(indent + 2, "-> (" + names(block.results) + ")\n");
    }
  }

  const Graph& graph_;
  TextOptions options_;
  std::string text_;
};

const char* role_name(Attribute::Role role) {
  constexpr const char* names[] = {"plain", "parameter", "buffer", "temporary_buffer", "constant"};
  return names[role];
}

std::string class_text(const ClassDef& cls) {
  std::string text = "class " + cls.name + (cls.is_module ? " module {\n" : " {\n");
  for (const Attribute& attribute : cls.attributes) {
    text += str("  ", role_name(attribute.role), " ", attribute.name, " : ",
                to_string(*attribute.type), "\n");
  }
  for (const auto& [name, function] : cls.methods) {
    text += "  method " + name + " " + function->name + "\n";
  }
  return text + "}\n";
}

std::string function_text(const Function& function, std::vector<Tensor>& tensors) {
  std::string text = "function " + function.name + " {\n";
  for (const Parameter& param : function.params) {
    if (!param.has_default) continue;
    text += "  default " + param.name + " = " + constant_text(param.fallback, &tensors) + "\n";
  }
  const TextOptions options{.places = true, .spans = true, .tensors = &tensors};
  return text + Writer(*function.graph, options).write(1) + "}\n";
}

}  // namespace

std::string constant_text(const Datum& value, std::vector<Tensor>* tensors) {
  switch (value.tag()) {
    case Tag::real:
      return real_text(value.real());
    case Tag::complex:
      return "complex(" + real_text(value.complex().real()) + ", " +
             real_text(value.complex().imag()) + ")";
    case Tag::string:
      return quoted(value.string());
    case Tag::device:
      return quoted(to_string(value.device()));
    case Tag::dtype:
      return str("wisp.", name(value.dtype()));
    case Tag::layout:
      return "wisp.strided";
    case Tag::memory_format:
      return str("wisp.", name(value.memory_format()));
    case Tag::tensor:
      return tensor_text(value.tensor(), tensors);
    case Tag::list:
      return "[" + joined(value.items(), tensors) + "]";
    case Tag::tuple:
      return "(" + joined(value.items(), tensors) + (value.items().size() == 1 ? ",)" : ")");
    case Tag::dict:
      return dict_text(value.dict_data(), tensors);
    case Tag::object:
    case Tag::generator:
      if (!tensors) return "<object>";
      fail(ErrorKind::runtime, "an object or a generator cannot be a constant of a program's text");
    default:
      return repr(value);  // None, True, 1
  }
}

std::string to_text(const Graph& graph, TextOptions options) {
  return Writer(graph, options).write(0);
}

std::string Program::to_text(std::vector<Tensor>* wanted) const {
  std::vector<Tensor> own = tensors;
  std::vector<Tensor>& table = wanted ? *wanted : own;
  std::string text = "program 1\n";
  for (size_t i = 0; i < sources.size(); ++i) {
    const Source& source = *sources[i];
    text += str("source ", i, " ", quoted(source.file), " ", source.first_line, " ",
                quoted(source.text), "\n");
  }
  for (const ClassDef& cls : classes_) text += class_text(cls);
  for (const Function& function : functions_) text += function_text(function, table);
  return text;
}

}  // namespace wisp::graph
