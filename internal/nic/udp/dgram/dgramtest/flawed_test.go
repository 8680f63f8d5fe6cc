package dgramtest

import (
	"errors"
	"net/netip"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
	simdgram "github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram/sim"
	"github.com/viaduct-hpc/viaduct/internal/sim"
)

// flaws of a device; nil fields do right.
type flaws struct {
	open   func(err error) error
	send   func(s dgram.Socket, batch []dgram.Packet) (int, error)
	recv   func(s dgram.Socket, batch []dgram.Arrival) int
	stats  func(x *dgram.Stats)
	mtu    int
	addr   func(at netip.AddrPort) netip.AddrPort
	closes func(s dgram.Socket) error
	arm    *bool
	wake   func(s dgram.Sleeper)
	sleep  func(s dgram.Sleeper, timeout time.Duration)
}

// flawed is a simulated device with a flaw.
type flawed struct {
	dgram.Device
	*flaws
}

// flawedSleeper is one that sleeps.
type flawedSleeper struct {
	flawed
	s dgram.Sleeper
}

type flawedSocket struct {
	dgram.Socket
	*flaws
}

func (d flawed) Open(at netip.AddrPort) (dgram.Socket, error) {
	s, err := d.Device.Open(at)
	if err != nil {
		if d.open != nil {
			err = d.open(err)
		}
		return nil, err
	}
	return flawedSocket{s, d.flaws}, nil
}

func (s flawedSocket) Addr() netip.AddrPort {
	if s.addr != nil {
		return s.addr(s.Socket.Addr())
	}
	return s.Socket.Addr()
}

func (s flawedSocket) Send(batch []dgram.Packet) (int, error) {
	if s.send != nil {
		return s.send(s.Socket, batch)
	}
	return s.Socket.Send(batch)
}

func (s flawedSocket) Recv(batch []dgram.Arrival) int {
	if s.recv != nil {
		return s.recv(s.Socket, batch)
	}
	return s.Socket.Recv(batch)
}

func (s flawedSocket) PathMTU(to netip.AddrPort) int {
	if s.mtu != 0 {
		return s.mtu
	}
	return s.Socket.PathMTU(to)
}

func (s flawedSocket) Stats() dgram.Stats {
	x := s.Socket.Stats()
	if s.stats != nil {
		s.stats(&x)
	}
	return x
}

func (s flawedSocket) Close() error {
	if s.closes != nil {
		return s.closes(s.Socket)
	}
	return s.Socket.Close()
}

func (d flawedSleeper) Arm() bool {
	if d.arm != nil {
		return *d.arm
	}
	return d.s.Arm()
}

func (d flawedSleeper) Disarm() { d.s.Disarm() }

func (d flawedSleeper) Sleep(timeout time.Duration) {
	if d.sleep != nil {
		d.sleep(d.s, timeout)
		return
	}
	d.s.Sleep(timeout)
}

func (d flawedSleeper) Wake() {
	if d.wake != nil {
		d.wake(d.s)
		return
	}
	d.s.Wake()
}

// subjectOf is a network of flawed devices, in virtual or in real time.
func subjectOf(f *flaws, mode simdgram.Mode, timeout time.Duration) *Subject {
	n := simdgram.New(sim.New(sim.Options{Seed: 1}), simdgram.Options{
		Mode: mode, Merge: 0.5, HoldMax: 100 * time.Microsecond, Full: 0.01, SendBytesMax: 32 << 10, Up: sim.Rate{BytesPerSecond: 100e6},
	})
	h := n.Host(netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("fd00::1"))
	s := &Subject{
		Open: func() dgram.Device {
			d := flawed{h.Open(), f}
			if s, ok := d.Device.(dgram.Sleeper); ok {
				return flawedSleeper{d, s}
			}
			return d
		},
		Addr:      func(dgram.Device) netip.Addr { return h.Addr() },
		Timeout:   timeout,
		Steps:     5000,
		Allocates: true,
	}
	if mode == simdgram.Stepped {
		s.Step = func() bool {
			_, more := n.Sim().Next()
			n.Idle(10 * time.Microsecond)
			return more
		}
	}
	return s
}

// vague is an error without details.
func vague(error) error { return errors.New("it does not work") }
