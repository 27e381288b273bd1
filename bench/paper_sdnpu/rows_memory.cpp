// SF50 and SF51: memory. The widths of weights were read from SF50, which is the 1.5 B.
#include "bench/paper_sdnpu/row.h"

namespace tandem::paper_sdnpu {
namespace {

constexpr double kGb = 1e-9;

// Bytes of weights on NPU and CPU, and of what loads need beside them.
MemoryBytes memory(Lab& lab, const char* model) {
  return memory_of(lab.size(model), lab.chip(Phone::redmi_k60).block_layers, kPromptTokens);
}

}  // namespace

// The widths of weights were read from the first row's model, so that the other models' rows judge them.
void add_memory_rows(std::vector<Row>& rows) {
  rows.push_back({"SF50", "peak, 1.5B, ours", "GB", 3.14, 3.14, Use::derived, Kind::absolute,
                  [](Lab& lab) { return kGb * (memory(lab, kQwen15).npu + memory(lab, kQwen15).ours); },
                  "NPU vanilla and a block that is loaded"});
  rows.push_back({"SF50", "peak, 1.5B, NPU vanilla", "GB", 3.05, 3.12, Use::shared, Kind::absolute,
                  [](Lab& lab) { return kGb * memory(lab, kQwen15).npu; },
                  "says how wide weights are: layers one byte, embedding and output four"});
  rows.push_back({"SF50", "peak, 1.5B, CPU vanilla", "GB", 6, 12, Use::derived, Kind::absolute,
                  [](Lab& lab) { return 2 * kGb * memory(lab, kQwen15).npu; },
                  "printed as more than 6, of 12 GB; weights of NPU and CPU apart"});
  for (const char* model : {kQwen05, kQwen15, kLlama3}) {
    rows.push_back({"SF51", "more than NPU vanilla, ours, " + std::string(model), "GB", 0, 0.5, Use::held_out,
                    Kind::bounds, [model](Lab& lab) { return kGb * memory(lab, model).ours; }, ""});
  }
  for (const char* model : {kQwen05, kQwen15, kLlama3}) {
    const bool known = std::string_view(model) == kQwen15;
    rows.push_back(
        {"SF51", "more than NPU vanilla, EAGLE, " + std::string(model), "GB", 0.84, 1.22,
         known ? Use::held_out : Use::derived, Kind::bounds,
         [model](Lab& lab) { return kGb * memory(lab, model).eagle; },
         known ? "" : "widths are known of the 1.5B alone; output matrices differ more than the printed ends"});
  }
}

}  // namespace tandem::paper_sdnpu
