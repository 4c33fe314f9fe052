// One product drawn at random, run on the simulator and compared with the product in f64.
#include <algorithm>
#include <cmath>
#include <random>

#include "base/fail.hpp"
#include "targets/ipu/dynamic_product.hpp"
#include "targets/ipu/operands.hpp"
#include "targets/ipu/price.hpp"
#include "targets/ipu/sparse_problem.hpp"
#include "targets/ipu/static_product.hpp"

namespace espalier::ipu {
namespace {

// As the published benchmark draws: whole blocks shuffled evenly, W within sqrt(3 / (density k)), X within sqrt(3).
class Drawing {
 public:
  Drawing(const Problem& problem, std::uint64_t seed) : problem_(problem), engine_(seed) {}

  BlockSparse weights() {
    const std::int64_t b = problem_.block, rows = problem_.m / b, columns = problem_.k / b, all = rows * columns;
    const auto kept = static_cast<std::int64_t>(std::ceil(problem_.density * static_cast<double>(all)));
    std::vector<std::int64_t> starts(static_cast<std::size_t>(rows) + 1), kept_columns;
    std::int64_t left = kept;
    for (std::int64_t i = 0; i < all; ++i) {
      // Each of the remaining places is equally likely.
      if (static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(all - i)) >= left) continue;
      --left;
      kept_columns.push_back(i % columns);
      ++starts[static_cast<std::size_t>(i / columns) + 1];
    }
    for (std::size_t row = 1; row < starts.size(); ++row) starts[row] += starts[row - 1];
    const double limit = std::sqrt(3 / (problem_.density * static_cast<double>(problem_.k)));
    return {problem_.m,
            problem_.k,
            Block{b, b},
            IndexArray::of(starts),
            IndexArray::of(kept_columns),
            numbers({kept, b, b}, static_cast<float>(limit))};
  }
  Tensor operand() { return numbers({problem_.k, problem_.n}, std::sqrt(3.0F)); }

 private:
  Tensor numbers(Shape shape, float limit) {
    std::uniform_real_distribution<float> uniform(-limit, limit);
    Tensor tensor(DType::kF32, std::move(shape));
    for (float& value : tensor.values<float>()) value = rounded(uniform(engine_), problem_.dtype);
    return tensor;
  }

  const Problem& problem_;
  std::mt19937_64 engine_;
};

// The largest error, and the largest as a fraction of its bound: with sums in f32 and `roundings` roundings to the type
// on the way, each of half a unit of all magnitudes.
struct Errors {
  double largest = 0, of_bound = 0;
};

Errors compare(const BlockSparse& w, const Tensor& x, const Tensor& y, const Problem& problem, double roundings,
               Executor& executor) {
  const std::int64_t b = w.block.rows, n = problem.n;
  const auto weights = w.values.values<float>(), in = x.values<float>(), out = y.values<float>();
  std::vector<Errors> of_row(static_cast<std::size_t>(w.block_rows()));
  executor.parallel_for(w.block_rows(), [&](std::int64_t row, int) {
    std::vector<double> sum(static_cast<std::size_t>(n)), magnitude(static_cast<std::size_t>(n));
    const std::int64_t first = w.row_starts[row], last = w.row_starts[row + 1];
    const double unit = (problem.dtype == DType::kF16 ? roundings * 0x1p-11 : 0x1p-24) +
                        static_cast<double>((last - first) * b + 64) * 0x1p-24;
    for (std::int64_t r = 0; r < b; ++r) {
      std::ranges::fill(sum, 0.0);
      std::ranges::fill(magnitude, 0.0);
      for (std::int64_t i = first; i < last; ++i)
        for (std::int64_t c = 0; c < b; ++c) {
          const double weight = static_cast<double>(weights[static_cast<std::size_t>((i * b + r) * b + c)]);
          const float* const line = in.data() + (w.block_cols[i] * b + c) * n;
          for (std::size_t j = 0; j < static_cast<std::size_t>(n); ++j) {
            const double product = weight * static_cast<double>(line[j]);
            sum[j] += product;
            magnitude[j] += std::abs(product);
          }
        }
      Errors& errors = of_row[static_cast<std::size_t>(row)];
      for (std::size_t j = 0; j < static_cast<std::size_t>(n); ++j) {
        const double error =
            std::abs(static_cast<double>(out[static_cast<std::size_t>((row * b + r) * n) + j]) - sum[j]);
        // f16 also loses what is below its smallest step. A NaN fails.
        const double bound = unit * magnitude[j] + (problem.dtype == DType::kF16 ? roundings * 0x1p-24 : 0x1p-126);
        errors.largest = std::max(errors.largest, error);
        errors.of_bound = std::isnan(error) ? HUGE_VAL : std::max(errors.of_bound, error / bound);
      }
    }
  });
  Errors all;
  for (const Errors& errors : of_row) {
    all.largest = std::max(all.largest, errors.largest);
    all.of_bound = std::max(all.of_bound, errors.of_bound);
  }
  return all;
}

struct Ran {
  Simulation simulation;
  SparseChoice choice;
  std::int64_t spilled = 0;
};

Result<Ran> run_static(const Machine& machine, const Problem& problem, SparseChoice choice, const BlockSparse& w,
                       const Tensor& x, Executor& executor) {
  StaticProductOptions options;
  options.n = problem.n;
  options.dtype = problem.dtype;
  options.rules = choice.static_plan.rules;
  options.objective = options.rules.leave_half ? Objective::kRaw : Objective::kCalibrated;
  ESPALIER_ASSIGN(const StaticProduct product, StaticProduct::plan(machine, w, options));
  choice.static_plan = product.choice();
  ESPALIER_ASSIGN(Simulation simulation, product.run(x, executor));
  return Ran{std::move(simulation), choice, 0};
}

Result<Ran> run_dynamic(const Machine& machine, const Problem& problem, const SparseChoice& choice,
                        const BlockSparse& w, const Tensor& x, Executor& executor) {
  ESPALIER_ASSIGN(const DynamicProduct product,
                  DynamicProduct::plan(machine, problem, choice.dynamic_options, choice.dynamic_plan.cost.grid));
  ESPALIER_ASSIGN(const Buckets buckets, product.encode(w));
  ESPALIER_ASSIGN(Simulation simulation, product.forward(buckets, x, executor));
  return Ran{std::move(simulation), choice, buckets.spilled};
}

}  // namespace

Result<SimulatedProduct> simulate(const Machine& machine, const Problem& problem, Mode mode, std::uint64_t seed,
                                  Executor& executor) {
  if (mode == Mode::kDense)
    return fail(ErrorCode::kUnsupported, "simulate: expected the mode static, dynamic or best, found dense");
  // Refuses what cannot be planned.
  if (auto planned = estimate(machine, problem, mode); !planned) return tl::unexpected<Error>(planned.error());
  const SparseChoice choice =
      mode == Mode::kBest ? plan_best(machine, problem) : plan_published(machine, problem, mode);
  Drawing drawing(problem, seed);
  const BlockSparse w = drawing.weights();
  const Tensor x = drawing.operand();
  auto ran = choice.is_static ? run_static(machine, problem, choice, w, x, executor)
                              : run_dynamic(machine, problem, choice, w, x, executor);
  if (!ran) return tl::unexpected<Error>(ran.error());
  SimulatedProduct result;
  result.estimate = price(machine, problem, mode, ran->choice);
  result.phases = std::move(ran->simulation.phases);
  result.cycles = ran->simulation.cycles;
  result.tile_bytes = ran->simulation.tile_bytes;
  result.supersteps = ran->simulation.supersteps;
  result.moved_bytes = ran->simulation.moved_bytes;
  result.spilled = ran->spilled;
  // Static partial sums are rounded to the type, and their sum once more; dynamic ones are f32.
  const Errors errors = compare(w, x, ran->simulation.result, problem, choice.is_static ? 2.01 : 1.01, executor);
  result.max_error = errors.largest;
  result.max_error_of_bound = errors.of_bound;
  if (!(errors.of_bound <= 1))
    return fail(
        ErrorCode::kInvalidData,
        "simulate: the result differs from the reference by {:.3g}, {:.3g} times what rounding explains (seed {})",
        errors.largest, errors.of_bound, seed);
  return result;
}

}  // namespace espalier::ipu
