// NF38 to NF42: Table 4, one layer, P 1024, C 256.
#include "bench/paper_npumoe/row.h"

namespace tandem::paper_npumoe {
namespace {

// A row of Table 4: the matmuls of one layer's experts.
Row ffn(const char* id, ExpertEngine engine, double printed, Use use, const char* note) {
  return {id,
          "experts' matmuls, " + std::string(name_of(engine)),
          "ms",
          printed,
          printed,
          use,
          Kind::absolute,
          [engine](Lab& lab) { return ffn_ms_of_a_layer(lab, engine); },
          note};
}

// A block is its experts and the host's part, which is the same for all engines.
double block_ms(Lab& lab, ExpertEngine engine) { return ffn_ms_of_a_layer(lab, engine) + host_ms_of_a_layer(lab); }

}  // namespace

// Two of the engines fix constants here, and the two others are judged. Printed sums that contradict their own parts
// are not judged.
void add_block_rows(std::vector<Row>& rows) {
  rows.push_back(ffn("NF38", ExpertEngine::cpu, 969.53, Use::calibration, "fixes the CPU's rate"));
  rows.push_back({"NF38", "router, gather, scatter, residual, CPU", "ms", 1346.3, 1346.3, Use::input, Kind::absolute,
                  [](Lab& lab) { return host_ms_of_a_layer(lab); }, "software, taken as it is"});
  rows.push_back({"NF38", "the block, CPU", "ms", 2315.83, 2315.83, Use::derived, Kind::absolute,
                  [](Lab& lab) { return block_ms(lab, ExpertEngine::cpu); }, "sum of its rows"});
  rows.push_back(ffn("NF39", ExpertEngine::naive, 3369.86, Use::calibration, "fixes what an unplanned launch waits"));
  rows.push_back({"NF39", "the block, naive", "ms", 4706.42, 4706.42, Use::derived, Kind::absolute,
                  [](Lab& lab) { return block_ms(lab, ExpertEngine::naive); }, "sum of its rows"});
  rows.push_back(ffn("NF40", ExpertEngine::anemll, 983.05, Use::held_out, "the same constant as NF38"));
  rows.push_back(ffn("NF41", ExpertEngine::ours, 530.91, Use::held_out, ""));
  rows.push_back({"NF41", "the block, ours", "ms", 2165.46, 2165.46, Use::conflict, Kind::absolute,
                  [](Lab& lab) { return block_ms(lab, ExpertEngine::ours); }, "its own rows add up to 1707.38"});
  rows.push_back(
      {"NF42", "experts' matmuls, ours over CPU", "x", 0.50, 0.60, Use::derived, Kind::ratio,
       [](Lab& lab) { return ffn_ms_of_a_layer(lab, ExpertEngine::ours) / ffn_ms_of_a_layer(lab, ExpertEngine::cpu); },
       "NF41 over NF38 is 0.55"});
  rows.push_back({"NF42", "the block, ours over naive", "x", 0.46, 0.46, Use::conflict, Kind::ratio,
                  [](Lab& lab) { return block_ms(lab, ExpertEngine::ours) / block_ms(lab, ExpertEngine::naive); },
                  "uses 2165.46, which its rows do not add up to"});
}

}  // namespace tandem::paper_npumoe
