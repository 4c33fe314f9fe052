// The measurement behind `espalier spmm`.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <espalier/dynamic.hpp>
#include <espalier/mask.hpp>
#include <espalier/peers.hpp>
#include <limits>
#include <numeric>
#include <random>

#include "base/aligned_buffer.hpp"
#include "base/fail.hpp"
#include "kernels/reference.hpp"
#include "peers/product_peer.hpp"

namespace espalier {
namespace {

using peers::DenseProblem;
using peers::ProductPeer;

constexpr int kLeastRounds = 9, kMostRounds = 300;
constexpr std::int64_t kCheckedColumns = 16;

double now_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

using Matrix = std::variant<BlockSparse, NmSparse, Csr>;

// The product, drawn from the seed: W masked at random, X and Y on huge pages.
struct Setup {
  std::int64_t m, k, n;
  Tensor dense_w, x;  // of options.dtype; with i8 weights X is u8
  Tensor y;           // f32, f64 or, with i8 weights, i32
  Matrix sparse;
  double density = 0;
};

Result<Matrix> encode(const Tensor& w, const Mask& mask, const Pattern& pattern) {
  if (const auto* const block = std::get_if<Block>(&pattern)) {
    ESPALIER_ASSIGN(BlockSparse blocks, encode_block(w, mask, *block));
    return Matrix(std::move(blocks));
  }
  if (const auto* const nm = std::get_if<Nm>(&pattern)) {
    ESPALIER_ASSIGN(NmSparse groups, encode_nm(w, mask, *nm));
    return Matrix(std::move(groups));
  }
  if (std::holds_alternative<Unstructured>(pattern)) {
    ESPALIER_ASSIGN(Csr rows, encode_csr(w, mask));
    return Matrix(std::move(rows));
  }
  return fail(ErrorCode::kUnsupported, "spmm: pattern {} has no product yet: use block:RxC, nm:N:M or unstructured",
              to_string(pattern));
}

// Floats in (-1, 1), or all integers of a byte (but -128, so that W is symmetric).
Tensor uniform(Shape shape, DType dtype, std::mt19937_64& random) {
  if (dtype == DType::kF64) {  // with all of their bits: sums of f32 would be exact
    Tensor tensor(DType::kF64, std::move(shape));
    std::uniform_real_distribution<double> value(-1, 1);
    for (double& v : tensor.values<double>()) v = value(random);
    return tensor;
  }
  Tensor tensor(DType::kF32, std::move(shape));
  std::uniform_real_distribution<float> value(-1, 1);
  for (float& v : tensor.values<float>()) {
    v = value(random);
    if (dtype == DType::kI8) v *= 127.49F;
    if (dtype == DType::kU8) v = 127.5F + v * 127.5F;
  }
  return dtype == DType::kF32 ? tensor : tensor.cast(dtype);
}

Result<Mask> choose_mask(const SpmmBenchOptions& options, const Tensor& weights) {
  if (!options.mask)
    return make_mask(weights.cast(DType::kF32), {.pattern = options.pattern,
                                                 .density = options.density,
                                                 .criterion = Criterion::kRandom,
                                                 .seed = options.seed});
  ESPALIER_TRY(validate(*options.mask));
  if (options.mask->rows != options.m || options.mask->cols != options.k)
    return fail(ErrorCode::kInvalidArgument, "spmm: the mask is {} x {}, expected {} x {}", options.mask->rows,
                options.mask->cols, options.m, options.k);
  return mask_of_nonzeros(decode(*options.mask));
}

Result<Setup> draw(const SpmmBenchOptions& options) {
  for (const std::int64_t size : {options.m, options.k, options.n})
    if (size < 1 || size > (std::int64_t{1} << 24))
      return fail(ErrorCode::kInvalidArgument, "spmm: m, k, n are {}, {}, {}, expected 1 to 2^24", options.m, options.k,
                  options.n);
  std::mt19937_64 random(options.seed);
  const bool int8 = options.dtype == DType::kI8;
  if (!is_float(options.dtype) && !int8)
    return fail(ErrorCode::kUnsupported, "spmm: type {} has no products, expected f32, f64, bf16, f16 or int8",
                to_string(options.dtype));
  const DType floats = options.dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  const Tensor y(int8 ? DType::kI32 : floats, {options.m, options.n});
  Setup setup{options.m, options.k, options.n, {}, {}, y, {}, 0};
  setup.dense_w = uniform({options.m, options.k}, options.dtype, random);
  setup.x = uniform({options.k, options.n}, int8 ? DType::kU8 : options.dtype, random);
  ESPALIER_ASSIGN(const Mask mask, choose_mask(options, setup.dense_w));
  ESPALIER_ASSIGN(setup.dense_w, apply_mask(setup.dense_w, mask));
  ESPALIER_ASSIGN(setup.sparse, encode(setup.dense_w, mask, options.pattern));
  setup.density = mask.density();
  return setup;
}

// Blocks in a random order, as a caller's router would send them.
struct Arrivals {
  std::vector<std::int32_t> rows, cols;
  Tensor values;
};
Arrivals shuffled(const BlockSparse& w, std::uint64_t seed) {
  const auto count = static_cast<std::size_t>(w.kept_blocks());
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), 0U);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(seed));
  const auto size = static_cast<std::size_t>(w.block.rows * w.block.cols);
  Arrivals arrivals{std::vector<std::int32_t>(count), std::vector<std::int32_t>(count),
                    Tensor(w.values.dtype(), {static_cast<std::int64_t>(count * size)})};
  const std::size_t bytes = size * size_of(w.values.dtype());
  for (std::int64_t row = 0; row < w.block_rows(); ++row)
    for (std::int64_t u = w.row_starts[row]; u < w.row_starts[row + 1]; ++u) {
      const std::size_t at = order[static_cast<std::size_t>(u)];
      arrivals.rows[at] = static_cast<std::int32_t>(row);
      arrivals.cols[at] = static_cast<std::int32_t>(w.block_cols[u]);
      std::memcpy(static_cast<std::byte*>(arrivals.values.raw()) + at * bytes,
                  static_cast<const std::byte*>(w.values.raw()) + static_cast<std::size_t>(u) * bytes, bytes);
    }
  return arrivals;
}

// One that takes turns.
struct Racer {
  ProductPeer peer;
  std::vector<double> cold, hot;
  double max_error = 0;
};

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

PeerTimes times_of(const Racer& racer) {
  PeerTimes times{racer.peer.name, racer.peer.version};
  times.cold_ms = median(racer.cold);
  times.hot_ms = median(racer.hot);
  times.cold_min_ms = *std::min_element(racer.cold.begin(), racer.cold.end());
  times.hot_min_ms = *std::min_element(racer.hot.begin(), racer.hot.end());
  times.max_error = racer.max_error;
  return times;
}

// Compares a few columns of Y, spread over all of them, with the scalar reference.
class Checker {
 public:
  explicit Checker(const Setup& setup) : setup_(setup) {
    const std::int64_t count = std::min(kCheckedColumns, setup.n);
    for (std::int64_t i = 0; i < count; ++i) columns_.push_back(i * setup.n / count);
    const Tensor x = setup.x.cast(DType::kF64);
    Tensor some(DType::kF64, {setup.k, count});
    for (std::int64_t k = 0; k < setup.k; ++k)
      for (std::int64_t i = 0; i < count; ++i)
        some.values<double>()[static_cast<std::size_t>(k * count + i)] =
            x.values<double>()[static_cast<std::size_t>(k * setup.n + columns_[static_cast<std::size_t>(i)])];
    expected_ = std::visit([&](const auto& w) { return kernels::reference_spmm(w, some); }, setup.sparse);
    // A sum of k products of values up to 1, in any order; products of two bf16 are exact in f32, integers altogether.
    if (is_float(setup.y.dtype()))
      tolerance_ = 4.0 * static_cast<double>(setup.k + 8) *
                   (setup.y.dtype() == DType::kF64 ? std::numeric_limits<double>::epsilon()
                                                   : static_cast<double>(std::numeric_limits<float>::epsilon()));
  }

  double tolerance() const { return tolerance_; }
  double worst_error(const Tensor& y) const {
    double worst = 0;
    const auto count = static_cast<std::int64_t>(columns_.size());
    const Tensor results = y.cast(DType::kF64);
    for (std::int64_t row = 0; row < setup_.m; ++row)
      for (std::int64_t i = 0; i < count; ++i) {
        const double got =
            results.values<double>()[static_cast<std::size_t>(row * setup_.n + columns_[static_cast<std::size_t>(i)])];
        const double error = std::abs(got - expected_.values<double>()[static_cast<std::size_t>(row * count + i)]);
        worst = error > worst || std::isnan(error) ? error : worst;
      }
    return worst;
  }

 private:
  const Setup& setup_;
  std::vector<std::int64_t> columns_;
  Tensor expected_;
  double tolerance_ = 0;
};

Status verify(std::vector<Racer>& racers, Setup& setup, const Checker& checker) {
  for (Racer& racer : racers) {
    std::memset(setup.y.raw(), 0xff, setup.y.bytes());  // NaN, as i32 -1
    racer.peer.run();
    if (racer.peer.collect) racer.peer.collect();
    racer.max_error = checker.worst_error(setup.y);
    if (!(racer.max_error <= checker.tolerance()))
      return fail(ErrorCode::kInvalidData,
                  "spmm: {} is off by {:.3g}, expected at most {:.3g}: its times would mean nothing", racer.peer.name,
                  racer.max_error, checker.tolerance());
  }
  return {};
}

// Every worker reads a buffer of twice its L2.
class Evictor {
 public:
  explicit Evictor(Executor& executor) : executor_(executor) {
    constexpr std::int64_t kDefaultL2 = 1 << 20;
    bytes_ = static_cast<std::size_t>(2 * std::max(cache_sizes().l2, kDefaultL2));
    for (int i = 0; i < executor.size(); ++i) {
      buffers_.emplace_back(bytes_);
      std::fill_n(buffers_.back().as<char>(), bytes_, char{1});
    }
  }
  void operator()() {
    executor_.parallel_for(executor_.size(), [this](std::int64_t worker, int) {
      const auto* const data = buffers_[static_cast<std::size_t>(worker)].as<char>();
      int sum = 0;
      for (std::size_t i = 0; i < bytes_; i += 64) sum += data[i];
      asm volatile("" ::"r"(sum));
    });
  }

 private:
  Executor& executor_;
  std::size_t bytes_ = 0;
  std::vector<AlignedBuffer> buffers_;
};

int race(std::vector<Racer>& racers, Executor& executor, double seconds) {
  Evictor evict(executor);
  const double start = now_ms();
  int round = 0;
  for (; round < kMostRounds && (round < kLeastRounds || now_ms() - start < seconds * 1e3); ++round)
    for (Racer& racer : racers) {
      evict();
      const double t0 = now_ms();
      racer.peer.run();
      const double t1 = now_ms();
      racer.peer.run();
      const double t2 = now_ms();
      racer.cold.push_back(t1 - t0);
      racer.hot.push_back(t2 - t1);
    }
  return round;
}

double ratio(double a, double b) { return b > 0 ? a / b : 0; }

void compare_with_dense(SpmmReport& report) {
  const PeerTimes* best = nullptr;
  for (const PeerTimes& peer : report.peers)
    if (best == nullptr || peer.cold_ms < best->cold_ms) best = &peer;
  if (best == nullptr) return;
  report.best_dense = *best;
  // Each ratio against the peer that is best at just that.
  const auto least = [&](double PeerTimes::*time) {
    double value = best->*time;
    for (const PeerTimes& peer : report.peers) value = std::min(value, peer.*time);
    return value;
  };
  report.speedup_cold = ratio(least(&PeerTimes::cold_ms), report.cold_ms);
  report.speedup_hot = ratio(least(&PeerTimes::hot_ms), report.hot_ms);
  report.speedup_cold_min = ratio(least(&PeerTimes::cold_min_ms), report.cold_min_ms);
  report.speedup_hot_min = ratio(least(&PeerTimes::hot_min_ms), report.hot_min_ms);
}

void add_peers(std::vector<Racer>& racers, const SpmmBenchOptions& options, Setup& setup, const SpmmReport& report) {
  if (options.peers == PeerSet::kNone) return;
  const DenseProblem problem{
      setup.m,       setup.k,        setup.n,   setup.dense_w.dtype(), setup.dense_w.raw(), setup.x.raw(),
      setup.y.raw(), report.threads, report.isa};
  for (const auto& make : {peers::own_dense, peers::openblas, peers::onednn})
    for (ProductPeer& peer : make(problem)) racers.push_back({std::move(peer), {}, {}, 0});
}

// The dynamic racer: sorting included.
Result<Racer> dynamic_racer(const SpmmBenchOptions& options, Setup& setup, Executor& executor, SpmmReport& report) {
  const auto* const w = std::get_if<BlockSparse>(&setup.sparse);
  if (w == nullptr)
    return fail(ErrorCode::kUnsupported, "spmm: mode dynamic needs a pattern block:RxC, got {}",
                to_string(options.pattern));
  if (!is_float(options.dtype))
    return fail(ErrorCode::kUnsupported, "spmm: mode dynamic computes in f32 or bf16, got {}",
                to_string(options.dtype));
  ESPALIER_ASSIGN(
      DynamicMatmulPlan plan,
      plan_dynamic_matmul({.m = setup.m,
                           .k = setup.k,
                           .n = setup.n,
                           .block = w->block,
                           .max_density = std::min(1.0, static_cast<double>(w->kept_blocks() + 1) /
                                                            static_cast<double>(w->block_rows() * w->block_columns())),
                           .type = options.dtype,
                           .threads = options.threads,
                           .isa = options.isa}));
  report.kernel = plan.kernel();
  // Each call brings other arrays in another order, all of the same matrix, so that every result can be checked.
  auto arrivals = std::make_shared<std::vector<Arrivals>>();
  for (std::uint64_t i = 0; i < 4; ++i) arrivals->push_back(shuffled(*w, options.seed + i));
  return Racer{{"espalier", "",
                [plan, arrivals, turn = std::size_t{0}, &setup, &executor]() mutable {
                  const Arrivals& now = (*arrivals)[turn++ % arrivals->size()];
                  static_cast<void>(plan.run({now.rows, now.cols}, now.values, setup.x, setup.y, executor).has_value());
                }},
               {},
               {},
               0};
}

}  // namespace

Result<SpmmReport> measure_spmm(const SpmmBenchOptions& options) {
  ESPALIER_ASSIGN(Setup setup, draw(options));
  SpmmReport report;
  report.isa = std::min(options.isa.value_or(active_isa()), best_isa(machine_features()));
  report.threads = options.threads > 0 ? options.threads : available_cores();
  report.density = setup.density;
  const auto executor = make_executor(report.threads);
  const MatmulOptions plan_options{.n = setup.n,
                                   .x = setup.x.dtype(),
                                   .y = setup.y.dtype(),
                                   .threads = report.threads,
                                   .isa = options.isa,
                                   .kernel = options.dynamic ? std::string() : options.kernel,
                                   .deterministic = options.deterministic};
  ESPALIER_ASSIGN(const MatmulPlan plan,
                  std::visit([&](const auto& w) { return plan_matmul(w, plan_options); }, setup.sparse));
  report.kernel = plan.kernel();
  report.explain = plan.explain();
  report.predicted_ms = plan.predicted_ms();
  std::vector<Racer> racers;
  racers.push_back(
      {{"espalier", "", [&] { static_cast<void>(plan.run(setup.x, setup.y, *executor).has_value()); }}, {}, {}, 0});
  if (options.dynamic) {
    ESPALIER_ASSIGN(Racer dynamic, dynamic_racer(options, setup, *executor, report));
    racers.insert(racers.begin(), std::move(dynamic));
  }
  const std::size_t ours = racers.size();
  add_peers(racers, options, setup, report);
  const Checker checker(setup);
  ESPALIER_TRY(verify(racers, setup, checker));
  report.rounds = race(racers, *executor, options.seconds);

  const PeerTimes mine = times_of(racers[0]);
  report.cold_ms = mine.cold_ms;
  report.hot_ms = mine.hot_ms;
  report.cold_min_ms = mine.cold_min_ms;
  report.hot_min_ms = mine.hot_min_ms;
  report.max_error = mine.max_error;
  report.tolerance = checker.tolerance();
  if (options.dynamic) report.static_plan = times_of(racers[1]);
  for (std::size_t i = ours; i < racers.size(); ++i) report.peers.push_back(times_of(racers[i]));
  compare_with_dense(report);
  const double operations =
      2.0 * setup.density * static_cast<double>(setup.m) * static_cast<double>(setup.k) * static_cast<double>(setup.n);
  report.gflops = ratio(operations, report.hot_ms * 1e6);
  const Ceilings ceilings = report.isa == active_isa() ? this_machine().ceilings : nominal_ceilings(report.isa);
  double ceiling = options.dtype == DType::kF64 ? ceilings.f32_gflops / 2 : ceilings.f32_gflops;
  if (options.dtype == DType::kBf16) ceiling = std::max(ceiling, ceilings.bf16_gflops);
  if (options.dtype == DType::kI8) ceiling = std::max(ceiling, ceilings.int8_gops);
  report.fraction_of_ceiling = ratio(report.gflops, ceiling * report.threads);
  return report;
}

}  // namespace espalier
