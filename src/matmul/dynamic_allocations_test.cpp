// A dynamic product and its encoder allocate nothing once they are warm.
#include <gtest/gtest.h>

#include <espalier/dynamic.hpp>

#include "base/testing/count_allocations.hpp"
#include "matmul/testing/random_matrices.hpp"

namespace espalier {
namespace {

TEST(DynamicMatmul, AllocatesNothingOnceWarm) {
  Random random(1);
  for (const DType type : {DType::kF32, DType::kBf16}) {
    const DynamicMatmulOptions o{
        .m = 128, .k = 96, .n = 40, .block = {16, 16}, .max_density = 0.5, .type = type, .transposed = true};
    auto plan = plan_dynamic_matmul(o);
    auto encoder = BlockEncoder::plan(o);
    ASSERT_TRUE(plan.has_value() && encoder.has_value());
    const Tensor dense = random.dense(128, 96).cast(type), x = random.dense(96, 40).cast(type),
                 dy = random.dense(128, 40).cast(type);
    const Mask mask = random.mask(128, 96, {16, 16}, 0.3);
    Tensor y(DType::kF32, {128, 40}), dx(DType::kF32, {96, 40});
    const auto serial = make_executor(1);
    const auto step = [&] {
      return encoder->encode(dense, mask).has_value() &&
             plan->run(encoder->pattern(), encoder->values(), x, y, *serial).has_value() &&
             encoder->encode_top(dense, 7).has_value() &&
             plan->run_transposed(encoder->pattern(), encoder->values(), dy, dx, *serial).has_value();
    };
    ASSERT_TRUE(step());
    base_test::start_counting_allocations();
    const bool good = step();
    EXPECT_EQ(base_test::stop_counting_allocations(), 0) << to_string(type);
    EXPECT_TRUE(good);
  }
}

}  // namespace
}  // namespace espalier
