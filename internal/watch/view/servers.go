package view

import (
	"cmp"
	"maps"
	"slices"

	"github.com/viaduct-hpc/viaduct/internal/watch"
	"github.com/viaduct-hpc/viaduct/internal/watch/table"
)

// serverOf describes a server. before is its state some seconds ago, or nil.
func serverOf(process int, now, before *watch.Server, seconds float64) Server {
	if before == nil {
		before, seconds = &watch.Server{}, 0
	}
	s := Server{
		Process: process, Alias: now.Alias, FileSystem: now.FileSystem,
		BytesRead: now.BytesRead, BytesWritten: now.BytesWritten, SpaceTotal: now.SpaceTotal, SpaceFree: now.SpaceFree,
		ReadRate: table.Rate(before.BytesRead, now.BytesRead, seconds), WriteRate: table.Rate(before.BytesWritten, now.BytesWritten, seconds),
		Heal: progressOf(now.Heal, before.Heal, seconds), Scrub: progressOf(now.Scrub, before.Scrub, seconds),
	}
	earlier := make(map[string]*watch.Request, len(before.Requests))
	for i := range before.Requests {
		earlier[before.Requests[i].Kind] = &before.Requests[i]
	}
	for i := range now.Requests {
		k := kindOf(&now.Requests[i], earlier[now.Requests[i].Kind], seconds)
		s.Rate, s.FailRate, s.Active = s.Rate+k.Rate, s.FailRate+k.FailRate, s.Active+k.Active
		if k.Count > 0 || k.Active > 0 {
			s.Kinds = append(s.Kinds, k)
		}
	}
	slices.SortStableFunc(s.Kinds, func(a, b Kind) int {
		return cmp.Or(cmp.Compare(b.Rate, a.Rate), cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name))
	})
	for _, reason := range slices.Sorted(maps.Keys(now.Refused)) {
		r := Refusal{reason, now.Refused[reason], table.Rate(before.Refused[reason], now.Refused[reason], seconds)}
		if r.Count > 0 {
			s.Refused = append(s.Refused, r)
			s.RefusedTotal, s.RefusedRate = s.RefusedTotal+float64(r.Count), s.RefusedRate+r.Rate
		}
	}
	return s
}

func kindOf(now, before *watch.Request, seconds float64) Kind {
	if before == nil {
		before = &watch.Request{}
	}
	k := Kind{
		Name: now.Kind, Count: now.Count, Failed: now.Failed, Active: now.Active,
		Rate: table.Rate(before.Count, now.Count, seconds), FailRate: table.Rate(before.Failed, now.Failed, seconds),
	}
	var had []uint64
	if slices.Equal(before.Bounds, now.Bounds) {
		had = before.Counts
	}
	counts := since(had, now.Counts)
	k.P50, k.P90, k.P99 = quantile(now.Bounds, counts, 0.5), quantile(now.Bounds, counts, 0.9), quantile(now.Bounds, counts, 0.99)
	switch n := now.Count - before.Count; {
	case now.Count > before.Count && before.Count > 0 && now.Sum >= before.Sum:
		k.Mean = (now.Sum - before.Sum) / float64(n)
	case now.Count > 0:
		k.Mean = now.Sum / float64(now.Count)
	}
	return k
}

func progressOf(now, before *watch.Progress, seconds float64) *Progress {
	if now == nil {
		return nil
	}
	p := &Progress{Progress: *now}
	if before != nil && now.Running {
		p.Rate = table.Rate(before.Done, now.Done, seconds)
	}
	if p.Rate > 0 && now.Total > now.Done {
		p.Left = float64(now.Total-now.Done) / p.Rate
	}
	return p
}
