// What the loops of strips.hpp and vectors.hpp multiply, one element of W by one of X: for f32 (a dword) and f64.
#pragma once

namespace espalier::kernels {

template <typename V>
struct Singles {
  using Lanes = V;
  using Operand = typename V::Reg;
  using Element = typename V::Element;
  static Operand load(const Element* values) { return V::load(values); }
  static Operand broadcast(const Element* value) { return V::broadcast(value); }
  static typename V::Reg multiply_add(Operand a, Operand b, typename V::Reg sum) { return V::fma(a, b, sum); }
};

}  // namespace espalier::kernels
