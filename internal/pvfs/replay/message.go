package replay

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// The header before every message of bmi_tcp.
const (
	frameHeader    = 24
	frameMagic     = 51903
	modeUnexpected = 2
	frameBytesMax  = 16 << 20
)

// A Message is one bmi message of a capture.
type Message struct {
	Conn       int    // number of the connection, by the order of first packets
	Port       uint16 // port of the server: it identifies the server
	FromServer bool
	Unexpected bool
	Tag        uint32
	At         float64 // seconds
	Data       []byte
	// Garbage: this is not a message but the rest of a stream that lacks a header.
	Garbage bool
}

// Read parses a capture into the messages of all connections to the ports, in order of arrival. It fails only if the file is not
// a capture.
func Read(file []byte, ports ...uint16) ([]Message, error) {
	all, err := segments(file)
	if err != nil {
		return nil, err
	}
	type key struct{ client, server uint16 }
	type conn struct {
		key
		dirs [2]stream
	}
	var conns []*conn
	byKey := make(map[key]*conn)
	for _, g := range all {
		toServer, fromServer := slices.Contains(ports, g.dst), slices.Contains(ports, g.src)
		if toServer == fromServer {
			continue
		}
		k, dir := key{g.src, g.dst}, 0
		if fromServer {
			k, dir = key{g.dst, g.src}, 1
		}
		c := byKey[k]
		if c == nil {
			c = &conn{key: k}
			byKey[k] = c
			conns = append(conns, c)
		}
		c.dirs[dir].add(g)
	}
	var messages []Message
	for i, c := range conns {
		for dir := range c.dirs {
			messages = appendFrames(messages, &c.dirs[dir], Message{Conn: i, Port: c.server, FromServer: dir == 1})
		}
	}
	slices.SortStableFunc(messages, func(a, b Message) int { return cmp.Compare(a.At, b.At) })
	return messages, nil
}

// appendFrames splits a stream into messages like m. It drops a message that the capture does not have completely.
func appendFrames(to []Message, s *stream, m Message) []Message {
	for o := 0; len(s.data)-o >= frameHeader; {
		h := s.data[o:]
		size := binary.LittleEndian.Uint64(h[16:])
		if binary.LittleEndian.Uint32(h) != frameMagic || size > frameBytesMax {
			m.Data, m.At, m.Garbage = h, s.when(len(s.data)), true
			return append(to, m)
		}
		end := o + frameHeader + int(size)
		if end > len(s.data) {
			break
		}
		m.Unexpected = binary.LittleEndian.Uint32(h[4:]) == modeUnexpected
		m.Tag = binary.LittleEndian.Uint32(h[8:])
		m.Data, m.At = s.data[o+frameHeader:end], s.when(end)
		to = append(to, m)
		o = end
	}
	return to
}

// An Exchange is a request and all messages with its tag.
type Exchange struct {
	Conn     int
	Port     uint16
	Tag      uint32
	Request  []byte
	Sent     [][]byte // data of a flow
	Received [][]byte // the response; then data, or the completion of a write
}

// Exchanges groups messages into exchanges, in the order of the requests.
func Exchanges(messages []Message) []*Exchange {
	type key struct {
		conn int
		tag  uint32
	}
	var all []*Exchange
	open := make(map[key]*Exchange)
	for _, m := range messages {
		k := key{m.Conn, m.Tag}
		x := open[k]
		switch {
		case m.Garbage:
		case m.Unexpected && !m.FromServer:
			x = &Exchange{Conn: m.Conn, Port: m.Port, Tag: m.Tag, Request: m.Data}
			open[k] = x
			all = append(all, x)
		case x == nil: // its request was sent before the capture started
		case m.FromServer:
			x.Received = append(x.Received, m.Data)
		default:
			x.Sent = append(x.Sent, m.Data)
		}
	}
	return all
}
