// Linked into tests under AddressSanitizer: loaded libraries stay loaded. The Vulkan loader unloads a driver with its
// last instance. Leaks of the driver would then look like our own (cmake/lsan.supp).
extern "C" int dlclose(void*) { return 0; }
