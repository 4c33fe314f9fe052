// Predictions beside published figures, printed and as JSON.
#pragma once

#include <cstdio>
#include <nlohmann/json.hpp>

#include "ipu_published/published.hpp"

namespace espalier::bench {

nlohmann::ordered_json compare(const ipu::Machine& machine, const Published& published, bool gain, std::FILE* out);

}  // namespace espalier::bench
