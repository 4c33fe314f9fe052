// `espalier machine`: what this machine offers.
#include <espalier/executor.hpp>
#include <espalier/machine.hpp>

#include "context.hpp"

namespace espalier::cli {

namespace {

Status show_machine(Context& context) {
  const auto features = feature_names(machine_features());
  const CacheSizes& caches = cache_sizes();
  context.json["isa"] = to_string(active_isa());
  context.json["features"] = features;
  context.json["cores"] = available_cores();
  context.json["caches"] = {{"l1d", caches.l1d}, {"l2", caches.l2}, {"l3", caches.l3}};
  const Ceilings& ceilings = this_machine().ceilings;
  context.json["ceilings"] = {{"f32_gflops", ceilings.f32_gflops},
                              {"bf16_gflops", ceilings.bf16_gflops},
                              {"int8_gops", ceilings.int8_gops},
                              {"l2_gbs", ceilings.l2_gbs},
                              {"memory_gbs", ceilings.memory_gbs}};

  context.print("isa        {}", to_string(active_isa()));
  context.print("features   {}", fmt::join(features, " "));
  context.print("cores      {}", available_cores());
  context.print("caches     L1d {} KiB, L2 {} KiB, L3 {} KiB", caches.l1d / 1024, caches.l2 / 1024, caches.l3 / 1024);
  context.print("one core   f32 {:.0f} GFLOP/s, bf16 {:.0f} GFLOP/s, int8 {:.0f} GOP/s, L2 {:.0f} GB/s, memory {:.0f} GB/s",
                ceilings.f32_gflops, ceilings.bf16_gflops, ceilings.int8_gops, ceilings.l2_gbs, ceilings.memory_gbs);
  return {};
}

}  // namespace

void add_machine(CLI::App& app, Context& context) {
  CLI::App* command =
      add_command(app, context, "machine", "Show what this machine offers", "espalier machine --json machine.json");
  set_action(command, context, show_machine);
}

}  // namespace espalier::cli
