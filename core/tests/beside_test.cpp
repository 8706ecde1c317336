#include "graph/beside.h"

#include <atomic>
#include <cstring>
#include <thread>

#include "base/parallel.h"
#include "dispatch/mode.h"
#include "graph/interpreter.h"
#include "tests/check.h"

using namespace wisp;
using namespace wisp::graph;

namespace {

class Threads {
 public:
  explicit Threads(int count) : before_(num_threads()) { set_num_threads(count); }
  ~Threads() { set_num_threads(before_); }

 private:
  int before_;
};

Tensor numbers(int64_t n, float scale) {
  const Tensor made = Tensor::empty({n, n}, DType::float32);
  for (int64_t i = 0; i < n * n; ++i) {
    made.data<float>()[i] = scale * static_cast<float>((i * 7919) % 101 - 50);
  }
  return made;
}

constexpr const char* branches_text =
    "graph(%x : Tensor, %v : Tensor, %w : Tensor):\n"
    "  %one : int = prim::Constant[value=1]()\n"
    "  %0 : Tensor, %1 : Tensor, %2 : Tensor = prim::Parallel()\n"
    "    block0():\n"
    "      %a : Tensor = aten::mm(%x, %v)\n"
    "      %a2 : Tensor = aten::tanh(%a)\n"
    "      -> (%a2)\n"
    "    block1():\n"
    "      %b : Tensor = aten::mm(%x, %w)\n"
    "      %b2 : Tensor = aten::relu(%b)\n"
    "      -> (%b2)\n"
    "    block2():\n"
    "      %c : Tensor = aten::mm(%v, %w)\n"
    "      -> (%c)\n"
    "  %s : Tensor = aten::add(%0, %1, %one)\n"
    "  %t : Tensor = aten::sub(%s, %2, %one)\n"
    "  return (%t)\n";

}  // namespace

TEST("beside: modes, warnings and the first error come back") {
  const Threads two(2);
  const GradMode no_grad(false);
  std::atomic<int> ran = 0, wrong = 0;
  const auto failure = run_beside(8, [&](int64_t i) {
    ++ran;
    if (mode.grad || !mode.warnings || !in_parallel_region() || may_run_beside()) ++wrong;
    if (i % 3 == 2) fail(ErrorKind::value, "part ", i);
  });
  CHECK(ran == 8 && wrong == 0 && !mode.grad && !mode.warnings);
  CHECK(failure && failure->index == 2);
  CHECK_THROWS(std::rethrow_exception(failure->error), "part 2");
  CHECK(!run_beside(3, [](int64_t) {}));
}

TEST("beside: nothing is handed out by one thread alone, or while somebody watches") {
  {
    const Threads one(1);
    CHECK(!may_run_beside());
  }
  const Threads two(2);
  CHECK(may_run_beside());
  mode.transforms = 1;
  CHECK(!may_run_beside());
  mode.transforms = 0;
}

TEST("beside: branches give the same on any number of threads, called from several") {
  Function function;
  function.name = "f";
  function.graph = parse(branches_text);
  function.set_signature();
  // Small enough for our own kernels: OpenBLAS may not be there.
  const Tensor x = numbers(40, 0.01f), v = numbers(40, 0.02f), w = numbers(40, 0.03f);
  const auto value = [&] { return call(function, {Datum(x), Datum(v), Datum(w)}); };
  Datum expected;
  {
    const Threads one(1);
    expected = value();
  }
  const Threads two(2);
  std::atomic<int> wrong = 0;
  const auto work = [&] {
    const size_t bytes = sizeof(float) * 40 * 40;
    for (int i = 0; i < 60; ++i) {
      const Datum got = value();
      if (std::memcmp(got.tensor()->bytes(), expected.tensor()->bytes(), bytes) != 0) ++wrong;
    }
  };
  std::thread other(work);
  work();
  other.join();
  CHECK(wrong == 0);
}
