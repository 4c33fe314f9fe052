// Test and benchmark buffers of planar tensors: aligned, with canaries round them, dirty at first.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <random>
#include <span>
#include <vector>

#include "kernels/conv/planar.hpp"

namespace espalier::conv {

class PlanarBuffer {
 public:
  explicit PlanarBuffer(const PlanarLayout& layout)
      : layout_(layout),
        slots_(static_cast<std::size_t>(layout.bytes() - kGuardBytes) / 4),
        memory_(static_cast<std::uint32_t*>(::operator new ((slots_ + 2 * kEdge) * 4, std::align_val_t{64}))) {
    for (std::size_t i = 0; i < slots_ + 2 * kEdge; ++i) memory_.get()[i] = kCanary;
  }

  const PlanarLayout& layout() const { return layout_; }
  float* data() { return reinterpret_cast<float*>(memory_.get() + kEdge); }
  const float* data() const { return reinterpret_cast<const float*>(memory_.get() + kEdge); }
  std::span<const float> slots() const { return {data(), slots_}; }
  // Of f32 or bf16 slots.
  float value(std::int64_t n, std::int64_t c, std::int64_t y, std::int64_t x) const {
    const std::uint32_t bits = memory_.get()[kEdge + static_cast<std::size_t>(layout_.index(n, c, y, x))];
    return std::bit_cast<float>(layout_.per_slot == 1 ? bits : c % 2 == 0 ? bits << 16 : bits & 0xffff0000U);
  }

  bool canaries_intact() const {
    for (std::size_t i = 0; i < kEdge; ++i)
      if (memory_.get()[i] != kCanary || memory_.get()[kEdge + slots_ + i] != kCanary) return false;
    return true;
  }
  // Slots that belong to no pixel and are not +0.
  std::int64_t dirty_pads() const {
    std::vector<std::uint8_t> pixel(slots_);
    const PlanarGeometry& g = layout_.geometry;
    for (std::int64_t n = 0; n < g.batch(); ++n)
      for (std::int64_t c = 0; c < layout_.channels; ++c)
        for (std::int64_t phase = 0; phase < layout_.phases; ++phase)
          for (std::int64_t y = 0; y < g.height(); ++y)
            for (std::int64_t x = 0; x < g.width(); ++x)
              pixel[static_cast<std::size_t>(layout_.index(n, c, y, x) + phase * g.plane_stride())] = 1;
    std::int64_t dirty = 0;
    for (std::size_t i = 0; i < slots_; ++i) dirty += pixel[i] == 0 && memory_.get()[kEdge + i] != 0;
    return dirty;
  }

 private:
  static constexpr std::size_t kEdge = kGuardBytes / 4;
  static constexpr std::uint32_t kCanary = 0x7fc0dead;  // a NaN
  struct Free {
    void operator()(std::uint32_t* p) const { ::operator delete (p, std::align_val_t{64}); }
  };

  PlanarLayout layout_;
  std::size_t slots_;
  std::unique_ptr<std::uint32_t, Free> memory_;
};

class AlignedBytes {
 public:
  explicit AlignedBytes(std::size_t bytes)
      : memory_(static_cast<std::byte*>(::operator new (bytes + 1, std::align_val_t{64}))) {
    std::memset(memory_.get(), 0xff, bytes + 1);
  }
  std::byte* data() { return memory_.get(); }

 private:
  struct Free {
    void operator()(std::byte* p) const { ::operator delete (p, std::align_val_t{64}); }
  };
  std::unique_ptr<std::byte, Free> memory_;
};

inline std::vector<float> random_floats(std::int64_t count, std::uint32_t seed, float low = -1, float high = 1) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(low, high);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = uniform(generator);
  return values;
}

}  // namespace espalier::conv
