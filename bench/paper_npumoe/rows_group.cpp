// NF43 to NF49: Table 5, the 16 experts of PhiMoE in graphs of G experts with C rows for each.
#include "bench/paper_npumoe/row.h"

namespace tandem::paper_npumoe {
namespace {

// One line of Table 5: graphs of G experts with C rows each, run together or in turn.
struct Line {
  const char* id;
  int64_t G, C;
  double together_ms, together_mj, serial_ms, serial_mj;
};

constexpr Line kTable5[] = {
    {"NF44", 1, 32, 0.13, 0.99, 0.31, 1.43},  {"NF44", 1, 64, 0.08, 0.62, 0.23, 1.17},
    {"NF44", 1, 128, 0.07, 1.66, 0.16, 0.89}, {"NF45", 4, 32, 0.14, 1.00, 0.27, 1.22},
    {"NF45", 4, 64, 0.10, 0.94, 0.19, 0.98},  {"NF46", 8, 32, 0.15, 0.97, 0.26, 1.16},
    {"NF46", 8, 64, 0.11, 0.79, 0.18, 0.93},  {"NF46", 8, 96, 0.10, 0.85, 0.15, 0.88},
    {"NF47", 8, 128, 0.10, 0.74, 0.14, 0.96}, {"NF47", 8, 192, 0.15, 0.96, 0.15, 0.92},
    {"NF47", 8, 256, 0.16, 0.98, 0.16, 0.99},
};

struct UseAndNote {
  Use use;
  const char* note;
};

// Use and note of a number, fixed beforehand: some numbers calibrate (calibrate.cpp), and from some a rule was read.
UseAndNote use_of(const Line& line, GraphOrder order, bool energy) {
  const auto is = [&](int64_t G, int64_t C) { return line.G == G && line.C == C; };
  if (order == GraphOrder::serial) {
    if (is(1, 32) || is(8, 32) || is(8, 128)) return {Use::calibration, "fixes launch, weights and rows"};
    if (is(8, 256) && !energy) return {Use::calibration, "fixes the rows beyond 128"};
    return {Use::held_out, ""};
  }
  if (is(8, 64)) return {Use::calibration, energy ? "fixes the power that less time saves" : "fixes the second queue"};
  if (is(1, 32) && !energy) return {Use::calibration, "fixes the number of queues"};
  if (is(8, 256)) return {Use::shared, "the rule was read from it: no gain beyond 128 rows"};
  if (is(1, 128) && energy) return {Use::conflict, "23.7 W, where all others are 4.5 to 9.4 W"};
  return {Use::held_out, ""};
}

// Each number of Table 5 is a row: time or energy, together or in turn.
void add_line(std::vector<Row>& rows, const Line& line, GraphOrder order, bool energy) {
  const bool serial = order == GraphOrder::serial;
  const double printed =
      energy ? (serial ? line.serial_mj : line.together_mj) : (serial ? line.serial_ms : line.together_ms);
  const auto [use, note] = use_of(line, order, energy);
  const GroupRow row{line.G, line.C, order};
  rows.push_back({line.id,
                  std::to_string(line.G) + " x " + std::to_string(line.C) + ", " + (serial ? "serial" : "together"),
                  energy ? "mJ/slot" : "ms/slot", printed, printed, use, Kind::absolute,
                  [row, energy](Lab& lab) { return energy ? mj_per_slot(lab, row) : ms_per_slot(lab, row); }, note});
}

// A statement of Table 5's text: how much better `to` is than `from`.
Row in_words(const char* id, const GroupRow& from, const GroupRow& to, double printed) {
  const auto name = [](const GroupRow& row) {
    return std::to_string(row.G) + " x " + std::to_string(row.C) + (row.order == GraphOrder::serial ? "" : " together");
  };
  return {id,
          "time, " + name(from) + " over " + name(to),
          "x",
          printed,
          printed,
          Use::derived,
          Kind::ratio,
          [from, to](Lab& lab) { return ms_per_slot(lab, from) / ms_per_slot(lab, to); },
          "arithmetic on Table 5"};
}

}  // namespace

// Table 5 in its order, then what its text says about it.
void add_group_rows(std::vector<Row>& rows) {
  rows.push_back(
      Row::not_predicted("NF43", "1 x 1..512, together", "ms/slot", 0, 0, "cannot run: many enumerated shapes"));
  rows.push_back(Row::not_predicted("NF43", "1 x 1..512, serial", "ms/slot", 0.25, 0.25,
                                    "how many rows it computes is not printed"));
  for (const Line& line : kTable5) {
    for (const GraphOrder order : {GraphOrder::serial, GraphOrder::together}) {
      for (const bool energy : {false, true}) add_line(rows, line, order, energy);
    }
  }
  rows.push_back(in_words("NF48", {1, 32}, {1, 128}, 1.94));
  rows.push_back(in_words("NF48", {8, 32}, {8, 64}, 1.44));
  rows.push_back(in_words("NF48", {8, 32}, {8, 96}, 1.73));
  rows.push_back(in_words("NF49", {1, 32}, {4, 32}, 1.15));
  rows.push_back(in_words("NF49", {1, 32}, {8, 32}, 1.19));
  rows.push_back(in_words("NF49", {1, 64}, {4, 64}, 1.21));
  rows.push_back(in_words("NF49", {1, 64}, {8, 64}, 1.28));
}

}  // namespace tandem::paper_npumoe
