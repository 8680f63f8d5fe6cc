#include "textflag.h"

// func prefetchWrite(p unsafe.Pointer)
TEXT ·prefetchWrite(SB), NOSPLIT, $0-8
	MOVQ p+0(FP), AX
	// PREFETCHW (AX), which the assembler does not know by name.
	BYTE $0x0F; BYTE $0x0D; BYTE $0x08
	RET

// func prefetchRead(p unsafe.Pointer)
TEXT ·prefetchRead(SB), NOSPLIT, $0-8
	MOVQ p+0(FP), AX
	PREFETCHT0 (AX)
	RET
