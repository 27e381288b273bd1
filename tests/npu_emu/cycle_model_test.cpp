// The cycle model against counts derived by hand and against SCALE-Sim's table.
#include "npu_emu/cycle_model.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tests/support/data.h"

namespace tandem::npu_emu {
namespace {

TEST(CycleModel, derives_a_weight_stationary_fold) {
  // With 4 x 3 cells and 5 tokens a fold takes 4 cycles of load, 5 of stream, 3 of row skew and 2 of column drain: 14.
  // K = 6 and N = 4 need 2 * 2 folds. The last of the 4 * 14 cycles has the index 55.
  const CycleCount count = count_cycles({4, 3}, Dataflow::weight_stationary, {5, 6, 4});
  EXPECT_EQ(14, count.fold_cycles());
  EXPECT_EQ(4, count.folds);
  EXPECT_EQ(55, count.cycles);
  EXPECT_DOUBLE_EQ(5.0 * 6 * 4 / (12.0 * 55), count.utilization);
  EXPECT_DOUBLE_EQ(6.0 * 4 / (4 * 12.0), count.mapping_efficiency);
}

TEST(CycleModel, derives_an_output_stationary_fold) {
  // With 4 x 3 cells and K = 6 a fold takes 6 cycles of stream, 3 of row skew and 2 of column skew: 11. M = 5 and N = 4
  // need 2 * 2 folds.
  const CycleCount count = count_cycles({4, 3}, Dataflow::output_stationary, {5, 6, 4});
  EXPECT_EQ(11, count.fold_cycles());
  EXPECT_EQ(43, count.cycles);
}

TEST(CycleModel, derives_an_input_stationary_fold) {
  // Like weight stationary, with tokens and weight rows exchanged: 4 + 4 + 3 + 2 = 13. K = 6 and M = 5 need 2 *
  // 2 folds.
  const CycleCount count = count_cycles({4, 3}, Dataflow::input_stationary, {5, 6, 4});
  EXPECT_EQ(13, count.fold_cycles());
  EXPECT_EQ(51, count.cycles);
}

TEST(CycleModel, names_dataflows_both_ways) {
  for (const char* name : {"ws", "os", "is"}) EXPECT_STREQ(name, to_string(*dataflow(name)));
  EXPECT_FALSE(dataflow("rs"));
}

TEST(CycleModel, equals_every_row_of_the_scale_sim_table) {
  std::ifstream file(testing::repository_data("scalesim/gemm_cycles.csv"));
  std::string line;
  std::getline(file, line);
  ASSERT_EQ(0u,
            line.find("dataflow,array_rows,array_cols,M_tokens,K,N,total_cycles,stall_cycles,overall_util_percent"));
  int rows = 0;
  while (std::getline(file, line)) {
    for (char& c : line)
      if (c == ',') c = ' ';
    std::istringstream fields(line);
    std::string name;
    ArrayShape array;
    ProductShape product;
    int64_t cycles = 0, stalls = 0;
    double overall = 0, mapping = 0, compute = 0;
    fields >> name >> array.rows >> array.cols >> product.m >> product.k >> product.n >> cycles >> stalls >> overall >>
        mapping >> compute;
    ASSERT_FALSE(fields.fail()) << line;
    const CycleCount count = count_cycles(array, *dataflow(name), product);
    EXPECT_EQ(cycles, count.cycles) << line;
    EXPECT_EQ(0, stalls) << line;
    EXPECT_NEAR(overall, 100 * count.utilization, 1e-9) << line;
    EXPECT_NEAR(mapping, 100 * count.mapping_efficiency, 1e-9) << line;
    EXPECT_NEAR(compute, 100 * count.compute_utilization, 1e-9) << line;
    ++rows;
  }
  EXPECT_EQ(162, rows);
}

}  // namespace
}  // namespace tandem::npu_emu
