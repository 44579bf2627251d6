#include "textflag.h"

// handler writes its siginfo into the pipe. It runs on the signal stack of
// whatever thread there is, uses no Go, and the kernel gives every register
// back. All signals are blocked meanwhile.
TEXT ·handler(SB),NOSPLIT|NOFRAME,$0-0
	MOVW ·handlerPipe(SB), R0
	MOVD $128, R2 // of R1, the siginfo
	MOVD $64, R8  // write
	SVC
	RET

TEXT ·restorer(SB),NOSPLIT|NOFRAME,$0-0
	MOVD $139, R8 // rt_sigreturn
	SVC
	UNDEF

TEXT ·handlerPC(SB),NOSPLIT,$0-8
	MOVD $·handler(SB), R0
	MOVD R0, ret+0(FP)
	RET

TEXT ·restorerPC(SB),NOSPLIT,$0-8
	MOVD $·restorer(SB), R0
	MOVD R0, ret+0(FP)
	RET
