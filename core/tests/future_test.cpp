#include "graph/future.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

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
bool may_run_beside(const std::string& body, const std::string& rest, const char* result = "%y") {
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
  return Forks(*graph).may_run_beside(first_fork(graph->top()), calls);
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
  CHECK(may_run_beside(calm, nothing));
  CHECK(may_run_beside(calm, "%z : Tensor = aten::dropout(%x, %half, %true, %false)"));
  CHECK(!may_run_beside("aten::dropout(%x, %half, %true, %false)", nothing));
  CHECK(may_run_beside("aten::dropout(%x, %half, %false, %false)", nothing));
  CHECK(!may_run_beside("aten::tanh_(%x)", nothing));
  CHECK(!may_run_beside(calm, "%z : Tensor = aten::neg_(%x)"));
}

TEST("future: what is put off may change, lists of futures aside") {
  const std::string calm = "aten::tanh(%x)", reads = "aten::stack(%xs, %one)";
  CHECK(may_run_beside(calm, "= aten::append.t(%fs, %f)"));
  CHECK(may_run_beside(calm, "= aten::append.t(%xs, %x)"));
  CHECK(may_run_beside(reads, "= aten::append.t(%fs, %f)"));
  CHECK(!may_run_beside(reads, "= aten::append.t(%xs, %x)"));
  const std::string makes = "%own : Tensor[] = prim::ListConstruct(%x)\n  ";
  CHECK(may_run_beside(reads, makes + "= aten::append.t(%own, %x)"));
  CHECK(!may_run_beside(reads, makes + "%t : (Tensor[], int) = prim::TupleConstruct(%own, %one)\n"
                                       "  = aten::append.t(%own, %x)"));
  CHECK(!may_run_beside(calm, "%z : Tensor = aten::neg(%x)", "%f"));  // leaves the graph
}

TEST("future: functions that are called") {
  auto program = Ref<Program>::adopt(new Program);
  program->parse(program_text);
  std::vector<const Function*> calls;
  const Graph& both = *program->find_function("both")->graph;
  CHECK(Forks(both).may_run_beside(first_fork(both.top()), calls));
  CHECK(calls.size() == 1 && calls[0] == program->find_function("calm"));
  const Graph& other = *program->find_function("other")->graph;
  CHECK(!Forks(other).may_run_beside(first_fork(other.top()), calls));
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

namespace {

class TwoThreads {
 public:
  TwoThreads() : before_(num_threads()) { set_num_threads(2); }
  ~TwoThreads() { set_num_threads(before_); }

 private:
  const int before_;
};

std::shared_ptr<const Code> code_for(const std::string& body) {
  const auto graph = parse("graph(%x : Tensor, %w : Tensor):\n" + body + "  return (%r)\n");
  return std::make_shared<Code>(*graph, "f");
}

Tensor full(std::initializer_list<int64_t> sizes, float value) {
  const Tensor made = Tensor::empty(sizes, DType::float32);
  std::fill_n(made.data<float>(), made->numel(), value);
  return made;
}

bool ends_by_itself(const FutureData& future) {
  for (int i = 0; i < 20000 && !future.is_done(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return future.is_done();
}

const std::string endless =
    "  %many : int = prim::Constant[value=9223372036854775807]()\n"
    "  %true : bool = prim::Constant[value=True]()\n"
    "  %r : Tensor = prim::Loop(%many, %true, %x)\n"
    "    block0(%i : int, %y : Tensor):\n"
    "      -> (%true, %y)\n";

}  // namespace

TEST("future: calls are made without anybody waiting, and errors stay with theirs") {
  const TwoThreads two;
  const auto code = code_for("  %r : Tensor = aten::mm(%x, %w)\n");
  const Tensor x = full({3, 4}, 1), w = full({4, 2}, 2);
  Forked forked;
  std::vector<Ref<FutureData>> futures;
  for (int i = 0; i < 5; ++i) {
    const std::vector<Datum> arguments = {Datum(x), Datum(i == 3 ? x : w)};
    futures.push_back(Ref<FutureData>::adopt(new FutureData(code, arguments)));
    CHECK(futures.back()->is_unrecorded() && !futures.back()->is_done());
    futures.back()->begin(forked);
  }
  for (const auto& future : futures) CHECK(ends_by_itself(*future));
  CHECK(futures[1]->wait().tensor().data<float>()[0] == 8);
  for (int i = 0; i < 2; ++i) CHECK_THROWS(futures[3]->wait(), "3x4");
  CHECK(futures[4]->wait().tensor().data<float>()[5] == 8);
}

TEST("future: a call that nobody wants any more ends") {
  const TwoThreads two;
  const Tensor x = full({2, 2}, 1);
  std::vector<Ref<FutureData>> futures;
  {
    Forked forked;
    for (int i = 0; i < 3; ++i) {
      const std::vector<Datum> arguments = {Datum(x), Datum(x)};
      futures.push_back(Ref<FutureData>::adopt(new FutureData(code_for(endless), arguments)));
      futures.back()->begin(forked);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    CHECK(!futures[0]->is_done());
  }
  CHECK(!forks_are_under_way());
}

TEST("future: whoever waits makes calls that no thread is free for") {
  const TwoThreads two;
  const auto quick = code_for("  %r : Tensor = aten::mm(%x, %w)\n");
  const Tensor x = full({2, 2}, 1);
  const std::vector<Datum> arguments = {Datum(x), Datum(x)};
  Forked forked;
  const auto blocks = Ref<FutureData>::adopt(new FutureData(code_for(endless), arguments));
  blocks->begin(forked);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  for (int i = 0; i < 100; ++i) {
    const auto future = Ref<FutureData>::adopt(new FutureData(quick, arguments));
    future->begin(forked);
    CHECK(future->wait().tensor().data<float>()[0] == 2);
  }
}
