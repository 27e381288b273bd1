// The places where the build puts programs and libraries that these tests start and load.
#include "tests/engine/device/proof/broken_drivers.h"

namespace tandem::testing {

std::string fake_driver() { return TANDEM_FAKE_DRIVER_PATH; }
std::string fake_calls() { return TANDEM_FAKE_CALLS_PATH; }
std::string prove_program() { return TANDEM_PROVE_PATH; }
std::string tandem_program_path() { return TANDEM_PROGRAM_PATH; }

}  // namespace tandem::testing
