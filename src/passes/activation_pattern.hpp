// Recognises an activation in the nodes that compute it, however an exporter has written it out. A region of
// element-wise nodes that leads from one value and scalar constants to one result is evaluated at sample points and
// compared with the known functions: a decomposition needs no pattern of its own.
#pragma once

#include <vector>

#include "passes/rewriter.hpp"

namespace espalier::passes {

struct ActivationMatch {
  Activation activation = Activation::kNone;
  float low = 0, high = 0;    // as in Fusion
  ValueId source = kNoValue;  // the argument
  std::vector<Node*> nodes;   // all nodes of the region, the last one first
};

// The largest region ending in `last` that is an activation and whose inner values nothing else reads; nullopt if there
// is none. With `source` set only a region that starts there counts.
std::optional<ActivationMatch> match_activation(Rewriter& rewriter, Node& last, ValueId source = kNoValue);

}  // namespace espalier::passes
