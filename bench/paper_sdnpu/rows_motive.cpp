// SF1 to SF6, SF10, SF12 and SF13: the paper's motive. Most are statistics of inputs, which a clock does not have.
#include "bench/paper_sdnpu/row.h"

namespace tandem::paper_sdnpu {
namespace {

// SF1: decoding's share of a run on the CPU, in percent.
double cpu_decode_share(Lab& lab, Task task) {
  const TokenTime ms = lab.time(Phone::oneplus_13, task, Runner::cpu);
  return 100 * ms.decode / ms.total();
}

// SF3: the load, over a run that needs none.
double load_share(Lab& lab) {
  const double load_ms = 1e3 * lab.switch_ends(Phone::redmi_k60).load / lab.output_tokens();
  return 100 * load_ms / ms_of(lab, Phone::redmi_k60, Task::summary, Runner::ours);
}

void add_cpu_share(std::vector<Row>& rows, Task task, double printed) {
  rows.push_back({"SF2", "decode share, CPU vanilla, OnePlus 13, " + std::string(name_of(task)), "%", printed, printed,
                  Use::conflict, Kind::absolute, [task](Lab& lab) { return cpu_decode_share(lab, task); },
                  "SF1 has 73.5; with Table 3's prefill SF22 leaves at most 80"});
}

}  // namespace

// One share fixes the CPU's token. A clock knows no statistics of texts, so those are not predicted.
void add_motive_rows(std::vector<Row>& rows) {
  rows.push_back({"SF1", "decode share of a run", "%", 73.5, 73.5, Use::calibration, Kind::absolute,
                  [](Lab& lab) { return cpu_decode_share(lab, Task::summary); },
                  "fixes the CPU's token; read as CPU vanilla, 1.5B, summary"});
  add_cpu_share(rows, Task::rag, 90.2);
  add_cpu_share(rows, Task::summary, 87.2);
  rows.push_back({"SF3", "load over a run without it", "%", 94.9, 94.9, Use::conflict, Kind::absolute, load_share,
                  "preliminary; Table 3 has 9.69 of 15.08 ms, 64 %"});
  const char* cosine = "a statistic of inputs: it needs the paper's UI tasks and a model of sentence embeddings";
  rows.push_back(Row::not_predicted("SF4", "similarity of outputs, the same UI task", "cosine", 0.72, 0.72, cosine));
  rows.push_back(Row::not_predicted("SF4", "similarity of outputs, the same group", "cosine", 0.61, 0.61, cosine));
  rows.push_back(Row::not_predicted("SF4", "similarity of outputs, across groups", "cosine", 0.38, 0.38, cosine));
  const char* context = "a statistic of inputs: it needs the paper's summaries, and for the cosine an embedding model";
  rows.push_back(
      Row::not_predicted("SF5", "similarity of context and output, 90 % of summaries", "cosine", 0.76, 1, context));
  rows.push_back(
      Row::not_predicted("SF5", "edit distance of context and output, 90 % of summaries", "", 0.11, 1, context));
  rows.push_back(Row::not_predicted("SF6", "drafting, from the SAM paper", "ms", 0, 10,
                                    "drafting is measured, not modelled: docs/measured/drafts.md"));
  const char* lengths = "a statistic of drafts on the paper's summaries; a clock drafts nothing";
  rows.push_back(Row::not_predicted("SF10", "drafts shorter than 8, PLD", "%", 75, 100, lengths));
  rows.push_back(Row::not_predicted("SF10", "best length of a draft", "tokens", 64, 64, lengths));
  rows.push_back(Row::not_predicted("SF12", "drafts below the unfriendly length", "%", 90, 100, lengths));
  rows.push_back(
      Row::not_predicted("SF13", "accuracy if drafts are accepted by force", "", 0.75, 0.9,
                         "from other work; here drafts change no token (tests/engine/run/drafted_texts_test.cpp)"));
}

}  // namespace tandem::paper_sdnpu
