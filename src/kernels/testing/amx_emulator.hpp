// Runs AMX machine code on machines without AMX, for tests: the processor refuses a tile instruction with SIGILL, and
// the handler carries it out in software. So the very objects that ship are tested everywhere; only their speed is not.
//
// Covers LDTILECFG, STTILECFG, TILERELEASE, TILEZERO, TILELOADD(T1), TILESTORED, TDPBF16PS and TDPB[SU][SU]D
// (Intel SDM volume 2; bf16 products flush denormals and round to nearest even as TDPBF16PS does). Tiles are per
// thread.
#pragma once

namespace espalier::testing {

// Installs the handler once per process unless the machine has AMX. True when tile instructions can be executed
// afterwards, on hardware or emulated; false on other architectures than x86-64.
bool enable_amx();
// Whether tile instructions are being emulated; then timings mean nothing.
bool amx_is_emulated();

}  // namespace espalier::testing
