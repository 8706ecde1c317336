// One program with many small parts: `checks <part> <folder>`. What they compute is compared with
// Python by tests/test_cpp_api.py, through files in the folder or by what is printed.
#include <algorithm>
#include <fstream>
#include <iostream>
#include <thread>
#include <wisp/wisp.h>

namespace nn = wisp::nn;
namespace F = wisp::nn::functional;
using wisp::Tensor;
using wisp::Value;

#define EXPECT(condition)                                                       \
  do {                                                                          \
    if (!(condition)) {                                                         \
      std::cerr << __FILE__ << ":" << __LINE__ << ": not so: " #condition "\n"; \
      std::exit(1);                                                             \
    }                                                                           \
  } while (0)

// --- tensors

void check_tensors() {
  using namespace wisp::indexing;
  Tensor x = wisp::arange(12, wisp::kFloat32).view({3, 4});
  EXPECT((x.sizes() == std::vector<int64_t>{3, 4}) && x.dim() == 2 && x.size(-1) == 4);
  EXPECT(x[1][2].item<float>() == 6 && x[-1][0].item<int>() == 8);
  EXPECT((x + 1 - x * 2 / 4.0).sum().item<double>() == 12 + 33);
  EXPECT((2 - x).equal(-(x - 2)) && (1 / (x + 1)).allclose((x + 1).reciprocal()));
  EXPECT((x > 5).sum().item<int64_t>() == 6 && (x == 3).any().item<bool>());
  EXPECT((x.sum({0, 1}).item<float>() == 66) && (x.sum(1, true).sizes() == wisp::IntList{3, 1}));
  EXPECT(x.std(0).dim() == 1 && x.std(false).dim() == 0 && x.var({0}, 0).dim() == 1);
  EXPECT(x.index({Slice(1), Slice(0, 4, 2)}).equal(wisp::tensor({{4., 6.}, {8., 10.}})));
  EXPECT(x.index({"...", 1}).equal(x.select(1, 1)) && x.index({Ellipsis, None, 0}).dim() == 2);
  EXPECT(x.index({x > 9}).equal(wisp::tensor({10.f, 11.f})));
  EXPECT(x.index({wisp::tensor({2, 0}), 1}).equal(wisp::tensor({9., 1.})));
  Tensor y = x.clone();
  y[0] = 7;
  y[1] = x[2];
  y.index_put_({2, Slice(0, 2)}, -1);
  EXPECT(y.equal(wisp::tensor({{7., 7., 7., 7.}, {8., 9., 10., 11.}, {-1., -1., 10., 11.}})));
  y += 1;
  y *= y;
  EXPECT(y[0][0].item<float>() == 64);
  auto [values, indices] = x.max(1);
  EXPECT(values.equal(x.select(1, 3)) && indices.dtype() == wisp::kInt64);
  EXPECT(wisp::cat({x, x}, 1).size(1) == 8 && x.split(2, 1).size() == 2);
  EXPECT(x.split({1, 3}, 1)[1].size(1) == 3 && x.argsort(1).equal(x.argsort(-1)));
  EXPECT(x.to(wisp::kInt64).dtype() == wisp::kLong && x.norm("fro").allclose(x.norm()));
  EXPECT(wisp::linalg::norm(x).allclose(x.norm()) && wisp::fft::fft(x).is_complex());
  EXPECT(wisp::tensor({1, 2}).dtype() == wisp::kInt64 && wisp::tensor(2.5).dim() == 0);
  EXPECT(wisp::tensor(std::vector<float>{1, 2}).size(0) == 2);
  auto accessor = x.accessor<float, 2>();
  EXPECT(accessor[2][3] == 11 && accessor.size(1) == 4);
  EXPECT(wisp::zeros({}).dim() == 0 && wisp::ones(3).size(0) == 3);
  wisp::Generator seeded(5);
  const Tensor drawn = wisp::rand({4}, {}, seeded);
  EXPECT(drawn.equal(wisp::rand({4}, {}, wisp::Generator(5))));
}

void check_memory() {
  std::vector<float> mine = {1, 2, 3, 4, 5, 6};
  int freed = 0;
  {
    Tensor x = wisp::from_blob(mine.data(), {2, 3}, [&](void*) { ++freed; });
    Tensor row = x[1];
    row.mul_(10);
    x = Tensor();
    EXPECT(freed == 0 && mine[3] == 40);
  }
  EXPECT(freed == 1);
  Tensor columns = wisp::from_blob(mine.data(), {3, 2}, {1, 3}, nullptr);
  EXPECT(columns[0][1].item<float>() == 40);
}

void check_autograd() {
  Tensor x = wisp::tensor({1., 2., 3.}, wisp::requires_grad());
  Tensor y = (x * x).sum();
  y.backward();
  EXPECT(x.grad().equal(wisp::tensor({2., 4., 6.})) && x.is_leaf() && !y.is_leaf());
  {
    wisp::no_grad guard;
    EXPECT(!(x * 2).requires_grad() && !wisp::is_grad_enabled());
  }
  EXPECT((x * 2).requires_grad() && !x.detach().requires_grad());
  const auto grads = wisp::autograd::grad({(x * x * x).sum()}, {x}, {}, {}, /*create_graph=*/true);
  grads[0].sum().backward();
  EXPECT(x.grad().equal(wisp::tensor({8., 16., 24.})));
}

// --- layers: the same seed gives the same numbers as in Python

template <class Module, class... Args>
void run_layer(Value::Dict& results, const char* name, Module module, const Args&... args) {
  wisp::manual_seed(1);
  wisp::no_grad guard;
  Value::List found;
  for (const Tensor& parameter : module->parameters()) found.emplace_back(parameter.detach());
  found.emplace_back(module->forward(args...));
  results.emplace_back(name, std::move(found));
}

template <class M, class... Args>
M seeded(const Args&... args) {
  wisp::manual_seed(0);
  return M(args...);
}

void check_layers(const std::string& folder) {
  const Value inputs = wisp::load(folder + "/inputs.pt");
  const Tensor rows = inputs["rows"].to_tensor(), image = inputs["image"].to_tensor();
  const Tensor line = inputs["line"].to_tensor(), volume = inputs["volume"].to_tensor();
  const Tensor words = inputs["words"].to_tensor(), sequence = inputs["sequence"].to_tensor();
  Value::Dict r;
  run_layer(r, "Linear", seeded<nn::Linear>(6, 3), rows);
  run_layer(r, "Linear, no bias", seeded<nn::Linear>(nn::LinearOptions(6, 3).bias(false)), rows);
  run_layer(r, "Conv1d", seeded<nn::Conv1d>(4, 6, 3), line);
  run_layer(r, "Conv2d",
            seeded<nn::Conv2d>(nn::Conv2dOptions(4, 6, {3, 2}).stride(2).padding({1, 0}).groups(2)),
            image);
  run_layer(r, "Conv2d, same", seeded<nn::Conv2d>(nn::Conv2dOptions(4, 6, 3).padding("same")),
            image);
  run_layer(r, "Conv3d", seeded<nn::Conv3d>(nn::Conv3dOptions(2, 3, 2).bias(false)), volume);
  run_layer(
      r, "ConvTranspose2d",
      seeded<nn::ConvTranspose2d>(nn::ConvTranspose2dOptions(4, 2, 3).stride(2).output_padding(1)),
      image);
  run_layer(r, "BatchNorm1d", seeded<nn::BatchNorm1d>(6), rows);
  run_layer(r, "BatchNorm2d", seeded<nn::BatchNorm2d>(nn::BatchNorm2dOptions(4).eps(1e-3)), image);
  run_layer(r, "LayerNorm", seeded<nn::LayerNorm>(std::vector<int64_t>{6}), rows);
  run_layer(r, "Dropout", seeded<nn::Dropout>(0.4), rows);
  run_layer(r, "Dropout2d", seeded<nn::Dropout2d>(0.4), image);
  run_layer(r, "Embedding", seeded<nn::Embedding>(nn::EmbeddingOptions(10, 3).padding_idx(2)),
            words);
  run_layer(r, "MaxPool2d", seeded<nn::MaxPool2d>(nn::MaxPool2dOptions(3).stride(2).padding(1)),
            image);
  run_layer(r, "AvgPool2d", seeded<nn::AvgPool2d>(2), image);
  run_layer(r, "AdaptiveAvgPool2d", seeded<nn::AdaptiveAvgPool2d>(3), image);
  run_layer(r, "GELU", seeded<nn::GELU>("tanh"), rows);
  run_layer(
      r, "Sequential",
      seeded<nn::Sequential>(nn::Flatten(), nn::ReLU(), nn::LeakyReLU(0.2), nn::ELU(), nn::Tanh(),
                             nn::Sigmoid(), nn::SiLU(), nn::Softplus(), nn::Softmax(1)),
      image);
  const auto options = nn::LSTMOptions(6, 5).num_layers(2).bidirectional(true).batch_first(true);
  Value::List found;
  wisp::manual_seed(0);
  nn::LSTM lstm(options);
  auto [out, state] = lstm->forward(sequence);
  found.assign({out, std::get<0>(state), std::get<1>(state)});
  wisp::manual_seed(0);
  nn::GRU gru(options);
  auto [out2, state2] = gru->forward(sequence);
  wisp::manual_seed(0);
  nn::RNN rnn(nn::RNNOptions(6, 5).nonlinearity("relu"));
  auto [out3, state3] = rnn->forward(sequence[0]);
  for (const Tensor& tensor : {out2, state2, out3, state3}) found.emplace_back(tensor);
  for (Value& value : found) value = value.to_tensor().detach();
  r.emplace_back("recurrent", found);
  wisp::save(Value(r), folder + "/layers.pt");
}

// --- optimizers

template <class Optimizer, class Options>
void run_optimizer(Value::Dict& results, const char* name, Options options) {
  wisp::manual_seed(0);
  nn::Linear model(4, 2);
  const Tensor x = wisp::randn({8, 4}), y = wisp::randn({8, 2});
  Optimizer optimizer(model->parameters(), options);
  auto closure = [&] {
    optimizer.zero_grad();
    Tensor loss = F::mse_loss(model->forward(x), y);
    loss.backward();
    return loss;
  };
  for (int i = 0; i < 6; ++i) optimizer.step(closure);
  results.emplace_back(name, Value::List{model->weight.detach(), model->bias.detach()});
}

void check_optimizers(const std::string& folder) {
  using namespace wisp::optim;
  Value::Dict r;
  run_optimizer<SGD>(r, "SGD", SGDOptions(0.1));
  run_optimizer<SGD>(r, "SGD, nesterov",
                     SGDOptions(0.1).momentum(0.9).weight_decay(0.01).nesterov(true));
  run_optimizer<Adam>(r, "Adam", AdamOptions(0.05).betas({0.8, 0.99}).amsgrad(true));
  run_optimizer<AdamW>(r, "AdamW", AdamWOptions(0.05));
  run_optimizer<RMSprop>(r, "RMSprop", RMSpropOptions(0.05).momentum(0.5).centered(true));
  run_optimizer<Adagrad>(r, "Adagrad",
                         AdagradOptions(0.05).lr_decay(0.1).initial_accumulator_value(0.2));
  run_optimizer<LBFGS>(r, "LBFGS", LBFGSOptions(0.5).max_iter(4));
  run_optimizer<LBFGS>(r, "LBFGS, strong_wolfe",
                       LBFGSOptions().max_iter(5).line_search_fn("strong_wolfe"));
  wisp::save(Value(r), folder + "/optimizers.pt");
}

// A multi-layer perceptron learns a circle.
void check_training() {
  wisp::manual_seed(0);
  nn::Sequential net(nn::Linear(2, 32), nn::Tanh(), nn::Linear(32, 1));
  wisp::optim::Adam optimizer(net->parameters(), 0.02);
  const Tensor x = wisp::rand({512, 2}) * 2 - 1;
  const Tensor y = (x.square().sum(1, true) < 0.5).to(wisp::kFloat32);
  Tensor loss;
  for (int i = 0; i < 300; ++i) {
    optimizer.zero_grad();
    loss = F::binary_cross_entropy_with_logits(net->forward(x), y);
    loss.backward();
    optimizer.step();
  }
  EXPECT(loss.item<double>() < 0.06);
  net->eval();
  EXPECT(!net->is_training() && !net->ptr(0)->is_training());
  std::cout << *net << "\n";
}

// --- modules

struct Tied : nn::Module {
  Tied() {
    first = register_module("first", nn::Linear(3, 3));
    second = register_module("second", nn::Linear(3, 3));
    scale = register_parameter("scale", wisp::ones({1}));
    seen = register_buffer("seen", wisp::zeros({1}, wisp::kInt64));
  }
  Tensor forward(const Tensor& x) { return second(first(x).relu()) * scale; }
  nn::Linear first{nullptr}, second{nullptr};
  Tensor scale, seen;
};

void check_modules() {
  auto model = std::make_shared<Tied>();
  EXPECT(model->parameters().size() == 5 && model->buffers().size() == 1 &&
         model->children().size() == 2);
  EXPECT((model->named_parameters().keys() ==
          std::vector<std::string>{"scale", "first.weight", "first.bias", "second.weight",
                                   "second.bias"}));
  EXPECT(model->named_parameters()["scale"].is_same(model->scale));
  EXPECT(model->forward(wisp::ones({2, 3})).size(0) == 2);
  model->to(wisp::kFloat64);
  EXPECT(model->first->weight.dtype() == wisp::kFloat64 && model->seen.dtype() == wisp::kInt64);
  model->forward(wisp::ones({2, 3}, wisp::kFloat64)).sum().backward();
  EXPECT(model->scale.grad().defined());
  model->zero_grad();
  EXPECT(!model->scale.grad().defined());
  int count = 0;
  model->apply([&](nn::Module&) { ++count; });
  EXPECT(count == 3);
  nn::ModuleList list(nn::Linear(1, 2), nn::ReLU());
  EXPECT(list->size() == 2 && list->at<nn::LinearImpl>(0).options.out_features() == 2);
}

// --- errors: the same words as in Python

template <class F>
void print_error(F f) {
  try {
    f();
    std::cout << "no error\n";
  } catch (const wisp::Error& error) {
    std::cout << error.what() << "\n";
  }
}

void check_errors() {
  const Tensor a = wisp::ones({2, 3});
  print_error([&] { a.mm(a); });
  print_error([&] { a + wisp::ones({4}); });
  print_error([&] { a.view({4}); });
  print_error([&] { a[2]; });
  print_error([&] { a.item(); });
  print_error([&] { wisp::ones({2}, wisp::requires_grad()).add_(1); });
  print_error([&] { (wisp::ones({2}, wisp::requires_grad()) * 2).backward(); });
  print_error([&] { nn::Linear(3, 2)(wisp::ones({2, 4})); });
  print_error([&] { wisp::optim::SGD(a.unbind(), -1); });
  print_error([&] { nn::BatchNorm2d(3)(a); });
  print_error([&] { wisp::cat({}); });
  print_error([&] { F::cross_entropy(a, wisp::tensor({0, 5})); });
  // Those that Python cannot make.
  Tensor nothing;
  print_error([&] { nothing.sum(); });
  print_error([&] { nothing.sizes(); });
  print_error([&] { a.data_ptr<double>(); });
  print_error([&] { nn::Linear(nullptr)->forward(a); });
}

// --- data

struct Squares : wisp::data::datasets::Dataset<Squares> {
  explicit Squares(size_t bad = 1000) : bad(bad) {}
  wisp::data::Example<> get(size_t i) override {
    if (i == bad) throw std::runtime_error("sample " + std::to_string(i));
    const auto n = static_cast<int64_t>(i);
    return {wisp::full({2}, n), wisp::full({}, n * n)};
  }
  std::optional<size_t> size() const override { return 50; }
  size_t bad;
};

void check_data(const std::string& folder) {
  using namespace wisp::data;
  std::vector<std::vector<Tensor>> orders;
  for (size_t workers : {0, 1, 3}) {
    wisp::manual_seed(7);
    auto loader = make_data_loader(Squares().map(transforms::Stack<>()),
                                   DataLoaderOptions(8).workers(workers));
    std::vector<Tensor> order;
    for (int epoch = 0; epoch < 2; ++epoch) {
      for (auto& batch : *loader) order.push_back(batch.target);
      for (auto& batch : *loader) {
        if (batch.data.size(0) == 8) break;  // leaves batches that were asked for
      }
    }
    EXPECT(order.size() == 14 && order[6].size(0) == 2);
    EXPECT(wisp::cat(std::vector<Tensor>(order.begin(), order.begin() + 7)).sum().item<int64_t>() ==
           40425);
    orders.push_back(order);
  }
  for (size_t i = 0; i < 14; ++i)
    EXPECT(orders[0][i].equal(orders[1][i]) && orders[0][i].equal(orders[2][i]));
  EXPECT(!orders[0][0].equal(orders[0][7]));

  auto bad = make_data_loader<samplers::SequentialSampler>(
      Squares(33).map(transforms::Stack<>()), DataLoaderOptions(10).workers(2).drop_last(true));
  int64_t batches = 0;
  std::string what;
  try {
    for (auto& batch : *bad) batches += batch.target.size(0) / 10;
  } catch (const std::runtime_error& error) {
    what = error.what();
  }
  EXPECT(batches == 3 && what == "sample 33");

  auto mnist = datasets::MNIST(folder, datasets::MNIST::Mode::kTest);
  EXPECT(!mnist.is_train() && *mnist.size() == 20 && mnist.images().max().item<float>() <= 1);
  auto loader = make_data_loader<samplers::SequentialSampler>(
      mnist.map(transforms::Normalize<>(0.5, 0.25))
          .map(transforms::Lambda<Example<>>(
              [](Example<> e) { return Example<>{e.data + 1, e.target * 2}; }))
          .map(transforms::Stack<>()),
      /*batch_size=*/20);
  const auto batch = *loader->begin();
  EXPECT(batch.data.allclose((mnist.images() - 0.5) / 0.25 + 1) &&
         batch.target.equal(mnist.targets() * 2));
  auto rows = make_data_loader(
      datasets::TensorDataset(wisp::arange(5)).map(transforms::Stack<TensorExample>()), 5);
  EXPECT(rows->begin()->data.sum().item<int64_t>() == 10);
  print_error([&] { datasets::MNIST(folder + "/nowhere"); });
  print_error([&] { datasets::MNIST(folder + "/short"); });
}

// --- files

void check_files(const std::string& folder) {
  nn::Sequential model(nn::Linear(4, 3), nn::BatchNorm1d(3));
  wisp::load(model, folder + "/python_model.pt");
  wisp::optim::Adam optimizer(model->parameters(), 0.5);
  wisp::load(optimizer, folder + "/python_optimizer.pt");
  EXPECT(optimizer.param_groups()[0].options().get_lr() == 0.125);
  const Tensor x = wisp::load(folder + "/x.pt").to_tensor();
  for (int i = 0; i < 2; ++i) {
    optimizer.zero_grad();
    model->forward(x).square().sum().backward();
    optimizer.step();
  }
  wisp::save(model, folder + "/cpp_model.pt");
  wisp::save(optimizer, folder + "/cpp_optimizer.pt");

  const Tensor base = wisp::arange(12, wisp::kFloat32).view({3, 4});
  const Value tree(Value::Dict{{"none", {}},
                               {"flag", true},
                               {"count", int64_t(1) << 60},
                               {"rate", 0.1},
                               {"nan", NAN},
                               {"text", "a\"\n\u00e9\U0001F600"},
                               {"list", Value::List{1, Value::tuple({2, "three"})}},
                               {"base", base},
                               {"row", base[1]},
                               {"turned", wisp::rand({3, 2}).t()},
                               {"complex", wisp::complex(base, base).to(wisp::kComplexDouble)},
                               {"half", base.to(wisp::kBFloat16)},
                               {"flags", base > 3},
                               {"empty", wisp::zeros({0, 3})},
                               {3, "a number as key"}});
  wisp::save(tree, folder + "/tree.pt");
  const Value back = wisp::load(folder + "/tree.pt");
  EXPECT(back["count"].to_int() == int64_t(1) << 60 &&
         back["text"].to_text() == tree["text"].to_text());
  back["base"].to_tensor()[1][0] = 100;
  EXPECT(back["row"].to_tensor()[0].item<float>() == 100);  // they share memory again
  EXPECT(back["turned"].to_tensor().strides() == tree["turned"].to_tensor().strides());
  wisp::save({base, base[0]}, folder + "/pair.pt");
  std::vector<Tensor> pair;
  wisp::load(pair, folder + "/pair.pt");
  EXPECT(pair.size() == 2 && pair[1].equal(base[0]));
  print_error([&] { wisp::load(folder + "/nowhere.pt"); });
  print_error([&] { nn::Linear(4, 4)->load(folder + "/cpp_model.pt"); });
  print_error([&] { wisp::save(base, folder + "/nowhere/x.pt"); });
}

// Every file either loads or is an Error; prints which of them load.
void check_damaged(int count, char** paths) {
  for (int i = 0; i < count; ++i) {
    try {
      wisp::load(paths[i]);
      std::cout << paths[i] << "\n";
    } catch (const wisp::Error&) {}
  }
}

// --- threads: models of their own, and one that all read

void check_threads() {
  wisp::manual_seed(0);
  nn::Sequential shared(nn::Linear(16, 64), nn::ReLU(), nn::Linear(64, 4));
  const Tensor x = wisp::randn({32, 16});
  const Tensor expected = shared->forward(x).detach();
  std::vector<int> good(4);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < good.size(); ++t) {
    threads.emplace_back([&, t] {
      nn::Sequential own(nn::Linear(16, 32), nn::Tanh(), nn::Linear(32, 4));
      wisp::optim::SGD optimizer(own->parameters(), 0.05);
      double first = 0, last = 0;
      bool same = true;
      for (int i = 0; i < 100; ++i) {
        {
          wisp::no_grad guard;
          same &= shared->forward(x).equal(expected);
        }
        optimizer.zero_grad();
        Tensor loss = F::mse_loss(own->forward(x), expected);
        loss.backward();
        optimizer.step();
        (i ? last : first) = loss.item<double>();
      }
      good[t] = same && last < first / 2;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT((good == std::vector<int>{1, 1, 1, 1}));
}

// --- printing

void check_printing() {
  const Tensor x = wisp::arange(6, wisp::kFloat32).view({2, 3});
  std::cout << x << "\n"
            << x / 7 << "\n"
            << x * 1e6 << "\n"
            << x.to(wisp::kInt64) << "\n"
            << (x > 2) << "\n";
  std::cout << wisp::zeros({0, 3}) << "\n"
            << wisp::ones({2}, wisp::requires_grad()) << "\n"
            << x.to(wisp::kFloat64) << "\n";
  std::cout << wisp::ones({2, 3}, wisp::requires_grad()).relu() << "\n"
            << wisp::arange(2000) << "\n";
  std::cout << wisp::tensor({1.5, NAN, -INFINITY}) << "\n"
            << wisp::complex(x, -x) << "\n"
            << wisp::tensor(3) << "\n";
  std::cout << wisp::arange(60, wisp::kFloat32).view({3, 20}) << "\n" << x.view({1, 2, 3}) << "\n";
}

int main(int count, char** arguments) {
  const std::string part = arguments[1], folder = count > 2 ? arguments[2] : "";
  if (part == "tensors") check_tensors(), check_memory(), check_autograd(), check_modules();
  if (part == "layers") check_layers(folder);
  if (part == "optimizers") check_optimizers(folder);
  if (part == "training") check_training();
  if (part == "errors") check_errors();
  if (part == "data") check_data(folder);
  if (part == "files") check_files(folder);
  if (part == "damaged") check_damaged(count - 2, arguments + 2);
  if (part == "threads") check_threads();
  if (part == "printing") check_printing();
}
