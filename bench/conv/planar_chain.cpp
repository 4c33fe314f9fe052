#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <set>

#include "base/fail.hpp"
#include "conv/chains.hpp"
#include "kernels/conv/reference.hpp"

namespace espalier::bench {
namespace {

double now_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Geometry of the plain image that a layer of stride 2 splits.
conv::PlanarLayout image_layout(const Layer& layer, std::int64_t images_per_plane, int per_slot) {
  const conv::ConvShape& s = layer.shape;
  conv::PlanarRequest request{.height = s.height, .width = s.width, .batch = s.batch};
  request.images_per_plane = images_per_plane;
  return {conv::PlanarGeometry(request), s.in_channels, 1, per_slot};
}

float rounded(float value, DType dtype) { return dtype == DType::kBf16 ? static_cast<float>(bf16(value)) : value; }

double median(std::vector<double> v) {
  std::ranges::nth_element(v, v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2));
  return v[v.size() / 2];
}

}  // namespace

Result<PlanarChain> PlanarChain::make(const std::vector<Layer>& layers, const ChainOptions& options,
                                      Executor& executor) {
  PlanarChain chain;
  chain.options_ = options;
  chain.executor_ = &executor;
  std::map<std::string, std::shared_ptr<conv::PlanarBuffer>> buffers;  // by name and layout
  const auto buffer = [&](const std::string& name, const conv::PlanarLayout& layout) {
    auto& slot =
        buffers[fmt::format("{} {}x{} {}", name, layout.channels, layout.geometry.height(), layout.geometry.pitch())];
    if (slot == nullptr) {
      slot = std::make_shared<conv::PlanarBuffer>(layout);
      const std::vector<float> x = conv::random_floats(
          layout.geometry.batch() * layout.channels * layout.geometry.height() * layout.geometry.width(), 7, 0, 1);
      conv::planar_ops(options.isa).from_nchw(x.data(), layout, slot->data(), conv::plane_share(layout, 0, 1));
    }
    return slot;
  };
  const int per_slot = options.dtype == DType::kBf16 ? 2 : 1;
  std::uint32_t seed = 1;
  std::size_t scratch = 0;
  for (const Layer& layer : layers) {
    const conv::ConvShape& s = layer.shape;
    Stage stage;
    stage.layer = layer;
    stage.weights = make_weights(layer, options.block, options.density, seed++);
    // Every image shares one halo, so that each layer finds its input on the grid that the one before it wrote.
    stage.layouts = conv::default_layouts(s, 1, options.images_per_plane, per_slot);
    if (s.stride_h == 1 && s.taps() == 1) {
      conv::PlanarRequest in{.height = s.height, .width = s.width, .batch = s.batch};
      in.images_per_plane = stage.layouts.output.geometry.images_per_plane();
      stage.layouts.input.geometry = conv::PlanarGeometry(in);
    }
    if (s.stride_h == 1) {
      stage.source = buffer(layer.reads, stage.layouts.input);
    } else {
      stage.source =
          buffer(layer.reads, image_layout(layer, stage.layouts.input.geometry.images_per_plane(), per_slot));
      stage.phases = std::make_shared<conv::PlanarBuffer>(stage.layouts.input);
    }
    stage.target = buffer(layer.writes, stage.layouts.output);

    const Mask* kept = stage.weights.dense ? nullptr : &stage.weights.mask;
    const double density = stage.weights.dense ? 1 : options.density;
    stage.candidates = conv::conv_candidates(s, stage.layouts.output.geometry,
                                             {.block = options.block,
                                              .density = density,
                                              .dtype = options.dtype,
                                              .isa = options.isa,
                                              .bf16_vectors = active_features().avx512bf16,
                                              .threads = options.threads,
                                              .limit = 12,
                                              .scratch = true});
    std::map<int, conv::PackedConv> packed;  // by rows of a group
    for (const conv::ConvCandidate& candidate : stage.candidates) {
      const int rows = candidate.choice.kernel->rows;
      if (!packed.contains(rows)) {
        ESPALIER_ASSIGN(packed[rows], conv::pack_conv(stage.weights.values, stage.weights.bias, kept, options.block,
                                                      rows, options.dtype));
      }
      ESPALIER_ASSIGN(auto planned,
                      conv::PlannedConv::make(s, stage.layouts.input, stage.layouts.output, packed[rows],
                                              {.choice = candidate.choice, .activation = Activation::kRelu}));
      scratch = std::max(scratch, planned.scratch_bytes(options.threads));
      stage.planned.push_back(std::move(planned));
    }
    chain.stages_.push_back(std::move(stage));
  }
  chain.scratch_ = std::make_shared<conv::AlignedBytes>(scratch);
  return chain;
}

void PlanarChain::run(const Stage& stage, std::size_t candidate) const {
  const int tasks = options_.threads;
  if (stage.phases != nullptr) {
    const conv::PlanarLayout& in = stage.source->layout();
    const std::int64_t channels = in.geometry.sets() * in.slot_channels();
    executor_->parallel_for(tasks, [&](std::int64_t task, int) {
      conv::planar_ops(options_.isa)
          .split_phases(in, stage.source->data(), stage.phases->layout(), stage.phases->data(),
                        conv::range_share(channels, static_cast<int>(task), tasks));
    });
  }
  const conv::ConvBuffers buffers{.input = stage.phases != nullptr ? stage.phases->data() : stage.source->data(),
                                  .output = stage.target->data(),
                                  .scratch = scratch_->data()};
  const conv::PlannedConv& planned = stage.planned[candidate];
  executor_->parallel_for(tasks, [&](std::int64_t task, int) { planned.run(buffers, static_cast<int>(task), tasks); });
}

Result<double> PlanarChain::verify() {
  double worst = 0;
  std::map<std::string, bool> seen;
  std::mt19937 random(5);
  for (Stage& stage : stages_) {
    if (!seen.emplace(stage.layer.shape_name(), true).second) continue;
    const conv::ConvShape& s = stage.layer.shape;
    const conv::PlanarLayout& source = stage.source->layout();
    std::vector<float> x = conv::random_floats(s.batch * s.in_channels * s.height * s.width, 3, -1, 1);
    Tensor w = stage.weights.values.clone();
    for (float& value : x) value = rounded(value, options_.dtype);
    for (float& value : w.values<float>()) value = rounded(value, options_.dtype);
    conv::planar_ops(options_.isa).from_nchw(x.data(), source, stage.source->data(), conv::plane_share(source, 0, 1));
    for (std::size_t c = 0; c < stage.candidates.size(); ++c) {
      run(stage, c);
      for (int i = 0; i < 150; ++i) {
        const auto draw = [&](std::int64_t size) {
          return i < 8 ? (i & 1) * (size - 1) : static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(size));
        };
        const conv::OutputPoint at{draw(s.batch),
                                   static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(s.out_channels)),
                                   draw(s.out_height()), draw(s.out_width())};
        const double exact = std::max(
            0.0, conv::conv_reference_at(s, x, w.values<float>(), &stage.weights.mask, at) +
                     static_cast<double>(stage.weights.bias.values<float>()[static_cast<std::size_t>(at.channel)]));
        const double got = static_cast<double>(stage.target->value(at.image, at.channel, at.y, at.x));
        worst = std::max(worst, std::abs(exact - got));
        // A result in bf16 is rounded to 8 bits.
        const double rounding = options_.dtype == DType::kBf16 ? std::abs(exact) / 256 : 0;
        if (!(std::abs(exact - got) < 1e-4 + rounding))
          return fail(ErrorCode::kInvalidData, "{} {}: image {} channel {} pixel {},{} is {}, expected {}",
                      stage.layer.shape_name(), stage.candidates[c].choice.name(), at.image, at.channel, at.y, at.x,
                      got, exact);
      }
      if (stage.target->dirty_pads() != 0)
        return fail(ErrorCode::kInvalidData, "{} {}: pads are not zero", stage.layer.shape_name(),
                    stage.candidates[c].choice.name());
    }
  }
  return worst;
}

void PlanarChain::tune(double seconds, bool trace) {
  // Times of each candidate of each shape, collected in passes of the whole chain.
  std::map<std::string, std::vector<std::vector<double>>> times;
  for (const Stage& stage : stages_) times[stage.layer.shape_name()].resize(stage.candidates.size());
  std::mt19937 random(11);
  const double until = now_ms() + seconds * 1e3;
  for (int round = 0; now_ms() < until || round < 12; ++round)
    for (const Stage& stage : stages_) {
      auto& of_shape = times[stage.layer.shape_name()];
      const std::size_t candidate = random() % stage.candidates.size();
      const double start = now_ms();
      run(stage, candidate);
      of_shape[candidate].push_back(now_ms() - start);
    }
  std::set<std::string> shown;
  for (Stage& stage : stages_) {
    const auto& of_shape = times[stage.layer.shape_name()];
    double best = 1e300;
    for (std::size_t c = 0; c < of_shape.size(); ++c) {
      if (of_shape[c].empty()) continue;
      const double m = median(of_shape[c]);
      if (m < best) {
        best = m;
        stage.chosen = c;
      }
    }
    if (!trace || !shown.emplace(stage.layer.shape_name()).second) continue;
    for (std::size_t c = 0; c < of_shape.size(); ++c)
      fmt::print(stderr, "{:26} {:44} {:.3f} ms, predicted {:.3f}\n", stage.layer.shape_name(),
                 stage.candidates[c].choice.name(), of_shape[c].empty() ? -1 : median(of_shape[c]),
                 stage.candidates[c].predicted_ms);
  }
}

Times PlanarChain::pass() {
  Times times;
  for (const Stage& stage : stages_) {
    const double start = now_ms();
    run(stage, stage.chosen);
    times.push_back(now_ms() - start);
  }
  return times;
}

}  // namespace espalier::bench
