#define ACT_TABLE kAmxActLoops
#define ACT_NAME "amx"
#include "packed/loops/act_simd.h"
