package shm

import (
	"encoding/binary"
	"fmt"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// Messages on the socket. Each is one SOCK_SEQPACKET record, little endian,
// and opens with magic (u32), version (u16), kind (u8) and a zero byte.
type messageKind uint8

const (
	kindHello   messageKind = iota + 1 // client asks to connect; carries the descriptors
	kindAccept                         // server agrees; carries its table
	kindConfirm                        // client has mapped everything
	kindReject                         // server refuses
	kindBye                            // the sender's half has ended in an orderly way
	kindRing                           // a doorbell, between processes of different users
)

const (
	prefixBytes  = 8
	helloBytes   = prefixBytes + 40 // before the address and the private data
	acceptBytes  = prefixBytes + 24 // before the address
	confirmBytes = prefixBytes + 8
	rejectBytes  = prefixBytes + 8 // before the reason
	byeBytes     = prefixBytes + 16
	// addrBytesMax bounds a local address: a name, or "~PID.N".
	addrBytesMax = NameBytesMax
	messageMax   = helloBytes + addrBytesMax + nic.PrivateDataMax
)

// rights are the RDMA accesses that a side's port allows the other side.
type rights struct {
	tag    nic.ProtectionTag
	access nic.Access
}

// probe names a word in the memory of its sender and its value, so that the other
// side can find out whether the kernel lets it read there.
type probe struct {
	addr, value uint64
}

type hello struct {
	rights  rights
	probe   probe
	addr    string
	private []byte
}

type accept struct {
	rights rights
	probe  probe
	reach  bool // the server could read the client's probe
	addr   string
}

type confirm struct {
	reach bool // the client could read the server's probe
}

// Reject and bye codes.
const (
	codeNone         uint16 = iota
	codeVersion             // reject: I speak another version
	codeProtocol            // you broke the rules
	codeResource            // reject: I am out of memory or descriptors
	codeNoDescriptor        // bye: a message had no receive posted
	codeBusy                // reject: too many requests wait already
	codeUserLimit           // reject: the client's user has as many connections as it may
)

type reject struct {
	code   uint16
	reason []byte
}

// bye ends a connection in an orderly way: sent is how many messages its sender
// wrote.
type bye struct {
	sent uint64
	code uint16
}

// ringRecord is a complete record.
var ringRecord = appendPrefix(nil, kindRing)

func appendPrefix(b []byte, kind messageKind) []byte {
	b = binary.LittleEndian.AppendUint32(b, formatMagic)
	b = binary.LittleEndian.AppendUint16(b, formatVersion)
	return append(b, byte(kind), 0)
}

// parsePrefix returns the kind of a record. It fails with ErrVersion for another
// version and with ErrProtocol for anything else.
func parsePrefix(b []byte) (messageKind, error) {
	if len(b) < prefixBytes || binary.LittleEndian.Uint32(b) != formatMagic {
		return 0, fmt.Errorf("shm: a record of %d bytes without the format's magic: %w", len(b), nic.ErrProtocol)
	}
	if v := binary.LittleEndian.Uint16(b[4:]); v != formatVersion {
		return 0, fmt.Errorf("shm: format version %d, ours is %d: %w", v, formatVersion, nic.ErrVersion)
	}
	if b[7] != 0 {
		return 0, malformed("prefix", len(b))
	}
	return messageKind(b[6]), nil
}

func malformed(what string, length int) error {
	return fmt.Errorf("shm: malformed %s of %d bytes: %w", what, length, nic.ErrProtocol)
}

func (h hello) append(b []byte) []byte {
	b = appendPrefix(b, kindHello)
	b = binary.LittleEndian.AppendUint32(b, segmentBytes)
	b = binary.LittleEndian.AppendUint16(b, ringSlots)
	b = binary.LittleEndian.AppendUint16(b, bufferBytes)
	b = binary.LittleEndian.AppendUint32(b, tableBytes)
	b = binary.LittleEndian.AppendUint32(b, uint32(h.rights.tag))
	b = binary.LittleEndian.AppendUint64(b, h.probe.addr)
	b = binary.LittleEndian.AppendUint64(b, h.probe.value)
	b = append(b, byte(h.rights.access), 0, 0, 0, byte(len(h.addr)), 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(h.private)))
	b = append(b, h.addr...)
	return append(b, h.private...)
}

// parseHello reads a whole hello. private aliases b.
func parseHello(b []byte) (h hello, err error) {
	kind, err := parsePrefix(b)
	if err != nil {
		return h, err
	}
	if kind != kindHello || len(b) < helloBytes {
		return h, malformed("hello", len(b))
	}
	le := binary.LittleEndian
	if le.Uint32(b[8:]) != segmentBytes || le.Uint16(b[12:]) != ringSlots ||
		le.Uint16(b[14:]) != bufferBytes || le.Uint32(b[16:]) != tableBytes {
		return h, fmt.Errorf("shm: segment of %d bytes with another layout than ours: %w", le.Uint32(b[8:]), nic.ErrVersion)
	}
	h.rights.tag = nic.ProtectionTag(le.Uint32(b[20:]))
	h.probe = probe{le.Uint64(b[24:]), le.Uint64(b[32:])}
	h.rights.access = nic.Access(b[40])
	addr, private := int(b[44]), int(le.Uint16(b[46:]))
	zero := b[41] | b[42] | b[43] | b[45]
	if zero != 0 || !validAccess(h.rights.access) || addr > addrBytesMax ||
		private > nic.PrivateDataMax || len(b) != helloBytes+addr+private {
		return h, malformed("hello", len(b))
	}
	h.addr = string(b[helloBytes : helloBytes+addr])
	h.private = b[helloBytes+addr:]
	if !validAddr(h.addr) {
		return h, malformed("hello", len(b))
	}
	return h, nil
}

func (a accept) append(b []byte) []byte {
	b = appendPrefix(b, kindAccept)
	b = binary.LittleEndian.AppendUint32(b, uint32(a.rights.tag))
	b = append(b, byte(a.rights.access), bit(a.reach), byte(len(a.addr)), 0)
	b = binary.LittleEndian.AppendUint64(b, a.probe.addr)
	b = binary.LittleEndian.AppendUint64(b, a.probe.value)
	return append(b, a.addr...)
}

// parseAccept reads the body of an accept.
func parseAccept(b []byte) (a accept, err error) {
	if len(b) < acceptBytes {
		return a, malformed("accept", len(b))
	}
	le := binary.LittleEndian
	a.rights.tag = nic.ProtectionTag(le.Uint32(b[8:]))
	a.rights.access = nic.Access(b[12])
	a.reach = b[13] == 1
	a.probe = probe{le.Uint64(b[16:]), le.Uint64(b[24:])}
	a.addr = string(b[acceptBytes:])
	if b[13] > 1 || b[15] != 0 || !validAccess(a.rights.access) || int(b[14]) != len(a.addr) || !validAddr(a.addr) {
		return a, malformed("accept", len(b))
	}
	return a, nil
}

func (c confirm) append(b []byte) []byte {
	b = appendPrefix(b, kindConfirm)
	return append(b, bit(c.reach), 0, 0, 0, 0, 0, 0, 0)
}

func parseConfirm(b []byte) (c confirm, err error) {
	if len(b) != confirmBytes || binary.LittleEndian.Uint64(b[8:]) > 1 {
		return c, malformed("confirm", len(b))
	}
	return confirm{reach: b[8] == 1}, nil
}

func (r reject) append(b []byte) []byte {
	b = appendPrefix(b, kindReject)
	b = binary.LittleEndian.AppendUint16(b, r.code)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(r.reason)))
	b = append(b, 0, 0, 0, 0)
	return append(b, r.reason...)
}

// parseReject reads the body of a reject; reason aliases b.
func parseReject(b []byte) (r reject, err error) {
	if len(b) < rejectBytes {
		return r, malformed("reject", len(b))
	}
	r.code = binary.LittleEndian.Uint16(b[8:])
	r.reason = b[rejectBytes:]
	if int(binary.LittleEndian.Uint16(b[10:])) != len(r.reason) || len(r.reason) > nic.RejectReasonMax ||
		binary.LittleEndian.Uint32(b[12:]) != 0 {
		return r, malformed("reject", len(b))
	}
	return r, nil
}

func (y bye) append(b []byte) []byte {
	b = appendPrefix(b, kindBye)
	b = binary.LittleEndian.AppendUint64(b, y.sent)
	b = binary.LittleEndian.AppendUint16(b, y.code)
	return append(b, 0, 0, 0, 0, 0, 0)
}

func parseBye(b []byte) (y bye, err error) {
	if len(b) != byeBytes || binary.LittleEndian.Uint64(b[16:])>>16 != 0 {
		return y, malformed("bye", len(b))
	}
	return bye{sent: binary.LittleEndian.Uint64(b[8:]), code: binary.LittleEndian.Uint16(b[16:])}, nil
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}

func validAccess(a nic.Access) bool {
	return a&^(nic.AccessRemoteWrite|nic.AccessRemoteRead) == 0
}
