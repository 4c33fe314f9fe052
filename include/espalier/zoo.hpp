// The networks that Espalier is measured with, built with seeded weights: no files, no downloads.
//
// Weights are random (He initialisation, batch-norm statistics that keep activations near unit variance), so outputs
// mean nothing, but shapes, operators and costs are those of the published networks.
#pragma once

#include <cstdint>
#include <espalier/export.hpp>
#include <espalier/graph.hpp>
#include <espalier/status.hpp>
#include <span>
#include <string_view>

namespace espalier {

struct ZooModel {
  std::string_view name;
  std::string_view description;
  std::int64_t parameters = 0;  // as published; what build_model returns has exactly as many
};

// resnet50, vgg16, inception_v3, mobilenet_v2, resnet20, bert_base, minilm.
ESPALIER_API std::span<const ZooModel> zoo_models();

// The same graph for the same seed on every machine. Image networks have an input `image` [batch, 3, h, w] and an
// output `logits`; transformers `input_ids`, `attention_mask`, `token_type_ids` [batch, sequence] (i64) and
// `last_hidden_state`, `pooler_output`. Error: kNotFound listing the names.
ESPALIER_API Result<Graph> build_model(std::string_view name, std::uint64_t seed = 1);

}  // namespace espalier
