// How Python spells what graphs are made of.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/type.h"

namespace wisp {
struct OpDef;
}

namespace wisp::graph {

struct Block;
struct Value;

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
// Calls of builtins that Python writes in another way, of their arguments as Python; "" of others.
std::string python_special_call(std::string_view name, const std::vector<std::string>& arguments);
// The name of a function of the host, without the number that tells those of one name apart.
std::string host_function_name(const std::string& name);

int64_t known_dim(const Value& value);  // the number of a dimension, or -1 if it is not known
bool is_bool(const Value& value, bool wanted);
bool is_true(const Value& value);
bool is_method(const OpDef& op);              // and nothing but that
bool is_empty(const Block& block);            // but for constants
std::string result_type(const Block& block);  // of a function
}  // namespace wisp::graph
