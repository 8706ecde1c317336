#include "graph/graph.h"

#include <random>

#include "graph/interpreter.h"
#include "graph/passes.h"
#include "tests/check.h"

using namespace wisp;
using namespace wisp::graph;

namespace {

constexpr const char* loop_text =
    "graph(%x : Tensor, %n : int):\n"
    "  %one : int = prim::Constant[value=1]()\n"
    "  %true : bool = prim::Constant[value=True]()\n"
    "  %y : Tensor = prim::Loop(%n, %true, %x)\n"
    "    block0(%i : int, %p : Tensor):\n"
    "      %q : Tensor = aten::add(%p, %i, %one)\n"
    "      %c : bool = aten::gt.int(%i, %one)\n"
    "      %r : Tensor = prim::If(%c)\n"
    "        block0():\n"
    "          %s : Tensor = aten::neg(%q)\n"
    "          -> (%s)\n"
    "        block1():\n"
    "          -> (%q)\n"
    "      -> (%true, %r)\n"
    "  %pair : (Tensor, int[]?) = prim::Constant[value=(None, [1, 2])]()\n"
    "  return (%y)\n";

std::string without_pair() {
  const std::string text = loop_text;
  const size_t begin = text.find("  %pair"), end = text.find("  return");
  return text.substr(0, begin) + text.substr(end);
}

// Whatever is done to a text, reading it gives a graph or an error.
bool reads(const std::string& text) {
  try {
    auto made = parse(text);
    optimize(*made, {.without = {}, .with = {"loop_peeling", "in_place_reuse"}});
    parse(to_text(*made));
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

TEST("graph: text reads back, copies are alike") {
  const auto made = parse(without_pair());
  CHECK(to_text(*made) == without_pair());
  CHECK(to_text(*made->clone()) == without_pair());
  CHECK_THROWS(parse(loop_text), "the value is not of type (Tensor, int[]?)");
}

TEST("graph: it runs without a host, before and after all passes") {
  Function function;
  function.name = "f";
  function.graph = parse(without_pair());
  function.set_signature();
  CHECK(function.params.size() == 2 && function.params[1].name == "n");
  const Tensor x = Tensor::empty({2}, DType::float32);
  x.data<float>()[0] = x.data<float>()[1] = 1;
  const auto value = [&] {
    const Datum result = call(function, {Datum(x), Datum(4)});
    return result.tensor().data<float>()[0];
  };
  CHECK(value() == 1);  // ((1 + 0 + 1) + 2) negated, + 3, negated
  optimize(*function.graph, {.without = {}, .with = {"loop_peeling", "in_place_reuse"}});
  function.code.reset();
  CHECK(value() == 1);
}

TEST("graph: uses are kept when nodes change") {
  const auto made = parse(without_pair());
  Block& top = made->top();
  Value& x = *top.params[0];
  const size_t before = x.uses.size();
  Node& loop = *top.last;
  made->replace_input(loop, 2, made->constant(loop, Datum(2.5), simple_type(Kind::real)));
  CHECK(x.uses.size() == before - 1);
  CHECK_THROWS(verify(*made), "what enters a loop is float where Tensor is expected");
  made->replace_input(loop, 2, x);
  verify(*made);
  made->replace_result(top, 0, x);
  made->remove(loop);
  verify(*made);
  CHECK(x.uses.size() == 1 && x.uses[0] == nullptr);
}

TEST("graph: damaged text gives errors") {
  std::mt19937 random(0);
  const std::string source = without_pair();
  const std::string pieces[] = {"%x",         "(",  ")",   ":",  "[",     "]", "\"", "\\u12",
                                "prim::Loop", "->", "int", "-1", "1e999", "#", "",   "?"};
  int read = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string text = source;
    const size_t at = random() % text.size(), length = random() % 12;
    text.replace(at, std::min(length, text.size() - at), pieces[random() % std::size(pieces)]);
    read += reads(text);
  }
  CHECK(read > 0 && read < 3000);
}

TEST("graph: types") {
  const TypeRef known = tensor_of(DType::float32, std::vector<int64_t>{2, 3});
  const TypeRef wider = tensor_of(DType::float32, std::vector<int64_t>{2, 4});
  const TypeRef& tensor = simple_type(Kind::tensor);
  CHECK(is_subtype(*known, *tensor) && !is_subtype(*tensor, *known));
  CHECK(to_string(*unify(known, wider)) == "Float(2, *)");
  const TypeRef& integer = simple_type(Kind::integer);
  CHECK(to_string(*unify(integer, simple_type(Kind::none))) == "int?");
  CHECK(!unify(integer, simple_type(Kind::real)));
  CHECK(!is_subtype(*list_of(integer), *list_of(optional_of(integer))));  // one could append None
  CHECK(to_string(*unify(list_of(known), list_of(wider))) == "Tensor[]");
}
