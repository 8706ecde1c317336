// The table of operators. Filled once by register_all(), read-only from then on.
#pragma once

#include <deque>
#include <string_view>
#include <unordered_map>

#include "dispatch/op_def.h"

namespace wisp {

class Registry {
 public:
  // Parses the schema and checks that the entry is complete; fails naming the field.
  OpDef& add(OpDef def);
  void set_kernel(std::string_view op, DeviceType device, KernelFn kernel);
  // Another public name for an operator and all its overloads.
  void alias(std::string name, std::string_view op);
  // How operators behave inside vmap, where that is better than what their entries say.
  void set_batch(std::initializer_list<std::string_view> ops, Batch batch);
  // The name inside a namespace: "solve" for "linalg_solve", else the name itself.
  static std::string_view name_in(const home::Space& space, std::string_view name);
  // Another place where an operator is found under its own name.
  void add_home(std::string_view op, uint32_t home);
  const std::vector<std::pair<std::string, std::string>>& aliases() const { return aliases_; }
  const OpDef* find(std::string_view name) const;
  const OpDef& get(std::string_view name) const;
  const std::deque<OpDef>& ops() const { return ops_; }

 private:
  std::deque<OpDef> ops_;  // addresses stay valid
  std::unordered_map<std::string_view, OpDef*> by_name_;
  std::vector<std::pair<std::string, std::string>> aliases_;
};

// The process's table. The room `ops` provides the filler.
const Registry& registry();
void register_all(Registry& registry);

}  // namespace wisp
