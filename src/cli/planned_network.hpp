// F made ready to run: a graph compiled with the options of the command line, or a Plan from a file.
#pragma once

#include <espalier/plan.hpp>
#include <espalier/runtime.hpp>
#include <string>

#include "network.hpp"

namespace espalier::cli {

// --deterministic plans by the model, else by timed trials.
Tuning tuning_of(const Context& context);
CompileOptions compile_options(const Context& context, const NetworkOptions& options);
// Errors name the file.
Result<Plan> compile_network(const Graph& graph, const std::string& file, const CompileOptions& options);
// A Plan from a file, or F compiled. A Plan keeps what it was compiled for: --batch, --shape and --dtype are refused.
Result<Plan> load_or_compile(const Context& context, const NetworkOptions& options);

}  // namespace espalier::cli
