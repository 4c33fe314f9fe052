// The list of networks by name.
#include "espalier/zoo.hpp"

#include <array>
#include <string>

#include "base/fail.hpp"
#include "zoo/networks.hpp"

namespace espalier {

namespace {

struct Entry {
  ZooModel model;
  Graph (*build)(std::uint64_t seed);
};

constexpr std::array<Entry, 7> kEntries = {{
    {{"resnet50", "ResNet-50 v1.5, 224 x 224, 1000 classes", 25'557'032}, zoo::build_resnet50},
    {{"vgg16", "VGG-16, 224 x 224, 1000 classes", 138'357'544}, zoo::build_vgg16},
    {{"inception_v3", "Inception v3 without the auxiliary classifier, 299 x 299, 1000 classes", 23'834'568},
     zoo::build_inception_v3},
    {{"mobilenet_v2", "MobileNet v2, 224 x 224, 1000 classes", 3'504'872}, zoo::build_mobilenet_v2},
    {{"resnet20", "ResNet-20 for CIFAR, 32 x 32, 10 classes", 269'722}, zoo::build_resnet20},
    {{"bert_base", "BERT base: 12 layers, hidden size 768, with pooler", 109'482'240}, zoo::build_bert_base},
    {{"minilm", "MiniLM: 6 layers, hidden size 384, with pooler", 22'713'216}, zoo::build_minilm},
}};

constexpr auto kModels = [] {
  std::array<ZooModel, kEntries.size()> models{};
  for (std::size_t i = 0; i < models.size(); ++i) models[i] = kEntries[i].model;
  return models;
}();

}  // namespace

std::span<const ZooModel> zoo_models() { return kModels; }

Result<Graph> build_model(std::string_view name, std::uint64_t seed) {
  std::string known;
  for (const Entry& entry : kEntries) {
    if (entry.model.name == name) return entry.build(seed);
    known += (known.empty() ? "" : ", ") + std::string(entry.model.name);
  }
  return fail(ErrorCode::kNotFound, "no model is called '{}'; the models are {}", name, known);
}

}  // namespace espalier
