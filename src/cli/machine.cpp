// `espalier machine`: what this machine offers.
#include <espalier/machine.hpp>

#include "context.hpp"

namespace espalier::cli {

namespace {

// Rates of one core; null where the machine lacks the instructions.
Json rate(double value) { return value > 0 ? Json(value) : Json(); }
std::string shown(double value) { return value > 0 ? fmt::format("{:.0f}", value) : std::string("-"); }

Status show_machine(Context& context) {
  const Machine& machine = this_machine();
  const Ceilings& ceilings = machine.ceilings;
  context.json["isa"] = to_string(machine.isa);
  context.json["features"] = machine.features;
  context.json["cores"] = machine.cores;
  context.json["caches"] = {{"l1d", machine.caches.l1d}, {"l2", machine.caches.l2}, {"l3", machine.caches.l3}};
  context.json["ceilings"] = {{"f32_gflops", rate(ceilings.f32_gflops)},
                              {"bf16_gflops", rate(ceilings.bf16_gflops)},
                              {"bf16_vector_gflops", rate(ceilings.bf16_vector_gflops)},
                              {"int8_vector_gops", rate(ceilings.int8_vector_gops)},
                              {"int8_gops", rate(ceilings.int8_gops)},
                              {"l2_gbs", rate(ceilings.l2_gbs)},
                              {"memory_gbs", rate(ceilings.memory_gbs)}};

  context.print("isa        {}", to_string(machine.isa));
  context.print("features   {}", fmt::join(machine.features, " "));
  context.print("cores      {}", machine.cores);
  context.print("caches     L1d {} KiB, L2 {} KiB, L3 {} KiB", machine.caches.l1d / 1024, machine.caches.l2 / 1024,
                machine.caches.l3 / 1024);
  context.print("one core   f32 {} GFLOP/s, bf16 {} GFLOP/s, int8 {} GOP/s, L2 {} GB/s, memory {} GB/s",
                shown(ceilings.f32_gflops), shown(ceilings.bf16_gflops), shown(ceilings.int8_gops),
                shown(ceilings.l2_gbs), shown(ceilings.memory_gbs));
  return {};
}

}  // namespace

void add_machine(CLI::App& app, Context& context) {
  CLI::App* command =
      add_command(app, context, "machine", "Show what this machine offers", "espalier machine --json machine.json");
  set_action(command, context, show_machine);
}

}  // namespace espalier::cli
