// A driver for the loaders of OpenCL and Vulkan. At its first call it does what TANDEM_FAKE_DRIVER says: "abort",
// "crash", "hang" or "exit". "cut" does to OCL_ICD_FILENAMES what Khronos's loader does, and appends the variable's old
// value to the file TANDEM_FAKE_DRIVER_LOG. Otherwise the driver has no devices.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void cut(void) {
  char* list = getenv("OCL_ICD_FILENAMES");
  FILE* log = fopen(getenv("TANDEM_FAKE_DRIVER_LOG"), "a");
  if (!list || !log) abort();
  fprintf(log, "%s\n", list);
  fclose(log);
  if (strchr(list, ':')) *strchr(list, ':') = 0;
}

static void act(void) {
  const char* what = getenv("TANDEM_FAKE_DRIVER");
  if (!what) return;
  if (!strcmp(what, "cut")) return cut();
  fprintf(stderr, "fake driver: %s\n", what);
  if (!strcmp(what, "abort")) abort();
  if (!strcmp(what, "crash")) *(volatile int*)0 = 0;
  if (!strcmp(what, "hang"))
    for (;;) pause();
  if (!strcmp(what, "exit")) exit(3);
}

// The entry for OpenCL (cl_khr_icd).
int clIcdGetPlatformIDsKHR(unsigned entries, void** platforms, unsigned* count) {
  (void)entries, (void)platforms;
  act();
  if (count) *count = 0;
  return -1001;
}
int clGetPlatformInfo(void* platform, unsigned name, size_t size, void* value, size_t* needed) {
  (void)platform, (void)name, (void)size, (void)value, (void)needed;
  return -32;
}
void* clGetExtensionFunctionAddress(const char* name) {
  if (!strcmp(name, "clIcdGetPlatformIDsKHR")) return (void*)clIcdGetPlatformIDsKHR;
  return NULL;
}

// The function that the Vulkan loader calls first.
int vk_icdNegotiateLoaderICDInterfaceVersion(unsigned* version) {
  (void)version;
  act();
  return -3;
}
void* vk_icdGetInstanceProcAddr(void* instance, const char* name) {
  (void)instance, (void)name;
  return NULL;
}
