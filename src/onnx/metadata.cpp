#include "onnx/metadata.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "onnx/proto.hpp"

namespace espalier::onnx_io {
namespace {

constexpr std::string_view kPrefix = "onnx.";
constexpr std::int64_t kDefaultIrVersion = 8;  // opset 17's

std::optional<std::int64_t> number(const Metadata& metadata, const std::string& key) {
  const auto entry = metadata.find(key);
  if (entry == metadata.end()) return std::nullopt;
  std::int64_t value = 0;
  const std::string& text = entry->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

void import_metadata(const onnx::ModelProto& model, Metadata& metadata) {
  for (const auto& entry : model.metadata_props()) metadata[entry.key()] = entry.value();
  if (model.has_ir_version()) metadata["onnx.ir_version"] = std::to_string(model.ir_version());
  if (model.has_producer_name()) metadata["onnx.producer_name"] = model.producer_name();
  if (model.has_producer_version()) metadata["onnx.producer_version"] = model.producer_version();
  if (model.has_domain()) metadata["onnx.domain"] = model.domain();
  if (model.has_model_version()) metadata["onnx.model_version"] = std::to_string(model.model_version());
  if (model.has_doc_string()) metadata["onnx.doc_string"] = model.doc_string();
}

void export_metadata(const Metadata& metadata, std::int64_t min_ir_version, onnx::ModelProto& model) {
  model.set_ir_version(std::max(number(metadata, "onnx.ir_version").value_or(kDefaultIrVersion), min_ir_version));
  if (const auto version = number(metadata, "onnx.model_version")) model.set_model_version(*version);
  for (const auto& [key, value] : metadata) {
    if (key == "onnx.producer_name") {
      model.set_producer_name(value);
    } else if (key == "onnx.producer_version") {
      model.set_producer_version(value);
    } else if (key == "onnx.domain") {
      model.set_domain(value);
    } else if (key == "onnx.doc_string") {
      model.set_doc_string(value);
    } else if (std::string_view(key).substr(0, kPrefix.size()) != kPrefix) {
      auto& entry = *model.add_metadata_props();
      entry.set_key(key);
      entry.set_value(value);
    }
  }
}

}  // namespace espalier::onnx_io
