#define ACT_TABLE kAvx2ActLoops
#define ACT_NAME "avx2"
#include "packed/loops/act_simd.h"
