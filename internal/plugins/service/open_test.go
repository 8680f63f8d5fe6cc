//go:build linux

package service_test

import (
	"context"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/bmi/bmitest"
	"github.com/viaduct-hpc/viaduct/plugins/proto"
)

// TestDescriptors: wrong descriptors are refused, and nothing stays open or mapped.
func TestDescriptors(t *testing.T) {
	file := func(t *testing.T) int {
		fd, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
		require.NoError(t, err)
		return fd
	}
	for name, spoil := range map[string]func(t *testing.T, fds []int) []int{
		"none":          func(_ *testing.T, fds []int) []int { closeAll(fds); return nil },
		"three":         func(_ *testing.T, fds []int) []int { closeAll(fds[3:]); return fds[:3] },
		"five":          func(t *testing.T, fds []int) []int { return append(fds, file(t)) },
		"no rings":      func(t *testing.T, fds []int) []int { return replaced(fds, 0, file(t)) },
		"no arena":      func(t *testing.T, fds []int) []int { return replaced(fds, 1, file(t)) },
		"no bell":       func(t *testing.T, fds []int) []int { return replaced(fds, 2, file(t)) },
		"no other bell": func(t *testing.T, fds []int) []int { return replaced(fds, 3, file(t)) },
		"not open": func(_ *testing.T, fds []int) []int {
			closeAll(fds[2:])
			return []int{fds[0], fds[1], math.MaxInt32, -1}
		},
		"changed order": func(_ *testing.T, fds []int) []int { return []int{fds[1], fds[0], fds[2], fds[3]} },
	} {
		t.Run(name, func(t *testing.T) {
			maps, open := mappings(t), descriptors(t)
			p := newPlugin(t)
			f, fds := p.ends()
			p.pass(f.id, spoil(t, fds)...)
			r, err := p.server.Open(t.Context(), &proto.OpenRequest{Session: f.id, Method: bmitest.Name, Rings: true})
			require.NoError(t, err)
			require.NotNil(t, r.Failure)
			assert.Equal(t, proto.Status_INVALID, r.Failure.Status, r.Failure.Text)
			f.free()
			assert.Zero(t, p.server.Sessions())
			assert.Equal(t, maps, mappings(t))
			assert.Equal(t, open, descriptors(t))
		})
	}
}

func closeAll(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd)
	}
}

func replaced(fds []int, i, fd int) []int {
	_ = unix.Close(fds[i])
	fds[i] = fd
	return fds
}

// TestRefused: a session that cannot be opened is refused, and nothing stays open or mapped.
func TestRefused(t *testing.T) {
	p := newPlugin(t)
	a, err := p.open(newProgram(), []string{"mem://a"}, nil)
	require.NoError(t, err)
	maps, open := mappings(t), descriptors(t)
	for name, c := range map[string]struct {
		spoil func(*proto.OpenRequest)
		want  proto.Status
	}{
		"a method it does not have": {func(r *proto.OpenRequest) { r.Method = "other" }, proto.Status_OTHER},
		"an address of none":        {func(r *proto.OpenRequest) { r.Listen = []string{"other://a"} }, proto.Status_BAD_ADDRESS},
		"a name that is taken":      {func(r *proto.OpenRequest) { r.Listen = []string{"mem://a"} }, proto.Status_NAME_TAKEN},
	} {
		t.Run(name, func(t *testing.T) {
			f, fds := p.ends()
			p.pass(f.id, fds...)
			req := &proto.OpenRequest{Session: f.id, Method: bmitest.Name, Rings: true}
			c.spoil(req)
			r, err := p.server.Open(t.Context(), req)
			require.NoError(t, err)
			assert.Equal(t, c.want, r.Failure.GetStatus(), r.Failure.GetText())
			f.free()
			assert.Equal(t, 1, p.server.Sessions())
			assert.Equal(t, maps, mappings(t))
			assert.Equal(t, open, descriptors(t))
		})
	}
	for _, id := range []uint64{0, a.id} {
		r, err := p.server.Open(t.Context(), &proto.OpenRequest{Session: id, Method: bmitest.Name, Rings: true})
		require.NoError(t, err)
		assert.Equal(t, proto.Status_INVALID, r.Failure.GetStatus())
	}
	require.NoError(t, a.ping(), "a session is none the worse for a second of its number")
	require.NoError(t, a.Close(t.Context()))
}

// TestSmallRings: rings that are too small for the method's messages are refused.
func TestSmallRings(t *testing.T) {
	p := newPlugin(t)
	p.rings = 128 << 10
	_, err := p.open(newProgram(), nil, nil)
	require.ErrorIs(t, err, bmi.ErrInvalid)
	assert.Contains(t, err.Error(), "rings")
}

// TestOptions: a driver gets the program's options, or none.
func TestOptions(t *testing.T) {
	p := newPlugin(t)
	for _, options := range []map[string]string{nil, {}, {"a": "b"}} {
		f, err := p.open(newProgram(), nil, options)
		require.NoError(t, err)
		require.NoError(t, f.Close(t.Context()))
	}
	assert.Equal(t, []any{nil, nil, map[string]string{"a": "b"}}, p.given)
}

// TestNobodyWaits: a session is closed if the program stops waiting for Open.
func TestNobodyWaits(t *testing.T) {
	maps, open := mappings(t), descriptors(t)
	p := newPlugin(t)
	f, fds := p.ends()
	p.pass(f.id, fds...)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := p.server.Open(ctx, &proto.OpenRequest{Session: f.id, Method: bmitest.Name, Rings: true})
	require.NoError(t, err)
	require.NotNil(t, r.Failure)
	p.server.Shutdown() // waits for it
	f.free()
	assert.Zero(t, p.server.Sessions())
	assert.Equal(t, maps, mappings(t))
	assert.Equal(t, open, descriptors(t))
}

// TestOverGRPC: answers with odd texts can be sent.
func TestOverGRPC(t *testing.T) {
	p := newPlugin(t)
	a, b := p.pair()
	client := p.connect()
	r, err := client.Resolve(t.Context(), &proto.ResolveRequest{Session: a.id, Address: "mem://b"})
	require.NoError(t, err)
	assert.Equal(t, "mem://b", r.Address)
	r, err = client.Resolve(t.Context(), &proto.ResolveRequest{Session: a.id, Address: "mem:// é*"})
	require.NoError(t, err)
	assert.Equal(t, proto.Status_BAD_ADDRESS, r.Failure.GetStatus())
	c, err := client.Check(t.Context(), &proto.CheckRequest{Session: a.id, Address: "mem://gone"})
	require.NoError(t, err)
	assert.Equal(t, proto.Status_UNREACHABLE, c.Failure.GetStatus())
	in, err := client.InRange(t.Context(), &proto.InRangeRequest{Session: a.id, Address: "mem://b", Pattern: "mem://?"})
	require.NoError(t, err)
	assert.True(t, in.Inside)
	in, err = client.InRange(t.Context(), &proto.InRangeRequest{Session: a.id, Address: "mem://b", Pattern: "["})
	require.NoError(t, err)
	assert.Equal(t, proto.Status_INVALID, in.Failure.GetStatus())
	_, err = client.Ping(t.Context(), &proto.PingRequest{Session: b.id})
	require.NoError(t, err)

	require.NoError(t, a.Close(t.Context()))
	require.NoError(t, b.Close(t.Context()))
}
