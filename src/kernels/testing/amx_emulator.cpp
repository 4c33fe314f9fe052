#include "kernels/testing/amx_emulator.hpp"

#include <espalier/cpu.hpp>

#if defined(__x86_64__) && defined(__linux__)
#include <signal.h>
#include <ucontext.h>

#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace espalier::testing {
namespace {

constexpr int kTiles = 8;
constexpr int kMaxRows = 16;
constexpr int kRowBytes = 64;

// The 64-byte operand of LDTILECFG.
struct TileConfig {
  std::uint8_t palette;
  std::uint8_t start_row;
  std::uint8_t reserved[14];
  std::uint16_t row_bytes[16];
  std::uint8_t rows[16];
};
static_assert(sizeof(TileConfig) == 64);

struct TileState {
  TileConfig config;
  std::uint8_t data[kTiles][kMaxRows][kRowBytes];
};
thread_local TileState tiles;

// One decoded tile instruction.
struct Instruction {
  int prefix;  // 0 none, 1 66, 2 F3, 3 F2
  int opcode;
  int reg, rm, third;    // tile numbers, or the register fields of a memory operand
  std::uint8_t* memory;  // nullptr for register forms
  std::int64_t stride;   // of TILELOADD and TILESTORED
  int length;
};

std::int64_t register_value(const ucontext_t& context, int number) {
  static constexpr int kOrder[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                     REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  return context.uc_mcontext.gregs[kOrder[number]];
}

// Decodes VEX.128.0F38.W0 instructions with opcodes 49, 4B, 5C and 5E. False: not one of ours.
bool decode(const std::uint8_t* code, const ucontext_t& context, Instruction& out) {
  if (code[0] != 0xC4 || (code[1] & 0x1F) != 2 || (code[2] & 0x84) != 0) return false;
  const bool extend_index = (code[1] & 0x40) == 0;
  const bool extend_base = (code[1] & 0x20) == 0;
  out.prefix = code[2] & 3;
  out.third = (~(code[2] >> 3)) & 7;
  out.opcode = code[3];
  if (out.opcode != 0x49 && out.opcode != 0x4B && out.opcode != 0x5C && out.opcode != 0x5E) return false;
  const std::uint8_t modrm = code[4];
  const int mode = modrm >> 6;
  out.reg = (modrm >> 3) & 7;
  out.rm = modrm & 7;
  out.memory = nullptr;
  out.stride = 0;
  out.length = 5;
  if (mode == 3) return true;

  std::int64_t address = 0;
  int base = out.rm | (extend_base ? 8 : 0);
  bool has_base = true;
  if (out.rm == 4) {
    const std::uint8_t sib = code[out.length++];
    const int index = ((sib >> 3) & 7) | (extend_index ? 8 : 0);
    base = (sib & 7) | (extend_base ? 8 : 0);
    has_base = !((sib & 7) == 5 && mode == 0);
    if (index != 4) out.stride = register_value(context, index) << (sib >> 6);
  } else if (out.rm == 5 && mode == 0) {
    has_base = false;  // RIP-relative: the displacement counts from the next instruction, which starts behind it
    address = context.uc_mcontext.gregs[REG_RIP] + out.length + 4;
  }
  if (has_base) address += register_value(context, base);
  if (mode == 1) {
    address += static_cast<std::int8_t>(code[out.length++]);
  } else if (mode == 2 || !has_base) {
    std::int32_t displacement = 0;
    std::memcpy(&displacement, code + out.length, 4);
    address += displacement;
    out.length += 4;
  }
  // LDTILECFG and STTILECFG take an ordinary address; for loads and stores the index is the row stride.
  if (out.opcode == 0x49) address += out.stride;
  out.memory = reinterpret_cast<std::uint8_t*>(address);
  return true;
}

int rows_of(int tile) { return tiles.config.rows[tile]; }
int bytes_of(int tile) { return tiles.config.row_bytes[tile]; }

void load_or_store(const Instruction& in) {
  const bool store = in.prefix == 2;
  for (int row = 0; row < rows_of(in.reg); ++row) {
    std::uint8_t* memory = in.memory + row * in.stride;
    std::uint8_t* tile = tiles.data[in.reg][row];
    if (store) {
      std::memcpy(memory, tile, static_cast<std::size_t>(bytes_of(in.reg)));
    } else {
      std::memset(tile, 0, kRowBytes);
      std::memcpy(tile, memory, static_cast<std::size_t>(bytes_of(in.reg)));
    }
  }
  if (!store)
    for (int row = rows_of(in.reg); row < kMaxRows; ++row) std::memset(tiles.data[in.reg][row], 0, kRowBytes);
}

float flushed(float value) { return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0F, value) : value; }

float widen(std::uint16_t bits) {
  const std::uint32_t u = static_cast<std::uint32_t>(bits) << 16;
  float value = 0;
  std::memcpy(&value, &u, 4);
  return flushed(value);
}

void dot_bf16(const Instruction& in) {
  const int c = in.reg, a = in.rm, b = in.third;
  for (int row = 0; row < rows_of(c); ++row)
    for (int k = 0; k < bytes_of(a) / 4; ++k)
      for (int col = 0; col < bytes_of(c) / 4; ++col) {
        std::uint16_t x[2], y[2];
        std::memcpy(x, &tiles.data[a][row][4 * k], 4);
        std::memcpy(y, &tiles.data[b][k][4 * col], 4);
        float sum = 0;
        std::memcpy(&sum, &tiles.data[c][row][4 * col], 4);
        // The even pair is multiplied, the odd pair is fused into it, and the sum joins the accumulator.
        const float pair = flushed(std::fma(widen(x[1]), widen(y[1]), flushed(widen(x[0]) * widen(y[0]))));
        sum = flushed(flushed(sum) + pair);
        std::memcpy(&tiles.data[c][row][4 * col], &sum, 4);
      }
}

void dot_int8(const Instruction& in) {
  const bool left_signed = in.prefix == 3 || in.prefix == 2;   // F2 ssd, F3 sud
  const bool right_signed = in.prefix == 3 || in.prefix == 1;  // F2 ssd, 66 usd
  const int c = in.reg, a = in.rm, b = in.third;
  const auto value = [](std::uint8_t byte, bool is_signed) {
    return is_signed ? static_cast<std::int32_t>(static_cast<std::int8_t>(byte)) : static_cast<std::int32_t>(byte);
  };
  for (int row = 0; row < rows_of(c); ++row)
    for (int k = 0; k < bytes_of(a) / 4; ++k)
      for (int col = 0; col < bytes_of(c) / 4; ++col) {
        std::uint32_t sum = 0;
        std::memcpy(&sum, &tiles.data[c][row][4 * col], 4);
        for (int i = 0; i < 4; ++i)
          sum += static_cast<std::uint32_t>(value(tiles.data[a][row][4 * k + i], left_signed) *
                                            value(tiles.data[b][k][4 * col + i], right_signed));
        std::memcpy(&tiles.data[c][row][4 * col], &sum, 4);
      }
}

void execute(const Instruction& in) {
  if (in.opcode == 0x49 && in.memory != nullptr) {
    if (in.prefix == 0) {
      std::memset(tiles.data, 0, sizeof tiles.data);
      std::memcpy(&tiles.config, in.memory, sizeof tiles.config);
    } else {
      std::memcpy(in.memory, &tiles.config, sizeof tiles.config);
    }
  } else if (in.opcode == 0x49 && in.prefix == 0) {
    std::memset(&tiles, 0, sizeof tiles);  // TILERELEASE
  } else if (in.opcode == 0x49) {
    std::memset(tiles.data[in.reg], 0, sizeof tiles.data[in.reg]);
  } else if (in.opcode == 0x4B) {
    load_or_store(in);
  } else if (in.opcode == 0x5C) {
    dot_bf16(in);
  } else {
    dot_int8(in);
  }
}

struct sigaction previous;

void on_illegal_instruction(int signal, siginfo_t* info, void* raw) {
  auto& context = *static_cast<ucontext_t*>(raw);
  Instruction instruction{};
  if (decode(reinterpret_cast<const std::uint8_t*>(context.uc_mcontext.gregs[REG_RIP]), context, instruction)) {
    execute(instruction);
    context.uc_mcontext.gregs[REG_RIP] += instruction.length;
    return;
  }
  if ((previous.sa_flags & SA_SIGINFO) != 0 && previous.sa_sigaction != nullptr) {
    previous.sa_sigaction(signal, info, raw);
    return;
  }
  std::abort();
}

bool install() {
  struct sigaction action {};
  action.sa_sigaction = on_illegal_instruction;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigemptyset(&action.sa_mask);
  return sigaction(SIGILL, &action, &previous) == 0;
}

}  // namespace

bool amx_is_emulated() { return !machine_features().amx_tile; }

bool enable_amx() {
  if (!amx_is_emulated()) return true;
  static const bool installed = install();
  return installed;
}

}  // namespace espalier::testing

#else

namespace espalier::testing {

bool amx_is_emulated() { return false; }
bool enable_amx() { return false; }

}  // namespace espalier::testing

#endif
