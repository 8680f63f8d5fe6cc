package via

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"strconv"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/via/link"
	"github.com/viaduct-hpc/viaduct/internal/via/ops"
	"github.com/viaduct-hpc/viaduct/internal/via/peers"
	"github.com/viaduct-hpc/viaduct/internal/via/wire"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
	"github.com/viaduct-hpc/viaduct/peer"
)

// method is the VIA method of one endpoint. Like everything below it, it is called by one
// goroutine at a time (see bmi.Method). Most calls are those of its operations and peers.
type method struct {
	*ops.Ops
	links      *link.Links
	splitBytes int
	letPass    func(time.Duration) // Options.Idle
	hasMemory  bool                // the NIC has memory of its own
}

func newMethod(name, host string, links *link.Links, cfg bmi.MethodConfig, opts Options) *method {
	_, hasMemory := links.Device().(nic.Allocator)
	// Every peer learns the session. The seed of the match table must stay
	// secret, or a peer could choose tags that collide.
	session, secret := opts.Seed, opts.Seed
	if opts.Seed == 0 {
		session, secret = random64(), random64()
	}
	machine := peer.DefaultConfig()
	machine.Local = peer.Hello{Version: opts.Version, Session: session, Name: host, Credits: uint16(links.Depth())}
	machine.ConnectTimeout = opts.ConnectTimeout
	machine.ResendAfter = 0 // a reliable link loses nothing
	machine.RetryMin, machine.RetryMax = ConnectRetryMin, ConnectRetryMax
	machine.RetryAbsent = opts.RetryAbsent
	machine.KeepAliveAfter, machine.DeadAfter = opts.KeepAlive, 4*opts.KeepAlive
	split := opts.splitBytes(links.Caps())
	return &method{
		links: links, splitBytes: split, letPass: opts.Idle, hasMemory: hasMemory,
		Ops: ops.New(links, ops.Config{
			Config: peers.Config{Scheme: name, Clock: cfg.Clock, Log: cfg.Log, Seed: secret, Machine: machine,
				Report: func(kind bmi.EventKind, address string) { bmi.Report(cfg.Host, kind, address) }},
			Host: cfg.Host, EagerBytes: opts.EagerBytes, SplitBytes: split, Secret: secret,
		}),
	}
}

// Info describes the method (bmi.Method).
func (m *method) Info() bmi.Info {
	q, caps := m.links.Query(), m.links.Caps()
	info := bmi.Info{
		Name:              m.Scheme,
		Description:       "64-bit matched messages over a VI Architecture NIC",
		Provider:          q.Provider,
		MaxExpectedSize:   ops.ExpectedBytesMax,
		MaxUnexpectedSize: m.EagerBytes(),
		EagerSize:         m.EagerBytes(),
		MaxPieces:         ops.PiecesMax,
		Classes:           true,
		RegisteredMemory:  m.hasMemory,
		RemoteRead:        caps.RDMARead,
		RemoteWrite:       caps.RDMAWrite,
		RemoteAccess:      m.AccessBytes() > 0,
		FileSends:         caps.FileWrites,
		Details: [][2]string{
			{"NIC address", q.Address},
			{"packet", strconv.Itoa(caps.MTUBytes) + " B"},
			{"inline", strconv.Itoa(caps.InlineBytesMax) + " B"},
			{"credits per peer", strconv.Itoa(m.links.Depth())},
			{"both sides copy from", splitText(m.splitBytes)},
			{"protocol version", strconv.Itoa(wire.Version)},
		},
	}
	if name := m.Machine.Local.Name; name != "" {
		info.Addresses = []string{m.Scheme + "://" + name}
	}
	return info
}

// splitText says in words from which size on both sides copy.
func splitText(bytes int) string {
	if bytes > ops.ExpectedBytesMax {
		return "never"
	}
	return strconv.Itoa(bytes) + " B"
}

// Alloc gives memory that the NIC moves more cheaply (bmi.Allocator).
func (m *method) Alloc(size int) ([]byte, error) { return m.alloc(size, m.links.Alloc) }

// AllocShared gives memory that peers write to from files by one copy (bmi.SharedAllocator).
func (m *method) AllocShared(size int) ([]byte, error) { return m.alloc(size, m.links.AllocShared) }

func (m *method) alloc(size int, alloc func(int) ([]byte, error)) ([]byte, error) {
	if !m.hasMemory {
		return make([]byte, size), nil
	}
	mem, err := alloc(size)
	if err != nil {
		return nil, fmt.Errorf("via: %w", err)
	}
	return mem, nil
}

// Free takes it back.
func (m *method) Free(mem []byte) error {
	if !m.hasMemory {
		return nil
	}
	if err := m.links.Free(mem); err != nil {
		return fmt.Errorf("via: %w", err)
	}
	return nil
}

// random64 draws a number that is not 0.
func random64() (n uint64) {
	for n == 0 {
		var b [8]byte
		_, _ = rand.Read(b[:]) // never fails, says its documentation
		n = binary.LittleEndian.Uint64(b[:])
	}
	return n
}
