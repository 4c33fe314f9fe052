#include "kernels/testing/amx_emulator.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <espalier/cpu.hpp>
#include <espalier/types.hpp>
#include <random>
#include <vector>

namespace espalier::testing {

void probe_dot(bool bf16, const void* a, const void* b, void* c, std::int64_t stride);

namespace {

class AmxEmulator : public ::testing::Test {
 protected:
  void SetUp() override {
    if (best_isa(machine_features()) < Isa::kAvx512) GTEST_SKIP() << "skipped aloud: needs AVX-512 beside tiles";
    ASSERT_TRUE(enable_amx());
  }
};

TEST_F(AmxEmulator, DotsBf16PairsIntoTheAccumulator) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  const std::int64_t row = 40;  // elements between rows: 80 bytes
  std::vector<bf16> a(16 * row), b(16 * row);
  for (bf16& v : a) v = bf16(uniform(random));
  for (bf16& v : b) v = bf16(uniform(random));
  std::vector<float> c(256, 0.5F);
  probe_dot(true, a.data(), b.data(), c.data(), row * 2);
  for (int m = 0; m < 16; ++m)
    for (int n = 0; n < 16; ++n) {
      double expected = 0.5;
      for (int k = 0; k < 32; ++k)
        expected += static_cast<double>(static_cast<float>(a[static_cast<std::size_t>(m * row + k)])) *
                    static_cast<double>(static_cast<float>(b[static_cast<std::size_t>((k / 2) * row + 2 * n + k % 2)]));
      EXPECT_NEAR(c[static_cast<std::size_t>(m * 16 + n)], expected, 1e-5) << m << ", " << n;
    }
}

TEST_F(AmxEmulator, DotsUnsignedBySignedBytes) {
  std::mt19937 random(2);
  std::vector<std::uint8_t> a(16 * 64);
  std::vector<std::int8_t> b(16 * 64);
  for (auto& v : a) v = static_cast<std::uint8_t>(random());
  for (auto& v : b) v = static_cast<std::int8_t>(random());
  std::vector<std::int32_t> c(256, -7);
  probe_dot(false, a.data(), b.data(), c.data(), 64);
  for (std::size_t m = 0; m < 16; ++m)
    for (std::size_t n = 0; n < 16; ++n) {
      std::int32_t expected = -7;
      for (std::size_t k = 0; k < 64; ++k)
        expected += static_cast<int>(a[m * 64 + k]) * static_cast<int>(b[k / 4 * 64 + 4 * n + k % 4]);
      EXPECT_EQ(c[m * 16 + n], expected) << m << ", " << n;
    }
}

}  // namespace
}  // namespace espalier::testing
