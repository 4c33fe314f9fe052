// Encoder transformers (Devlin et al., "BERT"; Wang et al., "MiniLM"): embeddings, layers with post-normalisation,
// pooler.
#include <cmath>

#include "zoo/builder.hpp"
#include "zoo/networks.hpp"

namespace espalier::zoo {

namespace {

struct BertShape {
  std::int64_t layers, hidden, heads, intermediate;
};
constexpr std::int64_t kVocabulary = 30522, kPositions = 512, kTypes = 2;

Feature embeddings(Builder& b, ValueId ids, ValueId types, std::int64_t hidden) {
  const auto table = [&](const std::string& name, std::int64_t rows) {
    return b.normal("embeddings." + name + ".weight", {rows, hidden}, 0, 0.02F);
  };
  const Attributes rows{{"axis", std::int64_t{0}}};
  const ValueId words = b.node("Gather", {table("word", kVocabulary), ids}, rows, "embeddings.word");
  const ValueId kinds = b.node("Gather", {table("token_type", kTypes), types}, rows, "embeddings.token_type");
  const ValueId shape = b.node("Shape", {ids}, {}, "embeddings.shape");
  const ValueId length = b.node("Gather", {shape, b.integers("embeddings.axis", {1})}, rows, "embeddings.length");
  const ValueId positions = b.node("Slice",
                                   {table("position", kPositions), b.integers("embeddings.start", {0}), length,
                                    b.integers("embeddings.slice_axis", {0})},
                                   {}, "embeddings.position");
  const ValueId sum = b.node("Add", {words, kinds}, {}, "embeddings.add");
  return b.layer_norm({b.node("Add", {sum, positions}, {}, "embeddings.add_position"), hidden}, "embeddings.LayerNorm");
}

// 0 where a token counts, -10000 where it is padding, as [batch, 1, 1, sequence].
ValueId additive_mask(Builder& b, ValueId mask) {
  const ValueId wide = b.node("Unsqueeze", {mask, b.integers("mask.axes", {1, 2})}, {}, "mask.unsqueeze");
  const ValueId real = b.node("Cast", {wide}, {{"to", std::int64_t{1}}}, "mask.cast");
  const ValueId inverse = b.node("Sub", {b.scalar("mask.one", 1), real}, {}, "mask.sub");
  return b.node("Mul", {inverse, b.scalar("mask.low", -10000)}, {}, "mask.mul");
}

Feature attention(Builder& b, const Feature& x, ValueId mask, const std::string& name, std::int64_t heads) {
  const std::int64_t size = x.channels / heads;
  const auto split = [&](const std::string& part, std::vector<std::int64_t> order) {
    const Feature projected = b.linear(x, name + ".self." + part, x.channels);
    const ValueId shape = b.integers(name + "." + part + ".shape", {0, 0, heads, size});
    const ValueId parts = b.node("Reshape", {projected.id, shape}, {}, name + "." + part + ".reshape");
    return b.node("Transpose", {parts}, {{"perm", std::move(order)}}, name + "." + part + ".transpose");
  };
  const ValueId query = split("query", {0, 2, 1, 3});
  const ValueId key = split("key", {0, 2, 3, 1});
  const ValueId value = split("value", {0, 2, 1, 3});
  const ValueId scores = b.node("MatMul", {query, key}, {}, name + ".scores");
  const ValueId root = b.scalar(name + ".root", std::sqrt(static_cast<float>(size)));
  const ValueId scaled = b.node("Div", {scores, root}, {}, name + ".scale");
  const ValueId masked = b.node("Add", {scaled, mask}, {}, name + ".mask");
  const ValueId weights = b.node("Softmax", {masked}, {{"axis", std::int64_t{-1}}}, name + ".softmax");
  const ValueId context = b.node("MatMul", {weights, value}, {}, name + ".context");
  const std::vector<std::int64_t> back = {0, 2, 1, 3};
  const ValueId tokens = b.node("Transpose", {context}, {{"perm", back}}, name + ".context.transpose");
  const ValueId shape = b.integers(name + ".context.shape", {0, 0, x.channels});
  const Feature joined{b.node("Reshape", {tokens, shape}, {}, name + ".context.reshape"), x.channels};
  return b.linear(joined, name + ".output.dense", x.channels);
}

Graph build_bert(const std::string& network, std::uint64_t seed, const BertShape& shape) {
  Builder b(network, seed);
  const ValueId ids = b.tokens("input_ids"), mask = b.tokens("attention_mask"), types = b.tokens("token_type_ids");
  Feature x = embeddings(b, ids, types, shape.hidden);
  const ValueId additive = additive_mask(b, mask);
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
    const std::string name = "encoder.layer." + std::to_string(layer);
    const Feature attended = attention(b, x, additive, name + ".attention", shape.heads);
    x = b.layer_norm(b.add(attended, x, name + ".attention.add"), name + ".attention.LayerNorm");
    Feature y = b.gelu(b.linear(x, name + ".intermediate", shape.intermediate), name + ".gelu");
    y = b.linear(y, name + ".output", shape.hidden);
    x = b.layer_norm(b.add(y, x, name + ".add"), name + ".LayerNorm");
  }
  const ValueId first =
      b.node("Gather", {x.id, b.integers("pooler.first", {0})}, {{"axis", std::int64_t{1}}}, "pooler.gather");
  const ValueId flat = b.node("Flatten", {first}, {{"axis", std::int64_t{1}}}, "pooler.flatten");
  const Feature dense = b.gemm({flat, shape.hidden}, "pooler.dense", shape.hidden, 1);
  const ValueId pooled = b.node("Tanh", {dense.id}, {}, "pooler.tanh");
  return b.finish({{x.id, "last_hidden_state"}, {pooled, "pooler_output"}});
}

}  // namespace

Graph build_bert_base(std::uint64_t seed) {
  return build_bert("bert_base", seed, {.layers = 12, .hidden = 768, .heads = 12, .intermediate = 3072});
}

Graph build_minilm(std::uint64_t seed) {
  return build_bert("minilm", seed, {.layers = 6, .hidden = 384, .heads = 12, .intermediate = 1536});
}

}  // namespace espalier::zoo
