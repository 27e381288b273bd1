// Rules of `tandem serve` over its flags.
#include <gtest/gtest.h>

#include "engine/app/commands/serve/serve.h"
#include "engine/app/report.h"

namespace tandem::app {
namespace {

TEST(ServeFlags, let_other_machines_ask_only_with_a_key_or_a_word) {
  ServeFlags flags;
  EXPECT_NO_THROW(require_safe(flags)) << "the loopback address";
  flags.host = "0.0.0.0";
  EXPECT_THROW(require_safe(flags), WrongUsage);
  flags.no_key = true;
  EXPECT_NO_THROW(require_safe(flags));
  flags.keys = {"k"};
  EXPECT_THROW(require_safe(flags), WrongUsage) << "both";
  flags.no_key = false;
  EXPECT_NO_THROW(require_safe(flags));
  flags.keys.clear();
  flags.key_file = "keys";
  EXPECT_NO_THROW(require_safe(flags));
}

TEST(ServeFlags, refuse_an_empty_key_before_a_model_is_loaded) {
  ServeFlags flags;
  flags.keys = {"k", ""};
  EXPECT_THROW(require_safe(flags), WrongUsage);
}

}  // namespace
}  // namespace tandem::app
