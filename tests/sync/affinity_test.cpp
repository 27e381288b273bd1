// Threads run on the cores that they are pinned to, and return to their earlier cores.
#include "sync/affinity.h"

#include <gtest/gtest.h>

#include <future>

namespace tandem {
namespace {

TEST(Affinity, a_thread_is_pinned_for_a_scope_and_gets_its_cores_back) {
  const std::vector<int> before = cores_of_this_thread();
  ASSERT_FALSE(before.empty());
  const int last[] = {before.back()};
  {
    const OnCores pinned(last);
    EXPECT_EQ(cores_of_this_thread(), std::vector{before.back()});
  }
  EXPECT_EQ(cores_of_this_thread(), before);
}

TEST(Affinity, the_usable_cores_stay_those_of_the_first_question_when_a_thread_is_pinned) {
  const std::vector<int> usable = usable_cores();
  ASSERT_FALSE(usable.empty());
  const OnCores pinned(std::span<const int>(usable).last(1));
  EXPECT_EQ(usable_cores(), usable);
}

TEST(Affinity, an_empty_list_changes_nothing) {
  const std::vector<int> before = cores_of_this_thread();
  EXPECT_EQ(pin_this_thread({}), 0);
  {
    const OnCores anywhere(std::span<const int>{});
    EXPECT_EQ(cores_of_this_thread(), before);
  }
  EXPECT_EQ(cores_of_this_thread(), before);
}

TEST(Affinity, cores_that_cannot_be_are_refused_and_the_thread_stays) {
  const std::vector<int> before = cores_of_this_thread();
  EXPECT_NE(pin_this_thread({{-1, 1 << 20}}), 0);
  EXPECT_EQ(cores_of_this_thread(), before);
  {
    const int nowhere[] = {-1};
    const OnCores refused(nowhere);
    EXPECT_EQ(cores_of_this_thread(), before);
  }
  EXPECT_EQ(cores_of_this_thread(), before);
}

TEST(Affinity, another_thread_is_pinned_to_the_core_named) {
  const std::vector<int> before = cores_of_this_thread();
  std::promise<void> pinned;
  std::vector<int> seen;
  std::thread other([&] {
    pinned.get_future().wait();
    seen = cores_of_this_thread();
  });
  EXPECT_EQ(pin_thread(other, {{before.front()}}), 0);
  pinned.set_value();
  other.join();
  EXPECT_EQ(seen, std::vector{before.front()});
  EXPECT_EQ(cores_of_this_thread(), before) << "the caller's own cores";
}

}  // namespace
}  // namespace tandem
