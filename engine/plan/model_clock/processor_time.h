// How long one operator takes on a processor of a profile (H13), as pure functions: what the model clock and the costs
// of planners are made of.
//
//   GPU   max(flops / rate, bytes / bandwidth), and never less than submitting a kernel takes: a rate that grows with
//         the arithmetic intensity until it is flat.
//   NPU   a matmul alone, input-stationary (H1: the big weight streams, the activations stay): npu_emu/memory_model.h,
//         or what the memory needs to bring the weights once for each block, whichever is longer. A matmul of 8-bit
//         activations (--act i8) runs in the array's integer mode, if it has one: int8_rate times the products a cycle,
//         and operands of one byte on chip (W8A8; codes of 4 bits are bytes by then, W4A8). Scaling a group's sum as it
//         leaves hides behind the next group.
//
// Contract: bytes are those of the shared memory, with weights and activations as wide as the profile says. `context`
// counts the positions before the batch; attention sees them and, of the batch, what is not later than itself.
#pragma once

#include <cstdint>
#include <string>

#include "engine/device/operator.h"
#include "engine/plan/model_clock/soc_profile.h"

namespace tandem {

struct OpTime {
  double fixed_seconds = 0;  // before the work: launching it
  double seconds = 0;        // of the work, alone on the memory
  double flops = 0, bytes = 0;

  double total() const { return fixed_seconds + seconds; }
  double bytes_per_second() const { return seconds > 0 ? bytes / seconds : 0; }  // what it asks of the memory
};

// Of the memory and of the arithmetic units, whatever the processor.
double weight_bytes_of(const SocProfile& profile, const PackedMatrix& matrix, int64_t rows);

OpTime gpu_time(const SocProfile& profile, const Operator& op, int64_t context);
OpTime npu_time(const SocProfile& profile, const MatMul& op);
// Why the NPU does not run it; empty when it does.
std::string npu_refusal(const SocProfile& profile, const Operator& op);

// Seconds of preparing a static graph: a part for each graph and one for each element of its activations.
double compile_seconds(const SocProfile& profile, const MatMul& op);
// Whether the profile has a graph for that many tokens.
bool has_graph(const SocProfile& profile, int64_t tokens);

}  // namespace tandem
