// Programs that Python compiled: `jit <part> <arguments>`. What is computed is compared with Python
// by tests/test_cpp_jit.py, through files or by what is printed.
#include <atomic>
#include <iostream>
#include <thread>
#include <torch/script.h>

using wisp::Value;

// Runs models on the inputs beside them and saves the results beside those.
void run_models(int count, char** names) {
  wisp::no_grad guard;
  for (int i = 0; i < count; ++i) {
    const std::string name = names[i];
    const wisp::jit::Module module = wisp::jit::load(name + ".pt");
    wisp::save(module.forward(wisp::load(name + ".in.pt").to_list()), name + ".out.pt");
  }
}

// A listing of the talks, as it was shown.
void run_listing() {
  auto module = torch::jit::load("serialized_resnet.pt");
  auto example = torch::rand({1, 3, 224, 224});
  auto output = module->forward({example}).toTensor();
  std::cout << output.slice(1, 0, 5) << '\n';
}

template <class F>
void print_error(F f) {
  try {
    f();
    std::cout << "no error\n";
  } catch (const wisp::Error& error) {
    std::cout << error.what() << "\n---\n";
  }
}

void show_members(const std::string& path) {
  const auto module = wisp::jit::load(path);
  std::cout << module.name() << "\n";
  for (const auto& item : module.named_parameters())
    std::cout << item.key() << " " << item.value().sizes() << " " << item.value().requires_grad()
              << "\n";
  for (const auto& item : module.named_buffers()) std::cout << item.key() << "\n";
  std::cout << module.attr("names").to_list()[1].to_text() << " "
            << module.attr("table")["a"].to_double() << " " << module.attr("maybe").is_none()
            << module.hasattr("nothing") << module.has_method("forward") << " "
            << module.attr("most").to_int() << " " << module.child("norm").name() << "\n";
  std::cout << module.is_training() << module.child("norm").is_training();
  module.train();
  std::cout << module.is_training() << module.child("norm").is_training();
  module.eval();
  std::cout << module.is_training() << module.child("norm").is_training() << "\n";
  const auto x = wisp::linspace(0, 1, 30).reshape({2, 1, 15});
  const auto expected = module.forward({x}).toTensor();
  const bool same = module(x, 2.0).toTensor().equal(expected) &&
                    module({x, 2}).toTensor().equal(expected) &&
                    module.run_method("forward", x).toTensor().equal(expected);
  std::cout << same << " "
            << module.run_method("halves", Value(Value::List{4.0, 5.0})).to_list()[1].to_double() << "\n";
  std::cout << "===\n";
  print_error([&] { module({}); });
  print_error([&] { module(x, "two"); });
  print_error([&] { module(x, 2.0, 3.0); });
  print_error([&] { module(wisp::ones({2, 5, 15})); });
  print_error([&] { module.run_method("nothing", x); });
  print_error([&] { module.attr("nothing"); });
  print_error([&] { module.attr("norm"); });
  print_error([&] { module.child("names"); });
  print_error([&] { torch::jit::script::Module()(x); });
}

// A model that C++ trains on.
void train_on(const std::string& path, const std::string& state) {
  auto module = wisp::jit::load(path);
  module.train();
  const auto x = wisp::linspace(0, 1, 30).reshape({2, 1, 15});
  wisp::optim::SGD optimizer(module.parameters(), 0.05);
  for (int i = 0; i < 3; ++i) {
    optimizer.zero_grad();
    module(x).toTensor().pow(2).sum().backward();
    optimizer.step();
  }
  Value::Dict values;
  for (const auto& item : module.named_parameters())
    values.emplace_back(item.key(), item.value().detach());
  for (const auto& item : module.named_buffers()) values.emplace_back(item.key(), item.value());
  wisp::save(Value(values), state);
}

// Several threads make the first calls of one model.
void share_between_threads(const std::string& path) {
  const auto module = wisp::jit::load(path + ".pt");
  const auto inputs = wisp::load(path + ".in.pt").to_list();
  std::vector<wisp::Tensor> found(4);
  std::vector<std::thread> threads;
  for (auto& result : found) {
    threads.emplace_back([&] {
      wisp::no_grad guard;
      for (int i = 0; i < 50; ++i) result = module.forward(inputs).toTensor();
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& result : found) std::cout << result.equal(found[0]);
}

// Visits all modules of a file, which may be long chains or rings of them.
void walk(int count, char** paths) {
  for (int i = 0; i < count; ++i) {
    const auto module = wisp::jit::load(paths[i]);
    module.eval();
    std::cout << module.named_parameters().size() << module.is_training() << "\n";
  }
}

// Prints the paths of files that load.
void load_damaged(int count, char** paths) {
  for (int i = 0; i < count; ++i) {
    try {
      wisp::jit::load(paths[i]);
      std::cout << paths[i] << "\n";
    } catch (const wisp::Error&) {}
  }
}

int main(int count, char** arguments) {
  const std::string part = arguments[1];
  if (part == "run") run_models(count - 2, arguments + 2);
  if (part == "listing") run_listing();
  if (part == "members") show_members(arguments[2]);
  if (part == "train") train_on(arguments[2], arguments[3]);
  if (part == "threads") share_between_threads(arguments[2]);
  if (part == "walk") walk(count - 2, arguments + 2);
  if (part == "damaged") load_damaged(count - 2, arguments + 2);
}
