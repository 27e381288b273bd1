// Y2: who computes which expert of a layer, and when, on three lanes: the GPU, the processor, and the link that moves
// experts to the GPU.
//
// Contract: a plain value in the unit of its costs. Spans are in the order in which the lanes took them; those of one
// lane do not overlap. A moved expert begins on the GPU after its transfer has ended.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace tandem {

enum class ExpertLane : uint8_t { gpu, cpu, link };  // of equal clocks the first acts first
inline constexpr std::array kExpertLanes{ExpertLane::gpu, ExpertLane::cpu, ExpertLane::link};
const char* to_string(ExpertLane lane);

struct ExpertSpan {
  ExpertLane lane = ExpertLane::gpu;
  int32_t expert = 0;
  double begin = 0, end = 0;
  bool operator==(const ExpertSpan&) const = default;
};

struct ExpertSchedule {
  std::vector<ExpertSpan> spans;
  double cpu_end = 0, gpu_end = 0;  // gpu_end: gpu_offset at least
  double makespan() const { return std::max(cpu_end, gpu_end); }
  std::vector<int32_t> on(ExpertLane lane) const;  // ids, in the order of time
};

}  // namespace tandem
