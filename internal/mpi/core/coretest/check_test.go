package coretest

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

const checkSeed = 7

// from0 is a message of 8 bytes from rank 0 to rank 1.
func from0(id, tag int) *Sent { return &Sent{ID: id, Dst: 1, Tag: tag, Size: 8} }

// got is a receive of rank 1 that seems to have got the message. from and to are times.
func got(m *Sent, src, tag, from, to int) *Got {
	g := &Got{
		ID: 100 + m.ID, Rank: m.Dst, Src: src, Tag: tag, Room: m.Size, Posted: from, After: from, Before: to,
		Status: m.status(), Data: make([]byte, m.Size), Done: true,
	}
	Fill(g.Data, checkSeed, m.ID)
	return g
}

func (m *Sent) status() core.Status {
	return core.Status{Source: m.Src, Tag: m.Tag, Bytes: m.Size}
}

func cancelled(src, tag, from, asked, to int) *Got {
	return &Got{ID: 200, Rank: 1, Src: src, Tag: tag, Posted: from, After: asked, Before: to, Done: true, Cancelled: true}
}

// with changes a receive.
func with(g *Got, change func(g *Got)) *Got {
	change(g)
	return g
}

func after(probe *Got) func(g *Got) {
	return func(g *Got) { g.Probed = probe }
}

func TestCheck(t *testing.T) {
	const whoever = core.AnySource // or AnyTag
	a, b, c := from0(1, 1), from0(2, 2), from0(3, 1)
	other := &Sent{ID: 4, Src: 2, Dst: 1, Tag: 1, Size: 8}
	gone := &Sent{ID: 5, Dst: 1, Tag: 1, Size: 8, Cancelled: true}
	twin, dead := &Sent{ID: 6, Dst: 1, Tag: 1}, &Sent{ID: 7, Dst: 1, Tag: 1, Cancelled: true}
	probe := func(m *Sent, src, tag, from, to int) *Got {
		return &Got{Rank: 1, Src: src, Tag: tag, Posted: from, After: from, Before: to, Status: m.status()}
	}
	for name, test := range map[string]struct {
		sent []*Sent
		got  []*Got
		says string // "" if the history is allowed
	}{
		"in order":                  {[]*Sent{a, b}, []*Got{got(a, whoever, whoever, 1, 3), got(b, whoever, whoever, 2, 4)}, ""},
		"other tags, other order":   {[]*Sent{a, b}, []*Got{got(b, 0, 2, 1, 2), got(a, 0, 1, 3, 4)}, ""},
		"a message overtakes":       {[]*Sent{a, b}, []*Got{got(b, 0, whoever, 1, 2), got(a, 0, whoever, 3, 4)}, "out of order"},
		"so does one of equal tag":  {[]*Sent{a, c}, []*Got{got(c, 0, 1, 1, 2), got(a, 0, 1, 3, 4)}, "out of order"},
		"another sender's may":      {[]*Sent{a, other}, []*Got{got(other, whoever, 1, 1, 2), got(a, whoever, 1, 3, 4)}, ""},
		"both at once":              {[]*Sent{a, c}, []*Got{got(c, 0, 1, 1, 4), got(a, 0, 1, 2, 3)}, "out of order"},
		"a receive overtakes":       {[]*Sent{a, other}, []*Got{got(other, 2, whoever, 1, 5), got(a, 0, 1, 2, 6), cancelled(0, whoever, 1, 7, 8)}, "out of order"},
		"one cancelled before not":  {[]*Sent{a}, []*Got{cancelled(0, whoever, 1, 2, 3), got(a, 0, 1, 4, 5)}, ""},
		"a wildcard waits for more": {[]*Sent{a, b}, []*Got{got(b, whoever, 2, 1, 3), got(a, whoever, whoever, 2, 4)}, ""},
		"a probe sees the first":    {[]*Sent{a, c}, []*Got{with(got(a, 0, 1, 3, 4), after(probe(a, whoever, whoever, 1, 2))), got(c, 0, 1, 5, 6)}, ""},
		"a probe sees another":      {[]*Sent{a, b}, []*Got{with(got(b, 0, 2, 3, 4), after(probe(b, whoever, whoever, 1, 2))), got(a, 0, 1, 5, 6)}, "out of order"},
		"a probe past a receive":    {[]*Sent{a, c}, []*Got{got(c, whoever, 1, 1, 9), with(got(a, 0, 1, 4, 5), after(probe(a, 0, 1, 2, 3)))}, "out of order"},
		"a probe lies":              {[]*Sent{a}, []*Got{with(got(a, 0, 1, 3, 4), after(probe(b, 0, whoever, 1, 2)))}, "its probe saw"},
		"nobody receives":           {[]*Sent{a, b}, []*Got{got(a, 0, 1, 1, 2)}, "nobody received"},
		"two receive":               {[]*Sent{a}, []*Got{got(a, 0, 1, 1, 2), got(a, 0, 1, 3, 4)}, "what nobody sent"},
		"other contents":            {[]*Sent{a}, []*Got{with(got(a, 0, 1, 1, 2), func(g *Got) { g.Data[3]++ })}, "what nobody sent"},
		"other tag":                 {[]*Sent{a}, []*Got{got(a, 0, 2, 1, 2)}, "did not look for"},
		"other communicator":        {[]*Sent{a}, []*Got{with(got(a, 0, 1, 1, 2), func(g *Got) { g.Comm = 1 })}, "what nobody sent"},
		"cancelled":                 {[]*Sent{gone, a}, []*Got{got(a, 0, 1, 1, 2)}, ""},
		"cancelled, and received":   {[]*Sent{gone}, []*Got{got(gone, 0, 1, 1, 2)}, "was cancelled, and received"},
		"cancelled, alike":          {[]*Sent{dead, twin}, []*Got{got(twin, 0, 1, 1, 2)}, ""},
		"cancelled, with data":      {nil, []*Got{with(cancelled(0, 1, 1, 2, 3), func(g *Got) { g.Data = []byte{1} })}, "was cancelled, and got"},
		"cancelled by nobody":       {[]*Sent{a}, []*Got{with(got(a, 0, 1, 1, 2), func(g *Got) { g.Status.Cancelled = true })}, "which nobody asked for"},
		"not over":                  {[]*Sent{a}, []*Got{with(got(a, 0, 1, 1, 2), func(g *Got) { g.Done = false })}, "has not ended"},
		"truncated": {[]*Sent{a}, []*Got{with(got(a, 0, 1, 1, 2), func(g *Got) {
			g.Room, g.Data, g.Err = 5, g.Data[:5], errclass.Truncate
		})}, ""},
		"truncated in silence":  {[]*Sent{a}, []*Got{with(got(a, 0, 1, 1, 2), func(g *Got) { g.Room, g.Data = 5, g.Data[:5] })}, "says <nil>"},
		"truncated for nothing": {[]*Sent{a}, []*Got{with(got(a, 0, 1, 1, 2), func(g *Got) { g.Err = errclass.Truncate })}, "failed"},
	} {
		err := Check(checkSeed, []*History{{Sent: test.sent}, {Got: test.got}})
		if test.says == "" {
			assert.NoError(t, err, name)
		} else {
			assert.ErrorContains(t, err, test.says, name)
		}
	}
}
