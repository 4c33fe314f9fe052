// What dynamic plans and encoders refuse, and how much they hold.
#pragma once

#include <espalier/dynamic.hpp>
#include <string_view>

namespace espalier {

Status check_dynamic_options(const DynamicMatmulOptions& options);
// In blocks. Of options that are good.
std::int64_t capacity_of(const DynamicMatmulOptions& options);
// kLimit when `count` blocks are more; the message begins with `what`.
Status check_capacity(std::string_view what, std::int64_t count, const DynamicMatmulOptions& options);

}  // namespace espalier
