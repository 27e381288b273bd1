// A processor profile: a system on chip as rates and fixed costs of a GPU, an NPU and the memory that they share (H13,
// H14). Profiles are built in, by name, or come from a JSON file.
//
// Contract
//   A plain value. Every number has a note that says where it comes from (printed in a paper, calibrated, assumed).
//   In the JSON each key is {"value": ..., "source": "..."}; docs/model_clock.md lists the keys. A file may have
//   "based_on": NAME of a built-in profile, and then names only the keys that differ. Without it every key is required
//   except joined_matmuls, gpu.decode_attention_flops, npu.int8_rate, npu.load_bytes_per_second and the sections
//   `experts` and `passes`. Each of these sections has all of its keys or none. An unknown key, a missing one, a wrong
//   type or a value out of range is an Error that names file and key. Units: seconds, bytes, bytes per second, flop/s
//   (multiply and add count as two), watts.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/moe/chip_experts.h"
#include "engine/plan/model_clock/chip_passes.h"

namespace tandem {

inline constexpr int kSocProfileSchema = 1;

struct SocProfile {
  std::string name, description;

  struct Memory {
    double peak_bytes_per_second = 0;    // of the memory itself
    double shared_bytes_per_second = 0;  // what GPU and NPU reach together
  } memory;

  struct Gpu {
    double flops = 0;                   // of matmuls, once compute-bound
    double attention_flops = 0;         // of attention's two products, visible positions alone
    double bytes_per_second = 0;        // alone
    double submit_seconds = 0;          // least time of a kernel behind a running one
    double submit_empty_seconds = 0;    // additional time after the queue ran empty
    double decode_attention_flops = 0;  // as attention_flops, in passes of up to npu.decode_tokens tokens; 0: the same
  } gpu;

  struct Npu {
    // The NPU multiplies 16-bit floats. false: it runs only matmuls of 8-bit activations, and only if it has
    // an int8_rate.
    bool float16 = true;
    double int8_rate = 0;  // products of 8-bit integers in the time of one of 16-bit floats; 0: no integer mode
    int64_t array_rows = 0, array_cols = 0, arrays = 0;
    double clock_hz = 0;
    // The memories of npu_emu/memory_model.h.
    int64_t stationary_bytes = 0;
    double fill_bytes_per_second = 0, stream_bytes_per_second = 0;
    double bytes_per_second = 0;                                    // from the shared memory, alone
    double weight_bytes = 0;                                        // of a weight as it streams into the array
    double decode_weight_bytes = 0;                                 // the same in graphs of up to decode_tokens tokens
    int64_t decode_tokens = 0;                                      // graphs of 1 .. decode_tokens tokens exist too
    std::vector<int64_t> graph_tokens;                              // pre-compiled sizes, rising
    double launch_seconds = 0;                                      // of one graph call
    double compile_graph_seconds = 0, compile_element_seconds = 0;  // per graph, and per element of its activations
    double load_bytes_per_second = 0;  // S1: a compiled graph and its weights, from storage; 0: not known
  } npu;

  struct Sync {
    double copy_seconds = 0;      // a driver copy, of any size: without shared buffers, into every NPU graph call
    double blocking_seconds = 0;  // a blocking wait: without fast synchronisation, behind every NPU graph call
    double fast_seconds = 0;      // H7: shared buffer, predicted sleep, poll; on each side of an NPU graph call
    double sleep_seconds = 0;     // granularity of sleeping: a CPU core polls for the rest of a wait
  } sync;

  struct Power {  // a processor draws its power while it is busy; the base is always drawn
    double base_watts = 0, gpu_watts = 0, npu_watts = 0, cpu_watts = 0;
  } power;

  struct Load {  // H14: a program that renders; share of the GPU's time, one frame a period
    double gpu_share = 0, period_seconds = 0;
  } load;

  ChipExperts experts;  // N8, N10: only if has_experts()
  ChipPasses passes;    // S1, S4, S7: only if has_passes()

  double weight_bits = 0;  // of a stored weight, scales counted in; 0: as the model's packed format has it
  double activation_bytes = 0;
  int64_t row_step = 0, token_step = 0;  // alignment of cuts (H9)
  bool joined_matmuls = false;           // as in the engine: q, k, v are one matmul, gate and up another one

  std::map<std::string, std::string> sources;  // by key: "gpu.flops"

  bool has_experts() const { return sources.contains("experts.launch_seconds"); }
  bool has_passes() const { return sources.contains("passes.flops"); }
};

SocProfile parse_soc_profile(std::string_view json, const std::string& source);
std::string to_json(const SocProfile& profile);  // every key with its source

std::vector<std::string> soc_profile_names();                  // built in, sorted
SocProfile soc_profile(const std::string& name_or_path);       // a built-in name, or a .json file
std::string_view embedded_soc_profile(std::string_view name);  // its JSON text; empty: there is no such profile

// Access to one number of a profile by its key ("npu.clock_hz"), for programs that fit it. Error if there is none.
double number_of(const SocProfile& profile, std::string_view key);
void set_number(SocProfile& profile, std::string_view key, double value, std::string source);

}  // namespace tandem
