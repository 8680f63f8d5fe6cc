package peer

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func testConfig() *Config {
	cfg := DefaultConfig()
	cfg.Local = Hello{Version: 3, Session: 100, Name: "us", Credits: 8, EagerBytes: 4096}
	return &cfg
}

// remote is a Hello of the peer.
func remote(session, attempt uint64) Hello {
	return Hello{Version: 3, Session: session, Attempt: attempt, Name: "them", PeerID: 77, Credits: 5, EagerBytes: 1000}
}

// do steps a machine and returns the kinds of the actions.
func do(m *Machine, now time.Duration, ev Event) (kinds []ActionKind) {
	for _, a := range m.Step(now, ev, nil) {
		kinds = append(kinds, a.Kind)
	}
	return kinds
}

// connected returns a machine that has connected, over link 1 in attempt 1.
func connected(t *testing.T, cfg *Config) *Machine {
	t.Helper()
	m := New(cfg, 1, false)
	assert.Equal(t, []ActionKind{ActionLinkConnect}, do(m, 0, Event{Kind: EventQueued}))
	assert.Equal(t, []ActionKind{ActionSendConnReq}, do(m, 0, Event{Kind: EventLinkUp, Link: 1}))
	ack := remote(200, 1)
	assert.Equal(t, []ActionKind{ActionFlush}, do(m, 0, Event{Kind: EventConnAck, Link: 1, Hello: ack}))
	require.Equal(t, Ready, m.State())
	return m
}

func TestWhatThePeerSaidHoldsInReady(t *testing.T) {
	m := connected(t, testConfig())
	assert.Equal(t, ID(77), m.RemoteID())
	assert.Equal(t, 5, m.RemoteCredits())
	assert.Equal(t, 1000, m.RemoteEagerBytes())
	assert.Equal(t, uint64(200), m.Session())
	assert.Equal(t, Link(1), m.Link())
	assert.False(t, m.Idle())
}

// TestBecomeKnowsOnlyLegalEdges tries every edge, also those that no Step takes.
func TestBecomeKnowsOnlyLegalEdges(t *testing.T) {
	allowed := map[[2]State]bool{
		{Init, Wait}: true, {Wait, Ready}: true, {Ready, Disconnect}: true, {Disconnect, Init}: true,
		{Wait, Init}: true, {Wait, Disconnect}: true,
	}
	for from := range State(stateCount) {
		for to := range State(stateCount) {
			m := New(testConfig(), 1, false)
			m.state = from
			if allowed[[2]State{from, to}] {
				require.NotPanics(t, func() { m.become(to) }, "%v -> %v", from, to)
				assert.Equal(t, to, m.State())
			} else {
				require.Panics(t, func() { m.become(to) }, "%v -> %v", from, to)
				assert.Equal(t, from, m.State())
			}
		}
	}
}

// situations are machines in every state and phase, by name.
func situations(t *testing.T) map[string]func() *Machine {
	up := Event{Kind: EventLinkUp, Link: 1}
	request := Event{Kind: EventLinkRequest, Request: 9, Hello: remote(200, 5)}
	after := func(passive bool, events ...Event) func() *Machine {
		return func() *Machine {
			m := New(testConfig(), 1, passive)
			for _, ev := range events {
				m.Step(time.Second, ev, nil)
			}
			return m
		}
	}
	queued := Event{Kind: EventQueued}
	wrong := remote(200, 5)
	wrong.Version = 1
	return map[string]func() *Machine{
		"INIT":            after(false),
		"INIT passive":    after(true),
		"WAIT(linking)":   after(false, queued),
		"WAIT(asking)":    after(false, queued, up),
		"WAIT(backoff)":   after(false, queued, Event{Kind: EventLinkFailed, Link: 1, Reason: ReasonBusy}),
		"WAIT(accepting)": after(false, request),
		"WAIT(expecting)": after(false, request, up, queued),
		"READY":           func() *Machine { return connected(t, testConfig()) },
		"READY passive":   after(true, request, up, Event{Kind: EventConnReq, Link: 1, Hello: remote(200, 5)}),
		"DISCONNECT": func() *Machine {
			m := connected(t, testConfig())
			m.Acquire()
			m.Step(0, Event{Kind: EventDisconnect, Reason: ReasonCancelled}, nil)
			return m
		},
		"DISCONNECT(linger)": after(false, request, up, Event{Kind: EventConnReq, Link: 1, Hello: wrong}),
	}
}

// TestEveryEventInEveryState takes every event, well-formed and not, in every
// state and phase. Nothing panics, and the deadline after a tick lies ahead.
func TestEveryEventInEveryState(t *testing.T) {
	hellos := []Hello{{}, remote(200, 1), remote(200, 9), remote(300, 1), remote(100, 1), remote(0, 1),
		{Version: 9, Session: 200, Attempt: 5}, {Version: 3, Session: 200, Attempt: 1, Reason: ReasonBusy},
		{Version: 3, Session: 200, Attempt: 1, Reason: 250}, {Version: 3, Session: 200, Attempt: 1<<64 - 1, PeerID: 1 << 30}}
	for name, make := range situations(t) {
		t.Run(name, func(t *testing.T) {
			require.True(t, strings.HasPrefix(name, strings.Fields(make().String())[0]), "is %v", make())
			for kind := range EventKind(eventCount + 1) {
				for _, h := range hellos {
					for link := range Link(4) {
						for reason := range Reason(reasonCount + 1) {
							m := make()
							ev := Event{Kind: kind, Link: link, Reason: reason, Request: 11, Hello: h}
							require.NotPanics(t, func() { m.Step(2*time.Second, ev, nil) }, "%v", ev)
							checkInvariants(t, m)
						}
					}
				}
			}
		})
	}
}

// checkInvariants holds after every Step.
func checkInvariants(t *testing.T, m *Machine) {
	t.Helper()
	hasLink := m.state == Ready || m.phase != phaseNone && m.phase != phaseBackoff
	require.Equal(t, hasLink, m.link != 0, "%v", m)
	require.Equal(t, m.state == Wait || m.state == Disconnect && m.phase == phaseLinger, m.phase != phaseNone, "%v", m)
	if m.waiting.has {
		require.True(t, m.state == Disconnect || m.phase == phaseLinking || m.phase == phaseAsking, "%v", m)
	}
	if m.state == Init || m.state == Ready {
		require.Zero(t, m.queued, "%v", m)
	}
	if m.state == Disconnect {
		require.True(t, m.refs > 0 || m.phase == phaseLinger, "%v", m)
	}
	if at, ok := m.NextDeadline(); ok {
		m.Step(at, Event{Kind: EventTick}, nil)
		if next, ok := m.NextDeadline(); ok {
			require.Greater(t, next, at, "%v", m)
		}
	}
}

func TestReferences(t *testing.T) {
	m := connected(t, testConfig())
	m.Acquire()
	m.Acquire()
	assert.False(t, m.Release(), "READY does not drain")
	assert.Equal(t, []ActionKind{ActionFail}, do(m, 0, Event{Kind: EventLinkDown, Link: 1}))
	assert.Equal(t, Disconnect, m.State())
	assert.Empty(t, do(m, 0, Event{Kind: EventDrained}), "one operation is still in flight")
	assert.True(t, m.Release())
	assert.Equal(t, []ActionKind{ActionPostRecvs}, do(m, 0, Event{Kind: EventDrained}))
	assert.True(t, m.Idle())
	assert.Panics(t, func() { m.Release() }, "nothing was acquired")
}

func TestPolicies(t *testing.T) {
	want := map[string][2]Policy{
		"INIT": {PolicyQueue, PolicyNow}, "INIT passive": {PolicyRefuse, PolicyNow},
		"WAIT(linking)": {PolicyQueue, PolicyNow}, "WAIT(asking)": {PolicyQueue, PolicyNow},
		"WAIT(backoff)": {PolicyQueue, PolicyNow}, "WAIT(accepting)": {PolicyQueue, PolicyNow},
		"WAIT(expecting)": {PolicyQueue, PolicyNow}, "READY": {PolicyNow, PolicyNow},
		"READY passive": {PolicyNow, PolicyNow}, "DISCONNECT": {PolicyQueue, PolicyQueue},
		"DISCONNECT(linger)": {PolicyQueue, PolicyQueue},
	}
	all := situations(t)
	require.Len(t, want, len(all))
	for name, make := range all {
		assert.Equal(t, want[name], [2]Policy{make().SendPolicy(), make().RecvPolicy()}, name)
	}
}

func TestPassivePeerCanBecomeReachable(t *testing.T) {
	m := New(testConfig(), 1, true)
	assert.Equal(t, []ActionKind{ActionFail}, do(m, 0, Event{Kind: EventQueued}), "against the policy")
	m.SetPassive(false)
	assert.Equal(t, []ActionKind{ActionLinkConnect}, do(m, 0, Event{Kind: EventQueued}))
}

func TestAttemptNumbersGrowAcrossMachinesOfOneSession(t *testing.T) {
	first, second := New(testConfig(), 1, false), New(testConfig(), 1, false)
	a := first.Step(time.Second, Event{Kind: EventQueued}, nil)[0].Hello.Attempt
	b := second.Step(2*time.Second, Event{Kind: EventQueued}, nil)[0].Hello.Attempt
	assert.Greater(t, b, a, "an address that was dropped and looked up again")
}

func TestRetryDelayDoublesWithinItsBounds(t *testing.T) {
	cfg := &Config{RetryMin: 10 * time.Millisecond, RetryMax: time.Second}
	rng := uint64(1)
	for tries := range 256 {
		full := min(cfg.RetryMin<<min(tries, 20), cfg.RetryMax)
		got := cfg.retryDelay(uint8(tries), &rng)
		assert.LessOrEqual(t, got, full)
		assert.GreaterOrEqual(t, got, full/2)
	}
	var none Config
	assert.Positive(t, none.retryDelay(0, &rng), "never without a pause")
}

func TestBackoffJitterDependsOnTheSeed(t *testing.T) {
	retryAt := func(seed uint64) time.Duration {
		m := New(testConfig(), seed, false)
		m.Step(0, Event{Kind: EventQueued}, nil)
		m.Step(0, Event{Kind: EventLinkFailed, Link: 1, Reason: ReasonBusy}, nil)
		at, ok := m.NextDeadline()
		require.True(t, ok)
		return at
	}
	assert.Equal(t, retryAt(1), retryAt(1))
	assert.NotEqual(t, retryAt(1), retryAt(2))
}

func TestNoDeadlinesIfNoneAreWanted(t *testing.T) {
	m := connected(t, &Config{Local: testConfig().Local})
	_, ok := m.NextDeadline()
	assert.False(t, ok, "READY without keep-alives")
	m = New(m.cfg, 1, false)
	m.Step(0, Event{Kind: EventQueued}, nil)
	_, ok = m.NextDeadline()
	assert.False(t, ok, "WAIT without time limits")
}

// TestNamesAreComplete finds constants that were added without a name.
func TestNamesAreComplete(t *testing.T) {
	seen := map[string]bool{}
	unique := func(name, kind string) {
		assert.NotContains(t, name, "(", "%s has no name", kind)
		assert.NotEmpty(t, name)
		assert.False(t, seen[kind+name], "%s %q twice", kind, name)
		seen[kind+name] = true
	}
	for s := range State(stateCount) {
		unique(s.String(), "state")
	}
	for p := phase(1); p < phaseCount; p++ {
		unique(p.String(), "phase")
	}
	for r := range Reason(reasonCount) {
		unique(r.String(), "reason")
	}
	for e := range EventKind(eventCount) {
		unique(e.String(), "event")
	}
	for a := ActionKind(1); a <= actionCount; a++ {
		unique(a.String(), "action")
	}
	for p := range PolicyRefuse + 1 {
		unique(p.String(), "policy")
	}
	assert.Equal(t, "reason 250", Reason(250).String())
	for _, unknown := range []fmt.Stringer{State(9), phase(99), EventKind(99), ActionKind(99), Policy(9)} {
		assert.Contains(t, unknown.String(), "9)")
	}
}

// TestMemoryPerKnownPeer checks the promise that a known but unconnected peer
// costs at most 512 bytes here.
func TestMemoryPerKnownPeer(t *testing.T) {
	total := unsafe.Sizeof(Machine{}) + unsafe.Sizeof(idEntry[*Machine]{})
	t.Logf("Machine %d bytes, id entry %d bytes", unsafe.Sizeof(Machine{}), unsafe.Sizeof(idEntry[*Machine]{}))
	assert.LessOrEqual(t, total, uintptr(512))
}

// TestPure checks that the package imports nothing that does I/O or locks, and
// nothing of this module, never reads the clock, and starts no goroutine.
func TestPure(t *testing.T) {
	allowed := []string{"fmt", "math/bits", "time"}
	clocks := []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		for _, spec := range file.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			require.NoError(t, err)
			assert.Contains(t, allowed, path, "%s", name)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt, *ast.ChanType:
				t.Errorf("%s has a goroutine or a channel", name)
			case *ast.SelectorExpr:
				if from, ok := n.X.(*ast.Ident); ok && from.Name == "time" {
					assert.NotContains(t, clocks, n.Sel.Name, "%s", name)
				}
			}
			return true
		})
	}
}
