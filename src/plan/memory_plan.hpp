// Places every arena buffer of a Program: lifetimes in step order, buffers in place where a step allows it, then the
// lowest free offset, largest first, or an offset of its own for each (ArenaUse).
#pragma once

#include "plan/program.hpp"

namespace espalier::plan {

// Sets alias_of of buffers written in place, offset of arena buffers, arena_bytes and scratch_bytes.
void plan_memory(Program& program, ArenaUse use);

}  // namespace espalier::plan
