// The subcommands in the order in which --help lists them.
#pragma once

#include "context.hpp"

namespace espalier::cli {

void add_machine(CLI::App& app, Context& context);
void add_model(CLI::App& app, Context& context);
void add_info(CLI::App& app, Context& context);
void add_prune(CLI::App& app, Context& context);
void add_compile(CLI::App& app, Context& context);
void add_run(CLI::App& app, Context& context);
void add_compare(CLI::App& app, Context& context);
void add_eval(CLI::App& app, Context& context);
void add_bench(CLI::App& app, Context& context);
void add_explain(CLI::App& app, Context& context);
void add_spmm(CLI::App& app, Context& context);
void add_estimate(CLI::App& app, Context& context);

inline void add_commands(CLI::App& app, Context& context) {
  add_machine(app, context);
  add_model(app, context);
  add_info(app, context);
  add_prune(app, context);
  add_compile(app, context);
  add_run(app, context);
  add_compare(app, context);
  add_eval(app, context);
  add_bench(app, context);
  add_explain(app, context);
  add_spmm(app, context);
  add_estimate(app, context);
}

}  // namespace espalier::cli
