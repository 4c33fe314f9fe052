// Sessions: results, batches, threads, instruction sets, allocation, and what a caller's mistakes are told.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <espalier/runtime.hpp>
#include <filesystem>
#include <fstream>
#include <memory>

#include "base/testing/count_allocations.hpp"
#include "runtime/small_network.hpp"

namespace espalier {
namespace {

using namespace runtime_test;

Plan plan_of(const Graph& graph, CompileOptions options = {}) {
  options.tuning = Tuning::kModel;
  auto plan = compile(graph, options);
  EXPECT_TRUE(plan) << plan.error().message;
  return *plan;
}

Tensor run_one(Session& session, const Tensor& image) {
  auto outputs = session.run({{"image", image}});
  EXPECT_TRUE(outputs) << outputs.error().message;
  return (*outputs)[0].tensor;
}

void expect_near(const Tensor& found, const Tensor& expected) {
  ASSERT_EQ(found.shape(), expected.shape());
  for (std::size_t i = 0; i < found.values<float>().size(); ++i)
    ASSERT_NEAR(found.values<float>()[i], expected.values<float>()[i], 2e-4) << "element " << i;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

TEST(Session, MatchesTheOperators) {
  const Graph graph = small_network();
  Session session(plan_of(graph));
  const Tensor image = random_tensor({1, 32, 14, 14}, 5);
  expect_near(run_one(session, image), interpret(graph, image));
}

TEST(Session, RunsSparseLayersOnSparseKernels) {
  const Plan plan = plan_of(small_network());
  int sparse = 0;
  for (const LayerReport& layer : plan.report().layers) sparse += layer.kernel.rfind("conv_f32", 0) == 0 ? 1 : 0;
  EXPECT_GE(sparse, 3) << plan.explain();
}

// What rounding weights and activations to 8 bits may change.
void expect_near_bf16(const Tensor& found, const Tensor& expected) {
  ASSERT_EQ(found.shape(), expected.shape());
  float scale = 0;
  for (const float value : expected.values<float>()) scale = std::max(scale, std::abs(value));
  for (std::size_t i = 0; i < found.values<float>().size(); ++i)
    ASSERT_NEAR(found.values<float>()[i], expected.values<float>()[i], 0.03 * scale) << "element " << i;
}

TEST(Session, ComputesInBf16OnEveryInstructionSet) {
  for (const bool head : {false, true}) {
    const Graph graph = small_network(head);
    const Tensor image = random_tensor({3, 32, 14, 14}, 5);
    const Tensor expected = interpret(graph, image);
    for (const Isa isa : {Isa::kScalar, Isa::kAvx2, Isa::kAvx512, Isa::kVnni})
      for (const WeightUse use : {WeightUse::kSparse, WeightUse::kDense}) {
        if (isa > active_isa()) continue;
        const Plan plan = plan_of(graph, {.isa = isa, .dtype = DType::kBf16, .weights = use});
        EXPECT_EQ(plan.report().dtype, "bf16");
        Session session(plan);
        SCOPED_TRACE(plan.explain());
        const Tensor found = run_one(session, image);
        EXPECT_EQ(found.dtype(), DType::kF32);
        expect_near_bf16(found, expected);
      }
  }
}

TEST(Session, Bf16RoundsTheWeights) {
  Graph graph;
  graph.opsets[""] = 13;
  const ValueId x = graph.add_input("image", DType::kF32, {true, {{1, ""}, {2, ""}}});
  // 1 + 2^-9 is no bf16: it becomes 1. 1 + 2^-6 stays.
  const ValueId w = graph.add_constant("w", Tensor::of<float>({2, 2}, {1 + 0x1p-9F, 0, 0, 1 + 0x1p-6F}));
  graph.outputs = {graph.add_node("MatMul", {x, w})};
  for (Node& node : graph.nodes) node.version = 13;
  for (const Isa isa : {Isa::kScalar, active_isa()}) {
    const Plan plan = plan_of(graph, {.isa = isa, .dtype = DType::kBf16});
    Session session(plan);
    const Tensor y = run_one(session, Tensor::of<float>({1, 2}, {1, 1}));
    EXPECT_EQ(y.values<float>()[0], 1.0F) << plan.explain();
    EXPECT_EQ(y.values<float>()[1], 1 + 0x1p-6F) << plan.explain();
    const bool says_so = plan.explain().find("weights rounded to bf16, arithmetic in f32") != std::string::npos;
    EXPECT_EQ(says_so, plan.report().layers[0].kernel.find("bf16") == std::string::npos) << plan.explain();
  }
}

TEST(Session, SparseProductsOfTokens) {
  Graph graph;
  graph.opsets[""] = 13;
  const ValueId x = graph.add_input("image", DType::kF32, {true, {{-1, "batch"}, {5, ""}, {64, ""}}});
  const auto weights = [&](std::int64_t rows, std::int64_t cols, unsigned seed) {
    return graph.add_constant("w" + std::to_string(seed),
                              sparse_weights(rows, cols, 1, 4, seed).reshaped({rows, cols}));
  };
  const ValueId hidden = graph.add_node("Relu", {graph.add_node("MatMul", {x, weights(64, 128, 1)})});
  const ValueId flat =
      graph.add_node("Reshape", {hidden, graph.add_constant("shape", Tensor::of<std::int64_t>({2}, {-1, 128}))});
  const ValueId bias = graph.add_constant("bias", random_tensor({64}, 3));
  graph.outputs = {graph.add_node("Gemm", {flat, weights(64, 128, 2), bias}, {{"transB", std::int64_t{1}}})};
  for (Node& node : graph.nodes) node.version = 13;
  const Plan plan = plan_of(graph);
  for (const LayerReport& layer : plan.report().layers) EXPECT_EQ(layer.pattern, "block:8x8") << plan.explain();
  Session session(plan);
  for (const std::int64_t batch : {1, 2, 40}) {
    const Tensor tokens = random_tensor({batch, 5, 64}, 4);
    expect_near(run_one(session, tokens), interpret(graph, tokens));
  }
}

TEST(Session, EveryBatchWithOnePlan) {
  const Graph graph = small_network();
  Session session(plan_of(graph));
  for (std::int64_t batch = 1; batch <= 17; ++batch) {
    const Tensor images = random_tensor({batch, 32, 14, 14}, 6);
    expect_near(run_one(session, images), interpret(graph, images));
  }
}

TEST(Session, SlicesLargeBatches) {
  const Graph graph = small_network();
  const Plan plan = plan_of(graph, {.threads = 1});
  Session session(plan);
  const Tensor images = random_tensor({150, 32, 14, 14}, 6);
  const Tensor expected = interpret(graph, images);
  expect_near(run_one(session, images), expected);
  std::vector<NamedTensor> outputs = {{"result", Tensor(DType::kF32, {150, 10})}};
  const std::vector<NamedTensor> inputs = {{"image", images}};
  const Status status = session.run(inputs, outputs);
  ASSERT_TRUE(status) << status.error().message;
  expect_near(outputs[0].tensor, expected);
}

TEST(Session, RunsSlicesOfALargeBatchSideBySide) {
  const Graph graph = small_network();
  const Plan plan = plan_of(graph, {.threads = 3, .batch = 20});
  Session session(plan), alone(plan, {.threads = 1});
  for (const std::int64_t batch : {20, 7, 1, 150}) {
    const Tensor images = random_tensor({batch, 32, 14, 14}, 6);
    const Tensor result = run_one(session, images);
    expect_near(result, interpret(graph, images));
    EXPECT_TRUE(same_bits(run_one(alone, images), result)) << batch;
  }
  std::vector<LayerTiming> timings;
  const auto timed =
      session.run_timed(std::vector<NamedTensor>{{"image", random_tensor({20, 32, 14, 14}, 8)}}, timings);
  ASSERT_TRUE(timed) << timed.error().message;
  EXPECT_FALSE(timings.empty());
}

TEST(Session, ReportsTheErrorOfASliceThatRanBesideOthers) {
  const Plan plan = plan_of(small_network(), {.threads = 2, .batch = 16});
  Session session(plan);
  std::vector<NamedTensor> outputs = {{"result", Tensor(DType::kF32, {15, 10})}};
  const std::vector<NamedTensor> inputs = {{"image", random_tensor({16, 32, 14, 14}, 1)}};
  const Status status = session.run(inputs, outputs);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "output 'result': expected f32 16x10, found f32 15x10");
}

TEST(Session, SameBitsForEveryNumberOfThreads) {
  const Plan plan = plan_of(small_network(), {.threads = 4});
  const Tensor image = random_tensor({3, 32, 14, 14}, 7);
  Session one(plan, {.threads = 1});
  const Tensor expected = run_one(one, image);
  for (const int threads : {2, 3, 4}) {
    Session session(plan, {.threads = threads});
    EXPECT_TRUE(same_bits(run_one(session, image), expected)) << threads << " threads";
  }
}

TEST(Session, SameBitsOnTheCallersExecutor) {
  const Plan plan = plan_of(small_network(false), {.threads = 2});
  const Tensor image = random_tensor({1, 32, 14, 14}, 7);
  Session own(plan);
  const auto pool = make_thread_pool(3);
  Session session(plan, {.executor = pool.get()});
  EXPECT_TRUE(same_bits(run_one(session, image), run_one(own, image)));
}

TEST(Session, ConcurrentRuns) {
  const Plan plan = plan_of(small_network(), {.threads = 1});
  Session session(plan);
  const Tensor a = random_tensor({1, 32, 14, 14}, 8), b = random_tensor({2, 32, 14, 14}, 9);
  const Tensor expected_a = run_one(session, a), expected_b = run_one(session, b);
  std::atomic<int> wrong = 0;
  make_thread_pool(4)->parallel_for(64, [&](std::int64_t task, int) {
    const auto outputs = session.run({{"image", task % 2 == 0 ? a : b}});
    if (!outputs || !same_bits((*outputs)[0].tensor, task % 2 == 0 ? expected_a : expected_b)) ++wrong;
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Session, EveryInstructionSetAgrees) {
  const Graph graph = small_network();
  const Tensor image = random_tensor({1, 32, 14, 14}, 11);
  const Tensor expected = interpret(graph, image);
  for (const Isa isa : {Isa::kScalar, Isa::kAvx2, Isa::kAvx512}) {
    if (isa > active_isa()) continue;
    Session session(plan_of(graph, {.isa = isa}));
    expect_near(run_one(session, image), expected);
  }
}

TEST(CountAllocations, Counts) {
  base_test::start_counting_allocations();
  const auto one = std::make_unique<int>(1);
  EXPECT_EQ(base_test::stop_counting_allocations(), 1);
}

TEST(Session, AllocatesNothingOnceWarm) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer replaces the allocator";
#endif
  const Plan plan = plan_of(small_network(false), {.threads = 2});
  for (const LayerReport& layer : plan.report().layers)
    if (layer.kernel.rfind("conv_f32", 0) != 0) GTEST_SKIP() << "oneDNN runs a layer here and allocates inside";
  Session session(plan);
  const std::vector<NamedTensor> inputs = {{"image", random_tensor({1, 32, 14, 14}, 12)}};
  auto outputs = session.run(inputs);
  ASSERT_TRUE(outputs) << outputs.error().message;
  ASSERT_TRUE(session.run(inputs, *outputs));
  base_test::start_counting_allocations();
  const Status status = session.run(inputs, *outputs);
  const int allocations = base_test::stop_counting_allocations();
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(allocations, 0);
}

TEST(Session, TimesEveryLayer) {
  Session session(plan_of(small_network()));
  std::vector<LayerTiming> timings;
  const std::vector<NamedTensor> inputs = {{"image", random_tensor({1, 32, 14, 14}, 5)}};
  ASSERT_TRUE(session.run_timed(inputs, timings));
  int convolutions = 0;
  for (const LayerTiming& timing : timings) convolutions += timing.name.rfind("conv", 0) == 0 ? 1 : 0;
  EXPECT_EQ(convolutions, 4);
}

TEST(TuningCache, IsRememberedAndADamagedOneIsAbsent) {
  const std::string directory = testing::TempDir() + "espalier_tuning_cache";
  std::filesystem::remove_all(directory);
  const CompileOptions options{.threads = 1, .cache_dir = directory};
  const auto cached = [&] {
    const auto plan = compile(small_network(), options);
    EXPECT_TRUE(plan) << plan.error().message;
    return plan->report().cached;
  };
  EXPECT_FALSE(cached());
  EXPECT_TRUE(cached());
  std::ofstream(directory + "/tuning.json") << "{\"half";
  EXPECT_FALSE(cached());
  EXPECT_TRUE(cached());
  std::filesystem::remove_all(directory);
}

std::string error_of(const std::vector<NamedTensor>& inputs) {
  Session session(plan_of(small_network()));
  const auto outputs = session.run(inputs);
  return outputs ? "no error" : outputs.error().message;
}

TEST(SessionErrors, MissingInput) { EXPECT_EQ(error_of({}), "input 'image' (f32 batchx32x14x14) is missing"); }

TEST(SessionErrors, UnknownInput) {
  EXPECT_EQ(error_of({{"picture", random_tensor({1, 32, 14, 14}, 1)}}), "input 'picture': the network has 'image'");
}

TEST(SessionErrors, WrongShapeAndType) {
  EXPECT_EQ(error_of({{"image", random_tensor({1, 3, 14, 14}, 1)}}),
            "input 'image': expected f32 batchx32x14x14, found f32 1x3x14x14");
  EXPECT_EQ(error_of({{"image", Tensor(DType::kU8, {1, 32, 14, 14})}}),
            "input 'image': expected f32 batchx32x14x14, found u8 1x32x14x14");
}

TEST(SessionErrors, WrongOutputBuffer) {
  Session session(plan_of(small_network()));
  const std::vector<NamedTensor> inputs = {{"image", random_tensor({1, 32, 14, 14}, 1)}};
  std::vector<NamedTensor> outputs = {{"result", Tensor(DType::kF32, {2, 10})}};
  const Status status = session.run(inputs, outputs);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "output 'result': expected f32 1x10, found f32 2x10");
}

TEST(DenseTwin, ChoosesItsKernelsByTrialsToo) {
  const Plan plan = plan_of(small_network());
  const auto twin = dense_twin(plan);
  ASSERT_TRUE(twin) << twin.error().message;
  bool timed = false;
  for (const LayerReport& layer : twin->report().layers) timed = timed || layer.measured_ms >= 0;
  EXPECT_TRUE(timed);
  const auto modelled = dense_twin(plan, Tuning::kModel);
  ASSERT_TRUE(modelled) << modelled.error().message;
  for (const LayerReport& layer : modelled->report().layers) EXPECT_LT(layer.measured_ms, 0);
}

TEST(CompileErrors, DynamicDimensionPrintsTheFlag) {
  Graph graph = small_network();
  graph.value(graph.inputs[0]).shape.dims[2] = {-1, "height"};
  const auto plan = compile(graph, {.tuning = Tuning::kModel});
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().message,
            "input 'image': dimension 2 of shape batchx32xheightx14 is dynamic and needs a size: add --shape "
            "image=1x32x128x14");
}

TEST(CompileErrors, UnknownShapeName) {
  const auto plan = compile(small_network(), {.tuning = Tuning::kModel, .shapes = {{"picture", {1, 32, 14, 14}}}});
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().message, "--shape picture=1x32x14x14: the model has no such input; its inputs are image");
}

}  // namespace
}  // namespace espalier
