// The list of passes that compiling uses.
#include <array>
#include <espalier/ops.hpp>
#include <espalier/passes.hpp>

#include "base/fail.hpp"

namespace espalier {

Status run_default_passes(Graph& graph) {
  using Pass = Status (*)(Graph&);
  // Folding the target of a Reshape makes sizes known, and they let more be folded.
  constexpr std::array<Pass, 14> kPasses = {
      fold_constants,       infer_shapes,         fold_constants,   infer_shapes,    remove_identity,
      recognize_layer_norm, recognize_activation, fold_pad,         fold_batch_norm, fuse_bias,
      fuse_residual,        fuse_activation,      remove_dead_code, infer_shapes,
  };
  ESPALIER_TRY(infer_shapes(graph));
  for (const Pass pass : kPasses) ESPALIER_TRY(pass(graph));
  return verify(graph);
}

}  // namespace espalier
