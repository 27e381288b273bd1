#define ACT_TABLE kAvxVnniActLoops
#define ACT_NAME "avx_vnni"
#include "packed/act_simd.h"
