// Linked into tests under AddressSanitizer: libraries that were loaded stay loaded. The Vulkan loader unloads a driver
// with its last instance, and a leak of the driver's own can then no longer be told from ours (cmake/lsan.supp).
extern "C" int dlclose(void*) { return 0; }
