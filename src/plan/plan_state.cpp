// PlanState: Programs by shape, and packed weights by node.
#include "plan/plan_state.hpp"

#include <algorithm>
#include <set>

#include "base/fail.hpp"
#include "base/memory_size.hpp"
#include "plan/bind_shapes.hpp"
#include "plan/lowering.hpp"

namespace espalier::plan {

bool offers_bf16_vectors(Isa isa) { return features_under(machine_features(), isa).avx512bf16; }

std::shared_ptr<const ops::DensePrimitive> WeightStore::dense(int node) const {
  const std::lock_guard lock(mutex_);
  const auto found = dense_.find(node);
  return found == dense_.end() ? nullptr : found->second;
}

void WeightStore::keep_dense(int node, const ops::DensePrimitive& primitive) {
  const std::lock_guard lock(mutex_);
  dense_.try_emplace(node, std::make_shared<const ops::DensePrimitive>(primitive));
}

conv::PackedConv WeightStore::planar(int node, int rows) const {
  const std::lock_guard lock(mutex_);
  const auto found = planar_.find({node, rows});
  return found == planar_.end() ? conv::PackedConv{} : found->second;
}

void WeightStore::keep_planar(int node, int rows, const conv::PackedConv& packed) {
  const std::lock_guard lock(mutex_);
  planar_.try_emplace({node, rows}, packed);
}

std::optional<MatmulPlan> WeightStore::product(int node) const {
  const std::lock_guard lock(mutex_);
  const auto found = products_.find(node);
  return found == products_.end() ? std::nullopt : std::optional(found->second);
}

void WeightStore::keep_product(int node, const MatmulPlan& plan) {
  const std::lock_guard lock(mutex_);
  products_.try_emplace(node, plan);
}

namespace {

bool is_product_choice(const std::vector<ProductChoice>& choices, int node) {
  return choices[static_cast<std::size_t>(node)].family == ProductChoice::Family::kProduct;
}

bool uses(const std::vector<ProductChoice>& choices, int node, int rows) {
  const ProductChoice& choice = choices[static_cast<std::size_t>(node)];
  if (rows == 0) return choice.family == ProductChoice::Family::kDense;
  return choice.family == ProductChoice::Family::kPlanar && choice.planar.kernel->rows == rows;
}

}  // namespace

std::size_t WeightStore::bytes(const std::vector<ProductChoice>& choices) const {
  const std::lock_guard lock(mutex_);
  std::size_t total = 0;
  for (const auto& [node, primitive] : dense_)
    if (uses(choices, node, 0)) total += primitive->weight_bytes();
  for (const auto& [key, packed] : planar_)
    if (uses(choices, key.first, key.second)) total += packed.bytes();
  for (const auto& [node, plan] : products_)
    if (is_product_choice(choices, node)) total += static_cast<std::size_t>(plan.packed_bytes());
  return total;
}

void WeightStore::keep_only(const std::vector<ProductChoice>& choices) {
  const std::lock_guard lock(mutex_);
  std::erase_if(dense_, [&](const auto& entry) { return !uses(choices, entry.first, 0); });
  std::erase_if(products_, [&](const auto& entry) { return !is_product_choice(choices, entry.first); });
  std::erase_if(planar_, [&](const auto& entry) { return !uses(choices, entry.first.first, entry.first.second); });
}

namespace {

// Packed weights that hold so many times the kept ones are better packed anew than stored.
constexpr double kMostPadding = 4.0 / 3;

bool is_compact(const conv::PackedConv& packed, const Tensor& constant) {
  if (is_released(constant)) return true;
  const auto values = constant.values<float>();
  const auto kept = values.size() - static_cast<std::size_t>(std::count(values.begin(), values.end(), 0.0F));
  return static_cast<double>(packed.values.count()) <= kMostPadding * static_cast<double>(kept);
}

}  // namespace

void PlanState::release_packed_constants() {
  std::set<ValueId> packed, read(graph.outputs.begin(), graph.outputs.end());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const ProductChoice& choice = choices[i];
    bool replaced = false;
    if (choice.family == ProductChoice::Family::kPlanar) {
      const conv::PackedConv weights = weights_->planar(static_cast<int>(i), choice.planar.kernel->rows);
      replaced = weights.values.defined() && is_compact(weights, graph.value(node.input(1)).constant);
    }
    for (std::size_t input = 0; input < node.inputs.size(); ++input)
      (replaced && input == 1 ? packed : read).insert(node.inputs[input]);
    read.insert(node.fusion.residual);
  }
  for (const ValueId value : packed) {
    if (read.contains(value)) continue;
    Tensor& constant = graph.value(value).constant;
    constant = Tensor::view(constant.dtype(), constant.shape(), static_cast<const void*>(nullptr));
  }
}

Graph PlanState::whole_graph() const {
  Graph whole = graph;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (choices[i].family != ProductChoice::Family::kPlanar) continue;
    Tensor& constant = whole.value(graph.nodes[i].input(1)).constant;
    if (!is_released(constant)) continue;
    const conv::PackedConv packed = weights_->planar(static_cast<int>(i), choices[i].planar.kernel->rows);
    constant = conv::unpack_conv(packed).reshaped(constant.shape());
  }
  return whole;
}

Result<Program> PlanState::make_program(const std::vector<Shape>& shapes, const std::vector<ProductChoice>& chosen,
                                        int threads) const {
  ESPALIER_ASSIGN(Graph bound, bind_shapes(graph, shapes));
  if (threads == 0) threads = settings.team_threads();
  const ops::DenseThreads dense_threads(threads);
  ESPALIER_ASSIGN(Program program, Lowering(*this, std::move(bound), chosen, threads).lower());
  const std::size_t bytes = program.arena_bytes + program.scratch_bytes;
  if (bytes > static_cast<std::size_t>(memory_size()))
    return fail(ErrorCode::kLimit, "a run for these shapes needs {} MiB of memory for activations, this machine has {}",
                bytes >> 20, memory_size() >> 20);
  return program;
}

Result<std::shared_ptr<const Program>> PlanState::program_for(const std::vector<Shape>& shapes, int threads) const {
  if (threads == 0) threads = settings.team_threads();
  const std::pair key(threads, shapes);
  const std::lock_guard lock(mutex_);  // one thread makes a Program, the others wait for it
  if (const auto found = programs_.find(key); found != programs_.end()) return found->second;
  ESPALIER_ASSIGN(Program program, make_program(shapes, choices, threads));
  auto shared = std::make_shared<const Program>(std::move(program));
  programs_.emplace(key, shared);
  return shared;
}

}  // namespace espalier::plan
