// Labelled data sets, preprocessing of images, and accuracy.
//
// A data set is a plain value; loading one reads whole files. Images stay bytes until a batch is asked for.
#pragma once

#include <cstdint>
#include <espalier/export.hpp>
#include <espalier/plan.hpp>
#include <espalier/status.hpp>
#include <espalier/tensor.hpp>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace espalier {

enum class Split : std::uint8_t { kTrain, kTest };

// Per channel: (byte / 255 - mean) / std. One number stands for all channels; empty means 0 and 1.
struct Preprocess {
  std::vector<float> mean = {}, std = {};

  bool operator==(const Preprocess&) const = default;
};
// "mean=0.485,0.456,0.406;std=0.229,0.224,0.225". Error: kInvalidArgument with the grammar; a std that is not positive.
ESPALIER_API Result<Preprocess> parse_preprocess(std::string_view text);

struct Dataset {
  std::string name;
  // Images u8 [count, height, width, channels], for a network with one float input [batch, channels, height, width];
  // or, when undefined, `inputs`.
  Tensor images;
  Preprocess preprocess;
  // One array per input of the network, each with the examples along its first axis.
  std::vector<NamedTensor> inputs;
  std::vector<std::int64_t> labels;

  std::int64_t count() const { return static_cast<std::int64_t>(labels.size()); }
};

// `spec`: "fashion-mnist" (the files of Debian's dataset-fashion-mnist; "fashion-mnist:DIR" for another folder),
// "cifar10:DIR" (test.npz or train*.npz with `image` and `label`, or the official .bin files), or "F.npz" whose arrays
// are named as the network's inputs, plus `labels`. Errors: kNotFound naming the file or package that is missing,
// kInvalidData for contents that do not fit, kInvalidArgument for an unknown spec.
ESPALIER_API Result<Dataset> load_dataset(const std::string& spec, Split split);

// `size` examples from `first` on as the network's inputs; beyond the end they repeat the last. Errors: kNotFound for
// an input that the data lacks, kInvalidArgument for a shape or type that does not fit, saying both.
ESPALIER_API Result<std::vector<NamedTensor>> make_batch(const Dataset& data, const std::vector<TensorInfo>& inputs,
                                                         std::int64_t first, std::int64_t size);

struct AccuracyOptions {
  std::int64_t limit = 0;  // examples to use; 0: all
  int threads = 0;         // 0: the Plan's
  // Called after each batch with the number of examples done.
  std::function<void(std::int64_t done)> progress = nullptr;
};

struct Accuracy {
  double top1 = 0;  // percent
  std::int64_t count = 0;
  double seconds = 0;  // inside the network
};

// Runs the data through the network in batches of the Plan's size. The first output holds a score per class along its
// last axis. Errors: as make_batch and Session::run; kInvalidData for a label that the network has no class for.
ESPALIER_API Result<Accuracy> measure_accuracy(const Plan& plan, const Dataset& data,
                                               const AccuracyOptions& options = {});

}  // namespace espalier
