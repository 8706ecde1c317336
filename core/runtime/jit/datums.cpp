#include "runtime/internal/datums.h"

#include "graph/future.h"
#include "graph/interpreter.h"
#include "runtime/bridge.h"

namespace wisp::api::jit {

using graph::Datum;
using graph::Parameter;
using graph::Tag;

// --- from C++

namespace {

std::vector<Datum> to_datums(const Value::List& items) {
  std::vector<Datum> made;
  for (const Value& item : items) made.push_back(to_datum(item));
  return made;
}

Datum dict_datum(const Value::Dict& items) {
  Datum made = Datum::dict();
  for (const auto& [key, item] : items) made.dict_data().set(to_datum(key), to_datum(item));
  return made;
}

}  // namespace

Datum to_datum(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::none:
      return {};
    case Value::Kind::boolean:
      return value.to_bool();
    case Value::Kind::integer:
      return value.to_int();
    case Value::Kind::real:
      return value.to_double();
    case Value::Kind::text:
      return value.to_text();
    case Value::Kind::tensor:
      return core(value.to_tensor());
    case Value::Kind::list:
      return Datum::list(to_datums(value.to_list()));
    case Value::Kind::tuple:
      return Datum::tuple(to_datums(value.to_list()));
    case Value::Kind::dict:
      return dict_datum(value.to_dict());
  }
  return {};
}

// --- to C++

namespace {

constexpr int max_nesting = 100;  // a script can make a list hold itself

const char* unknown_to_programs(Tag tag) {
  switch (tag) {
    case Tag::complex:
      return "a complex number";
    case Tag::object:
      return "an object of a class";
    case Tag::dtype:
      return "a dtype";
    case Tag::device:
      return "a device";
    default:
      return "a setting of tensors";
  }
}

Value to_value(const Datum& datum, int nesting);

Value::List to_values(const std::vector<Datum>& items, int nesting) {
  Value::List made;
  for (const Datum& item : items) made.push_back(to_value(item, nesting));
  return made;
}

Value dict_value(const Datum& datum, int nesting) {
  Value::Dict made;
  for (const auto& [key, item] : datum.dict_data().entries)
    made.emplace_back(to_value(key, nesting), to_value(item, nesting));
  return made;
}

Value to_value(const Datum& datum, int nesting) {
  WISP_CHECK_VALUE(nesting < max_nesting, "lists are nested too deeply");
  switch (datum.tag()) {
    case Tag::none:
      return {};
    case Tag::boolean:
      return datum.boolean();
    case Tag::integer:
      return datum.integer();
    case Tag::real:
      return datum.real();
    case Tag::string:
      return datum.string();
    case Tag::tensor:
      return wrap(datum.tensor());
    case Tag::list:
      return to_values(datum.items(), nesting + 1);
    case Tag::tuple:
      return Value::tuple(to_values(datum.items(), nesting + 1));
    case Tag::dict:
      return dict_value(datum, nesting + 1);
    case Tag::future:
      return to_value(datum.future().wait(), nesting + 1);
    default:
      fail(ErrorKind::type, "a script gave ", unknown_to_programs(datum.tag()),
           ", which C++ programs cannot take");
  }
}

}  // namespace

Value to_value(const Datum& datum) { return to_value(datum, 0); }

// --- calls

namespace {

// As Python calls the types of values.
const char* type_name(const Value& value) {
  constexpr const char* names[] = {"NoneType", "bool", "int",   "float", "str",
                                   "Tensor",   "list", "tuple", "dict"};
  return names[static_cast<int>(value.kind())];
}

Datum argument(const graph::Function& function, size_t position, const Value& value) {
  const Parameter& param = function.params[position];
  Datum datum = graph::converted(to_datum(value), *param.type);
  WISP_CHECK(graph::is_of_type(datum, *param.type), function.name, "() Expected a value of type '",
             graph::to_string(*param.type), "' for argument '", param.name,
             "' but instead found type '", type_name(value), "'.\nPosition: ", position,
             "\nDeclaration: ", graph::declaration(function));
  return datum;
}

std::vector<Datum> arguments_of(const graph::Function& function, graph::ObjectData* self,
                                const std::vector<Value>& inputs) {
  const auto& params = function.params;
  WISP_CHECK(inputs.size() <= params.size(), function.name, "() expected at most ", params.size(),
             " argument(s) but received ", inputs.size(),
             " argument(s).\nDeclaration: ", graph::declaration(function));
  std::vector<Datum> arguments;
  arguments.reserve(params.size() + 1);
  if (self) arguments.emplace_back(Ref<graph::ObjectData>::share(self));
  for (size_t i = 0; i < inputs.size(); ++i) arguments.push_back(argument(function, i, inputs[i]));
  for (size_t i = inputs.size(); i < params.size(); ++i) {
    WISP_CHECK(params[i].has_default, function.name, "() is missing value for argument '",
               params[i].name, "'.\nDeclaration: ", graph::declaration(function));
    arguments.push_back(graph::deep_copy(params[i].fallback));
  }
  return arguments;
}

}  // namespace

Value call(const graph::Function& function, graph::ObjectData* self,
           const std::vector<Value>& inputs) {
  return to_value(graph::call(function, arguments_of(function, self, inputs)));
}

}  // namespace wisp::api::jit
