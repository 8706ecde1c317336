#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "runtime/bridge.h"
#include "runtime/internal/structure.h"
#include "runtime/operators.h"

namespace wisp::api {

namespace {

using Path = std::vector<std::string>;
constexpr int64_t largest_int = int64_t(1) << 53;  // what every reader of JSON keeps exact

Json ref(int64_t id) { return std::vector<Json::Member>{{"ref", id}}; }
Json numbers(IntList list) {
  std::vector<Json> items;
  for (int64_t item : list) items.emplace_back(item);
  return items;
}

// How many elements of memory lie between the first and the last element, inclusive.
int64_t reach(const Tensor& t) { return extent(span(t.sizes()), span(t.strides())); }
int64_t begin_of(const Tensor& t) {
  return t.storage_offset() * static_cast<int64_t>(t.element_size());
}
int64_t end_of(const Tensor& t) {
  return begin_of(t) + reach(t) * static_cast<int64_t>(t.element_size());
}

class Encoder {
 public:
  Encoded run(const Value& value) {
    Json root = encode(value, {});
    for (const auto& group : groups_) place(group);
    std::vector<Json> nodes;
    for (std::vector<Json::Member>& node : nodes_) nodes.emplace_back(std::move(node));
    return {
        std::vector<Json::Member>{
            {"version", structure_version}, {"root", std::move(root)}, {"nodes", std::move(nodes)}},
        std::move(blobs_)};
  }

 private:
  struct Item {
    Tensor tensor;
    std::string name;
    size_t node;
  };
  using Group = std::vector<Item>;  // of tensors that share memory

  // --- values

  Json encode(const Value& value, const Path& path) {
    switch (value.kind()) {
      case Value::Kind::none:
        return {};
      case Value::Kind::boolean:
        return value.to_bool();
      case Value::Kind::integer:
        return encode_int(value.to_int());
      case Value::Kind::real:
        return encode_real(value.to_double());
      case Value::Kind::text:
        return value.to_text();
      case Value::Kind::tensor:
        return encode_tensor(value.to_tensor(), path);
      case Value::Kind::dict:
        return encode_dict(value, path);
      default:
        return encode_list(value, path);
    }
  }

  static Json encode_int(int64_t value) {
    if (value >= -largest_int && value <= largest_int) return value;
    const uint64_t size = value < 0 ? -static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
    std::ostringstream text;
    text << (value < 0 ? "-0x" : "0x") << std::hex << size;
    return std::vector<Json::Member>{{"int", text.str()}};
  }
  static Json encode_real(double value) {
    if (std::isfinite(value)) return value;
    const char* text = std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
    return std::vector<Json::Member>{{"float", text}};
  }

  Json encode_list(const Value& value, const Path& path) {
    std::vector<Json> items;
    for (const Value& item : value.to_list()) {
      items.push_back(encode(item, below(path, std::to_string(items.size()))));
    }
    return add_node(value.kind() == Value::Kind::tuple ? "tuple" : "list", std::move(items));
  }
  Json encode_dict(const Value& value, const Path& path) {
    std::vector<Json> pairs;
    for (const auto& [key, item] : value.to_dict()) {
      const bool text = key.kind() == Value::Kind::text,
                 number = key.kind() == Value::Kind::integer;
      WISP_CHECK_TYPE(text || number, "save(): keys of dicts are texts or ints, got ",
                      key.kind_name());
      pairs.push_back(encode(key, path));
      pairs.push_back(
          encode(item, below(path, text ? key.to_text() : std::to_string(key.to_int()))));
    }
    return add_node("dict", std::move(pairs));
  }
  static Path below(Path path, std::string name) {
    path.push_back(std::move(name));
    return path;
  }

  Json add_node(const char* kind, Json contents) {
    const auto id = static_cast<int64_t>(nodes_.size());
    nodes_.push_back({{"id", id}, {kind, std::move(contents)}});
    return ref(id);
  }

  // --- tensors

  Json encode_tensor(const Tensor& tensor, const Path& path) {
    checked(tensor)->check_readable("save");
    const auto known = ids_.find(tensor.impl());
    if (known != ids_.end()) return ref(known->second);
    Json made = add_node("tensor", {});
    ids_[tensor.impl()] = static_cast<int64_t>(nodes_.size()) - 1;
    if (tensor.requires_grad()) nodes_.back().emplace_back("requires_grad", true);
    const Item item{tensor.detach(), unique_name(path), nodes_.size() - 1};
    const void* memory =
        tensor.numel() ? static_cast<const void*>(&core(tensor)->storage()) : tensor.impl();
    const auto [found, added] = by_memory_.emplace(memory, groups_.size());
    if (added) groups_.emplace_back();
    groups_[found->second].push_back(item);
    return made;
  }

  // A name for data by its place, that no other has.
  std::string unique_name(const Path& path) {
    std::string name;
    for (const std::string& part : path) name += (name.empty() ? "" : ".") + part;
    if (name.empty()) name = "data";
    const std::string wanted = name;
    for (int i = 2; name == "__metadata__" || !names_.insert(name).second; ++i) {
      name = wanted + "#" + std::to_string(i);
    }
    return name;
  }

  // A tensor that shares with no other is written as it is seen; of those that share, the memory
  // they reach is written once.
  void place(const Group& group) {
    const Item& first = group[0];
    if (group.size() == 1 && reach(first.tensor) >= first.tensor.numel()) {
      place_alone(first);
    } else {
      place_together(group);
    }
  }

  void place_alone(const Item& item) {
    std::vector<Json::Member>& node = named(item.node, item.name);
    const Tensor& t = item.tensor;
    if (!t.is_contiguous() && reach(t) == t.numel()) {  // dense, in another order
      node.emplace_back("order", numbers(t.strides()));
    }
    if (t.dtype() != kComplexDouble) {
      blobs_.emplace_back(item.name, t);
      return;
    }
    node.emplace_back("dtype", "complex128");  // the format has none: pairs of float64
    node.emplace_back("shape", numbers(t.sizes()));
    blobs_.emplace_back(item.name, view_as_real(t.contiguous()));
  }

  void place_together(const Group& group) {
    int64_t first = INT64_MAX, last = 0;
    size_t largest = 1;
    for (const Item& item : group) {
      first = std::min(first, begin_of(item.tensor));
      last = std::max(last, end_of(item.tensor));
      largest = std::max(largest, item.tensor.element_size());
    }
    first -= first % static_cast<int64_t>(largest);
    const std::string& name = group[0].name;
    const wisp::Tensor& some = core(group[0].tensor);
    blobs_.emplace_back(name, from_memory(some, first, last));
    for (const Item& item : group) {
      const Tensor& t = item.tensor;
      std::vector<Json::Member>& node = named(item.node, name);
      node.emplace_back("dtype", wisp::name(t.dtype()));
      node.emplace_back("shape", numbers(t.sizes()));
      node.emplace_back("stride", numbers(t.strides()));
      node.emplace_back("offset", (begin_of(t) - first) / static_cast<int64_t>(t.element_size()));
    }
  }
  // The bytes of a storage from `first` to `last`.
  static Tensor from_memory(const wisp::Tensor& some, int64_t first, int64_t last) {
    const int64_t size = last - first, one = 1;
    return Tensor::adopt(
        TensorImpl::make(some->storage_ref(), kUInt8, IntSpan(&size, 1), IntSpan(&one, 1), first));
  }

  std::vector<Json::Member>& named(size_t node, const std::string& name) {
    nodes_[node][1].second = name;
    return nodes_[node];
  }

  std::vector<std::vector<Json::Member>> nodes_;
  std::unordered_map<TensorImpl*, int64_t> ids_;
  std::unordered_map<const void*, size_t> by_memory_;
  std::vector<Group> groups_;
  std::unordered_set<std::string> names_;
  std::vector<std::pair<std::string, Tensor>> blobs_;
};

}  // namespace

Encoded encode(const Value& value) { return Encoder().run(value); }

}  // namespace wisp::api
