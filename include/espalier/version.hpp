// The version of the library, as numbers and as text.
#pragma once

#include <espalier/export.hpp>

#define ESPALIER_VERSION_MAJOR 0
#define ESPALIER_VERSION_MINOR 1
#define ESPALIER_VERSION_PATCH 0
#define ESPALIER_VERSION_STRING "0.1.0"

namespace espalier {

// The version of the library that the program runs with (the macros are what it was compiled with), e.g. "0.1.0".
ESPALIER_API const char* version() noexcept;

}  // namespace espalier
