// Commands of a queue use memory that may be freed after an Error. So a failing caller waits for them first.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "engine/device/opencl/cl.h"
#include "engine/device/opencl/platform.h"
#include "sync/error.h"
#include "tests/support/requirements.h"

namespace tandem::opencl {
namespace {

TEST(QueuedCommands, have_ended_when_a_later_call_has_failed) {
  const auto found = find_devices();
  if (found.empty()) SKIP_FOR_WANT_OF(opencl, "no OpenCL device");
  const cl::Context context(found[0].device);
  const cl::CommandQueue queue(context, found[0].device);
  const cl::Buffer memory(context, CL_MEM_READ_WRITE, 4);
  cl::UserEvent opened(context);
  const std::vector<cl::Event> gate{opened};
  cl::Event filled;
  std::jthread later;
  EXPECT_THROW(run_queued(queue, "memory",
                          [&] {
                            ASSERT_EQ(queue.enqueueFillBuffer(memory, cl_int{7}, 0, 4, &gate, &filled), CL_SUCCESS);
                            later = std::jthread([&] {
                              std::this_thread::sleep_for(std::chrono::milliseconds(50));
                              opened.setStatus(CL_COMPLETE);
                            });
                            throw Error("a call failed", "a driver");
                          }),
               Error);
  EXPECT_EQ(filled.getInfo<CL_EVENT_COMMAND_EXECUTION_STATUS>(), CL_COMPLETE);
}

}  // namespace
}  // namespace tandem::opencl
