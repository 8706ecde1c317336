#include "graph/rounds.h"

#include "base/parallel.h"
#include "graph/interpreter.h"
#include "ops/ops.h"
#include "tests/check.h"

using namespace wisp;
using namespace wisp::graph;

namespace {

std::string loop_of(const std::string& body, const std::string& results = "%true, %next") {
  return "graph(%xs : Tensor, %h : Tensor, %w : Tensor, %n : int):\n"
         "  %zero : int = prim::Constant[value=0]()\n"
         "  %one : int = prim::Constant[value=1]()\n"
         "  %true : bool = prim::Constant[value=True]()\n"
         "  %y : Tensor = prim::Loop(%n, %true, %h)\n"
         "    block0(%i : int, %s : Tensor):\n" +
         body + "      -> (" + results +
         ")\n"
         "  return (%y)\n";
}

const std::string recurrent =
    "      %x : Tensor = aten::select(%xs, %zero, %i)\n"
    "      %a : Tensor = aten::mm(%x, %w)\n"
    "      %b : Tensor = aten::mm(%s, %w)\n"
    "      %c : Tensor = aten::add(%a, %b, %one)\n"
    "      %next : Tensor = aten::tanh(%c)\n";

Tensor random(std::initializer_list<int64_t> sizes) {
  Tensor made = Tensor::adopt(TensorImpl::make_empty(Dims(sizes), DType::float32, Device{}));
  float* data = reinterpret_cast<float*>(made->bytes());
  uint32_t state = 7;
  for (int64_t i = 0; i < made.numel(); ++i) {
    state = state * 1664525u + 1013904223u;
    data[i] = static_cast<float>(state >> 8) / (1 << 24) - 0.5f;
  }
  return made;
}

// What a loop is given.
Datum argument(const std::string& name) {
  if (name == "n") return Datum(int64_t{8});
  return name == "xs" ? Datum(random({8, 2, 4}))
                      : Datum(random(name == "w" ? std::initializer_list<int64_t>{4, 4}
                                                 : std::initializer_list<int64_t>{2, 4}));
}

LoopRounds found_in(const std::string& text) {
  const auto graph = parse(text);
  const Node* loop = graph->top().first;
  while (!loop->is(Prim::Loop)) loop = loop->next;
  std::vector<Value*> captured;
  const auto body = rounds_body(*graph, *loop->blocks[0], captured);
  if (!body) return {};
  std::vector<Datum> given;
  for (const Value* value : captured) given.push_back(argument(value->name));
  given.insert(given.end(), {Datum(int64_t{1}), argument("h")});
  return rounds_of(specialised(*body, captured.size(), given), captured.size());
}

bool same_bits(const Tensor& a, const Tensor& b) {
  const auto bytes = static_cast<size_t>(a.numel()) * a->item_size();
  return same(a.sizes(), b.sizes()) && std::memcmp(a->bytes(), b->bytes(), bytes) == 0;
}

Tensor run_loop(const Code& code, const Tensor& xs, const Tensor& h, const Tensor& w, int64_t n) {
  return run(code, {Datum(xs), Datum(h), Datum(w), Datum(n)})[0].tensor();
}

}  // namespace

TEST("rounds: found where the body is a chain of what goes round and what stays") {
  const LoopRounds found = found_in(loop_of(recurrent));
  CHECK(found.rounds && found.sources.size() == 3 && found.results.size() == 1);
  CHECK(found.results[0].output == 0 && found.appended.empty());
  int products = 0, carried = 0;
  for (const ops::RoundInput& input : found.rounds->inputs()) {
    products += input.varies;
    carried += input.carried == 0;
  }
  CHECK(products == 1 && carried == 1);
}

TEST("rounds: found where the loop decides by numbers whether it goes on") {
  const LoopRounds found = found_in(
      loop_of(recurrent + "      %more : bool = aten::gt.int(%i, %zero)\n", "%more, %next"));
  CHECK(found.rounds && found.tests.size() == 1 && found.branches == 0);
}

TEST("rounds: not where something is written, shown or decided by tensors") {
  CHECK(!found_in(loop_of("      %next : Tensor = aten::add_(%s, %s, %one)\n")).rounds);
  CHECK(!found_in(loop_of(recurrent + "      = prim::Print(%next)\n")).rounds);
  CHECK(!found_in(loop_of("      %next : Tensor = aten::add(%s, %i, %one)\n")).rounds);
  CHECK(!found_in(loop_of("      %next : Tensor = aten::select(%xs, %zero, %i)\n")).rounds);
}

TEST("rounds: what stays is computed by code of its own") {
  const LoopRounds found =
      found_in(loop_of("      %t : Tensor = aten::t(%w)\n"
                       "      %a : Tensor = aten::mm(%s, %t)\n"
                       "      %next : Tensor = aten::relu(%a)\n"));
  CHECK(found.rounds && found.fixed->top().params.size() == 1);
  CHECK(to_text(*found.fixed).find("aten::t(") != std::string::npos);
  CHECK(to_text(*found.fixed).find("aten::mm(") == std::string::npos);
}

TEST("rounds: the same bits as call by call, on any number of threads") {
  const int threads = num_threads();
  for (const int64_t rows : {1, 2, 3, 8, 33}) {
    for (const int64_t width : {1, 5, 16, 64}) {
      const Code code(*parse(loop_of(recurrent)));
      const Tensor xs = random({300, rows, width}), h = random({rows, width});
      const Tensor w = random({width, width});
      execution.fuses = false;
      const Tensor wanted = run_loop(code, xs, h, w, 300);
      execution.fuses = true;
      for (const int count : {1, 2, 2, 5, 5}) {  // one thread is tried first, then all
        set_num_threads(count);
        CHECK(same_bits(run_loop(code, xs, h, w, 300), wanted));
      }
      set_num_threads(threads);
    }
  }
}

TEST("rounds: a slice that is not there is an error of its round") {
  const Code code(*parse(loop_of(recurrent)));
  const Tensor xs = random({40, 2, 4}), h = random({2, 4}), w = random({4, 4});
  CHECK_THROWS(run_loop(code, xs, h, w, 41), "index 40 out of range");
  CHECK(run_loop(code, xs, h, w, 40).defined());
}
