#include <thread>

#include "autograd/engine.h"
#include "base/memory.h"
#include "dispatch/registry.h"
#include "ops/ops.h"
#include "tests/check.h"

using namespace wisp;

namespace {

Tensor values(std::initializer_list<double> items) {
  Tensor t = Tensor::empty({static_cast<int64_t>(items.size())}, DType::float64);
  std::copy(items.begin(), items.end(), t.data<double>());
  return t;
}

Tensor leaf(std::initializer_list<double> items) {
  Tensor t = values(items);
  autograd::set_requires_grad(t, true);
  return t;
}

void backward(const Tensor& t) {
  const autograd::Point root(t);
  autograd::backward({&root, 1}, {}, {});
}

std::vector<Tensor> gradients(const Tensor& y, const Tensor& x,
                              autograd::BackwardOptions options = {}) {
  const autograd::Point from(y), to(x);
  return autograd::gradients({&from, 1}, {}, {&to, 1}, options);
}

bool equals(const Tensor& t, std::initializer_list<double> items) {
  const Tensor flat = ops::contiguous(t);
  return std::equal(items.begin(), items.end(), flat.data<double>(),
                    flat.data<double>() + flat.numel());
}

}  // namespace

TEST("schema: parses and prints back") {
  const Schema s = Schema::parse(
      "f.x(Tensor self, Tensor|Scalar? o=None, int[2] k=3, *, str mode='a', float? p=1.5) -> (Tensor values, Tensor[] r)");
  CHECK(s.base == "f" && s.overload == "x" && s.params.size() == 5);
  CHECK(s.params[1].type == ParamType::operand && s.params[1].optional);
  CHECK(s.params[2].fallback.integers().size() == 2 && s.params[2].fallback.integers()[1] == 3);
  CHECK(s.params[3].keyword_only && s.params[4].fallback.scalar().real() == 1.5);
  CHECK(s.returns[0].name == "values" && s.returns[1].is_list);
  CHECK_THROWS(Schema::parse("f(Tensr x) -> Tensor"), "unknown type");
  CHECK_THROWS(Schema::parse("f(Tensor x)"), "schema");
}

TEST("registry: entries without a field that matters are refused") {
  Registry r;
  CHECK_THROWS(r.add({.schema = "f(Tensor x) -> Tensor", .doc = "text"}),
               "needs exactly one of kernel, view and body");
  CHECK_THROWS(registry().get("no_such_op"), "no operator named");
}

TEST("autograd: a small graph") {
  const Tensor x = leaf({1, 2, 3});
  backward(ops::sum(ops::mul(x, x)));
  CHECK(equals(autograd::grad(x), {2, 4, 6}));
  backward(ops::sum(x));
  CHECK(equals(autograd::grad(x), {3, 5, 7}));
}

TEST("autograd: higher order") {
  const Tensor x = leaf({2});
  const Tensor y = ops::sum(ops::mul(ops::mul(x, x), x));
  const auto first = gradients(y, x, {.keep_graph = true, .create_graph = true});
  const auto second = gradients(first[0], x);
  CHECK(equals(first[0], {12}) && equals(second[0], {12}));
}

TEST("autograd: writes through views reach the base") {
  const Tensor x = leaf({1, 2, 3});
  Tensor y = ops::mul(x, 2);
  ops::mul_(ops::select(y, 0, 1), 10);
  backward(ops::sum(y));
  CHECK(equals(autograd::grad(x), {2, 20, 2}));
}

TEST("autograd: what was saved and overwritten is an error") {
  const Tensor x = leaf({1, 2});
  Tensor y = ops::tanh(x);
  ops::mul_(y, 2);
  const Tensor z = ops::sum(ops::mul(y, y));
  CHECK_THROWS(backward(z), "modified by an inplace operation");
  CHECK_THROWS(ops::mul_(x, 2), "leaf Variable");
}

TEST("autograd: a second backward says why it fails") {
  const Tensor x = leaf({1});
  const Tensor y = ops::sum(ops::mul(x, x));
  backward(y);
  CHECK_THROWS(backward(y), "second time");
}

TEST("autograd: a million nodes run and go without a deep stack") {
  const int64_t before = memory::stats().current;
  {
    const Tensor x = leaf({1});
    Tensor y = x;
    for (int i = 0; i < 1000000; ++i) y = ops::add(y, 1.0);
    backward(ops::sum(y));
    CHECK(equals(autograd::grad(x), {1}));
    Tensor z = x;
    for (int i = 0; i < 1000000; ++i) z = ops::add(z, 1.0);  // dropped without backward
  }
  CHECK(memory::stats().current <= before + (1 << 20));
}

TEST("autograd: threads share leaves") {
  const Tensor w = leaf({1, 1, 1});
  auto work = [&] {
    for (int i = 0; i < 200; ++i) {
      const Tensor y = ops::sum(ops::mul(w, w));
      (void)gradients(y, w);
    }
  };
  std::thread a(work), b(work);
  a.join();
  b.join();
}
