#define LOOPS_SET InstructionSet::portable
#define LOOPS_TABLE kPortableLoops
#include "engine/device/host/loops_all.h"
