// A report as text: one line per layer, its rejected kernels below, then conversions and totals.
#include <algorithm>
#include <espalier/plan.hpp>

#include "base/fail.hpp"

namespace espalier {
namespace {

std::string time_text(double ms) { return ms < 0 ? "-" : fmt::format("{:.3f}", ms); }

std::size_t widest(const std::vector<LayerReport>& layers, std::string LayerReport::*member, std::size_t least) {
  std::size_t width = least;
  for (const LayerReport& layer : layers) width = std::max(width, (layer.*member).size());
  return width;
}

}  // namespace

std::string to_text(const PlanReport& report) {
  const std::size_t names = widest(report.layers, &LayerReport::name, 5);
  const std::size_t patterns = widest(report.layers, &LayerReport::pattern, 7);
  const std::size_t kernels = widest(report.layers, &LayerReport::kernel, 6);
  std::string text = fmt::format("{:<{}}  {:<7}  {:<{}}  density  {:<{}}  predicted  measured  dense  reason\n",
                                 "layer", names, "op", "pattern", patterns, "kernel", kernels);
  for (const LayerReport& layer : report.layers) {
    text +=
        fmt::format("{:<{}}  {:<7}  {:<{}}  {:>7.3f}  {:<{}}  {:>9}  {:>8}  {:>5}  {}\n", layer.name, names, layer.op,
                    layer.pattern, patterns, layer.density, layer.kernel, kernels, time_text(layer.predicted_ms),
                    time_text(layer.measured_ms), time_text(layer.dense_ms), layer.reason);
    for (const RejectedKernel& rejected : layer.rejected)
      text += fmt::format("{:<{}}    not {}: {}{}\n", "", names, rejected.kernel, rejected.reason,
                          rejected.ms < 0 ? "" : fmt::format(" ({:.3f} ms)", rejected.ms));
  }
  for (const ConversionReport& conversion : report.conversions)
    text += fmt::format("conversion of {}: {} -> {} {} ms\n", conversion.value, conversion.from, conversion.to,
                        time_text(conversion.ms));
  text += fmt::format("everything else: {} ms; {} threads, {}, {}; weights {:.1f} MB, activations {:.1f} MB\n",
                      time_text(report.fixed_ms), report.threads, report.isa, report.dtype,
                      static_cast<double>(report.weight_bytes) / 1e6, static_cast<double>(report.arena_bytes) / 1e6);
  return text;
}

}  // namespace espalier
