// A list of programs as the list kernel reads it. The test writes the programs.
#include "engine/device/opencl/program_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tandem::opencl {
namespace {

using ::testing::ElementsAre;

struct NoProgram : Program {};

class ProgramLists : public ::testing::Test {
 protected:
  std::shared_ptr<Prepared> program(std::vector<uint64_t> records, std::set<uint64_t> variants, std::vector<int> ops) {
    auto made = std::make_shared<Prepared>();
    made->name = "blk.0.test";
    made->listed = true;
    made->owner = &owner_;
    made->records = std::move(records);
    made->variants = std::move(variants);
    made->operator_of = std::move(ops);
    return made;
  }
  static uint64_t line(const sync::Flag& flag) { return reinterpret_cast<uintptr_t>(&flag.line()); }

  sync::Pool pool_;
  sync::FlagBank flags_{pool_, 2, "flags"};
  const sync::Flag in_ = flags_.make("in"), out_ = flags_.make("out");
  NoProgram owner_;
  // The first program has two records of six words, the second one record of five.
  const std::shared_ptr<Prepared> first_ = program({4, 1, 1, 1, 6, 70, 2, 1, 1, 1, 6, 71}, {2, 4}, {0, 3}),
                                  second_ = program({4, 1, 1, 1, 5}, {4}, {0});
  static constexpr uint64_t kSignal = ~uint64_t{0} - 2, kWait = ~uint64_t{0} - 1, kEnd = ~uint64_t{0};
};

TEST_F(ProgramLists, are_one_run_of_words_with_each_programs_waits_before_and_its_signal_behind_it) {
  const ListedLaunch launches[] = {{first_, {}, {out_, 0}}, {second_, {{in_, 5}}, {out_, 6}}};
  const ProgramList list(launches, pool_);
  const auto* words = reinterpret_cast<const uint64_t*>(list.address());
  EXPECT_THAT(std::span(words, 33), ElementsAre(4, 1, 1, 1, 6, 70, 2, 1, 1, 1, 6, 71,  //
                                                kSignal, line(out_), 0, 0, 5,          //
                                                kWait, line(in_), 5, 0, 5,             //
                                                4, 1, 1, 1, 5,                         //
                                                kSignal, line(out_), 6, 0, 5, kEnd));
  EXPECT_EQ(list.name(), "blk.0.test");
}

TEST_F(ProgramLists, know_what_they_use_wait_for_and_raise_in_the_end) {
  const ListedLaunch launches[] = {{first_, {{in_, 1}}, {out_, 0}}, {second_, {{in_, 5}}, {out_, 6}}};
  const ProgramList list(launches, pool_);
  EXPECT_THAT(list.variants(), ElementsAre(2, 4));
  ASSERT_EQ(list.waits().size(), 2u);
  EXPECT_EQ(list.waits()[1].epoch, 5u);
  ASSERT_EQ(list.last_signals().size(), 1u) << "one flag";
  EXPECT_EQ(list.last_signals()[0].epoch, 6u);
  ASSERT_EQ(list.parts().size(), 5u) << "two waits, two records, one record";
  EXPECT_EQ(list.parts()[0].program, nullptr);
  EXPECT_EQ(list.parts()[2].program, &owner_);
  EXPECT_EQ(list.parts()[2].op, 3);
}

TEST_F(ProgramLists, give_their_memory_back_to_the_pool) {
  const ListedLaunch launches[] = {{first_, {}, {}}};
  { const ProgramList list(launches, pool_); }
  const size_t mapped = pool_.mapped_bytes();
  { const ProgramList again(launches, pool_); }
  EXPECT_EQ(pool_.mapped_bytes(), mapped);
}

}  // namespace
}  // namespace tandem::opencl
