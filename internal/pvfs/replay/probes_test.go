package replay_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/replay"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A probe is a captured exchange with a stock server that no client would have, and our server's answer to it.
type probe struct {
	what         string
	stock, live  proto.Status // to messages that parse
	stockAnswers bool         // to other messages
	differs      []string     // in the answer, because an earlier probe was refused
}

// probes are those of the capture, in order.
var probes = []probe{
	{what: "a request with tag 1"},
	{what: "with tag -5"},
	{what: "with tag 0"},
	{what: "with a tag of more than 32 bits"},
	{what: "an older version", stockAnswers: true},
	{what: "a newer version", stockAnswers: true},
	{what: "another encoding", stockAnswers: true},
	// A stock server does not answer these, and their sender waits for its time-out.
	{what: "4 bytes more than the request"},
	{what: "an operation that there is not"},
	{what: "operation 0"},
	{what: "a request of 20060 bytes"},
	{what: "the configuration"},
	{what: "the root's attributes"},
	{what: "a new file"},
	{what: "its name"},
	{what: "its attributes"},
	{what: "a write without capability", stock: proto.EACCES, live: proto.EACCES},
	// A stock server without security only checks whether the capability has the handle of the hint.
	{what: "a write with a forged capability", live: proto.EPERM},
	{what: "the same without hint", stock: proto.EINVAL, live: proto.EPERM},
	{what: "a forged capability for another object", stock: proto.EACCES, live: proto.EPERM},
	{what: "the same with that object as hint", live: proto.EPERM},
	{what: "an old forged capability", live: proto.EPERM},
	{what: "the file's attributes, for a stranger", differs: []string{"Attr.StuffedSize: 0, the capture has 4"}},
}

// playProbes sends the probes to our server.
func playProbes(t *testing.T, method string, exchanges []*replay.Exchange) {
	require.Len(t, exchanges, len(probes))
	s := newStage(t, method, configOf(t, exchanges))
	for i, x := range exchanges {
		p := &probes[i]
		if _, _, err := proto.ParseRequest(x.Request); err != nil {
			s.nonsense(p, x)
			continue
		}
		wanted := statusOf(t, x.Received[0])
		require.Equal(t, p.stock, wanted, p.what)
		diffs, err := s.p.Play(s.ctx, x)
		require.NoError(t, err, p.what)
		want := p.differs
		if p.live != p.stock {
			want = []string{"status " + p.live.Name() + ", the capture has " + p.stock.Name()}
		}
		require.Len(t, diffs, len(want), "%s: %v", p.what, diffs)
		for i := range want {
			assert.Contains(t, diffs[i], want[i], p.what)
		}
	}
}

// nonsense sends a message that does not parse. It is always answered.
func (s *stage) nonsense(p *probe, x *replay.Exchange) {
	to := s.p.Servers[x.Port]
	reply, err := s.p.Say(s.ctx, to, x.Request, len(x.Request))
	if len(x.Request) > proto.MaxUnexpected && errors.Is(err, bmi.ErrTooLarge) {
		return // the method has the same limit
	}
	require.NoError(s.t, err, p.what)
	op, _ := proto.OpOf(reply)
	assert.Equal(s.t, proto.OpProtoError, op, p.what)
	assert.NotEqual(s.t, proto.OK, statusOf(s.t, reply), p.what)
	require.Equal(s.t, p.stockAnswers, len(x.Received) > 0, p.what)
	if p.stockAnswers {
		assert.Equal(s.t, x.Received[0], reply, p.what)
	}
}

func statusOf(t *testing.T, b []byte) proto.Status {
	t.Helper()
	_, status, err := proto.ParseAnyResponse(b)
	require.NoError(t, err)
	return status
}

// TestCapturedProbes plays the captured probes. With -update it writes the cut.
func TestCapturedProbes(t *testing.T) {
	exchanges := loadCapture(t, captures(t), "probes.pcap")
	update(t, probesFile, []replay.Session{{Name: "probes", Exchanges: exchanges}})
	playProbes(t, pvfstest.Memory, exchanges)
}

// TestProbes plays the cut.
func TestProbes(t *testing.T) {
	for _, method := range pvfstest.Methods {
		t.Run(method, func(t *testing.T) { playProbes(t, method, loadCut(t, probesFile)[0].Exchanges) })
	}
}
