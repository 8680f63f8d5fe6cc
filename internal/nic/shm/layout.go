package shm

import "github.com/viaduct-hpc/viaduct/methods/via/nic"

// The format's name and version. They open every message on the socket and the
// segment itself, at the same place in every version.
const (
	formatMagic   uint32 = 'V' | 'S'<<8 | 'H'<<16 | 'M'<<24
	formatVersion uint16 = 1
)

// A segment is shared by the two sides of one connection:
//
//	0      4 KiB  control page: magic and version, then one block per side
//	4096   4 KiB  slots, client to server
//	8192   4 KiB  slots, server to client
//	12288  512 KiB  buffers, client to server
//	...    512 KiB  buffers, server to client
//
// A control block has one writer, the side whose name it has. Its words are 128
// bytes apart, so that neither a cache line nor the adjacent-line prefetcher
// couples two of them.
const (
	controlPage = 4096

	serverBlock = 1024
	clientBlock = 2048
	blockBytes  = 1024

	limitOff     = 0   // u64: total number of messages that the other side may have sent
	attentionOff = 128 // u64: bit 0: ring my doorbell; the rest: number of the request
	buffersOff   = 256 // 64 x u8: the buffer that belongs to each slot
	hazardOff    = 384 // u64: the handle that an RDMA call is about to use

	ringBytes    = ringSlots * slotBytes
	slotsOff     = controlPage
	bufferArea   = controlPage + 2*ringBytes
	bufferBytes  = MTUBytes
	buffersBytes = ringSlots * bufferBytes
	segmentBytes = bufferArea + 2*buffersBytes
)

// Offsets within a slot.
const (
	headerOff = 0
	inlineOff = 8
)

// An entry of the registration table: handle (the valid word), address,
// length, access and tag.
const (
	entryBytes  = 32
	entryHandle = 0
	entryAddr   = 8
	entryLen    = 16
	entryRights = 24 // access | descriptor << 8 | tag << 32
	tableBytes  = tableEntries * entryBytes

	descriptorShift = 8
	descriptorMask  = 1<<24 - 1
)

// The compiler checks the assumptions of the code: an index out of range here is
// a layout that does not fit.
const (
	_ = uint(slotBytes - inlineOff - InlineBytesMax)   // the inline payload ends with its slot
	_ = uint(nic.InlineMax - InlineBytesMax)           // a Descriptor can hold it
	_ = uint(clientBlock - serverBlock - blockBytes)   // blocks are disjoint
	_ = uint(controlPage - clientBlock - blockBytes)   // and within the control page
	_ = uint(blockBytes - hazardOff - 8)               // words are within their block
	_ = uint(buffersOff + ringSlots - buffersOff - 64) // one byte per slot, at least a line
	_ = uint(lengthMask - MTUBytes)                    // the length field can hold the MTU
	_ = -uint(ringSlots & (ringSlots - 1))             // a power of two
	_ = -uint(segmentBytes % 4096)                     // whole pages
	_ = -uint(bufferBytes % 4096)                      // a buffer's pages are its own
	_ = -uint(tableBytes % 4096)                       // whole pages
	_ = uint(1<<handleIndexBits - tableEntries - 1)    // index+1 fits a handle
	_ = uint(ringSlots - 64)                           // the free set is one word:
	_ = uint(64 - ringSlots)                           // exactly 64
)

// side is one end of a connection; each writes its own control block and
// receives from the other's ring.
type side uint8

const (
	client side = iota
	server
)

func (s side) other() side { return 1 - s }

// block is the offset of the side's control block.
func (s side) block() uintptr {
	if s == client {
		return clientBlock
	}
	return serverBlock
}

// slots and buffers are where the side writes its messages.
func (s side) slots() uintptr   { return slotsOff + uintptr(s)*ringBytes }
func (s side) buffers() uintptr { return bufferArea + uintptr(s)*buffersBytes }

// A slot's header describes a message in one word, so that one store publishes it
// and one load takes it:
//
//	63       49 48      47        46     45   32 31        0
//	| lap + 1 | 1 | buffered | immediate | length | immediate |
//
// Bit 48 is always set: a zeroed slot is not a message. The lap (how often the
// ring has gone round) distinguishes it from a message of the previous lap.
const (
	flagBuffered  = 1 << 47
	flagImmediate = 1 << 46
	lengthShift   = 32
	lengthMask    = 1<<14 - 1
	stampShift    = 48
)

// stamp is the upper part of the header of message index.
func stamp(index uint64) uint16 { return uint16(index/ringSlots+1)<<1 | 1 }

// makeHeader is the header of message index; flags are flagBuffered and
// flagImmediate.
func makeHeader(index uint64, length int, flags uint64, immediate uint32) uint64 {
	return uint64(stamp(index))<<stampShift | flags | uint64(length)<<lengthShift | uint64(immediate)
}

// headerLength is the payload length in a header, or -1 if no correct sender
// writes such a header. A payload that fits the slot must be in the slot: in a
// buffer it would be lent, and consumers treat a payload of InlineBytesMax or
// less as private (nic.FlagLoan).
func headerLength(h uint64) int {
	length := int(h >> lengthShift & lengthMask)
	if length > MTUBytes || (h&flagBuffered != 0) != (length > InlineBytesMax) {
		return -1
	}
	if h&flagImmediate == 0 && uint32(h) != 0 {
		return -1
	}
	return length
}

// slotIsOld reports whether h is a header that a slot may hold before message
// index is written to it: nothing in the first lap, otherwise the message of the
// previous lap.
func slotIsOld(h, index uint64) bool {
	if index < ringSlots {
		return h == 0
	}
	return uint16(h>>stampShift) == stamp(index-ringSlots)
}
