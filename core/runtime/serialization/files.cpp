#include "runtime/serialization/files.h"

#include "runtime/internal/container.h"
#include "runtime/internal/structure.h"

namespace wisp::api {

void save(const Value& value, const std::string& path) {
  Encoded encoded = encode(value);
  write_container(path, encoded.structure, std::move(encoded.blobs));
}

Value load(const std::string& path) {
  const Container file(path);
  if (const std::optional<Json> structure = file.structure()) return decode(*structure, file);
  Value::Dict tensors;
  for (const auto& [name, entry] : file.entries()) {
    tensors.emplace_back(name, tensor_on(file.bytes_of(entry), entry.dtype, entry.sizes));
  }
  return tensors;
}

// --- tensors

void save(const Tensors& tensors, const std::string& path) {
  save(Value(Value::List(tensors.begin(), tensors.end())), path);
}
void load(Tensor& tensor, const std::string& path) { tensor = load(path).to_tensor(); }
void load(Tensors& tensors, const std::string& path) {
  Tensors loaded;
  for (const Value& item : load(path).to_list()) loaded.push_back(item.to_tensor());
  tensors = std::move(loaded);
}

// --- modules and optimizers

void save(const nn::Module& module, const std::string& path) {
  Value::Dict state;
  for (const auto& item : module.state_dict()) state.emplace_back(item.key(), item.value());
  save(Value(std::move(state)), path);
}
OrderedDict<Tensor> to_state_dict(const Value& value) {
  OrderedDict<Tensor> state;
  for (const auto& [name, tensor] : value.to_dict())
    state.insert(name.to_text(), tensor.to_tensor());
  return state;
}
void load(nn::Module& module, const std::string& path) {
  module.load_state_dict(to_state_dict(load(path)));
}

void nn::Module::save(const std::string& path) const { api::save(*this, path); }
void nn::Module::load(const std::string& path) { api::load(*this, path); }

void save(const optim::Optimizer& optimizer, const std::string& path) {
  save(optimizer.state_dict(), path);
}
void load(optim::Optimizer& optimizer, const std::string& path) {
  optimizer.load_state_dict(load(path));
}

}  // namespace wisp::api
