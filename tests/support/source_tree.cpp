#include "tests/support/source_tree.h"

namespace tandem::testing {

std::filesystem::path source_tree() { return TANDEM_SOURCE_DIR; }

}  // namespace tandem::testing
