#include "textflag.h"

// func fpcr() uint64
TEXT ·fpcr(SB), NOSPLIT, $0-8
	MRS  FPCR, R0
	MOVD R0, ret+0(FP)
	RET
