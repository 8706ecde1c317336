// How Python spells what graphs are made of.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/type.h"

namespace wisp::graph {

// How tightly an expression holds together, loosest first: where it needs parentheses.
enum Strength { loose, comparison, sum, product, sign, power, tight };

struct Expression {
  std::string text;
  Strength strength = tight;
};

struct Operator {
  const char* text;
  Strength strength;
};

// Of operators and builtins of two arguments: "+" for "add". Null if Python has none.
const Operator* find_operator(std::string_view name);
// Functions of Python itself that builtins of another name stand for, as "int" for "Int"; or null.
const char* find_python_function(std::string_view name);
bool is_python_function(std::string_view name);
bool is_keyword(const std::string& name);  // or another word that no variable may have as its name
bool is_identifier(const std::string& text);
bool is_property(std::string_view name);  // of a value, not a method
std::string python_type(const Type& type);
// autograd.grad() or, of four arguments, backward(), of what the builtin takes.
std::string python_gradient_call(const std::vector<std::string>& arguments);
// The name of a function of the host, without the number that tells those of one name apart.
std::string host_function_name(const std::string& name);

}  // namespace wisp::graph
