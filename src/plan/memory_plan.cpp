// Lifetimes and offsets.
#include "plan/memory_plan.hpp"

#include <algorithm>

namespace espalier::plan {
namespace {

constexpr std::size_t kAlignment = 64;

struct Lifetime {
  std::size_t first = static_cast<std::size_t>(-1), last = 0;

  void include(std::size_t step) {
    first = std::min(first, step);
    last = std::max(last, step);
  }
  bool overlaps(const Lifetime& other) const { return first <= other.last && other.first <= last; }
};

// By root buffer.
std::vector<Lifetime> lifetimes(const Program& program) {
  std::vector<Lifetime> result(program.buffers.size());
  for (std::size_t s = 0; s < program.steps.size(); ++s)
    for (const auto* list : {&program.steps[s].reads, &program.steps[s].writes})
      for (const int buffer : *list)
        if (buffer >= 0) result[static_cast<std::size_t>(program.root(buffer))].include(s);
  return result;
}

bool can_share(const Program& program, const Step& step, std::size_t at, const std::vector<Lifetime>& lives) {
  if (step.in_place < 0 || step.writes.empty() || step.writes[0] < 0) return false;
  const int read = step.reads[static_cast<std::size_t>(step.in_place)];
  if (read < 0) return false;
  const int from = program.root(read), to = program.root(step.writes[0]);
  if (from == to) return false;
  const Buffer& source = program.buffers[static_cast<std::size_t>(from)];
  const Buffer& target = program.buffers[static_cast<std::size_t>(to)];
  if (source.storage != Storage::kArena || target.storage != Storage::kArena) return false;
  if (source.bytes != target.bytes || lives[static_cast<std::size_t>(from)].last != at) return false;
  // The shared operand may be read only through the operand that is overwritten.
  for (std::size_t i = 0; i < step.reads.size(); ++i)
    if (static_cast<int>(i) != step.in_place && step.reads[i] >= 0 && program.root(step.reads[i]) == from) return false;
  return true;
}

void share_in_place(Program& program, std::vector<Lifetime>& lives) {
  for (std::size_t s = 0; s < program.steps.size(); ++s) {
    const Step& step = program.steps[s];
    if (!can_share(program, step, s, lives)) continue;
    const int from = program.root(step.reads[static_cast<std::size_t>(step.in_place)]);
    const int to = program.root(step.writes[0]);
    program.buffers[static_cast<std::size_t>(to)].alias_of = from;
    lives[static_cast<std::size_t>(from)].include(lives[static_cast<std::size_t>(to)].last);
  }
}

struct Placed {
  std::size_t offset, bytes;
  Lifetime life;
};

std::size_t lowest_offset(const std::vector<Placed>& placed, std::size_t bytes, const Lifetime& life, ArenaUse use) {
  std::size_t offset = 0;
  for (const Placed& other : placed) {  // ascending offsets
    if (use == ArenaUse::kCompact && !other.life.overlaps(life)) continue;
    if (offset + bytes <= other.offset) break;
    offset = std::max(offset, other.offset + other.bytes);
  }
  return offset;
}

}  // namespace

void plan_memory(Program& program, ArenaUse use) {
  std::vector<Lifetime> lives = lifetimes(program);
  share_in_place(program, lives);

  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    const Buffer& buffer = program.buffers[i];
    if (buffer.storage == Storage::kArena && buffer.alias_of < 0 && lives[i].first <= lives[i].last) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return program.buffers[a].bytes > program.buffers[b].bytes; });
  std::vector<Placed> placed;  // ascending offsets
  for (const std::size_t i : order) {
    const std::size_t bytes = (program.buffers[i].bytes + kAlignment - 1) / kAlignment * kAlignment;
    const Placed item{lowest_offset(placed, bytes, lives[i], use), bytes, lives[i]};
    program.buffers[i].offset = item.offset;
    program.arena_bytes = std::max(program.arena_bytes, item.offset + bytes);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), item,
                                   [](const Placed& a, const Placed& b) { return a.offset < b.offset; }),
                  item);
  }
  for (const Step& step : program.steps) program.scratch_bytes = std::max(program.scratch_bytes, step.scratch);
}

}  // namespace espalier::plan
