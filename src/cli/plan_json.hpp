// The report of a Plan as JSON; times that are not known are null.
#pragma once

#include <espalier/plan.hpp>

#include "context.hpp"

namespace espalier::cli {

Json layers_json(const PlanReport& report);
Json conversions_json(const PlanReport& report);
// null for a negative number, which stands for unknown.
Json known_ms(double ms);

}  // namespace espalier::cli
