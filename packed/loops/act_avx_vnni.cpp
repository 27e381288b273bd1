#define ACT_TABLE kAvxVnniActLoops
#define ACT_NAME "avx_vnni"
#include "packed/loops/act_simd.h"
