// The loads that a measurement puts on cores, and the processor time that shows them.
#include "engine/lab/core_load.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "engine/lab/cpu_time.h"
#include "engine/lab/machine.h"
#include "sync/affinity.h"
#include "sync/clock.h"

namespace tandem::sync_lab {
namespace {

TEST(CoreLoad, counts_how_far_a_neighbour_gets) {
  Neighbour neighbour(usable_cores().front());
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_GT(neighbour.stop(), 0);
}

TEST(CoreLoad, spinners_use_processor_time_and_end_with_their_object) {
  const double wanted = process_cpu_seconds() + 5e-3;
  {
    const Spinners spinners(usable_cores());
    const double give_up = now_seconds() + 20;
    while (process_cpu_seconds() < wanted && now_seconds() < give_up)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  EXPECT_GE(process_cpu_seconds(), wanted);
  // Now only this thread runs: during a sleep the process uses almost no processor time.
  const double before = process_cpu_seconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_LT(process_cpu_seconds() - before, 0.05);
}

TEST(CoreLoad, a_sleeping_thread_uses_no_processor_time_and_a_computing_one_does) {
  const double before = thread_cpu_seconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const double slept = thread_cpu_seconds() - before;
  EXPECT_LT(slept, 0.025);
  const double give_up = now_seconds() + 20;
  while (thread_cpu_seconds() - before < slept + 2e-3 && now_seconds() < give_up) {
  }
  EXPECT_GE(thread_cpu_seconds() - before, slept + 2e-3);
  EXPECT_GT(reading_seconds(), 0);
}

TEST(CoreLoad, machine_facts_name_the_processor_and_its_cores) {
  const MachineFacts facts = read_machine_facts();
  EXPECT_FALSE(facts.processor.empty());
  EXPECT_FALSE(facts.system.empty());
  EXPECT_EQ(facts.cores, usable_cores());
  EXPECT_EQ(facts.load_average.size(), 3u);
}

}  // namespace
}  // namespace tandem::sync_lab
