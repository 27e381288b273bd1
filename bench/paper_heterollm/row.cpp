#include "bench/paper_heterollm/row.h"

namespace tandem::paper_heterollm {

std::vector<Row> all_rows() {
  std::vector<Row> rows;
  for (const auto add :
       {add_processor_rows, add_plan_rows, add_prefill_rows, add_decode_rows, add_sync_rows, add_phone_rows}) {
    add(rows);
  }
  return rows;
}

}  // namespace tandem::paper_heterollm
