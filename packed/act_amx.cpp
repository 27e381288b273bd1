#define ACT_TABLE kAmxActLoops
#define ACT_NAME "amx"
#include "packed/act_simd.h"
