#include "textflag.h"

// FOLD moves the 64 bytes of z over a distance, as pairs of 8 bytes by the two multipliers of k, and adds the 64 bytes at at.
#define FOLD(k, z, t, at) \
	VPCLMULQDQ $0x00, k, z, t; \
	VPCLMULQDQ $0x11, k, z, z; \
	VPTERNLOGQ $0x96, at, t, z

// func foldSums(sums, blocks *byte, count int, by *[foldDistances]fold)
//
// A block is folded in four streams of 64 bytes, these into one, its 64 bytes into 16; the CRC32 instruction does the rest.
TEXT ·foldSums(SB), NOSPLIT, $0-32
	MOVQ sums+0(FP), DI
	MOVQ blocks+8(FP), SI
	MOVQ count+16(FP), CX
	MOVQ by+24(FP), DX
	VBROADCASTI32X4 0(DX), Z16  // over 256 bytes
	VBROADCASTI32X4 16(DX), Z17 // 192
	VBROADCASTI32X4 32(DX), Z18 // 128
	VBROADCASTI32X4 48(DX), Z19 // 64
	VMOVDQU64 64(DX), Z20       // 48, 32, 16, and 0 of the last 16 bytes

block:
	VMOVDQU64 (SI), Z0
	VMOVDQU64 64(SI), Z1
	VMOVDQU64 128(SI), Z2
	VMOVDQU64 192(SI), Z3
	MOVL $15, AX

fold:
	ADDQ $256, SI
	PREFETCHT0 3840(SI)
	PREFETCHT0 3904(SI)
	PREFETCHT0 3968(SI)
	PREFETCHT0 4032(SI)
	FOLD(Z16, Z0, Z4, (SI))
	FOLD(Z16, Z1, Z5, 64(SI))
	FOLD(Z16, Z2, Z6, 128(SI))
	FOLD(Z16, Z3, Z7, 192(SI))
	DECL AX
	JNZ  fold

	ADDQ $256, SI
	FOLD(Z17, Z0, Z4, Z3)
	FOLD(Z18, Z1, Z5, Z0)
	FOLD(Z19, Z2, Z6, Z1)

	VPCLMULQDQ    $0x00, Z20, Z2, Z0
	VPCLMULQDQ    $0x11, Z20, Z2, Z1
	VPXORQ        Z0, Z1, Z0
	VEXTRACTI32X4 $3, Z2, X2
	VEXTRACTI64X4 $1, Z0, Y1
	VPXORQ        Y0, Y1, Y0
	VEXTRACTI128  $1, Y0, X1
	VPTERNLOGQ    $0x96, X2, X1, X0

	VMOVQ   X0, R8
	VPEXTRQ $1, X0, R9
	XORL    R10, R10
	CRC32Q  R8, R10
	CRC32Q  R9, R10
	MOVL    R10, (DI)

	ADDQ $4, DI
	DECQ CX
	JNZ  block
	VZEROUPPER
	RET
