// Whether a hypervisor runs below this process: it may move cores between caches at any time.
#pragma once

#include <espalier/cpu.hpp>

namespace espalier {

// Pure, and of this machine.
bool under_hypervisor(const CpuidValues& values) noexcept;
bool under_hypervisor();

}  // namespace espalier
