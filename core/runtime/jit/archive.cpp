#include "runtime/internal/archive.h"

#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "graph/example.h"
#include "runtime/bridge.h"
#include "runtime/internal/damage.h"
#include "runtime/internal/structure.h"

namespace wisp::api::jit {

using graph::Datum;
using graph::ObjectData;

namespace {

constexpr int64_t newest_version = 1;
constexpr size_t most_dims = 64;  // of an input
const std::string program_name = "__program__", constant_prefix = "__constant__.";

class Reader {
 public:
  explicit Reader(const std::string& path) : file_(path) {}

  Archive run() {
    const std::optional<Json> document = file_.program();
    WISP_CHECK(document, "the file holds no compiled program: wisp::load() reads files of tensors");
    const int64_t version = document->at("version").to_size();
    WISP_CHECK(version >= 1 && version <= newest_version, "the file has version ", version,
               "; this wisp reads versions up to ", newest_version);
    read_program();
    Archive archive{program_, nullptr, nullptr, ""};
    const Json* inputs = document->find("inputs");
    if (const Json* function = document->find("function")) {
      archive.name = function->to_text();
      archive.function = program_->find_function(archive.name);
      if (!archive.function) fail_damaged("it has no function '", archive.name, "'");
      if (inputs && !inputs->to_members().empty())
        read_example(inputs->members[0].second, *archive.function);
    } else {
      read_objects(document->at("objects").to_items());
      archive.module = object(document->at("module"));
      archive.name = document->at("name").to_text();
      if (inputs) read_examples(*inputs, *archive.module->cls);
    }
    return archive;
  }

 private:
  void read_program() {
    size_t constants = 0;
    for (const auto& [name, entry] : file_.entries())
      constants += name.compare(0, constant_prefix.size(), constant_prefix) == 0;
    for (size_t i = 0; i < constants; ++i)
      program_->tensors.push_back(core(data_of(constant_prefix + std::to_string(i))));
    program_->parse(file_.view_of(file_.entry(program_name)));
  }

  Tensor data_of(const std::string& name) const {
    const Container::Entry& entry = file_.entry(name);
    return tensor_on(file_.bytes_of(entry), entry.dtype, entry.sizes);
  }

  // All objects are made before any is filled: they may name each other.
  void read_objects(const std::vector<Json>& described) {
    for (const Json& each : described) {
      const std::string& name = each.at("class").to_text();
      graph::ClassDef* cls = program_->find_class(name);
      if (!cls) fail_damaged("it has no class '", name, "'");
      objects_.push_back(Ref<ObjectData>::adopt(new ObjectData(program_, *cls)));
    }
    for (size_t i = 0; i < objects_.size(); ++i)
      fill(*objects_[i], described[i].at("attributes").to_members());
  }

  void fill(ObjectData& object, const std::vector<Json::Member>& attributes) {
    const graph::ClassDef& cls = *object.cls;
    bool complete = attributes.size() == cls.attributes.size();
    for (const auto& [name, value] : attributes) complete = complete && cls.find(name) >= 0;
    if (!complete)
      fail_damaged("an object of class ", cls.name, " does not have the attributes of its class");
    for (const auto& [name, value] : attributes) {
      const auto at = static_cast<size_t>(cls.find(name));
      const graph::Type& type = *cls.attributes[at].type;
      Datum datum = graph::converted(read_value(value), type);
      if (!graph::is_of_type(datum, type)) {
        fail_damaged("attribute '", name, "' of ", cls.name, " is not of type '",
                     graph::to_string(type), "'");
      }
      object.slots[at] = std::move(datum);
    }
  }

  const Ref<ObjectData>& object(const Json& number) const {
    const auto at = static_cast<size_t>(number.to_size());
    if (at >= objects_.size()) fail_damaged("it has no object ", at);
    return objects_[at];
  }

  void read_examples(const Json& inputs, const graph::ClassDef& cls) {
    for (const auto& [method, values] : inputs.to_members()) {
      const auto found = cls.methods.find(method);
      if (found == cls.methods.end()) fail_damaged(cls.name, " has no method '", method, "'");
      read_example(values, *found->second);
    }
  }
  void read_example(const Json& values, graph::Function& function) {
    const std::vector<Datum> read = read_values(values);
    if (read.size() != function.params.size())
      fail_damaged("it has inputs for another number of arguments than ", function.name, " takes");
    function.example.clear();
    for (size_t i = 0; i < read.size(); ++i) {
      const graph::Type& type = *function.params[i].type;
      Datum value = graph::converted(read[i], type);
      if (!graph::is_of_type(value, type))
        fail_damaged("an input of ", function.name, " is not of type '", graph::to_string(type),
                     "'");
      function.example.push_back(std::move(value));
    }
  }

  // A tensor of which a file says no more than what it is like.
  Datum read_like(const std::string& dtype, const Json& node) {
    const std::vector<int64_t> sizes = node.at("shape").to_sizes();
    int64_t elements = 1;
    for (const int64_t size : sizes) {
      if (size && elements > graph::most_elements / size) fail_damaged("an input is too large");
      elements *= std::max<int64_t>(size, 1);
    }
    if (sizes.size() > most_dims) fail_damaged("an input is too large");
    if (const Json* values = node.find("values")) return kept_integers(*values, dtype, sizes);
    const Json* greatest = node.find("greatest");
    return graph::uniform(dtype_named(dtype), sizes, greatest ? greatest->integer : 0);
  }
  static Datum kept_integers(const Json& values, const std::string& dtype, IntSpan sizes) {
    const std::vector<Json>& numbers = values.to_items();
    if (static_cast<int64_t>(numbers.size()) != count_elements(sizes))
      fail_damaged("an input has another number of values than its shape");
    const wisp::Tensor made = wisp::Tensor::empty(sizes, DType::int64);
    for (size_t i = 0; i < numbers.size(); ++i) made.data<int64_t>()[i] = numbers[i].integer;
    return core(wrap(made).to(dtype_named(dtype)));
  }

  Datum read_value(const Json& json) {
    switch (json.kind) {
      case Json::Kind::null:
        return {};
      case Json::Kind::boolean:
        return json.integer != 0;
      case Json::Kind::integer:
        return json.integer;
      case Json::Kind::real:
        return json.real;
      case Json::Kind::text:
        return json.text;
      default:
        break;
    }
    if (json.members.empty()) fail_damaged("it holds a value of no known kind");
    return read_special(json.members[0].first, json.members[0].second, json);
  }

  Datum read_special(const std::string& kind, const Json& content, const Json& node) {
    if (kind == "tensor") return read_tensor(content.to_text(), node);
    if (kind == "like") return read_like(content.to_text(), node);
    if (kind == "object") return object(content);
    if (kind == "list") return Datum::list(read_values(content));
    if (kind == "tuple") return Datum::tuple(read_values(content));
    if (kind == "dict") return read_dict(content);
    if (kind == "float") return read_real(content.to_text());
    if (kind == "complex") return read_complex(content.to_items());
    if (kind == "dtype") return dtype_named(content.to_text());
    if (kind == "device") return parse_device(content.to_text());
    fail_damaged("it holds a value of no known kind");
  }

  // What is named several times is one tensor.
  Datum read_tensor(const std::string& name, const Json& node) {
    const auto [place, is_new] = tensors_.try_emplace(name);
    if (is_new) {
      place->second = data_of(name);
      const Json* requires_grad = node.find("requires_grad");
      if (requires_grad && requires_grad->integer) place->second.requires_grad_();
    }
    return core(place->second);
  }

  std::vector<Datum> read_values(const Json& items) {
    std::vector<Datum> values;
    for (const Json& item : items.to_items()) values.push_back(read_value(item));
    return values;
  }

  Datum read_dict(const Json& pairs) {
    Datum made = Datum::dict();
    std::unordered_set<std::string> known;
    for (const Json& pair : pairs.to_items()) {
      if (pair.to_items().size() != 2 || pair.items[0].kind == Json::Kind::object)
        fail_damaged("a dict is not made of keys and values");
      Datum key = read_value(pair.items[0]);
      if (!known.insert(graph::repr(key)).second) fail_damaged("a dict has a key twice");
      made.dict_data().entries.emplace_back(std::move(key), read_value(pair.items[1]));
    }
    return made;
  }

  static double read_real(const std::string& text) {
    if (text == "nan") return NAN;
    if (text == "inf") return INFINITY;
    return text == "-inf" ? -INFINITY : parse_real(text);
  }
  static std::complex<double> read_complex(const std::vector<Json>& parts) {
    if (parts.size() != 2) fail_damaged("a complex number does not have two parts");
    return {read_real(parts[0].to_text()), read_real(parts[1].to_text())};
  }

  const Container file_;
  const Ref<graph::Program> program_ = Ref<graph::Program>::adopt(new graph::Program);
  std::vector<Ref<ObjectData>> objects_;
  std::unordered_map<std::string, Tensor> tensors_;
};

}  // namespace

Archive read_archive(const std::string& path) { return Reader(path).run(); }

}  // namespace wisp::api::jit
