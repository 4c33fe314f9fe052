// Four f32 in a baseline register, for the loop templates of this folder. Include from _scalar.cpp files only.
#pragma once

#include <cstdint>
#include <cstring>

namespace espalier::conv {
namespace {

struct LanesScalar {
  using Reg = float __attribute__((vector_size(16)));
  using Mask = std::int32_t __attribute__((vector_size(16)));
  static constexpr int kWidth = 4;

  static Reg zero() { return Reg{0, 0, 0, 0}; }
  static Reg load(const float* p) {
    Reg r;
    std::memcpy(&r, p, sizeof r);
    return r;
  }
  static Reg broadcast(const float* p) { return Reg{*p, *p, *p, *p}; }
  static void store(float* p, Reg r) { std::memcpy(p, &r, sizeof r); }
  static Reg fma(Reg a, Reg b, Reg c) { return a * b + c; }
  static Reg add(Reg a, Reg b) { return a + b; }
  // A NaN in `x` stays.
  static Reg clamp(Reg x, Reg low, Reg high) {
    x = x < low ? low : x;
    return x > high ? high : x;
  }
  static Reg mul(Reg a, Reg b) { return a * b; }
  // The larger; a NaN when either is one.
  static Reg max_nan(Reg a, Reg b) {
    a = a > b ? a : (a == a ? b : a);
    return b == b ? a : b;
  }
  // The bits of slots [slot, slot + 4); slot is a multiple of 4.
  static Mask pixels(const std::uint8_t* mask, std::int64_t slot) {
    const int bits = mask[slot / 8] >> (slot % 8);
    return Mask{-(bits & 1), -((bits >> 1) & 1), -((bits >> 2) & 1), -((bits >> 3) & 1)};
  }
  static Mask first(int count) { return Mask{0, 1, 2, 3} < Mask{count, count, count, count}; }
  static Reg keep(Mask mask, Reg r) { return mask ? r : zero(); }
  // Element 2 i and 2 i + 1 of the eight at p.
  static Reg load_even(const float* p) { return Reg{p[0], p[2], p[4], p[6]}; }
  static Reg load_odd(const float* p) { return Reg{p[1], p[3], p[5], p[7]}; }
  static Reg load_first(const float* p, int count) {
    Reg r{0, 0, 0, 0};
    std::memcpy(&r, p, static_cast<std::size_t>(count) * sizeof(float));
    return r;
  }
  static void transpose(Reg (&rows)[4]) {
    const Reg a = rows[0], b = rows[1], c = rows[2], d = rows[3];
    for (int i = 0; i < 4; ++i) rows[i] = Reg{a[i], b[i], c[i], d[i]};
  }
  static void store_first(float* p, Reg r, int count) {
    std::memcpy(p, &r, static_cast<std::size_t>(count) * sizeof(float));
  }
  // A slot's two bf16 as f32, and two f32 rounded to the bf16 of one slot (to nearest even; a NaN stays one).
  static Reg lower_of(Reg slots) { return Reg(Bits(slots) << 16); }
  static Reg upper_of(Reg slots) { return Reg(Bits(slots) & kUpper); }
  static Reg pair_of(Reg lower, Reg upper) { return Reg((rounded(lower) >> 16) | (rounded(upper) & kUpper)); }

 private:
  using Bits = std::uint32_t __attribute__((vector_size(16)));
  static constexpr std::uint32_t kUpper = 0xffff0000U;

  static Bits rounded(Reg r) {
    const Bits bits = Bits(r);
    const Bits nearest = bits + 0x7fffU + ((bits >> 16) & 1U);
    const Mask is_nan = r != r;
    return Bits(is_nan ? Mask(bits | 0x400000U) : Mask(nearest));
  }
};

}  // namespace
}  // namespace espalier::conv
