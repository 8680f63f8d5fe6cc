package bmi_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/bmi/bmitest"
)

func TestOpenErrors(t *testing.T) {
	w := newWorld(t)
	w.open("taken")
	for name, tc := range map[string]struct {
		cfg  bmi.Config
		want error
		text string
	}{
		"unknown method":   {bmi.Config{Methods: []string{"pigeon"}}, bmi.ErrUnknownMethod, `"pigeon": this program carries `},
		"unknown scheme":   {bmi.Config{Listen: []string{"pigeon://x"}}, bmi.ErrUnknownMethod, "mem"},
		"no scheme":        {bmi.Config{Listen: []string{"x"}}, bmi.ErrBadAddress, "method://name"},
		"bad name":         {bmi.Config{Listen: []string{"mem://"}}, bmi.ErrBadAddress, "mem://name"},
		"name taken":       {bmi.Config{Listen: []string{"mem://taken"}}, bmi.ErrNameTaken, "taken"},
		"options mistaken": {bmi.Config{Methods: []string{"mem"}, Options: map[string]any{"mem": 1}}, bmi.ErrInvalid, "int"},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.cfg.Options == nil {
				tc.cfg.Options = map[string]any{bmitest.Name: w.opt}
			}
			_, err := bmi.Open(context.Background(), tc.cfg)
			require.ErrorIs(t, err, tc.want)
			assert.ErrorContains(t, err, tc.text)
			assert.Regexp(t, "^bmi: ", err.Error())
		})
	}
}

func TestRegister(t *testing.T) {
	assert.Panics(t, func() { bmi.Register(nullDriver{}) })
	assert.Panics(t, func() { bmi.Register(named("")) })
	assert.Panics(t, func() { bmi.Register(named("a://b")) })
	var names []string
	for _, d := range bmi.Drivers() {
		names = append(names, d.Name())
	}
	assert.IsIncreasing(t, names)
	assert.Subset(t, names, []string{"mem", "null"})
}

// TestAdd: drivers that come and go.
func TestAdd(t *testing.T) {
	assert.ErrorIs(t, bmi.Add(nullDriver{}), bmi.ErrNameTaken)
	assert.ErrorIs(t, bmi.Add(named("a://b")), bmi.ErrInvalid)
	require.NoError(t, bmi.Add(named("guest")))
	assert.Contains(t, bmi.Drivers(), bmi.Driver(named("guest")))
	bmi.Remove(nullDriver2{})
	bmi.Remove(named("guest"))
	assert.NotContains(t, bmi.Drivers(), bmi.Driver(named("guest")))
	assert.Contains(t, bmi.Drivers(), bmi.Driver(nullDriver{}), "another driver of that name stays")
}

// TestRemoveOfWhatCannotBeCompared: drivers are often structures with functions in them.
func TestRemoveOfWhatCannotBeCompared(t *testing.T) {
	d := hooked{named: "hooked", hook: func() {}}
	require.NoError(t, bmi.Add(d))
	bmi.Remove(named("hooked"))
	assert.ErrorIs(t, bmi.Add(d), bmi.ErrNameTaken, "another driver of that name stays")
	bmi.Remove(d)
	require.NoError(t, bmi.Add(d))
	bmi.Remove(d)
}

type hooked struct {
	named
	hook func()
}

// nullDriver2 has a name that is another driver's.
type nullDriver2 struct{ nullDriver }

type named string

func (n named) Name() string { return string(n) }
func (named) Open(context.Context, bmi.MethodConfig) (bmi.Method, error) {
	return nil, bmi.ErrNotSupported
}

func TestLookupTakesTheFirstMethodThatThereIs(t *testing.T) {
	e := newWorld(t).open("a")
	want, err := e.Lookup("mem://b")
	require.NoError(t, err)
	got, err := e.Lookup("pigeon://x,mem://b,null://y")
	require.NoError(t, err)
	assert.Equal(t, want, got)

	_, err = e.Lookup("pigeon://x,raven://y")
	require.ErrorIs(t, err, bmi.ErrUnknownMethod)
	assert.ErrorContains(t, err, `"pigeon"`)
	_, err = e.Lookup("mem://b,c")
	require.ErrorIs(t, err, bmi.ErrBadAddress)
	_, err = e.Lookup("mem://b,mem://c")
	require.ErrorIs(t, err, bmi.ErrBadAddress, "a method that knows no alternatives says so")
}

func TestLookup(t *testing.T) {
	w := newWorld(t)
	e := w.open("a")
	assert.Equal(t, []string{"mem://a"}, e.Addresses())

	one, err := e.Lookup("mem://b")
	require.NoError(t, err)
	two, err := e.Lookup("mem://b")
	require.NoError(t, err)
	assert.Equal(t, one, two)
	assert.Equal(t, "mem://b", one.String())
	assert.False(t, one.IsZero())
	assert.True(t, bmi.Addr{}.IsZero())
	assert.Empty(t, bmi.Addr{}.String())

	_, err = e.Lookup("pigeon://b")
	assert.ErrorIs(t, err, bmi.ErrUnknownMethod)
	_, err = e.Lookup("b")
	assert.ErrorIs(t, err, bmi.ErrBadAddress)
	_, err = e.Lookup("mem://b c")
	assert.ErrorIs(t, err, bmi.ErrBadAddress)
}

func TestLookupOpensTheMethod(t *testing.T) {
	e, err := bmi.Open(context.Background(), bmi.Config{})
	require.NoError(t, err)
	defer e.Close()
	assert.Empty(t, e.Info())
	_, err = e.Lookup("null://x")
	require.NoError(t, err)
	require.Len(t, e.Info(), 1)
	assert.Equal(t, "null", e.Info()[0].Name)
}

func TestInformation(t *testing.T) {
	w := newWorld(t)
	w.opt.MaxExpectedSize, w.opt.MaxUnexpectedSize = 1000, 100
	a, b := w.pair()

	n, err := a.ep.MaxExpectedSize(a.peer)
	require.NoError(t, err)
	assert.Equal(t, 1000, n)
	n, err = a.ep.MaxUnexpectedSize(a.peer)
	require.NoError(t, err)
	assert.Equal(t, 100, n)

	in, err := a.ep.QueryAddrRange(a.peer, "mem://[a-c]")
	require.NoError(t, err)
	assert.True(t, in)
	in, err = a.ep.QueryAddrRange(a.peer, "mem://x*")
	require.NoError(t, err)
	assert.False(t, in)
	_, err = a.ep.QueryAddrRange(a.peer, "[")
	assert.ErrorIs(t, err, bmi.ErrInvalid)

	assert.NoError(t, a.ep.CheckAddr(a.peer))
	w.opt.Network.Crash("b")
	assert.ErrorIs(t, a.ep.CheckAddr(a.peer), bmi.ErrUnreachable)
	_ = b
}

func TestMethodsWithoutTheOptionalParts(t *testing.T) {
	e, err := bmi.Open(context.Background(), bmi.Config{})
	require.NoError(t, err)
	defer e.Close()
	a, err := e.Lookup("null://x")
	require.NoError(t, err)

	_, err = e.QueryAddrRange(a, "*")
	assert.ErrorIs(t, err, bmi.ErrNotSupported)
	assert.ErrorIs(t, e.DropAddr(a), bmi.ErrNotSupported)
	assert.NoError(t, e.CheckAddr(a))
	mem, err := e.Alloc(a, 10)
	require.NoError(t, err)
	assert.Len(t, mem, 10)
	assert.NoError(t, e.Free(a, mem))
	assert.Empty(t, e.Stats().Methods)
	_, ok := e.NextDeadline()
	assert.False(t, ok)
}

func TestAlloc(t *testing.T) {
	w := newWorld(t)
	a, b := w.pair()
	mem, err := a.ep.Alloc(a.peer, 100)
	require.NoError(t, err)
	require.Len(t, mem, 100)
	require.NoError(t, a.ep.Free(a.peer, mem))
	assert.ErrorIs(t, a.ep.Free(a.peer, mem), bmi.ErrInvalid, "freed twice")
	_, err = a.ep.Alloc(a.peer, -1)
	assert.ErrorIs(t, err, bmi.ErrInvalid)
	_, err = a.ep.Alloc(b.peer, 1)
	assert.ErrorIs(t, err, bmi.ErrInvalid, "address of another endpoint")
	assert.ErrorIs(t, a.ep.Free(bmi.Addr{}, nil), bmi.ErrInvalid)

	mem, err = a.ep.AllocShared(a.peer, 100) // the method has no choice of memory
	require.NoError(t, err)
	require.Len(t, mem, 100)
	require.NoError(t, a.ep.Free(a.peer, mem))
	_, err = a.ep.AllocShared(a.peer, -1)
	assert.ErrorIs(t, err, bmi.ErrInvalid)
}

func TestDropAddr(t *testing.T) {
	w := newWorld(t)
	a, b := w.pair()
	recv, err := a.ctx.PostRecv(a.peer, 1, make([]byte, 1), nil)
	require.NoError(t, err)
	b.wait(b.ctx.PostSendUnexpected(b.peer, 0, 1, nil, nil))
	require.Eventually(t, func() bool {
		_, _ = a.ctx.TestContext(make([]bmi.Completion, 1), 0)
		return a.ep.Stats().Endpoint.QueuedUnexpected == 1
	}, limit, 1)

	require.NoError(t, a.ep.DropAddr(a.peer))
	assert.ErrorIs(t, a.wait(recv, nil).Err, bmi.ErrDropped)
	assert.ErrorIs(t, a.ep.DropAddr(a.peer), bmi.ErrDropped)
	_, err = a.ctx.PostSend(a.peer, 1, nil, nil)
	assert.ErrorIs(t, err, bmi.ErrDropped)
	assert.Zero(t, a.ep.Stats().Endpoint.QueuedUnexpected, "messages of a dropped peer are discarded")

	again, err := a.ep.Lookup("mem://b")
	require.NoError(t, err)
	assert.NotEqual(t, a.peer, again)
	a.peer = again
	assert.NoError(t, a.wait(a.ctx.PostSend(a.peer, 1, nil, nil)).Err)
}

func TestStats(t *testing.T) {
	w := newWorld(t)
	a, b := w.pair()
	b.wait(b.ctx.PostSend(b.peer, 1, make([]byte, 10), nil))
	a.wait(a.ctx.PostRecv(a.peer, 1, make([]byte, 10), nil))

	s := a.ep.Stats()
	require.Len(t, s.Methods, 1)
	assert.Equal(t, "mem", s.Methods[0].Method)
	assert.EqualValues(t, 1, s.Methods[0].MessagesReceived)
	assert.EqualValues(t, 10, s.Methods[0].BytesReceived)
	require.Len(t, s.Peers, 1)
	assert.Equal(t, "mem://b", s.Peers[0].Addr)
	assert.EqualValues(t, 1, s.Peers[0].MessagesReceived)
	assert.NotZero(t, s.Endpoint.Polls)
}
