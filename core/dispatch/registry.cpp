#include "dispatch/registry.h"

namespace wisp {

namespace {

// "index_put" -> "IndexPutBackward0"
std::string default_node_name(const std::string& base) {
  std::string name;
  bool upper = true;
  for (char c : base) {
    if (c == '_') {
      upper = true;
      continue;
    }
    name += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = false;
  }
  return name + "Backward0";
}

void resolve_saves(const OpDef& def, Vjp& rule) {
  auto bad = [&](std::string_view word) {
    fail(ErrorKind::value, "op ", def.sig.name, ": vjp of ", rule.input, " saves unknown '", word,
         "'");
  };
  std::string_view rest = rule.saves;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(' '), rest.size());
    std::string_view word = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (word.starts_with("result")) {
      const size_t which = word.size() > 6 ? static_cast<size_t>(word[6] - '0') : 0;
      if (which >= def.sig.returns.size()) bad(word);
      rule.save_outputs |= 1u << which;
      continue;
    }
    const bool shape = word.ends_with(".shape");
    const int input = def.sig.find(shape ? word.substr(0, word.size() - 6) : word);
    if (input < 0) bad(word);
    (shape ? rule.save_shapes : rule.save_inputs) |= 1u << input;
  }
}

void check_complete(const OpDef& def) {
  const int ways = (def.body != nullptr) + (def.view || def.views) + (def.kernel != nullptr);
  auto need = [&](bool ok, const char* what) {
    if (!ok) fail(ErrorKind::value, "op ", def.sig.name, ": ", what);
  };
  need(ways == 1, "needs exactly one of kernel, view and body");
  need(def.doc && def.doc[0], "needs a doc");
  need(!def.kernel || def.infer, "a kernel needs infer");
  need(def.body || def.jvp != Jvp::unset,
       "jvp is empty; say Jvp::none if it is not differentiable");
  need(def.body || def.jvp == Jvp::none || !def.vjp.empty(), "differentiable but has no vjp");
  need(def.body || def.batch != Batch::unset, "batch is empty; say Batch::loop");
  need(
      def.onnx[0],
      "onnx is empty; write \"+ nodes\" if it has none of its own, \"- reason\" if it cannot be exported");
  need(def.sig.params.size() <= 32, "too many parameters");
  for (const auto& param : def.sig.params) {
    need(!param.name.starts_with("result"),
         "a parameter cannot be called result: that is what rules save of the output");
  }
}

}  // namespace

void Backward::fail_not_saved(int i) const {
  fail(ErrorKind::value, "op ", op_->sig.name, ": a derivative rule reads '",
       op_->sig.params[i].name, "' but does not declare to save it");
}

std::string_view Registry::name_in(const home::Space& space, std::string_view name) {
  const size_t prefix = space.name.size();
  const bool carries =
      name.size() > prefix + 1 && name.starts_with(space.name) && name[prefix] == '_';
  return carries ? name.substr(prefix + 1) : name;
}

OpDef& Registry::add(OpDef def) {
  OpDef& op = ops_.emplace_back(std::move(def));
  op.sig = Schema::parse(op.schema);
  op.id = static_cast<int>(ops_.size()) - 1;
  op.kernels[static_cast<int>(DeviceType::cpu)] = op.kernel;
  if (op.body) op.traits |= trait::composite;
  if (op.view || op.views) op.traits |= trait::view;
  op.node_name = op.node ? op.node : default_node_name(op.sig.base);
  op.shown = op.sig.base;
  for (const home::Space& space : home::spaces) {
    const std::string_view inside = name_in(space, op.sig.base);
    if ((op.homes & space.home) && inside != op.sig.base) op.shown = str(space.name, ".", inside);
  }
  check_complete(op);
  for (size_t i = 0; i < op.sig.params.size() && op.operand_count < op.operands.size(); ++i) {
    if (op.sig.params[i].takes_tensor()) op.operands[op.operand_count++] = static_cast<uint8_t>(i);
  }
  for (Vjp& rule : op.vjp) {
    const int index = op.sig.find(rule.input);
    WISP_CHECK_VALUE(index >= 0, "op ", op.sig.name, ": vjp of unknown input ", rule.input);
    rule.index = static_cast<uint8_t>(index);
    op.differentiable |= 1u << index;
    resolve_saves(op, rule);
  }
  const bool fresh = by_name_.emplace(op.sig.name, &op).second;
  WISP_CHECK_VALUE(fresh, "op ", op.sig.name, " is defined twice");
  return op;
}

void Registry::set_kernel(std::string_view op, DeviceType device, KernelFn kernel) {
  auto found = by_name_.find(op);
  WISP_CHECK_VALUE(found != by_name_.end(), "no operator named '", op, "'");
  found->second->kernels[static_cast<int>(device)] = kernel;
}

void Registry::alias(std::string name, std::string_view op) {
  WISP_CHECK_VALUE(find(op) && !find(name), "alias ", name, " of ", op,
                   ": no such operator, or name taken");
  aliases_.emplace_back(std::move(name), op);
}

void Registry::add_home(std::string_view op, uint32_t home) {
  auto found = by_name_.find(op);
  WISP_CHECK_VALUE(found != by_name_.end(), "no operator named '", op, "'");
  found->second->homes |= home;
}

void Registry::set_batch(std::initializer_list<std::string_view> names, Batch batch) {
  for (const std::string_view name : names) {
    auto found = by_name_.find(name);
    WISP_CHECK_VALUE(found != by_name_.end(), "no operator named '", name, "'");
    found->second->batch = batch;
  }
}

const OpDef* Registry::find(std::string_view name) const {
  auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

const OpDef& Registry::get(std::string_view name) const {
  const OpDef* op = find(name);
  WISP_CHECK_VALUE(op, "no operator named '", name, "'");
  return *op;
}

const Registry& registry() {
  static const Registry* table = [] {
    auto* filled = new Registry;
    register_all(*filled);
    return filled;
  }();
  return *table;
}

}  // namespace wisp
