#define LOOPS_SET InstructionSet::avx2
#define LOOPS_TABLE kAvx2Loops
#include "engine/device/host/loops_all.h"
