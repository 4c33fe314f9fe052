// Flushing denormals to zero (FTZ and DAZ) in the calling thread: a denormal costs an f32 multiply-add a hundredfold.
#pragma once

namespace espalier {

// Sets both bits and returns the register as it was, for restore_float_mode.
unsigned flush_denormals() noexcept;
void restore_float_mode(unsigned mode) noexcept;

}  // namespace espalier
