#include "textflag.h"

// kernstash_start is the entry of the command: it notes what the Go runtime is
// about to change, and goes to the runtime's entry.
TEXT kernstash_start(SB),NOSPLIT|NOFRAME,$0-0
	SUB $64, RSP
	MOVD $64, R19 // signal
	MOVD $0, R20
signal:
	MOVD R19, R0 // rt_sigaction(signal, NULL, &old, 8)
	MOVD $0, R1
	MOVD RSP, R2
	MOVD $8, R3
	MOVD $134, R8
	SVC
	CBNZ R0, next
	MOVD 0(RSP), R3
	CMP $1, R3 // SIG_IGN
	BNE next
	SUB $1, R19, R4
	MOVD $1, R3
	LSL R4, R3, R3
	ORR R3, R20, R20
next:
	SUB $1, R19, R19
	CBNZ R19, signal
	MOVD R20, ·startIgnored(SB)

	MOVD $2, R19 // descriptor
	MOVD $0, R20
descriptor:
	MOVD R19, R0 // fcntl(descriptor, F_GETFD)
	MOVD $1, R1
	MOVD $25, R8
	SVC
	CMN $9, R0 // EBADF
	BNE open
	MOVD $1, R3
	LSL R19, R3, R3
	ORR R3, R20, R20
open:
	SUBS $1, R19, R19
	BPL descriptor
	MOVD R20, ·startClosed(SB)

	MOVD $1, R3
	MOVD R3, ·startKnown(SB)
	ADD $64, RSP
	JMP _rt0_arm64_linux(SB)
