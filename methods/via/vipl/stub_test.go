package vipl

import (
	"time"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// stub is a device that reports events chosen by the test, including those that no real provider
// reports.
type stub struct {
	caps    nic.Caps
	events  []nic.Event
	at      int // events[at:] are not reported yet
	loop    bool
	ports   []*stubPort
	rejects [][]byte
	err     error // of the next call that can fail
}

type stubPort struct {
	dev    *stub
	cookie any
	closed bool
	left   bool // Disconnect was called
	done   bool // PostSend finishes at once
}

func (s *stub) fail() (err error) {
	err, s.err = s.err, nil
	return err
}

func (s *stub) Name() string                             { return "stub" }
func (s *stub) Open(nic.Config) (nic.Device, error)      { return s, s.fail() }
func (s *stub) Caps() nic.Caps                           { return s.caps }
func (s *stub) LocalAddr() string                        { return "stub" }
func (s *stub) Deregister(nic.Handle) error              { return s.fail() }
func (s *stub) Accept(nic.RequestID, nic.Port) error     { return s.fail() }
func (s *stub) NextDeadline() (at time.Duration, _ bool) { return 0, false }
func (s *stub) Close() error                             { return s.fail() }

func (s *stub) OpenPort(_ nic.PortAttrs, cookie any) (nic.Port, error) {
	if err := s.fail(); err != nil {
		return nil, err
	}
	p := &stubPort{dev: s, cookie: cookie}
	s.ports = append(s.ports, p)
	return p, nil
}

func (s *stub) Register([]byte, nic.Access, nic.ProtectionTag) (nic.Handle, error) {
	return 1, s.fail()
}

func (s *stub) Reject(_ nic.RequestID, reason []byte) error {
	s.rejects = append(s.rejects, reason)
	return s.fail()
}

func (s *stub) Poll(out []nic.Event) int {
	n := copy(out, s.events[s.at:])
	if s.at += n; s.loop {
		s.at = 0
	}
	return n
}

func (s *stub) tell(p *stubPort, kind nic.EventKind, conn *nic.ConnEvent) {
	s.events = append(s.events, nic.Event{Kind: kind, Cookie: p.cookie, Conn: conn})
}

func (p *stubPort) Connect(string, []byte, time.Duration) error { return p.dev.fail() }
func (p *stubPort) PostRecv(*nic.Descriptor) error              { return p.dev.fail() }
func (p *stubPort) PostSend(*nic.Descriptor) (bool, error)      { return p.done, p.dev.fail() }
func (p *stubPort) Disconnect()                                 { p.left = true }
func (p *stubPort) Close() error                                { p.closed = true; return p.dev.fail() }

var stubCaps = nic.Caps{MTUBytes: 4096, SegmentsMax: 4, RecvDepthMax: 64, SendDepthMax: 64, RDMAWrite: true, RDMARead: true, Reliability: ReliableReception}
