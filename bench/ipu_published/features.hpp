// The model's terms before their fitted constants, for bench/ipu_published/fit.py.
#pragma once

#include <nlohmann/json.hpp>

#include "ipu_published/published.hpp"

namespace espalier::bench {

nlohmann::ordered_json features_json(const ipu::Machine& machine, const Published& published);

}  // namespace espalier::bench
