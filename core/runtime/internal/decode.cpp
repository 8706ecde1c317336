#include <map>
#include <unordered_map>

#include "runtime/bridge.h"
#include "runtime/internal/damage.h"
#include "runtime/internal/structure.h"
#include "runtime/operators.h"

namespace wisp::api {

DType dtype_named(const std::string& text) {
  for (int i = 0; i < num_dtypes; ++i) {
    if (text == name(static_cast<DType>(i))) return static_cast<DType>(i);
  }
  fail(ErrorKind::runtime, "the file contains a tensor of dtype ", text,
       ", which wisp does not have");
}

Tensor tensor_on(const Tensor& bytes, DType dtype, const std::vector<int64_t>& sizes,
                 const std::optional<std::vector<int64_t>>& strides, int64_t offset) {
  constexpr int64_t too_large = int64_t(1) << 62;
  const auto available = static_cast<int64_t>(bytes.nbytes() / item_size(dtype));
  if (sizes.size() > static_cast<size_t>(max_ndim) ||
      (strides && strides->size() != sizes.size())) {
    fail_damaged("a tensor has ", sizes.size(), " sizes");
  }
  int64_t count = 1, last = 0;
  bool overflow = false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t steps = sizes[i] > 0 ? sizes[i] - 1 : 0;
    int64_t far = 0;
    overflow |= __builtin_mul_overflow(count, sizes[i], &count) || count >= too_large;
    if (strides)
      overflow |= __builtin_mul_overflow(steps, (*strides)[i], &far) ||
                  __builtin_add_overflow(last, far, &last);
  }
  if (!strides) last = count - 1;
  overflow |= __builtin_add_overflow(last, offset, &last);
  if (overflow || (count > 0 && last >= available)) {
    fail_damaged("a tensor of size ", IntList(sizes), " reaches beyond its ", bytes.nbytes(),
                 " bytes");
  }
  const Dims shape = strides ? Dims(IntSpan(*strides)) : contiguous_strides(IntSpan(sizes));
  return Tensor::adopt(
      TensorImpl::make(core(bytes)->storage_ref(), dtype, IntSpan(sizes), shape, offset));
}

namespace {

class Decoder {
 public:
  explicit Decoder(const Container& file) : file_(file) {}

  Value run(const Json& structure) {
    const int64_t version = structure.at("version").to_size();
    WISP_CHECK(version == structure_version, "the file is of version ", version,
               ", this wisp reads version ", structure_version);
    for (const Json& node : structure.at("nodes").to_items()) {
      const auto& members = node.to_members();
      if (members.size() < 2 || members[0].first != "id")
        fail_damaged("a node does not begin with its id");
      Made made = decode_node(members[1].first, members[1].second, node);
      if (!made_.emplace(members[0].second.to_size(), std::move(made)).second)
        fail_damaged("two nodes have one id");
    }
    return decode_value(structure.at("root")).value;
  }

 private:
  // A value, and how many there are inside it: a small file can name the same list again and again.
  struct Made {
    Value value;
    size_t count = 1;
  };
  static constexpr size_t most_values = 10'000'000;

  Made decode_value(const Json& json) const {
    switch (json.kind) {
      case Json::Kind::null:
        return {};
      case Json::Kind::boolean:
        return {json.integer != 0};
      case Json::Kind::integer:
        return {json.integer};
      case Json::Kind::real:
        return {json.real};
      case Json::Kind::text:
        return {json.text};
      case Json::Kind::list:
        fail_damaged("a list stands where a value should");
      case Json::Kind::object:
        break;
    }
    if (json.members.size() != 1) fail_damaged("a value is not one thing");
    return decode_special(json.members[0].first, json.members[0].second);
  }

  Made decode_special(const std::string& kind, const Json& data) const {
    if (kind == "ref") {
      const auto found = made_.find(data.to_size());
      if (found == made_.end()) fail_damaged("something refers to what comes later, or nowhere");
      return found->second;
    }
    if (kind == "float") return {special_float(data.to_text())};
    if (kind == "int") return {large_int(data.to_text())};
    if (kind == "size") {
      Value::List sizes;
      for (int64_t size : data.to_sizes()) sizes.emplace_back(size);
      return {Value::tuple(sizes), sizes.size() + 1};
    }
    fail(ErrorKind::type, "the file contains what only Python can load: '", kind, "'");
  }
  static double special_float(const std::string& text) {
    if (text == "nan") return NAN;
    if (text != "inf" && text != "-inf") fail_damaged("it contains the number ", text);
    return text == "inf" ? INFINITY : -INFINITY;
  }
  static int64_t large_int(const std::string& text) {
    size_t used = 0;
    try {
      const int64_t value = std::stoll(text, &used, 16);
      if (used == text.size()) return value;
    } catch (const std::exception&) {
      fail(ErrorKind::value, "the file contains the number ", text, ", which is too large here");
    }
    fail_damaged("it contains the number ", text);
  }

  Made decode_node(const std::string& kind, const Json& contents, const Json& node) {
    if (kind == "tensor") return {decode_tensor(node)};
    if (kind == "dict" || kind == "ordered" || kind == "default" || kind == "counter") {
      return decode_dict(contents);
    }
    const bool is_tuple = kind == "tuple" || kind == "namedtuple";
    const bool is_list =
        is_tuple || kind == "list" || kind == "set" || kind == "frozenset" || kind == "deque";
    WISP_CHECK_TYPE(is_list, "the file contains what only Python can load: '", kind, "'");
    Made made;
    Value::List items;
    for (const Json& item : contents.to_items()) items.push_back(counted(made, decode_value(item)));
    made.value = is_tuple ? Value::tuple(std::move(items)) : Value(std::move(items));
    return made;
  }
  Made decode_dict(const Json& contents) {
    const std::vector<Json>& flat = contents.to_items();
    if (flat.size() % 2) fail_damaged("a dict lacks a value");
    Made made;
    Value::Dict pairs;
    for (size_t i = 0; i < flat.size(); i += 2) {
      Value key = counted(made, decode_value(flat[i]));
      pairs.emplace_back(std::move(key), counted(made, decode_value(flat[i + 1])));
    }
    made.value = std::move(pairs);
    return made;
  }
  Value counted(Made& whole, Made part) {
    whole.count += part.count;
    total_ += part.count;
    WISP_CHECK(total_ <= most_values, "the file is refused: its structure is too large");
    return std::move(part.value);
  }

  Tensor decode_tensor(const Json& node) {
    const Json *dtype = node.find("dtype"), *shape = node.find("shape"),
               *stride = node.find("stride");
    WISP_CHECK_TYPE(!node.find("class"),
                    "the file contains a tensor of a class that only Python can load");
    const std::string& name = node.at("tensor").to_text();
    const Container::Entry& entry = file_.entry(name);
    const DType kind = dtype ? dtype_named(dtype->to_text()) : entry.dtype;
    const std::vector<int64_t> sizes = shape ? shape->to_sizes() : entry.sizes;
    const Tensor& bytes = data_of(name, entry);
    const Json *offset = node.find("offset"), *order = node.find("order"),
               *grad = node.find("requires_grad");
    Tensor made =
        stride ? tensor_on(bytes, kind, sizes, stride->to_sizes(), offset ? offset->to_size() : 0)
               : tensor_on(bytes, kind, sizes, {}, offset ? offset->to_size() : 0);
    if (order) made = reordered(made, order->to_sizes());
    if (grad && grad->integer) made.requires_grad_();
    return made;
  }
  // Row-major data in the order of other strides, which fill as much memory.
  static Tensor reordered(const Tensor& plain, const std::vector<int64_t>& strides) {
    const Tensor room = empty({static_cast<int64_t>(plain.nbytes())}, kUInt8);
    const Tensor made = tensor_on(room, plain.dtype(), plain.sizes().vec(), strides);
    return made.copy_(plain);
  }
  // The data of that name; the same for all that ask.
  const Tensor& data_of(const std::string& name, const Container::Entry& entry) {
    const auto found = data_.find(name);
    return found != data_.end() ? found->second
                                : data_.emplace(name, file_.bytes_of(entry)).first->second;
  }

  const Container& file_;
  size_t total_ = 0;
  std::unordered_map<int64_t, Made> made_;
  std::map<std::string, Tensor> data_;
};

}  // namespace

Value decode(const Json& structure, const Container& file) { return Decoder(file).run(structure); }

}  // namespace wisp::api
