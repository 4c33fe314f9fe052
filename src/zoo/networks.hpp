// The networks, one file per family. Each is a pure function of its seed.
#pragma once

#include <cstdint>
#include <espalier/graph.hpp>

namespace espalier::zoo {

Graph build_resnet50(std::uint64_t seed);
Graph build_resnet20(std::uint64_t seed);
Graph build_vgg16(std::uint64_t seed);
Graph build_inception_v3(std::uint64_t seed);
Graph build_mobilenet_v2(std::uint64_t seed);
Graph build_bert_base(std::uint64_t seed);
Graph build_minilm(std::uint64_t seed);

}  // namespace espalier::zoo
