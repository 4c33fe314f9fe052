// What a dword of packed W and X holds, for the loops of strips.hpp and vectors.hpp: here one f32.
#pragma once

namespace espalier::kernels {

template <typename V>
struct F32Dwords {
  using Lanes = V;
  using Operand = typename V::Reg;
  static Operand load(const float* dwords) { return V::load(dwords); }
  static Operand broadcast(const float* dword) { return V::broadcast(dword); }
  static typename V::Reg multiply_add(Operand a, Operand b, typename V::Reg sum) { return V::fma(a, b, sum); }
};

}  // namespace espalier::kernels
