#include "bench/paper_hybrimoe/row.h"

#include <algorithm>

namespace tandem::paper_hybrimoe {

std::vector<Row> all_rows(bool has_trace) {
  std::vector<Row> rows;
  add_speed_rows(rows);
  add_table3_rows(rows);
  add_cache_rows(rows, has_trace);
  add_rule_rows(rows);
  std::ranges::stable_sort(rows, {}, [](const Row& row) { return std::stoi(row.id.substr(2)); });
  return rows;
}

}  // namespace tandem::paper_hybrimoe
