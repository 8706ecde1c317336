#include "graph/future.h"

#include <algorithm>
#include <random>

#include "base/parallel.h"
#include "dispatch/mode.h"
#include "graph/passes.h"
#include "tests/check.h"

using namespace wisp;
using namespace wisp::graph;

namespace {

const Node& first_fork(const Block& block) {
  for (const Node* node = block.first; node; node = node->next) {
    if (node->is(Prim::Fork)) return *node;
  }
  fail(ErrorKind::value, "there is no fork");
}

// Of a graph with a fork of `body`, and `rest` between it and where it is waited for.
bool may_wait(const std::string& body, const std::string& rest, const char* result = "%y") {
  const auto graph = parse(
      "graph(%x : Tensor, %xs : Tensor[]):\n"
      "  %one : int = prim::Constant[value=1]()\n"
      "  %half : float = prim::Constant[value=0.5]()\n"
      "  %true : bool = prim::Constant[value=True]()\n"
      "  %false : bool = prim::Constant[value=False]()\n"
      "  %fs : Future(Tensor)[] = prim::ListConstruct()\n"
      "  %f : Future(Tensor) = prim::Fork()\n"
      "    block0():\n"
      "      %r : Tensor = " +
      body + "\n      -> (%r)\n  " + rest +
      "\n"
      "  %y : Tensor = prim::Wait(%f)\n"
      "  return (" +
      result + ")\n");
  std::vector<const Function*> calls;
  return Forks(*graph).may_wait(first_fork(graph->top()), calls);
}

constexpr const char* program_text =
    "program 1\n"
    "function calm {\n"
    "  graph(%x : Tensor):\n"
    "    %y : Tensor = aten::tanh(%x)\n"
    "    return (%y)\n"
    "}\n"
    "function loud {\n"
    "  graph(%x : Tensor):\n"
    "    %y : Tensor = aten::tanh_(%x)\n"
    "    return (%y)\n"
    "}\n"
    "function both {\n"
    "  graph(%x : Tensor):\n"
    "    %f : Future(Tensor) = prim::Fork()\n"
    "      block0():\n"
    "        %a : Tensor = prim::CallFunction[name=\"calm\"](%x)\n"
    "        -> (%a)\n"
    "    %y : Tensor = prim::Wait(%f)\n"
    "    return (%y)\n"
    "}\n"
    "function other {\n"
    "  graph(%x : Tensor):\n"
    "    %f : Future(Tensor) = prim::Fork()\n"
    "      block0():\n"
    "        %a : Tensor = prim::CallFunction[name=\"loud\"](%x)\n"
    "        -> (%a)\n"
    "    %y : Tensor = prim::Wait(%f)\n"
    "    return (%y)\n"
    "}\n";

}  // namespace

TEST("future: which forks may wait") {
  const std::string calm = "aten::tanh(%x)", nothing = "%z : Tensor = aten::neg(%x)";
  CHECK(may_wait(calm, nothing));
  CHECK(may_wait(calm, "%z : Tensor = aten::dropout(%x, %half, %true, %false)"));
  CHECK(!may_wait("aten::dropout(%x, %half, %true, %false)", nothing));
  CHECK(may_wait("aten::dropout(%x, %half, %false, %false)", nothing));
  CHECK(!may_wait("aten::tanh_(%x)", nothing));
  CHECK(!may_wait(calm, "%z : Tensor = aten::neg_(%x)"));
}

TEST("future: what is put off may change, lists of futures aside") {
  const std::string calm = "aten::tanh(%x)", reads = "aten::stack(%xs, %one)";
  CHECK(may_wait(calm, "= aten::append.t(%fs, %f)"));
  CHECK(may_wait(calm, "= aten::append.t(%xs, %x)"));
  CHECK(may_wait(reads, "= aten::append.t(%fs, %f)"));
  CHECK(!may_wait(reads, "= aten::append.t(%xs, %x)"));
  const std::string makes = "%own : Tensor[] = prim::ListConstruct(%x)\n  ";
  CHECK(may_wait(reads, makes + "= aten::append.t(%own, %x)"));
  CHECK(!may_wait(reads, makes + "%t : (Tensor[], int) = prim::TupleConstruct(%own, %one)\n"
                                 "  = aten::append.t(%own, %x)"));
  CHECK(!may_wait(calm, "%z : Tensor = aten::neg(%x)", "%f"));  // leaves the graph
}

TEST("future: functions that are called") {
  auto program = Ref<Program>::adopt(new Program);
  program->parse(program_text);
  std::vector<const Function*> calls;
  const Graph& both = *program->find_function("both")->graph;
  CHECK(Forks(both).may_wait(first_fork(both.top()), calls));
  CHECK(calls.size() == 1 && calls[0] == program->find_function("calm"));
  const Graph& other = *program->find_function("other")->graph;
  CHECK(!Forks(other).may_wait(first_fork(other.top()), calls));
}

TEST("future: damaged text gives errors, in forks and branches too") {
  const std::string source =
      "graph(%x : Tensor, %n : int):\n"
      "  %f : Future(Tensor) = prim::Fork()\n"
      "    block0():\n"
      "      %a : Tensor = aten::mm(%x, %x)\n"
      "      -> (%a)\n"
      "  %0 : Tensor, %1 : Tensor = prim::Parallel()\n"
      "    block0():\n"
      "      %b : Tensor = aten::mm(%x, %x)\n"
      "      %c : Tensor = aten::relu_(%b)\n"
      "      -> (%c)\n"
      "    block1():\n"
      "      -> (%x)\n"
      "  %y : Tensor = prim::Wait(%f)\n"
      "  %z : Tensor = aten::add(%0, %y, %n)\n"
      "  return (%z, %1)\n";
  std::mt19937 random(0);
  const std::string pieces[] = {"%x", "(", ")", "prim::Fork", "prim::Wait", "Future(", "->", "%f",
                                "%0", "",  ":", "block1():",  "Tensor",     "%n",      "\n", "_"};
  const OptimizeOptions options{.without = {}, .with = {"parallel_branches", "fusion"}};
  int read = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string text = source;
    const size_t at = i ? random() % text.size() : 0, length = i ? random() % 10 : 0;
    text.replace(at, std::min(length, text.size() - at), i ? pieces[random() % 16] : "");
    try {
      const auto made = parse(text);
      optimize(*made, options);
      const Code code(*parse(to_text(*made)));
      ++read;
    } catch (const Error&) {}
  }
  CHECK(read > 0 && read < 3000);
}

TEST("future: those put off run when one is waited for, and errors stay with theirs") {
  const int before = num_threads();
  set_num_threads(2);
  const auto graph = parse(
      "graph(%x : Tensor, %w : Tensor):\n"
      "  %r : Tensor = aten::mm(%x, %w)\n"
      "  return (%r)\n");
  const auto code = std::make_shared<Code>(*graph, "f");
  const Tensor x = Tensor::empty({3, 4}, DType::float32), w = Tensor::empty({4, 2}, DType::float32);
  std::fill_n(x.data<float>(), 12, 1.0f);
  std::fill_n(w.data<float>(), 8, 2.0f);
  const auto waiting = std::make_shared<Waiting>();
  std::vector<Ref<FutureData>> futures;
  for (int i = 0; i < 5; ++i) {
    const std::vector<Datum> arguments = {Datum(x), Datum(i == 3 ? x : w)};
    futures.push_back(Ref<FutureData>::adopt(new FutureData(code, arguments)));
    CHECK(futures.back()->is_unrecorded());
    futures.back()->put_off(waiting);
  }
  CHECK(waiting->futures.size() == 5);
  CHECK(futures[1]->wait().tensor().data<float>()[0] == 8);
  CHECK(waiting->futures.empty());
  for (int i = 0; i < 2; ++i) CHECK_THROWS(futures[3]->wait(), "3x4");
  CHECK(futures[4]->wait().tensor().data<float>()[5] == 8);
  set_num_threads(before);
}
