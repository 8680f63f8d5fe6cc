package replay

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A Script plays the captured servers to a live client. Each request gets the answer of the most similar captured request. It
// keeps all requests, so that they can be compared with the captured ones.
type Script struct {
	// Text replaces the captured addresses in the configuration by the live ones.
	Text func(string) string
	// Before are earlier captured exchanges. Their answers about names and attributes are used if a client asks for more than the
	// captured one.
	Before []*Exchange
	// Invent answers requests for which there is no captured answer; nil: these are errors.
	Invent func(req proto.Request) []byte

	ctx    context.Context
	cancel context.CancelFunc
	busy   sync.WaitGroup

	mu    sync.Mutex
	lines []*scriptLine
	sent  []*Exchange
	wrong []error
}

// A scriptLine is one captured exchange.
type scriptLine struct {
	*Exchange
	req     proto.Request
	subject string
	fields  []field
	used    bool
}

// NewScript makes a script of exchanges, all of which must come from clients.
func NewScript(exchanges []*Exchange) (*Script, error) {
	s := &Script{Text: func(text string) string { return text }}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	for _, x := range exchanges {
		_, req, err := proto.ParseRequest(x.Request)
		if err != nil {
			return nil, err
		}
		fields, err := fieldsOf(x)
		if err != nil {
			return nil, err
		}
		s.lines = append(s.lines, &scriptLine{Exchange: x, req: req, subject: subject(req), fields: fields})
	}
	return s, nil
}

// Serve starts to answer the requests at an endpoint as the captured server of a port did.
func (s *Script) Serve(ep *bmi.Endpoint, port uint16) error {
	c, err := ep.OpenContext()
	if err != nil {
		return err
	}
	return ep.Handle(0, func(m bmi.Message) {
		x := &Exchange{Port: port, Tag: uint32(m.Tag), Request: slices.Clone(m.Data)}
		s.mu.Lock()
		s.sent = append(s.sent, x)
		s.mu.Unlock()
		s.busy.Go(func() {
			if err := s.answer(c, m.From, m.Tag, x); err != nil {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.wrong = append(s.wrong, err)
			}
		})
	})
}

// Stop stops answering, and returns the client's requests and the errors.
func (s *Script) Stop() (sent []*Exchange, wrong []error) {
	s.cancel()
	s.busy.Wait()
	return s.sent, s.wrong
}

// answer sends the captured server's answer, and moves the data of a flow.
func (s *Script) answer(c *bmi.Context, to bmi.Addr, tag bmi.Tag, x *Exchange) error {
	_, req, err := proto.ParseRequest(x.Request)
	if err != nil {
		return err
	}
	text, line := s.find(req, x)
	if line == nil {
		if text = s.other(req); text == nil {
			_ = c.Send(s.ctx, to, tag, proto.AppendStatus(nil, req.Op(), proto.EPROTO)) // the test fails anyway
			return fmt.Errorf("nothing that was captured answers %s", req)
		}
		return c.Send(s.ctx, to, tag, text)
	}
	if err := c.Send(s.ctx, to, tag, text); err != nil {
		return err
	}
	io, is := req.(*proto.IOReq)
	if _, status, err := proto.ParseAnyResponse(text); !is || err != nil || status != proto.OK {
		return err
	}
	if io.Type == proto.IORead {
		for _, data := range line.Received[1:] {
			if err := c.Send(s.ctx, to, tag, data); err != nil {
				return err
			}
		}
		return nil
	}
	return s.takeData(c, to, tag, x, line)
}

// takeData receives as many bytes as the captured server did, and completes the write.
func (s *Script) takeData(c *bmi.Context, to bmi.Addr, tag bmi.Tag, x *Exchange, line *scriptLine) error {
	for left := len(slices.Concat(line.Sent...)); left > 0; {
		buf := make([]byte, left)
		n, err := c.Recv(s.ctx, to, tag, buf)
		if err != nil {
			return fmt.Errorf("%d bytes of a write are missing: %w", left, err)
		}
		s.mu.Lock()
		x.Sent = append(x.Sent, buf[:n:n])
		s.mu.Unlock()
		left -= n
	}
	return c.Send(s.ctx, to, tag, line.Received[len(line.Received)-1])
}

// find returns the exchange that is most similar to a request, and its answer. Of several equal ones it takes the first unused
// one, or else the last. An answer that created an object is used only once, so a client that creates several gets them in turn.
func (s *Script) find(req proto.Request, x *Exchange) (answer []byte, best *scriptLine) {
	fields, err := fieldsOf(x)
	if err != nil {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	least := 0
	for _, line := range s.lines {
		if line.subject != subject(req) || line.used && makes(req) {
			continue
		}
		n := 2 * len(differences(line.fields, fields))
		switch {
		case makes(req):
			n = 0
		case line.used:
			n++
		}
		if best == nil || n < least || n == least && line.used {
			best, least = line, n
		}
	}
	if best == nil {
		best = s.prefix(req)
	}
	if best == nil {
		return nil, nil
	}
	best.used = true
	return s.adapt(req, best), best
}

// makes reports whether a request makes an object.
func makes(req proto.Request) bool {
	switch req.Op() {
	case proto.OpCreate, proto.OpMkdir, proto.OpBatchCreate:
		return true
	}
	return false
}

// other answers a request that the captured client did not send; nil: there is no answer.
func (s *Script) other(req proto.Request) []byte {
	for _, x := range slices.Backward(s.Before) {
		_, had, err := proto.ParseRequest(x.Request)
		if err != nil || len(x.Received) == 0 || had.Op() != req.Op() || !sameQuestion(had, req) {
			continue
		}
		if _, status, err := proto.ParseAnyResponse(x.Received[0]); err == nil && status == proto.OK {
			return x.Received[0]
		}
	}
	if s.Invent == nil {
		return nil
	}
	return s.Invent(req)
}

// sameQuestion reports whether two requests are about the same object or name. It is for data that rarely change.
func sameQuestion(a, b proto.Request) bool {
	switch a := a.(type) {
	case *proto.LookupPathReq:
		b := b.(*proto.LookupPathReq)
		return a.Start == b.Start && a.Path == b.Path
	case *proto.GetAttrReq:
		return a.Handle == b.(*proto.GetAttrReq).Handle
	}
	return false
}

// prefix is the captured lookup of the longest prefix of a path. A server may always answer for a part of the path only.
func (s *Script) prefix(req proto.Request) (best *scriptLine) {
	ask, is := req.(*proto.LookupPathReq)
	for _, line := range s.lines {
		had, was := line.req.(*proto.LookupPathReq)
		if is && was && had.Start == ask.Start && strings.HasPrefix(ask.Path, had.Path+"/") &&
			(best == nil || len(had.Path) > len(best.req.(*proto.LookupPathReq).Path)) {
			best = line
		}
	}
	return best
}

// adapt makes a captured response fit a request: with the live addresses, and in the order of the requested handles.
func (s *Script) adapt(req proto.Request, line *scriptLine) []byte {
	resp, status, err := proto.ParseAnyResponse(line.Received[0])
	if err != nil || status != proto.OK {
		return line.Received[0]
	}
	switch resp := resp.(type) {
	case *proto.GetConfigResp:
		resp.Text = s.Text(resp.Text)
	case *proto.ListAttrResp:
		was, is := line.req.(*proto.ListAttrReq).Handles, req.(*proto.ListAttrReq).Handles
		again := &proto.ListAttrResp{}
		for _, h := range is {
			if i := slices.Index(was, h); i >= 0 {
				again.Status, again.Attrs = append(again.Status, resp.Status[i]), append(again.Attrs, resp.Attrs[i])
			}
		}
		return again.Append(nil)
	case *proto.ReadDirResp:
		s.together(line.req.(*proto.ReadDirReq), resp, req.(*proto.ReadDirReq).Count)
	default:
		return line.Received[0]
	}
	return resp.Append(nil)
}

// together joins the parts of a directory that the captured client read one by one into one answer, for a client that reads more
// at once.
func (s *Script) together(was *proto.ReadDirReq, resp *proto.ReadDirResp, count uint32) {
	if count <= was.Count {
		return
	}
	for resp.Token != proto.TokenEnd {
		i := slices.IndexFunc(s.lines, func(line *scriptLine) bool {
			next, is := line.req.(*proto.ReadDirReq)
			return is && next.Dirdata == was.Dirdata && next.Token == resp.Token
		})
		var more proto.ReadDirResp
		if i < 0 || proto.ParseResponse(s.lines[i].Received[0], &more) != nil {
			break // the captured client did not ask, so there was no more
		}
		resp.Entries, resp.Token = append(resp.Entries, more.Entries...), more.Token
	}
	resp.Token = proto.TokenEnd
}
