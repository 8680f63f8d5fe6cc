package server

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

func TestPerfHistory(t *testing.T) {
	var p perf
	now := time.Unix(1000, 0)
	p.begin(now)
	for i := range 30 {
		now = now.Add(time.Second)
		p.add(countRead, 1)
		p.tick(now)
		p.tick(now.Add(time.Second / 2)) // too early
		require.LessOrEqual(t, len(p.samples), perfHistory-1, i)
	}
	p.add(countRead, 100)
	r := p.report(now.Add(time.Second/4), perfCounters, 1, 4)
	require.Equal(t, uint32(4), r.SampleCount)
	require.Equal(t, []int64{
		130, 1030000, 250, // now, then the earlier ones from the oldest on
		28, 1027000, 1000,
		29, 1028000, 1000,
		30, 1029000, 1000,
	}, r.Values)
	require.EqualValues(t, 1030000, r.End, "of the last")
	require.EqualValues(t, 1030250, r.Now)
	require.Empty(t, p.report(now, perfCounters, 5, 0).Values)
	p.configure(2, 0)
	require.Equal(t, uint32(2), p.report(now, perfCounters, 5, 100).SampleCount)
	p.configure(1<<30, time.Minute)
	require.Equal(t, time.Minute, p.every())
	for _, d := range []time.Duration{5, 3, 9} {
		p.times[timeIO].add(d)
	}
	p.tick(now.Add(time.Hour))
	r = p.report(now.Add(2*time.Hour), perfTimers, 100, 2)
	require.EqualValues(t, timers, r.KeyCount)
	require.Len(t, r.Values, 2*(timers*timerParts+2))
	require.Equal(t, []int64{17, 3, 3, 9, 0, 0, 0, 0}, r.Values[int(timeIO)*timerParts:][:8], "sum, count, least, most; nothing of the next")
	require.Equal(t, r.Values[:timers*timerParts], r.Values[timers*timerParts+2:][:timers*timerParts])
	p.configure(1<<30, time.Second)
	for i := range 2 * perfSamplesMax {
		p.tick(now.Add(3*time.Hour + time.Duration(i)*time.Minute))
	}
	for _, kind := range []uint32{perfCounters, perfTimers} {
		all := p.report(now, kind, 1<<20, 1<<20)
		require.Greater(t, all.SampleCount, uint32(20))
		require.LessOrEqual(t, len(proto.AppendResponse(nil, all)), proto.MaxResponse(proto.OpPerfMon))
	}
	most := &proto.PerfMonResp{Values: make([]int64, perfSamplesMax*perfValues)}
	require.LessOrEqual(t, len(proto.AppendResponse(nil, most)), proto.MaxResponse(proto.OpPerfMon))
}

func TestUserLog(t *testing.T) {
	var l userLog
	for i := range uint32(40) {
		l.note(i, time.Unix(int64(100+i), 5000))
	}
	l.note(39, time.Unix(200, 7000))
	require.Equal(t, []proto.UIDHistory{{UID: 39, Count: 2, FirstS: 139, FirstUS: 5, LastS: 200, LastUS: 7}}, l.since(time.Unix(139, 0)))
	all := l.since(time.Unix(0, 0))
	require.Len(t, all, usersMax)
	require.LessOrEqual(t, len(proto.AppendResponse(nil, &proto.GetUIDResp{Users: all})), proto.MaxResponse(proto.OpGetUID))
}

func TestBranches(t *testing.T) {
	groups := make([]group, 7)
	for i := range groups {
		groups[i].server = i
	}
	for width := 1; width < 10; width++ {
		next := 0
		for _, b := range branches(groups, width) {
			require.NotEmpty(t, b)
			for _, g := range b {
				require.Equal(t, next, g.server)
				next++
			}
		}
		require.Equal(t, 7, next)
		require.Len(t, branches(groups, width), min(width, 7))
	}
	require.Empty(t, branches(nil, 2))
}
