#define ACT_TABLE kVnniActLoops
#define ACT_NAME "vnni"
#include "packed/act_simd.h"
