// Counts calls of operator new in this test program.
#pragma once

namespace espalier::base_test {

void start_counting_allocations();
int stop_counting_allocations();

}  // namespace espalier::base_test
