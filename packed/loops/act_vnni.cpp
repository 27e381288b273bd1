#define ACT_TABLE kVnniActLoops
#define ACT_NAME "vnni"
#include "packed/loops/act_simd.h"
