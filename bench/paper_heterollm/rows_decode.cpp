// HF36 to HF40: decode, one token after a prompt of 256.
#include <algorithm>

#include "bench/paper_heterollm/peer_row.h"
#include "bench/paper_heterollm/quantities.h"
#include "bench/paper_heterollm/row.h"

namespace tandem::paper_heterollm {
namespace {

double speed(Lab& lab, const char* model, const char* plan) { return lab.tokens_per_second(decode(model, plan)); }
double tensor_over_ppl(Lab& lab, const char* model) {
  return speed_up(lab, decode(model, kTensor), decode(model, kPpl));
}

}  // namespace

// Llama-8B's numbers fix the constants of decode. The smaller models' numbers were not used and are judged.
void add_decode_rows(std::vector<Row>& rows) {
  rows.push_back({"HF36", "Hetero-tensor decoding, Llama-8B", "tok/s", kTensorDecode, kTensorDecode, Use::calibration,
                  Kind::absolute, [](Lab& lab) { return speed(lab, kL8, kTensor); }, "fixes the fast crossing"});
  rows.push_back({"HF36", "Hetero-tensor decoding, Llama-3B", "tok/s", 29.9, 29.9, Use::held_out, Kind::absolute,
                  [](Lab& lab) { return speed(lab, kL3, kTensor); }, ""});
  rows.push_back({"HF36", "Hetero-tensor decoding, InternLM-1.8B", "tok/s", 51.12, 51.12, Use::held_out, Kind::absolute,
                  [](Lab& lab) { return speed(lab, kI1, kTensor); }, ""});
  rows.push_back(
      against_peer("HF37", "Hetero-tensor over MNN, Llama-8B", 1.50, Use::calibration, mnn, decode(kL8, kTensor)));
  rows.push_back(against_peer("HF37", "Hetero-tensor over llama.cpp, Llama-8B", 2.53, Use::calibration, llama_cpp,
                              decode(kL8, kTensor)));
  rows.push_back(
      against_peer("HF37", "Hetero-tensor over MLC, Llama-8B", 1.52, Use::calibration, mlc, decode(kL8, kTensor)));
  rows.push_back(
      against_peer("HF38", "Hetero-tensor over MNN, InternLM-1.8B", 1.94, Use::peer, mnn, decode(kI1, kTensor)));
  rows.push_back(
      against_peer("HF38", "Hetero-tensor over MLC, InternLM-1.8B", 2.62, Use::peer, mlc, decode(kI1, kTensor)));
  rows.push_back({"HF39", "Hetero-tensor over PPL, Llama-8B", "x", 1.234, 1.234, Use::calibration, Kind::ratio,
                  [](Lab& lab) { return tensor_over_ppl(lab, kL8); }, "fixes the bits of a weight"});
  rows.push_back({"HF39", "Hetero-tensor over PPL, Llama-3B", "x", 1.0852, 1.0852, Use::held_out, Kind::ratio,
                  [](Lab& lab) { return tensor_over_ppl(lab, kL3); }, "less than HF10's bandwidths allow (1.365)"});
  rows.push_back({"HF39", "Hetero-tensor over PPL, InternLM-1.8B", "x", 1.1338, 1.1338, Use::held_out, Kind::ratio,
                  [](Lab& lab) { return tensor_over_ppl(lab, kI1); }, "less than HF10's bandwidths allow (1.365)"});
  rows.push_back(
      {"HF40", "Hetero-layer decoding over PPL, Llama-8B", "x", 1, 1, Use::cannot_miss, Kind::ratio,
       [](Lab& lab) {
         // It uses the better processor for everything.
         const double layer = std::min(lab.seconds(decode(kL8, kLayer)), lab.seconds(decode(kL8, kPpl)));
         return lab.seconds(decode(kL8, kPpl)) / layer;
       },
       "cannot miss: the faster of `layer` and PPL over PPL, and PPL is faster here; printed as `similarly`"});
}

}  // namespace tandem::paper_heterollm
