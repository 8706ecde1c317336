// The program `wisp`: runs, measures and shows compiled models.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <iomanip>
#include <iostream>

#include "runtime/tool/npy.h"

namespace wisp::tool {

namespace {

constexpr const char* usage =
    "usage: wisp run MODEL [--input X.npy | --number N]... [--output Y.npy]... [--method NAME]\n"
    "                [--threads N]\n"
    "       wisp bench MODEL [--input X.npy | --number N | --shape [DTYPE:]N,N,...]... [--repeat N]\n"
    "                  [--method NAME] [--threads N]\n"
    "       wisp show MODEL [--method NAME]\n"
    "\n"
    "MODEL is a file of wisp.jit.save(). Its arguments are given in order: arrays, and numbers (3, 0.5,\n"
    "true) where it takes these. run writes the tensors of the result, one per --output (in order, or\n"
    "those of dicts by their keys: --output KEY=Y.npy), or prints them; bench prints how long a call\n"
    "takes, with random numbers for inputs that have a --shape (integers are 0 or 1), or of the\n"
    "shapes that the file says if none are given; show prints\n"
    "the graph, and what the file says of its inputs.\n";

struct UsageError {
  std::string message;
};

struct Input {
  std::string path;
  std::vector<int64_t> sizes;  // of random numbers, if there is no file
  DType dtype = DType::float32;
  api::Value number = {};
};

struct Options {
  std::string command, model, method = "forward";
  std::vector<Input> inputs;
  std::vector<std::string> outputs;
  int repeat = 100, threads = 0;
};

int positive(const std::string& option, const std::string& text) {
  constexpr size_t most_digits = 8;
  const bool digits = !text.empty() && text.size() <= most_digits &&
                      text.find_first_not_of("0123456789") == std::string::npos;
  const int value = digits ? std::stoi(text) : 0;
  if (value < 1) throw UsageError{option + " needs a positive number, not '" + text + "'"};
  return value;
}

std::vector<int64_t> sizes_of(const std::string& option, const std::string& text) {
  std::vector<int64_t> sizes;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    sizes.push_back(positive(option, text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return sizes;
}

constexpr DType dtypes_of_shapes[] = {DType::bool_,   DType::uint8,     DType::int8,
                                      DType::int16,   DType::int32,     DType::int64,
                                      DType::float16, DType::bfloat16,  DType::float32,
                                      DType::float64, DType::complex64, DType::complex128};

// "1,3,224,224" or "int64:1,16"
Input shape_of(const std::string& option, const std::string& text) {
  const size_t colon = text.find(':');
  if (colon == std::string::npos) return {"", sizes_of(option, text)};
  const std::string dtype = text.substr(0, colon);
  for (const DType known : dtypes_of_shapes) {
    if (name(known) == dtype) return {"", sizes_of(option, text.substr(colon + 1)), known};
  }
  throw UsageError{option + ": '" + dtype + "' is no dtype"};
}

// "3", "0.5", "true": an int, a float, a bool
api::Value number_of(const std::string& option, const std::string& text) {
  if (text == "true" || text == "false") return text == "true";
  const char* end = text.data() + text.size();
  int64_t integer = 0;
  if (const auto [at, status] = std::from_chars(text.data(), end, integer);
      status == std::errc() && at == end) {
    return integer;
  }
  double real = 0;
  if (const auto [at, status] = std::from_chars(text.data(), end, real);
      status == std::errc() && at == end) {
    return real;
  }
  throw UsageError{option + " needs a number, true or false, not '" + text + "'"};
}

void set_option(Options& options, const std::string& option, const std::string& value) {
  const bool runs = options.command != "show";
  if (option == "--method") {
    options.method = value;
  } else if (option == "--input" && runs) {
    options.inputs.push_back({value, {}});
  } else if (option == "--number" && runs) {
    options.inputs.push_back({"", {}, DType::float32, number_of(option, value)});
  } else if (option == "--shape" && options.command == "bench") {
    options.inputs.push_back(shape_of(option, value));
  } else if (option == "--output" && options.command == "run") {
    options.outputs.push_back(value);
  } else if (option == "--repeat" && options.command == "bench") {
    options.repeat = positive(option, value);
  } else if (option == "--threads" && runs) {
    options.threads = positive(option, value);
  } else {
    throw UsageError{"'" + option + "' is no option of '" + options.command + "'"};
  }
}

Options parse(const std::vector<std::string>& arguments) {
  if (arguments.size() < 2) throw UsageError{"a command and a model are needed"};
  Options options;
  options.command = arguments[0];
  options.model = arguments[1];
  const bool known =
      options.command == "run" || options.command == "bench" || options.command == "show";
  if (!known) throw UsageError{"'" + options.command + "' is no command"};
  for (size_t i = 2; i < arguments.size(); i += 2) {
    if (i + 1 == arguments.size()) throw UsageError{"'" + arguments[i] + "' needs a value"};
    set_option(options, arguments[i], arguments[i + 1]);
  }
  return options;
}

std::string described(const api::Value& value);

// A tensor of a result, and the keys of the dicts that it is in: "encoder.state".
struct Found {
  std::string key;
  api::Tensor tensor;
};

// The tensors of a result, in order.
void collect(const api::Value& value, const std::string& key, std::vector<Found>& found) {
  if (value.is_tensor()) found.push_back({key, value.to_tensor()});
  if (value.is_list()) {
    for (const api::Value& item : value.to_list()) collect(item, key, found);
  }
  if (!value.is_dict()) return;
  for (const auto& [name, item] : value.to_dict()) {
    const bool text = name.kind() == api::Value::Kind::text;
    collect(item, str(key, key.empty() ? "" : ".", text ? name.to_text() : described(name)), found);
  }
}

api::Tensor draw(const Input& input) {
  if (!contains(dtypes::bits, input.dtype)) return api::rand(input.sizes).to(input.dtype);
  return api::randint(2, input.sizes).to(input.dtype);
}

std::vector<api::Value> read_inputs(const Options& options) {
  std::vector<api::Value> inputs;
  for (const Input& input : options.inputs) {
    if (input.number.kind() != api::Value::Kind::none) {
      inputs.push_back(input.number);
    } else {
      inputs.emplace_back(input.sizes.empty() ? read_npy(input.path) : draw(input));
    }
  }
  return inputs;
}

// "float32[1, 3]", "(2, None)"
std::string described(const api::Value::List& items) {
  std::string text;
  for (const api::Value& item : items) text += (text.empty() ? "" : ", ") + described(item);
  return text;
}

std::string described(const api::Value& value) {
  using Kind = api::Value::Kind;
  switch (value.kind()) {
    case Kind::tensor:
      return str(name(value.to_tensor().dtype()), value.to_tensor().sizes());
    case Kind::list:
      return "[" + described(value.to_list()) + "]";
    case Kind::tuple:
      return "(" + described(value.to_list()) + ")";
    case Kind::dict:
      return str("a dict of ", value.to_dict().size());
    case Kind::none:
      return "None";
    case Kind::boolean:
      return value.to_bool() ? "True" : "False";
    case Kind::integer:
      return std::to_string(value.to_int());
    case Kind::real:
      return str(value.to_double());
    default:
      return "'" + value.to_text() + "'";
  }
}

std::string described(const api::jit::Example& example) {
  std::string text;
  for (const auto& [name, value, reason] : example.inputs)
    text += "input  " + name + ": " + described(value) + ", " + reason + "\n";
  return text;
}

// What the model is measured with, if nobody has said so.
std::vector<api::Value> try_inputs(const api::jit::Module& model, const Options& options) {
  api::jit::Example example;
  try {
    example = model.example(options.method);
  } catch (const Error& error) {
    fail(ErrorKind::runtime, error.what(), "\nSay what they are, with one option for each:\n",
         "  wisp bench ", options.model, " --shape 1,3,224,224   (random numbers of that shape)\n",
         "  wisp bench ", options.model, " --shape int64:1,16    (integers, 0 or 1)\n",
         "  wisp bench ", options.model, " --input x.npy         (an array that NumPy has saved)");
  }
  std::cout << described(example);
  return example.values();
}

// --output KEY=FILE names a tensor of a dict; all others are taken in order.
const api::Tensor& chosen(const std::vector<Found>& found, size_t i, std::string& path) {
  for (const Found& each : found) {
    if (each.key.empty() || path.rfind(each.key + "=", 0) != 0) continue;
    path.erase(0, each.key.size() + 1);
    return each.tensor;
  }
  return found[i].tensor;
}

void run(const api::jit::Module& model, const Options& options) {
  std::vector<Found> found;
  collect(model.run_method(options.method, read_inputs(options)), "", found);
  if (options.outputs.empty()) {
    for (const Found& each : found)
      std::cout << each.key << (each.key.empty() ? "" : ": ") << each.tensor << "\n";
    return;
  }
  std::string keys;
  for (const Found& each : found) keys += (keys.empty() || each.key.empty() ? "" : ", ") + each.key;
  WISP_CHECK(found.size() == options.outputs.size(), "the result has ", found.size(), " tensor(s)",
             keys.empty() ? "" : " (" + keys + ")", ", and there are ", options.outputs.size(),
             " --output");
  for (size_t i = 0; i < found.size(); ++i) {
    std::string path = options.outputs[i];
    const api::Tensor& tensor = chosen(found, i, path);
    write_npy(path, tensor);
  }
}

void bench(const api::jit::Module& model, const Options& options) {
  using Clock = std::chrono::steady_clock;
  const std::vector<api::Value> inputs =
      options.inputs.empty() ? try_inputs(model, options) : read_inputs(options);
  auto call = [&] {
    const auto begin = Clock::now();
    model.run_method(options.method, inputs);
    return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  };
  const double first = call();
  std::vector<double> times;
  for (int i = 0; i < options.repeat; ++i) times.push_back(call());
  std::sort(times.begin(), times.end());
  std::cout << std::fixed << std::setprecision(4) << "first  " << first << " ms\nmin    "
            << times.front() << " ms\nmedian " << times[times.size() / 2] << " ms\nruns   "
            << options.repeat << "\n";
}

void execute(const Options& options) {
  const api::jit::Module model = api::jit::load(options.model);
  if (options.threads) api::set_num_threads(options.threads);
  const api::NoGradGuard unrecorded;
  if (options.command == "run") run(model, options);
  if (options.command == "bench") bench(model, options);
  if (options.command == "show")
    std::cout << model.name() << "\n"
              << described(model.saved_example(options.method))
              << model.inlined_graph(options.method);
}

int main(const std::vector<std::string>& arguments) {
  const bool asks = !arguments.empty() && (arguments[0] == "--help" || arguments[0] == "-h");
  if (asks) {
    std::cout << usage;
    return 0;
  }
  try {
    execute(parse(arguments));
    std::cout.flush();
    return std::cout ? 0 : 1;
  } catch (const UsageError& error) {
    std::cerr << "wisp: " << error.message << "\n" << usage;
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "wisp: " << error.what() << "\n";
    return 1;
  }
}

}  // namespace

}  // namespace wisp::tool

int main(int count, char** arguments) {
  return wisp::tool::main(std::vector<std::string>(arguments + 1, arguments + count));
}
