#include "bench/paper_hybrimoe/row.h"

#include <utility>

namespace tandem::paper_hybrimoe {

std::vector<Row> all_rows(bool has_trace) {
  std::vector<Row> rows;
  add_speed_rows(rows);
  add_table3_rows(rows);
  add_cache_rows(rows, has_trace);
  add_rule_rows(rows);
  return paper::in_papers_order(std::move(rows));
}

}  // namespace tandem::paper_hybrimoe
