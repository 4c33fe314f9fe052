#include "ipu_published/compare.hpp"

#include <fmt/format.h>

#include <array>
#include <map>
#include <set>

#include "ipu_published/power_law.hpp"
#include "ipu_published/statistics.hpp"

namespace espalier::bench {
namespace {

using Json = nlohmann::ordered_json;
using ipu::Estimate;
using ipu::Mode;
using ipu::Problem;

double density_of(std::int64_t inverse) { return 1.0 / static_cast<double>(inverse); }

Json agreement_json(const Agreement& a) {
  return {{"mean", a.mean}, {"spread", a.spread}, {"within_1_3", a.within}, {"worst", a.worst}};
}

class Comparison {
 public:
  Comparison(const ipu::Machine& machine, const Published& published, std::FILE* out)
      : machine_(machine), published_(published), out_(out) {}

  Json grid() const;
  Json dense() const;
  Json ratios() const;
  Json best_rates() const;
  Json power_law() const;
  Json gain() const;

 private:
  template <typename... Args>
  void print(fmt::format_string<Args...> format, Args&&... args) const {
    fmt::print(out_, "{}\n", fmt::format(format, std::forward<Args>(args)...));
  }
  // The best rate over n = 4, 16, ... `last`, in TFLOP/s of the kept entries; 0 when nothing fits.
  double best_rate(Problem problem, Mode mode, std::int64_t last) const {
    double best = 0;
    for (problem.n = 4; problem.n <= last; problem.n *= 4)
      if (const auto estimate = ipu::estimate(machine_, problem, mode)) best = std::max(best, estimate->tflops);
    return best;
  }

  const ipu::Machine& machine_;
  const Published& published_;
  std::FILE* out_;
};

Json Comparison::grid() const {
  std::vector<double> ratios;
  Json cells = Json::array();
  std::int64_t out_of_memory = 0, found = 0, falsely = 0;
  for (const GridCell& cell : published_.grid) {
    const auto estimate =
        ipu::estimate(machine_, {cell.m, cell.m, cell.n, cell.block, density_of(cell.inverse_density)}, Mode::kStatic);
    cells.push_back({{"block", cell.block},
                     {"m", cell.m},
                     {"n", cell.n},
                     {"inverse_density", cell.inverse_density},
                     {"published", cell.speedup ? Json(*cell.speedup) : Json(nullptr)},
                     {"predicted", estimate ? Json(estimate->speedup) : Json(nullptr)}});
    out_of_memory += !cell.speedup;
    found += !cell.speedup && !estimate;
    falsely += cell.speedup && !estimate;
    if (cell.speedup && estimate) ratios.push_back(estimate->speedup / *cell.speedup);
  }
  const Agreement a = agreement(ratios);
  print("static speed-up grid, f16: {} cells; spread {:.3f}, {:.1f} % within 1.3, worst {:.2f}, mean {:.3f}",
        ratios.size(), a.spread, 100 * a.within, a.worst, a.mean);
  print("  out of memory: {} of {} predicted, {} falsely", found, out_of_memory, falsely);
  return {{"agreement", agreement_json(a)},
          {"out_of_memory", {{"published", out_of_memory}, {"predicted", found}, {"false", falsely}}},
          {"cells", cells}};
}

Json Comparison::dense() const {
  Json json = Json::array();
  for (const DType dtype : {DType::kF16, DType::kF32}) {
    std::vector<double> ratios;
    Json points = Json::array();
    for (const DenseRate& rate : published_.dense) {
      if (rate.dtype != dtype) continue;
      Problem problem{rate.m, rate.m, rate.n};
      problem.dtype = dtype;
      const auto estimate = ipu::estimate(machine_, problem, Mode::kDense);
      if (!estimate) continue;
      ratios.push_back(estimate->tflops / rate.tflops);
      points.push_back({{"m", rate.m}, {"n", rate.n}, {"published", rate.tflops}, {"predicted", estimate->tflops}});
    }
    const Agreement a = agreement(ratios);
    print("dense {} TFLOP/s: {} points; spread {:.3f}, worst {:.3f}", to_string(dtype), ratios.size(), a.spread,
          a.worst);
    json.push_back({{"dtype", to_string(dtype)}, {"agreement", agreement_json(a)}, {"points", points}});
  }
  return json;
}

Json Comparison::ratios() const {
  Json json = Json::array();
  print("speed-up over dense, m = k = 4096, density 1/16, best over n:");
  for (const Ratio& ratio : published_.ratios) {
    Problem problem{4096, 4096, 0, ratio.block, 1.0 / 16, ratio.dtype};
    const auto estimate = ipu::estimate_best_n(machine_, problem, ratio.mode);
    const double speedup = estimate ? estimate->speedup : 0;
    print("  {:<7} b={:<2} {}: published {:.1f}, predicted {:.2f} ({:+.0f} %) at n={}", to_string(ratio.mode),
          ratio.block, to_string(ratio.dtype), ratio.speedup, speedup, 100 * (speedup / ratio.speedup - 1),
          estimate ? estimate->problem.n : 0);
    json.push_back({{"mode", to_string(ratio.mode)},
                    {"block", ratio.block},
                    {"dtype", to_string(ratio.dtype)},
                    {"published", ratio.speedup},
                    {"predicted", speedup}});
  }
  return json;
}

Json Comparison::best_rates() const {
  Json json = Json::array();
  print("TFLOP/s of the kept entries, f16, best over n:");
  for (const BestRate& rate : published_.best) {
    const Problem problem{rate.m, rate.m, 0, rate.block, density_of(rate.inverse_density)};
    const auto estimate = ipu::estimate_best_n(machine_, problem, rate.mode);
    const double tflops = estimate ? estimate->tflops : 0;
    print("  {:<7} b={:<2} m={:<4} 1/{:<2}: published {:5.1f}, predicted {:5.1f} ({:+.0f} %) at n={}",
          to_string(rate.mode), rate.block, rate.m, rate.inverse_density, rate.tflops, tflops,
          100 * (tflops / rate.tflops - 1), estimate ? estimate->problem.n : 0);
    json.push_back({{"mode", to_string(rate.mode)},
                    {"block", rate.block},
                    {"m", rate.m},
                    {"inverse_density", rate.inverse_density},
                    {"published", rate.tflops},
                    {"predicted", tflops}});
  }
  return json;
}

// Dense at its best n; static at its best n up to 1024, and at density 1/16 at any: only there do published rates
// exceed those of the grid, which ends at 1024.
Json Comparison::power_law() const {
  std::vector<LawPoint> points;
  Json json;
  for (const std::int64_t m : {256, 512, 1024, 2048, 4096, 8192}) {
    const double dense = best_rate({m, m, 0}, Mode::kDense, 65536);
    for (const std::int64_t block : {1, 4, 8, 16}) {
      for (const std::int64_t inverse : {4, 8, 16, 32}) {
        const Problem problem{m, m, 0, block, density_of(inverse)};
        const double rate = best_rate(problem, Mode::kStatic, inverse == 16 ? 65536 : 1024);
        if (rate > 0)
          points.push_back(
              {static_cast<double>(m), problem.density, static_cast<double>(block), rate / (dense * problem.density)});
      }
    }
  }
  const PowerLaw law = fit_power_law(points);
  std::size_t near = 0;
  double least = 1e300, most = 0;
  json["points"] = Json::array();
  for (const LawPoint& p : points) {
    const double fitted =
        law.factor * std::pow(p.m, law.m) * std::pow(p.density, law.density) * std::pow(p.block, law.block);
    near += fitted / p.speedup < 2 && p.speedup / fitted < 2;
    least = std::min(least, p.speedup);
    most = std::max(most, p.speedup);
    json["points"].push_back(
        {{"m", p.m}, {"density", p.density}, {"block", p.block}, {"speedup", p.speedup}, {"fitted", fitted}});
  }
  const PowerLaw& was = published_.law;
  print("power law: published {} m^{} d^{} b^{}", was.factor, was.m, was.density, was.block);
  print("           predicted {:.4f} m^{:.3f} d^{:.3f} b^{:.3f}; {} of {} points within 2; they span {:.2f} to {:.1f}",
        law.factor, law.m, law.density, law.block, near, points.size(), least, most);
  json["law"] = {{"factor", law.factor}, {"m", law.m}, {"density", law.density}, {"block", law.block}};
  return json;
}

Json Comparison::gain() const {
  Json json = Json::array();
  std::vector<double> over_static, over_dynamic;
  std::int64_t worse = 0;
  for (const GridCell& cell : published_.grid) {
    const Problem problem{cell.m, cell.m, cell.n, cell.block, density_of(cell.inverse_density)};
    const auto fixed = ipu::estimate(machine_, problem, Mode::kStatic);
    const auto dynamic = ipu::estimate(machine_, problem, Mode::kDynamic);
    const auto best = ipu::estimate(machine_, problem, Mode::kBest);
    if (fixed && (!best || best->cycles > fixed->cycles)) ++worse;
    if (dynamic && (!best || best->cycles > dynamic->cycles)) ++worse;
    if (fixed && best) over_static.push_back(fixed->cycles / best->cycles);
    if (dynamic && best) over_dynamic.push_back(dynamic->cycles / best->cycles);
    const auto cycles = [](const Result<Estimate>& e) { return e ? Json(e->cycles) : Json(nullptr); };
    json.push_back({{"block", cell.block},
                    {"m", cell.m},
                    {"n", cell.n},
                    {"inverse_density", cell.inverse_density},
                    {"static", cycles(fixed)},
                    {"dynamic", cycles(dynamic)},
                    {"best", cycles(best)},
                    {"plan", best ? best->plan : ""}});
  }
  const Agreement s = agreement(over_static), d = agreement(over_dynamic);
  print(
      "best against published plans over the grid: {:.2f} x faster than static (at most {:.2f}), {:.2f} x than dynamic "
      "(at most {:.2f}); worse in {} cells",
      s.mean, s.worst, d.mean, d.worst, worse);
  return {{"worse", worse}, {"over_static", s.mean}, {"over_dynamic", d.mean}, {"cells", json}};
}

}  // namespace

Json compare(const ipu::Machine& machine, const Published& published, bool gain, std::FILE* out) {
  const Comparison comparison(machine, published, out);
  Json json = {{"machine", machine.name}, {"basis", "modelled"}};
  json["static_grid"] = comparison.grid();
  json["dense"] = comparison.dense();
  json["ratios"] = comparison.ratios();
  json["best_rates"] = comparison.best_rates();
  json["power_law"] = comparison.power_law();
  if (gain) json["gain"] = comparison.gain();
  return json;
}

}  // namespace espalier::bench
