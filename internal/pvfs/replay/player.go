package replay

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A Player sends the requests of captured clients to live servers, one after another.
type Player struct {
	// Servers are the live servers by the captured servers' ports.
	Servers map[uint16]bmi.Addr
	// Map maps identifiers.
	Map *Mapping
	// Text replaces the live addresses in a configuration by the captured ones; nil changes nothing.
	Text func(string) string
	// Owner is the live server of a handle. An object may be on another server than in the capture, and requests about it then go
	// there. May be nil.
	Owner func(proto.Handle) (bmi.Addr, bool)

	ctx   *bmi.Context
	tag   bmi.Tag
	lists map[proto.Handle]*listing
}

// NewPlayer makes a player that uses ep. Close the player before ep.
func NewPlayer(ep *bmi.Endpoint, m *Mapping) (*Player, error) {
	c, err := ep.OpenContext()
	if err != nil {
		return nil, err
	}
	return &Player{Servers: make(map[uint16]bmi.Addr), Map: m, ctx: c, lists: make(map[proto.Handle]*listing)}, nil
}

// Close ends the player.
func (p *Player) Close() error { return p.ctx.Close() }

// replyRoom is how much larger than its operation allows a reply may be, so that a reply that is too long is detected.
const replyRoom = 64

// Do sends a request and returns the answer; nil if the status is not 0.
func (p *Player) Do(ctx context.Context, to bmi.Addr, h *proto.Header, req proto.Request) (proto.Response, proto.Status, error) {
	reply, err := p.Say(ctx, to, proto.AppendRequest(nil, h, req), proto.MaxResponse(req.Op())+replyRoom)
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", req, err)
	}
	return parse(reply, req.Op())
}

// Say sends a message, which need not be a request, and returns the answer of at most most bytes.
func (p *Player) Say(ctx context.Context, to bmi.Addr, message []byte, most int) ([]byte, error) {
	p.tag++
	reply := make([]byte, most)
	n, err := p.ctx.Call(ctx, to, 0, p.tag, message, reply)
	return reply[:n], err
}

// parse parses a response, and checks that it fits into a client's buffer.
func parse(b []byte, op proto.Op) (proto.Response, proto.Status, error) {
	if most := proto.MaxResponse(op); len(b) > most {
		return nil, 0, fmt.Errorf("an answer of %d bytes, a stock client has room for %d", len(b), most)
	}
	return proto.ParseAnyResponse(b)
}

// Skip reports whether to skip an exchange, because a server began it or it tests nothing.
func Skip(x *Exchange) bool {
	h, req, err := proto.ParseRequest(x.Request)
	if err != nil || len(x.Received) == 0 || req.Op() == proto.OpGetDirent {
		return true
	}
	for _, hint := range h.Hints {
		if hint.Type == proto.HintServerID {
			return true
		}
	}
	return false
}

// Play repeats an exchange and returns the differences between the answers and the captured ones, one line each. After an error,
// nothing more can be played.
func (p *Player) Play(ctx context.Context, x *Exchange) ([]string, error) {
	h, req, err := proto.ParseRequest(x.Request)
	if err != nil {
		return nil, fmt.Errorf("the captured request: %w", err)
	}
	captured, wanted, err := proto.ParseAnyResponse(x.Received[0])
	if err != nil {
		return nil, fmt.Errorf("the captured response: %w", err)
	}
	to, ok := p.Servers[x.Port]
	if !ok {
		return nil, fmt.Errorf("no server for port %d", x.Port)
	}
	p.Map.Request(h, req)
	if owner, ok := p.ownerOf(req); ok {
		to = owner
	}
	live, status, err := p.Do(ctx, to, h, req)
	if err != nil {
		return nil, err
	}
	if status.Base() != wanted.Base() {
		return []string{fmt.Sprintf("%s: status %s, the capture has %s", req, status.Name(), wanted.Name())}, nil
	}
	diffs := p.compare(req, captured, live)
	if io, is := req.(*proto.IOReq); is && status == proto.OK {
		more, err := p.flow(ctx, to, io, x)
		if err != nil {
			return diffs, err
		}
		diffs = append(diffs, more...)
	}
	return diffs, nil
}

// ownerOf is the live server of a request's object, for requests about one object that may be on another server than in the
// capture.
func (p *Player) ownerOf(req proto.Request) (bmi.Addr, bool) {
	if p.Owner == nil {
		return bmi.Addr{}, false
	}
	switch r := req.(type) {
	case *proto.GetAttrReq:
		return p.Owner(r.Handle)
	case *proto.ReadDirReq:
		return p.Owner(r.Dirdata)
	}
	return bmi.Addr{}, false
}

// compare compares answers. First it maps identifiers that are inside byte strings.
func (p *Player) compare(req proto.Request, captured, live proto.Response) []string {
	switch live := live.(type) {
	case *proto.ReadDirResp:
		if c, ok := captured.(*proto.ReadDirResp); ok {
			return p.compareList(req.(*proto.ReadDirReq), c, live)
		}
	case *proto.LookupPathResp:
		// The server of an object determines which attributes are present.
		if c, ok := captured.(*proto.LookupPathResp); ok && len(c.Handles) == len(live.Handles) {
			n := min(len(c.Attrs), len(live.Attrs))
			c.Attrs, live.Attrs = c.Attrs[:n], live.Attrs[:n]
		}
	case *proto.GetConfigResp:
		if p.Text != nil {
			live.Text = p.Text(live.Text)
		}
	case *proto.GetEattrResp:
		ask := req.(*proto.GetEattrReq)
		for i, key := range ask.Keys {
			if c, ok := captured.(*proto.GetEattrResp); ok && key == "system.pvfs2.dh" && i < len(c.Values) {
				c.Values[i] = p.Map.bytes(c.Values[i])
			}
		}
	}
	return p.Map.Compare(captured, live)
}

// bytes maps the handles in a list of 8 bytes each.
func (m *Mapping) bytes(b []byte) []byte {
	var out []byte
	for ; len(b) >= 8; b = b[8:] {
		out = binary.LittleEndian.AppendUint64(out, uint64(m.Live(proto.Handle(binary.LittleEndian.Uint64(b)))))
	}
	return append(out, b...)
}

// flow moves the data of a flow after a successful answer.
func (p *Player) flow(ctx context.Context, to bmi.Addr, req *proto.IOReq, x *Exchange) ([]string, error) {
	if req.Type == proto.IORead {
		return p.readFlow(ctx, to, x.Received[1:])
	}
	for _, data := range x.Sent {
		if err := p.ctx.Send(ctx, to, p.tag, data); err != nil {
			return nil, err
		}
	}
	if len(x.Received) < 2 {
		return nil, fmt.Errorf("the capture ends before the completion")
	}
	reply := make([]byte, proto.MaxResponse(proto.OpWriteCompletion)+replyRoom)
	n, err := p.ctx.Recv(ctx, to, p.tag, reply)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(reply[:n], x.Received[1]) {
		return []string{fmt.Sprintf("completion % x, the capture has % x", reply[:n], x.Received[1])}, nil
	}
	return nil, nil
}

// readFlow receives the data messages of a read. They must be divided like the captured ones.
func (p *Player) readFlow(ctx context.Context, to bmi.Addr, want [][]byte) (diffs []string, err error) {
	for i, data := range want {
		got := make([]byte, len(data)+replyRoom)
		n, err := p.ctx.Recv(ctx, to, p.tag, got)
		if err != nil {
			return diffs, err
		}
		if !bytes.Equal(got[:n], data) {
			diffs = append(diffs, fmt.Sprintf("data message %d: %d bytes, the capture has %d, or they differ", i, n, len(data)))
		}
	}
	return diffs, nil
}
