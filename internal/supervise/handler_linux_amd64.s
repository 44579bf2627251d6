#include "textflag.h"

// handler writes its siginfo into the pipe. It runs on the signal stack of
// whatever thread there is, uses no Go, and the kernel gives every register
// back. All signals are blocked meanwhile.
TEXT ·handler(SB),NOSPLIT|NOFRAME,$0-0
	MOVLQSX ·handlerPipe(SB), DI
	MOVQ $128, DX // of SI, the siginfo
	MOVQ $1, AX   // write
	SYSCALL
	RET

TEXT ·restorer(SB),NOSPLIT|NOFRAME,$0-0
	MOVQ $15, AX // rt_sigreturn
	SYSCALL
	INT $3

TEXT ·handlerPC(SB),NOSPLIT,$0-8
	LEAQ ·handler(SB), AX
	MOVQ AX, ret+0(FP)
	RET

TEXT ·restorerPC(SB),NOSPLIT,$0-8
	LEAQ ·restorer(SB), AX
	MOVQ AX, ret+0(FP)
	RET
