// One printed number of the HeteroLLM paper, what the model clock says to the same setting, and the verdict.
//
// Contract: a row's use is fixed before anything is modelled. Calibration rows fix constants of the profile and are no
// evidence. Held-out rows are judged; nothing was fitted to their numbers. Where one number to fit was computed from
// two printed ones (Hetero-layer's speed = HF42 / HF52), one of the two stays held out and the other is `shared`: the
// two together test one thing.
#pragma once

#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/paper_heterollm/lab.h"

namespace tandem::paper_heterollm {

enum class Use : uint8_t {
  held_out,     // predicted, and judged
  calibration,  // fixes a constant
  shared,       // has a part in a number that a calibration row was read from: predicted, not judged
  input,        // stands in the profile as it is printed
  conflict,     // contradicts another printed number; predicted, not judged
  cannot_miss,  // held out, but computed so that only the printed value can come out: predicted, not judged
  peer,         // another engine, of which the model knows one rate: predicted, not judged
  cited,        // of another paper
  unpredicted,  // no number is printed, or the clock does not model it
};

enum class Kind : uint8_t {
  ratio,     // of two variants: within 10 %
  absolute,  // within 15 %
  exact,     // a worked example of a plan
};

struct Row {
  std::string id;                            // "HF17"
  std::string what;                          // "Hetero-layer over PPL, Llama-8B, 256 tokens"
  std::string unit;                          // "x", "tok/s", ...
  double printed_low = 0, printed_high = 0;  // equal but for ranges
  Use use = Use::held_out;
  Kind kind = Kind::ratio;
  std::function<double(Lab&)> modelled;  // empty: nothing to predict
  std::string note;                      // how it was read, why it misses, where it comes from
};

enum class Verdict : uint8_t { exact, within_10, within_15, miss, not_judged };
const char* to_string(Verdict verdict);
const char* to_string(Use use);

struct Result {
  const Row* row = nullptr;
  std::optional<double> modelled;
  double error = 0;  // modelled / printed - 1; of a range: from its nearer end, 0 inside
  Verdict verdict = Verdict::not_judged;
  bool met = false;  // the bar of its kind
};

// A printed 0 allows nothing but 0: the error is then what is modelled.
double error_of(double modelled, double low, double high);
Verdict verdict_of(double error, Kind kind);
bool meets_bar(Verdict verdict, Kind kind);
Result judge(const Row& row, Lab& lab);

struct Summary {
  int judged = 0, met = 0, exact = 0, within_10 = 0, within_15 = 0, missed = 0;
  int cannot_miss = 0;  // rows that look like evidence and are none; in no other count
};
Summary summarize(const std::vector<Result>& results);

// Every row of the paper, in its order; rows of several numbers are several rows of one id.
std::vector<Row> all_rows();
void add_processor_rows(std::vector<Row>& rows);  // HF1 to HF13
void add_plan_rows(std::vector<Row>& rows);       // HF14 to HF16
void add_prefill_rows(std::vector<Row>& rows);    // HF17 to HF35
void add_decode_rows(std::vector<Row>& rows);     // HF36 to HF40
void add_sync_rows(std::vector<Row>& rows);       // HF41 to HF46
void add_phone_rows(std::vector<Row>& rows);      // HF47 to HF55: game, power, accuracy

}  // namespace tandem::paper_heterollm
