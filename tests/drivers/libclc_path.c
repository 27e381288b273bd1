// Mesa looks for its OpenCL library of built-in functions in /usr/lib/clc only. This library is loaded before it
// (LD_PRELOAD) and redirects it to the folder TANDEM_LIBCLC, so a fetched library works without an installation.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char* moved(const char* path, char* room, size_t bytes) {
  static const char from[] = "/usr/lib/clc/";
  const char* to = getenv("TANDEM_LIBCLC");
  if (!to || !path || strncmp(path, from, sizeof from - 1) != 0) return path;
  snprintf(room, bytes, "%s/%s", to, path + sizeof from - 1);
  return room;
}

#define MOVED_OPEN(name)                                      \
  int name(const char* path, int flags, ...) {                \
    char room[4096];                                          \
    va_list more;                                             \
    va_start(more, flags);                                    \
    const unsigned mode = va_arg(more, unsigned);             \
    va_end(more);                                             \
    int (*call)(const char*, int, ...);                       \
    *(void**)&call = dlsym(RTLD_NEXT, #name);                 \
    return call(moved(path, room, sizeof room), flags, mode); \
  }
MOVED_OPEN(open)
MOVED_OPEN(open64)
