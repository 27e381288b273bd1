#define LOOPS_NAME "portable"
#define LOOPS_TABLE kPortableLoops
#include "engine/device/host/loops_all.h"
