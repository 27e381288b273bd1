// Checks the floors of this tree, and that the check notices a breach.
#include "tests/house/floors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/source_tree.h"

namespace tandem::house {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Floors, every_include_of_this_tree_goes_to_its_own_folder_or_downwards) {
  FloorReport report = check_tree(tandem::testing::source_tree());
  EXPECT_GT(report.files, 20);
  EXPECT_GT(report.includes, 20);
  EXPECT_THAT(report.violations, IsEmpty());
}

TEST(Floors, an_include_downwards_or_into_the_own_folder_is_allowed) {
  EXPECT_THAT(check_includes("engine/run/session.cpp", "#include \"sync/flag.h\"\n#include \"engine/run/session.h\"\n"),
              IsEmpty());
  EXPECT_THAT(check_includes("engine/device/npu/npu.cpp",
                             "#include \"engine/device/device.h\"\n#include \"npu_emu/array.h\"\n"),
              IsEmpty());
  EXPECT_THAT(check_includes("tests/sync/a.cpp", "#include \"engine/app/x.h\"\n#include \"bench/table.h\"\n"),
              IsEmpty());
}

TEST(Floors, an_include_upwards_is_found_with_file_and_line) {
  EXPECT_THAT(check_includes("sync/pool.cpp", "#include \"sync/pool.h\"\n\n#include \"engine/tensor/types.h\"\n"),
              ElementsAre(HasSubstr("sync/pool.cpp:3: \"engine/tensor/types.h\" goes up, from floor 1 to floor 2")));
  EXPECT_THAT(check_includes("engine/plan/partition/solver.h", "  #  include \"engine/run/session.h\"\n"),
              ElementsAre(HasSubstr("goes up")));
  EXPECT_THAT(check_includes("engine/run/session.h", "#include \"tests/support/data.h\"\n"),
              ElementsAre(HasSubstr("goes up")));
}

TEST(Floors, an_include_into_a_sibling_folder_of_the_same_floor_is_found) {
  EXPECT_THAT(check_includes("engine/device/host/host.cpp", "#include \"engine/model/gguf.h\"\n"),
              ElementsAre(HasSubstr("sibling folder of floor 3")));
  EXPECT_THAT(check_includes("npu_emu/array.cpp", "#include \"engine/tensor/types.h\"\n"),
              ElementsAre(HasSubstr("not below its own")));
  EXPECT_THAT(check_includes("npu_emu/array.cpp", "#include \"packed/format.h\"\n"), IsEmpty());
}

TEST(Floors, an_include_into_a_room_that_is_not_below_is_found) {
  EXPECT_THAT(check_includes("engine/plan/placer.h", "#include \"engine/plan/partition/cut.h\"\n"), IsEmpty());
  EXPECT_THAT(check_includes("engine/plan/model_clock/a.h", "#include \"engine/plan/prediction/b.h\"\n"), IsEmpty());
  EXPECT_THAT(check_includes("engine/plan/partition/cut.h", "#include \"engine/plan/placer.h\"\n"),
              ElementsAre(HasSubstr("goes to a room of floor 5 that is not below its own")));
  EXPECT_THAT(check_includes("engine/plan/placer.h", "#include \"engine/plan/strategies/rows.h\"\n"),
              ElementsAre(HasSubstr("not below its own")));
  EXPECT_THAT(check_includes("engine/plan/strategies/rows.cpp", "#include \"engine/plan/prediction/predict.h\"\n"),
              ElementsAre(HasSubstr("not below its own")))
      << "rooms beside each other";
}

TEST(Floors, an_include_not_written_from_the_root_is_found) {
  EXPECT_THAT(check_includes("sync/flag.cpp", "#include \"flag.h\"\n"),
              ElementsAre(HasSubstr("not written from the root")));
  EXPECT_THAT(check_includes("engine/run/a.cpp", "#include \"engine/run/../app/b.h\"\n"),
              ElementsAre(HasSubstr("not written from the root")));
  EXPECT_THAT(check_includes("surprise/a.cpp", "#include \"sync/flag.h\"\n"), ElementsAre(HasSubstr("on no floor")));
}

TEST(Floors, kernel_sources_name_their_neighbours_and_libraries_may_be_quoted) {
  EXPECT_THAT(check_includes("kernels/gate.cl", "#include \"common.cl\"\n"), IsEmpty());
  EXPECT_THAT(check_includes("kernels/gate.cl", "#include \"../sync/flag.h\"\n"),
              ElementsAre(HasSubstr("from the root")));
  EXPECT_THAT(check_includes("npu_emu/fast.cpp", "#include \"hwy/highway.h\"\n"), IsEmpty());
  EXPECT_THAT(check_includes("npu_emu/fast.cpp", "#include \"engine/nowhere/a.h\"\n"),
              ElementsAre(HasSubstr("on no floor")));
}

TEST(Floors, includes_in_comments_and_system_includes_do_not_count) {
  EXPECT_THAT(check_includes("sync/a.cpp", "// #include \"engine/app/b.h\"\n#include <engine/app/b.h>\n"), IsEmpty());
  EXPECT_THAT(check_includes("sync/a.cpp", "/* x\n#include \"engine/app/b.h\"\n*/\n#include \"sync/pool.h\"  // why\n"),
              IsEmpty());
  EXPECT_THAT(check_includes("sync/a.cpp", "/* x */ #include \"engine/app/b.h\"\n"), ElementsAre(HasSubstr("goes up")));
}

}  // namespace
}  // namespace tandem::house
