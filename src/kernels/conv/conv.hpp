// Block-sparse convolutions in the planar layout: what fits, packing, the choice of a kernel, and running it.
//
//   y[m, p] = activation(bias[m] + residual[m, p] + sum over kept input channels k and taps t of w[m, k, t] x[k, p +
//   t])
//
// In bf16 the input, the weights and the output are rounded to it; sums, bias and epilogue stay f32, and so does what
// is said of f32 below: a slot then holds two channels (PlanarLayout::per_slot), and channels are even in number.
//
// A layer is planned once (PlannedConv::make) for one input and one output layout and then run any number of times, by
// any number of threads, each doing a share of the tasks. Nothing here starts threads or allocates while running.
// Results are bitwise the same for every number of tasks, every split and order. A dense layer is the full pattern.
//
// Strides of 2 read an input that was split into phases (PlanarLayout::phases), which its producer writes
// along (ConvBuffers::phases) or split_phases makes (planar_ops.hpp). Groups and whatever else does not fit is refused
// with the reason by check_conv.
#pragma once

#include <cstddef>
#include <cstdint>
#include <espalier/activation.hpp>
#include <espalier/cpu.hpp>
#include <espalier/sparse.hpp>
#include <espalier/status.hpp>
#include <espalier/tensor.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/conv/kernel.hpp"
#include "kernels/conv/planar.hpp"

namespace espalier::conv {

// ONNX's Conv, 2-d. Sizes of the image are those of the input.
struct ConvShape {
  std::int64_t batch = 1, in_channels = 1, out_channels = 1, height = 1, width = 1;
  std::int64_t kernel_h = 1, kernel_w = 1;
  std::int64_t stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  std::int64_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  std::int64_t groups = 1;

  std::int64_t out_height() const {
    return (height + pad_top + pad_bottom - (kernel_h - 1) * dilation_h - 1) / stride_h + 1;
  }
  std::int64_t out_width() const {
    return (width + pad_left + pad_right - (kernel_w - 1) * dilation_w - 1) / stride_w + 1;
  }
  std::int64_t taps() const { return kernel_h * kernel_w; }
  double dense_flops() const;  // 2 x batch x pixels x m x k x taps
};

// Whether planar kernels can run the layer at all, in f32 or bf16. Error: kUnsupported with the reason in words
// ("groups = 32").
Status check_conv(const ConvShape& shape, DType dtype = DType::kF32);

// How many phases the input of this layer has: 1 (stride 1, or a stride 2 that reads even rows and columns only: a 1x1
// kernel without padding, whose input is the image of every second pixel), or 4.
int input_phases(const ConvShape& shape);

// What the layer asks of the two geometries. A value that several layers read or write needs the maximum over them;
// values joined by stride 1 layers or additions must agree in pitch, image_rows and images_per_plane.
struct GridNeeds {
  std::int64_t halo = 0;               // of the input (of its phases where phases is 4)
  std::int64_t height = 1, width = 1;  // of the input's plane: image, phase, or every second pixel
  std::int64_t pitch = 1;              // least, for input and output together
  std::int64_t image_rows = 1;
};
GridNeeds grid_needs(const ConvShape& shape);

// Input and output layout of this layer alone, with the least halo for its output given (what its consumer needs).
struct ConvLayouts {
  PlanarLayout input, output;
};
ConvLayouts default_layouts(const ConvShape& shape, std::int64_t output_halo = 1, std::int64_t images_per_plane = 0,
                            int per_slot = 1);
// Whether these two layouts serve. Error: kUnsupported saying which property does not fit.
Status check_layouts(const ConvShape& shape, const PlanarLayout& input, const PlanarLayout& output);

// ---- Weights -----------------------------------------------------------------------------------------------------

// Weights as the kernels read them. Rows (output channels) come in groups of `rows`; a group keeps entries of `cols`
// neighbouring input channels each, ascending. A group keeps an entry when the mask keeps anything inside it.
//   starts  [groups + 1]                       first entry of each group
//   columns [entries]                          input channel / cols
//   values  [entries][taps][cols][rows]        missing rows of a ragged last group are zero; in bf16
//           [entries][taps][cols / 2][rows][2]: the two weights that meet a slot are adjacent
//   bias    [groups * rows]                    zero where the layer has none
struct PackedConv {
  std::int64_t out_channels = 0, in_channels = 0, taps = 1;
  int rows = 8, cols = 1;
  Tensor starts, columns, values, bias;  // kI32, kI32, kF32 or kBf16, kF32

  int per_slot() const { return values.dtype() == DType::kBf16 ? 2 : 1; }
  std::int64_t groups() const { return (out_channels + rows - 1) / rows; }
  std::int64_t entries() const { return columns.count(); }
  // Multiply-adds done over those of the dense layer: above the mask's density when blocks are narrower than entries.
  double work_density() const;
  std::size_t bytes() const { return values.bytes() + columns.bytes() + starts.bytes() + bias.bytes(); }
};

// Packs weights [m, k, kh, kw] (f32) as `dtype` for kernels with groups of `rows`. `kept` is m x k (a tap is kept with
// its pair of channels), nullptr for a full pattern; `bias` [m] or undefined. `block` is the pattern's block: entries
// become as wide as it allows. Errors: kInvalidArgument for ranks, types or sizes that do not fit.
Result<PackedConv> pack_conv(const Tensor& weights, const Tensor& bias, const Mask* kept, Block block, int rows,
                             DType dtype = DType::kF32);
// The weights [m, k, taps] as f32; what was not kept is zero.
Tensor unpack_conv(const PackedConv& packed);
// Ranges, order and sizes, for packed weights that come from a file. Error: kInvalidData naming the first offender.
Status validate(const PackedConv& packed);
// The mask of a pattern of blocks.
Mask mask_of_blocks(const BlockSparse& pattern);

// ---- Choice ------------------------------------------------------------------------------------------------------

// How a layer is divided among tasks.
enum class ConvSplit : std::uint8_t {
  kPixels,   // each task computes all output channels of a run of pixels
  kChannels  // each task computes a run of output channels (balanced by kept entries) of all pixels
};

// A kernel with its loop order and split: what the planner times. Inside a task the pixels go by in chunks of
// `chunk_tiles` register tiles; all rows of the task are done for a chunk before the next one: 1 keeps the pixels in L1
// and streams weights ("tiles outer"), 0 (all tiles) keeps the weights and streams pixels ("rows outer").
struct ConvChoice {
  const ConvKernel* kernel = nullptr;
  ConvSplit split = ConvSplit::kPixels;
  int chunk_tiles = 0;

  // "conv_f32_blk8_8x3v_avx512/channels/rows", as printed in plans; parse_choice is the inverse.
  std::string name() const;
};
Result<ConvChoice> parse_choice(std::string_view name);

// Whether a kernel takes images of this geometry: those of one size ask for that size and for a pad column and row.
bool conv_kernel_fits(const ConvKernel& kernel, const PlanarGeometry& output);

struct ConvCandidate {
  ConvChoice choice;
  double predicted_ms = 0;
};
struct CandidateRequest {
  Block block{8, 8};  // of the pattern
  double density = 1;
  DType dtype = DType::kF32;
  Isa isa = Isa::kScalar;     // kernels above it are left out
  bool bf16_vectors = false;  // whether vdpbf16ps may be used
  int threads = 1;
  std::size_t limit = 8;
  bool scratch = false;  // whether kernels that need scratch count
};
// The choices worth timing, best prediction first, at most `limit`.
std::vector<ConvCandidate> conv_candidates(const ConvShape& shape, const PlanarGeometry& output,
                                           const CandidateRequest& request);

// ---- Running -----------------------------------------------------------------------------------------------------

struct ConvOptions {
  ConvChoice choice;
  Activation activation = Activation::kNone;
  float low = 0, high = 0;  // as espalier::activate
  // Also write the output split for a consumer of stride 2 (1 or 4 phases), while it is in cache.
  std::optional<PlanarLayout> phases = std::nullopt;
};

// All 64-byte aligned, in the planned layouts (slots, whatever they hold). `residual` has the output's layout (nullptr:
// none) and may be the output itself.
struct ConvBuffers {
  const float* input = nullptr;
  float* output = nullptr;
  const float* residual = nullptr;
  float* phases = nullptr;       // with ConvOptions::phases
  std::byte* scratch = nullptr;  // scratch_bytes(tasks)
};

class PlannedConv {
 public:
  // Errors: check_conv, check_layouts; kInvalidArgument when the weights are not of that shape or packed for another
  // kernel.
  static Result<PlannedConv> make(const ConvShape& shape, const PlanarLayout& input, const PlanarLayout& output,
                                  PackedConv weights, const ConvOptions& options);

  // What all tasks of one run need together.
  std::size_t scratch_bytes(int tasks) const;
  // Runs share `task` of `tasks` (any number >= 1; as many as threads is best).
  void run(const ConvBuffers& buffers, int task, int tasks) const noexcept;

  const ConvShape& shape() const { return shape_; }
  const PackedConv& weights() const { return weights_; }
  const ConvOptions& options() const { return options_; }
  const PlanarLayout& input() const { return input_; }
  const PlanarLayout& output() const { return output_; }

 private:
  std::int64_t tiles() const;       // of one plane set
  std::int64_t tile_slots() const;  // from one tile to the next
  std::int64_t panel_floats() const;
  void run_set(ConvArgs args, std::int64_t set, const ConvBuffers& buffers) const noexcept;
  PlaneRange channels_of(const ConvArgs& args) const noexcept;  // or pairs of them: those of its groups
  void activate(const ConvArgs& args) const noexcept;
  void split_phases(const ConvArgs& args, std::int64_t set, const ConvBuffers& buffers,
                    PlaneRange slots) const noexcept;
  void clear_edges(const ConvArgs& args, std::int64_t group_begin, std::int64_t group_end, bool lead,
                   bool tail) const noexcept;

  ConvShape shape_;
  PlanarLayout input_, output_;
  PackedConv weights_;
  ConvOptions options_;
  std::vector<std::ptrdiff_t> tap_offsets_;  // bytes
};

}  // namespace espalier::conv
