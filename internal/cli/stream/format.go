package stream

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// Class is the class of the unexpected message with a sender's offer, if the
// method has classes.
const Class bmi.Class = 251

// Version is the version of the format.
const Version = 1

// The tags of a transfer. Each direction has its own messages.
const (
	tagAnswer  bmi.Tag = 1 // receiver to sender: the answer to the offer; the offer has this tag too
	tagBlock   bmi.Tag = 2 // sender to receiver: blocks, in order
	tagVerdict bmi.Tag = 3 // receiver to sender: the verdict
	tagGoodbye bmi.Tag = 4 // sender to receiver: an empty message, once the verdict has arrived
)

// The kinds of messages.
const (
	kindOffer   = 1
	kindAnswer  = 2
	kindData    = 3
	kindEnd     = 4
	kindAbort   = 5
	kindVerdict = 6
)

// Limits of the protocol.
const (
	// BlockBytesMax is the largest payload of a block.
	BlockBytesMax = 16 << 20
	// blockBytesMin leaves room for the end block and for the text of an abort.
	blockBytesMin = 256
	// BlocksMax is the largest number of blocks under way.
	BlocksMax = 64
	// textBytesMax is the longest text for people, in bytes.
	textBytesMax = 200
)

const (
	offerBytes  = 32
	replyBytes  = 24 // without the text
	headerBytes = 32 // of a block
	endBytes    = 8 + sha256.Size
	// unknownTotal means that the sender does not know the length beforehand.
	unknownTotal = ^uint64(0)
)

var magic = [4]byte{'V', 'D', 'S', 'T'}

// ErrFormat: the other side sent bytes that the format forbids.
var ErrFormat = errors.New("stream: bad message from the other side")

// An offer opens a transfer.
type offer struct {
	session uint64
	total   int64 // bytes of the stream; -1: not known
	block   int   // payload bytes of a full block
	blocks  int   // blocks under way
}

func (o offer) append(b []byte) []byte {
	b = append(b, magic[:]...)
	b = append(b, Version, kindOffer, 0, 0)
	b = binary.LittleEndian.AppendUint64(b, o.session)
	b = binary.LittleEndian.AppendUint64(b, uint64(o.total))
	b = binary.LittleEndian.AppendUint32(b, uint32(o.block))
	return binary.LittleEndian.AppendUint32(b, uint32(o.blocks))
}

func parseOffer(b []byte) (offer, error) {
	if err := checkHead(b, offerBytes, kindOffer, "an offer"); err != nil {
		return offer{}, err
	}
	if len(b) != offerBytes || b[6] != 0 || b[7] != 0 {
		return offer{}, fmt.Errorf("%w: an offer of %d bytes", ErrFormat, len(b))
	}
	total := binary.LittleEndian.Uint64(b[16:])
	block := binary.LittleEndian.Uint32(b[24:])
	blocks := binary.LittleEndian.Uint32(b[28:])
	if block < blockBytesMin || block > BlockBytesMax || blocks < 1 || blocks > BlocksMax {
		return offer{}, fmt.Errorf("%w: %d blocks of %d bytes are outside the limits", ErrFormat, blocks, block)
	}
	if total != unknownTotal && total > 1<<62 {
		return offer{}, fmt.Errorf("%w: a stream of %d bytes", ErrFormat, total)
	}
	return offer{session: binary.LittleEndian.Uint64(b[8:]), total: int64(total), block: int(block), blocks: int(blocks)}, nil
}

// checkHead checks the common start of all messages except blocks.
func checkHead(b []byte, least int, kind byte, what string) error {
	if len(b) < least || !bytes.Equal(b[:4], magic[:]) {
		return fmt.Errorf("%w: not %s", ErrFormat, what)
	}
	if b[4] != Version {
		return fmt.Errorf("%w: format version %d, this side speaks %d; run the same release on both sides", ErrFormat, b[4], Version)
	}
	if b[5] != kind {
		return fmt.Errorf("%w: message kind %d, not %s", ErrFormat, b[5], what)
	}
	return nil
}

// A reply is the answer to an offer, or the verdict.
type reply struct {
	kind    byte
	session uint64
	bytes   int64  // verdict: bytes that the receiver has written
	refused bool   // refused or failed
	text    string // the reason
}

func (r reply) append(b []byte) []byte {
	text := r.text[:min(len(r.text), textBytesMax)]
	status := byte(0)
	if r.refused {
		status = 1
	}
	b = append(b, magic[:]...)
	b = append(b, Version, r.kind, status, byte(len(text)))
	b = binary.LittleEndian.AppendUint64(b, r.session)
	b = binary.LittleEndian.AppendUint64(b, uint64(r.bytes))
	return append(b, text...)
}

func parseReply(b []byte, kind byte, session uint64) (reply, error) {
	what := "an answer"
	if kind == kindVerdict {
		what = "a verdict"
	}
	if err := checkHead(b, replyBytes, kind, what); err != nil {
		return reply{}, err
	}
	r := reply{
		kind:    kind,
		session: binary.LittleEndian.Uint64(b[8:]),
		bytes:   int64(binary.LittleEndian.Uint64(b[16:])),
		refused: b[6] == 1,
		text:    string(b[replyBytes:]),
	}
	if b[6] > 1 || int(b[7]) != len(r.text) || len(r.text) > textBytesMax || r.bytes < 0 {
		return reply{}, fmt.Errorf("%w: %s of status %d with %d bytes of text", ErrFormat, what, b[6], len(r.text))
	}
	if r.session != session {
		return reply{}, fmt.Errorf("%w: %s to another transfer", ErrFormat, what)
	}
	return r, nil
}

// A header starts every block; its payload follows.
type header struct {
	kind     byte
	length   int // of the payload, in bytes
	sequence uint64
	session  uint64
}

// put writes the header to the first bytes of b.
func (h header) put(b []byte) {
	clear(b[:headerBytes])
	b[0] = h.kind
	binary.LittleEndian.PutUint32(b[4:], uint32(h.length))
	binary.LittleEndian.PutUint64(b[8:], h.sequence)
	binary.LittleEndian.PutUint64(b[16:], h.session)
}

// parseBlock checks the block with this sequence number of a session; block is
// the payload size of a full one.
func parseBlock(b []byte, block int, session, sequence uint64) (header, []byte, error) {
	if len(b) < headerBytes || b[1]|b[2]|b[3] != 0 || binary.LittleEndian.Uint64(b[24:]) != 0 {
		return header{}, nil, fmt.Errorf("%w: not a block", ErrFormat)
	}
	h := header{
		kind:     b[0],
		length:   int(binary.LittleEndian.Uint32(b[4:])),
		sequence: binary.LittleEndian.Uint64(b[8:]),
		session:  binary.LittleEndian.Uint64(b[16:]),
	}
	payload := b[headerBytes:]
	switch {
	case h.session != session:
		return h, nil, fmt.Errorf("%w: a block of another transfer", ErrFormat)
	case h.sequence != sequence:
		return h, nil, fmt.Errorf("%w: block %d where %d is due", ErrFormat, h.sequence, sequence)
	case h.length != len(payload):
		return h, nil, fmt.Errorf("%w: block %d says %d bytes and has %d", ErrFormat, sequence, h.length, len(payload))
	}
	ok := false
	switch h.kind {
	case kindData:
		ok = h.length >= 1 && h.length <= block
	case kindEnd:
		ok = h.length == endBytes
	case kindAbort:
		ok = h.length <= textBytesMax
	}
	if !ok {
		return h, nil, fmt.Errorf("%w: block %d of kind %d with %d bytes", ErrFormat, sequence, h.kind, h.length)
	}
	return h, payload, nil
}

// putEnd writes the payload of the end block: the length of the stream, and its
// SHA-256.
func putEnd(b []byte, total int64, sum [sha256.Size]byte) {
	binary.LittleEndian.PutUint64(b, uint64(total))
	copy(b[8:], sum[:])
}

// parseEnd reads the payload of the end block, whose length parseBlock has
// checked.
func parseEnd(b []byte) (total uint64, sum [sha256.Size]byte) {
	copy(sum[:], b[8:endBytes])
	return binary.LittleEndian.Uint64(b), sum
}
