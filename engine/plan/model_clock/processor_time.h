// Computes the time of one operator on a processor of a profile (H13). The model clock and the planners' costs both
// use it.
//
//   GPU   max(flops / rate, bytes / bandwidth), but at least the time of submitting a kernel. So the rate grows with
//         the arithmetic intensity until it is flat.
//   NPU   Matmuls only, input-stationary (H1: the big weight streams, the activations stay). The time is the longer of
//         two: the one of npu_emu/memory_model.h, and the time in which the memory brings the weights once for each
//         block. A matmul of 8-bit activations (--act i8) runs in the array's integer mode, if it has one. This mode
//         computes int8_rate times the products in a cycle. Its operands are one byte each on chip (W8A8); codes of 4
//         bits are bytes by then (W4A8). Scaling a group's sum hides behind the next group.
//
// Contract: pure functions. Bytes are those of the shared memory, with weights and activations as wide as the profile
// says. `context` is the number of positions before the batch. A token's attention sees them, and the batch's tokens up
// to itself.
#pragma once

#include <cstdint>
#include <string>

#include "engine/device/operator.h"
#include "engine/plan/model_clock/soc_profile.h"

namespace tandem {

struct OpTime {
  double fixed_seconds = 0;  // the launch, before the work
  double seconds = 0;        // the work, with all of the memory
  double flops = 0, bytes = 0;

  double total() const { return fixed_seconds + seconds; }
  double bytes_per_second() const { return seconds > 0 ? bytes / seconds : 0; }  // demand on the memory
};

// Bytes of `rows` rows of the matrix in memory: profile.weight_bits for each weight, or as packed if that is 0.
double weight_bytes_of(const SocProfile& profile, const PackedMatrix& matrix, int64_t rows);

OpTime gpu_time(const SocProfile& profile, const Operator& op, int64_t context);
OpTime npu_time(const SocProfile& profile, const MatMul& op);
// The reason why the NPU does not run the operator; empty if it does.
std::string npu_refusal(const SocProfile& profile, const Operator& op);

// Seconds of compiling a static graph: a part for each graph and a part for each element of its activations.
double compile_seconds(const SocProfile& profile, const MatMul& op);
// Whether the profile has a graph for that many tokens.
bool has_graph(const SocProfile& profile, int64_t tokens);

}  // namespace tandem
