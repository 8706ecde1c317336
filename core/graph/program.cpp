// Programs, and their text:
//
//   program 1
//   source 0 "model.py" 12 "def f(x):\n    return x + 1\n"
//   class __wisp__.Net module {
//     parameter weight : Tensor
//     plain training : bool
//     method forward Net.forward
//   }
//   function Net.forward {
//     default n = 1
//     graph(%self : __wisp__.Net, %x : Tensor, %n : int):
//       ...
//       return (%7)
//   }
//
// The 1 is the version of the form. Sources are named by number at the places of nodes. Classes and
// functions may name others that stand further below.
#include <charconv>
#include <memory>

#include "graph/reader.h"

namespace wisp::graph {

namespace {

constexpr int newest_version = 1;

// Reads a whole text into a program: what there is first, then classes, then functions.
class ProgramReader {
 public:
  ProgramReader(std::string_view text, Program& program) : reader_(text, &program), to_(program) {}

  void read() {
    read_version();
    while (!in().at_end()) read_definition();
    for (const auto& [cls, body] : classes_) read_class(*cls, body);
    for (const auto& [function, body] : functions_) read_function(*function, body);
    for (const auto& [cls, methods] : methods_) bind_methods(*cls, methods);
    for (const auto& [function, body] : functions_) verify(*function->graph);
    for (const auto& source : reader_.sources) to_.sources.push_back(source);
  }

 private:
  using Methods = std::vector<std::pair<std::string, std::string>>;
  Scanner& in() { return reader_.in; }

  void read_version() {
    if (!in().accept_word("program")) in().bad("expected 'program'");
    const int version = integer();
    if (version < 1 || version > newest_version) {
      in().bad(str("the text has version ", version, ", which this version of wisp cannot read"));
    }
  }

  int integer() {
    const std::string_view text = in().number();
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) in().bad("expected a number");
    return value;
  }

  // Notes where the bodies of classes and functions begin: they may name each other.
  void read_definition() {
    if (in().accept_word("source")) {
      read_source();
    } else if (in().accept_word("class")) {
      const std::string name(in().word());
      if (to_.find_class(name)) in().bad(str("there are two classes ", name));
      ClassDef& cls = to_.add_class(name);
      cls.is_module = in().accept_word("module");
      classes_.emplace_back(&cls, body());
    } else if (in().accept_word("function")) {
      const std::string name(in().word());
      if (to_.find_function(name)) in().bad(str("there are two functions ", name));
      functions_.emplace_back(&to_.add_function(name), body());
    } else {
      in().bad("expected 'source', 'class' or 'function'");
    }
  }

  void read_source() {
    if (integer() != static_cast<int>(reader_.sources.size())) in().bad("sources are out of order");
    Source source;
    source.file = in().quoted();
    source.first_line = integer();
    source.text = in().quoted();
    reader_.sources.push_back(std::make_shared<const Source>(std::move(source)));
  }

  // Skips what stands in braces and returns where it begins.
  size_t body() {
    in().expect("{");
    const size_t begin = in().position();
    for (int depth = 1; depth > 0;) {
      const char next = in().peek();
      if (next == '\0') in().bad("a brace is not closed");
      if (next == '"') {
        in().quoted();
        continue;
      }
      depth += next == '{' ? 1 : next == '}' ? -1 : 0;
      in().set_position(in().position() + 1);
    }
    return begin;
  }

  void read_class(ClassDef& cls, size_t begin) {
    in().set_position(begin);
    Methods methods;
    while (!in().accept("}")) {
      if (in().accept_word("method")) {
        std::string name(in().word());
        methods.emplace_back(std::move(name), in().word());
      } else {
        read_attribute(cls);
      }
    }
    methods_.emplace_back(&cls, std::move(methods));
  }

  void read_attribute(ClassDef& cls) {
    Attribute attribute;
    attribute.role = role();
    attribute.name = in().word();
    if (cls.find(attribute.name) >= 0) in().bad(str(attribute.name, " is defined twice"));
    in().expect(":");
    attribute.type = reader_.type();
    cls.attributes.push_back(std::move(attribute));
  }

  Attribute::Role role() {
    constexpr std::pair<std::string_view, Attribute::Role> roles[] = {
        {"plain", Attribute::plain},
        {"parameter", Attribute::parameter},
        {"buffer", Attribute::buffer},
        {"temporary_buffer", Attribute::temporary_buffer},
        {"constant", Attribute::constant}};
    for (const auto& [word, role] : roles) {
      if (in().accept_word(word)) return role;
    }
    in().bad("expected the role of an attribute");
  }

  void bind_methods(ClassDef& cls, const Methods& methods) {
    for (const auto& [name, function_name] : methods) {
      Function* function = to_.find_function(function_name);
      if (!function || !function->graph) {
        fail(ErrorKind::runtime, "class ", cls.name, ": there is no function ", function_name);
      }
      const auto& params = function->graph->top().params;
      WISP_CHECK(!params.empty() && params[0]->type->cls == &cls, "class ", cls.name,
                 ": the first parameter of ", function_name, " is not an object of it");
      cls.methods[name] = function;
    }
  }

  void read_function(Function& function, size_t begin) {
    in().set_position(begin);
    std::map<std::string, Datum> defaults;
    while (in().accept_word("default")) {
      const std::string name(in().word());
      in().expect("=");
      defaults[name] = reader_.constant();
    }
    function.graph = reader_.graph();
    in().expect("}");
    function.set_signature();
    for (Parameter& param : function.params) {
      const auto found = defaults.find(param.name);
      if (found == defaults.end()) continue;
      param.has_default = true;
      param.fallback = converted(found->second, *param.type);
      if (!is_of_type(param.fallback, *param.type)) {
        in().bad(str("the default of ", param.name, " is not of its type"));
      }
      defaults.erase(found);
    }
    if (!defaults.empty()) in().bad(str("there is no parameter ", defaults.begin()->first));
  }

  Reader reader_;
  Program& to_;
  std::vector<std::pair<ClassDef*, size_t>> classes_;
  std::vector<std::pair<Function*, size_t>> functions_;
  std::vector<std::pair<ClassDef*, Methods>> methods_;
};

}  // namespace

void Function::set_signature() {
  const Block& top = graph->top();
  const bool method = !top.params.empty() && top.params[0]->type->kind == Kind::object &&
                      top.params[0]->name == "self";
  params.clear();
  for (size_t i = method; i < top.params.size(); ++i) {
    params.push_back({top.params[i]->name, top.params[i]->type, false, {}});
  }
  std::vector<TypeRef> results;
  for (const Value* value : top.results) results.push_back(value->type);
  result = results.size() == 1 ? results[0]
           : results.empty()   ? simple_type(Kind::none)
                               : tuple_of(std::move(results));
}

int ClassDef::find(std::string_view attribute) const {
  for (size_t i = 0; i < attributes.size(); ++i) {
    if (attributes[i].name == attribute) return static_cast<int>(i);
  }
  return -1;
}

namespace {

template <class T>
T* find_in(const std::map<std::string, T*, std::less<>>& all, std::string_view name) {
  const auto found = all.find(name);
  return found == all.end() ? nullptr : found->second;
}

// Forgets those that were added since there were `count` of them.
template <class T>
void shrink(std::deque<T>& all, std::map<std::string, T*, std::less<>>& by_name, size_t count) {
  for (; all.size() > count; all.pop_back()) by_name.erase(all.back().name);
}

}  // namespace

Function& Program::add_function(std::string name) {
  Function& function = functions_.emplace_back();
  function.name = std::move(name);
  functions_by_name_[function.name] = &function;
  return function;
}

ClassDef& Program::add_class(std::string name) {
  ClassDef& cls = classes_.emplace_back();
  cls.program = this;
  cls.name = std::move(name);
  classes_by_name_[cls.name] = &cls;
  return cls;
}

Function* Program::find_function(std::string_view name) {
  return find_in(functions_by_name_, name);
}

ClassDef* Program::find_class(std::string_view name) { return find_in(classes_by_name_, name); }

void Program::parse(std::string_view text) {
  const size_t functions = functions_.size(), classes = classes_.size();
  try {
    ProgramReader(text, *this).read();
  } catch (...) {
    shrink(functions_, functions_by_name_, functions);
    shrink(classes_, classes_by_name_, classes);
    throw;
  }
}

std::string declaration(const Function& function) {
  std::string text = function.name + "(";
  for (size_t i = 0; i < function.params.size(); ++i) {
    const Parameter& param = function.params[i];
    text += (i ? ", " : "") + to_string(*param.type) + " " + param.name;
    if (param.has_default) text += "=" + repr(param.fallback);
  }
  return text + ") -> " + (function.result ? to_string(*function.result) : "NoneType");
}

}  // namespace wisp::graph
