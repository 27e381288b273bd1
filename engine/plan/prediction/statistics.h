// Statistics of measured times.
//
// Contract: pure. Percentiles are nearest-rank: the least value that at least that share of the values does not exceed.
// So every figure is a time that was really measured.
#pragma once

#include <utility>
#include <vector>

namespace tandem {

struct Distribution {  // seconds
  int count = 0;
  double min = 0, p50 = 0, p90 = 0, p99 = 0, max = 0;
  double middle = 0;  // mean of the middle half: finer than a clock's ticks, and not moved by interruptions
};

Distribution summarise(std::vector<double> values);         // without values: count 0
double percentile(std::vector<double> values, double per);  // 0 < per <= 100; Error when there are no values
inline double median(std::vector<double> values) { return percentile(std::move(values), 50); }

}  // namespace tandem
