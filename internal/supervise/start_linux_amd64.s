#include "textflag.h"

// kernstash_start is the entry of the command: it notes what the Go runtime is
// about to change, and goes to the runtime's entry.
TEXT kernstash_start(SB),NOSPLIT|NOFRAME,$0-0
	SUBQ $64, SP
	MOVQ $64, R12 // signal
	XORQ R13, R13
signal:
	MOVQ $13, AX // rt_sigaction(signal, NULL, &old, 8)
	MOVQ R12, DI
	XORQ SI, SI
	MOVQ SP, DX
	MOVQ $8, R10
	SYSCALL
	TESTQ AX, AX
	JNE next
	CMPQ 0(SP), $1 // SIG_IGN
	JNE next
	MOVQ R12, CX
	DECQ CX
	MOVQ $1, AX
	SHLQ CX, AX
	ORQ AX, R13
next:
	DECQ R12
	JNE signal
	MOVQ R13, ·startIgnored(SB)

	MOVQ $2, R12 // descriptor
	XORQ R13, R13
descriptor:
	MOVQ $72, AX // fcntl(descriptor, F_GETFD)
	MOVQ R12, DI
	MOVQ $1, SI
	SYSCALL
	CMPQ AX, $-9 // EBADF
	JNE open
	MOVQ R12, CX
	MOVQ $1, AX
	SHLQ CX, AX
	ORQ AX, R13
open:
	DECQ R12
	JGE descriptor
	MOVQ R13, ·startClosed(SB)

	MOVQ $1, ·startKnown(SB)
	ADDQ $64, SP
	JMP _rt0_amd64_linux(SB)
