#include "ops/vector/row_loops.hpp"

#include <espalier/cpu.hpp>

namespace espalier::ops {

const RowLoops* row_loops() {
#if defined(__x86_64__)
  if (active_isa() >= Isa::kAvx512) return &kRowLoopsAvx512;
  if (active_isa() >= Isa::kAvx2) return &kRowLoopsAvx2;
#endif
  return nullptr;
}

}  // namespace espalier::ops
