#include "textflag.h"

// func modes() (mxcsr uint32, x87 uint16)
TEXT ·modes(SB), NOSPLIT, $0-6
	STMXCSR mxcsr+0(FP)
	FSTCW   x87+4(FP)
	RET
