#include <espalier/version.hpp>

namespace espalier {

const char* version() noexcept { return ESPALIER_VERSION_STRING; }

}  // namespace espalier
