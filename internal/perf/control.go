package perf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// Class is the class of the unexpected messages with requests to a server, if the method
// has classes. docs/performance/protocol.md describes the format.
const Class bmi.Class = 250

// Version is the version of the format of requests and replies.
const Version = 1

// The kinds of requests.
const (
	kindPing = 1 // send the same bytes back
	kindRun  = 2 // be the other side of a test
)

// Limits of the work of a server for one request.
const (
	// WindowMax is the largest window, in messages.
	WindowMax = 4096
	// stepsMax is the largest number of steps of a run.
	stepsMax = 1 << 36
	// memoryMax is the most memory, in bytes, that a request can make a server use.
	memoryMax = 1 << 30
)

const (
	requestBytes = 32 // without the payload of a ping
	replyBytes   = 8  // without the text
	// replyTextMax is the longest text of a reply, in bytes.
	replyTextMax = 240
)

var magic = [4]byte{'V', 'D', 'P', 'F'}

// errFormat is wrapped by every error about bytes from the other side.
var errFormat = errors.New("perf: bad message from the other side")

// testCodes are the tests with another side, indexed by their number in a request.
var testCodes = [...]Test{1: Latency, 2: Rate, 3: Bandwidth, 4: Bidirectional}

// A request asks a server for a ping or a run.
type request struct {
	kind       byte
	test       Test // of a run
	registered bool // memory that the method moves more cheaply
	size       int  // of a message; of a ping: of its payload
	steps      int
	window     int
	tag        bmi.Tag // of the messages of the run
}

// append appends the request to b, without the payload of a ping.
func (r request) append(b []byte) []byte {
	b = append(b, magic[:]...)
	b = append(b, Version, r.kind, r.testCode(), boolByte(r.registered))
	b = binary.LittleEndian.AppendUint64(b, uint64(r.size))
	b = binary.LittleEndian.AppendUint64(b, uint64(r.steps))
	b = binary.LittleEndian.AppendUint32(b, uint32(r.window))
	return binary.LittleEndian.AppendUint32(b, uint32(r.tag))
}

func (r request) testCode() byte {
	for code, t := range testCodes {
		if code > 0 && t == r.test {
			return byte(code)
		}
	}
	return 0
}

func boolByte(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// parseRequest reads and checks a request; payload is that of a ping.
func parseRequest(b []byte) (r request, payload []byte, err error) {
	if len(b) < requestBytes || !bytes.Equal(b[:4], magic[:]) {
		return r, nil, fmt.Errorf("%w: not a request", errFormat)
	}
	if b[4] != Version {
		return r, nil, fmt.Errorf("%w: version %d of the request, this side speaks %d; run the same release on both sides", errFormat, b[4], Version)
	}
	size := binary.LittleEndian.Uint64(b[8:])
	steps := binary.LittleEndian.Uint64(b[16:])
	window := binary.LittleEndian.Uint32(b[24:])
	if size > SizeMax || steps > stepsMax || window > WindowMax || b[7] > 1 {
		return r, nil, fmt.Errorf("%w: size %d, steps %d, window %d, memory %d: over the limits", errFormat, size, steps, window, b[7])
	}
	r = request{
		kind:       b[5],
		registered: b[7] == 1,
		size:       int(size),
		steps:      int(steps),
		window:     int(window),
		tag:        bmi.Tag(binary.LittleEndian.Uint32(b[28:])),
	}
	payload = b[requestBytes:]
	return r, payload, r.check(b[6], len(payload))
}

// check sets the test of the request and checks everything that the limits do not cover.
func (r *request) check(testCode byte, payload int) error {
	switch r.kind {
	case kindPing:
		if r.size != payload || testCode != 0 {
			return fmt.Errorf("%w: a ping of %d bytes carries %d", errFormat, r.size, payload)
		}
		return nil
	case kindRun:
		if testCode == 0 || int(testCode) >= len(testCodes) {
			return fmt.Errorf("%w: test %d is unknown", errFormat, testCode)
		}
		r.test = testCodes[testCode]
		if r.steps < 1 || r.window < 1 || payload != 0 {
			return fmt.Errorf("%w: a run of %d steps, window %d, with %d bytes behind it", errFormat, r.steps, r.window, payload)
		}
		if r.size > 0 && r.window > memoryMax/r.size {
			return fmt.Errorf("%w: a window of %d messages of %s is over %s", errFormat, r.window, FormatSize(r.size), FormatSize(memoryMax))
		}
		return nil
	}
	return fmt.Errorf("%w: request of kind %d is unknown", errFormat, r.kind)
}

// appendReply appends the answer to a run: ready, or the reason of the refusal.
func appendReply(b []byte, refusal error) []byte {
	text := ""
	if refusal != nil {
		text = refusal.Error()
		text = text[:min(len(text), replyTextMax)]
	}
	b = append(b, magic[:]...)
	b = append(b, Version, boolByte(refusal != nil))
	b = binary.LittleEndian.AppendUint16(b, uint16(len(text)))
	return append(b, text...)
}

// parseReply reads the answer to a run; the error is the refusal, if it was refused.
func parseReply(b []byte) error {
	if len(b) < replyBytes || !bytes.Equal(b[:4], magic[:]) || b[4] != Version || b[5] > 1 {
		return fmt.Errorf("%w: not a reply of version %d", errFormat, Version)
	}
	n := int(binary.LittleEndian.Uint16(b[6:]))
	if n > replyTextMax || replyBytes+n != len(b) {
		return fmt.Errorf("%w: reply of %d bytes with a text of %d", errFormat, len(b), n)
	}
	if b[5] == 1 {
		return fmt.Errorf("perf: the server refused: %q", b[replyBytes:])
	}
	return nil
}
