package term

import (
	"fmt"

	"github.com/viaduct-hpc/viaduct/internal/watch/view"
)

func serverColumns() []column[view.Server] {
	return []column[view.Server]{
		{title: "SERVER", text: func(s *view.Server) string { return s.Alias }},
		{title: "REQUESTS", number: true, text: func(s *view.Server) string { return perSecond(s.Rate) }},
		{title: "FAILED", number: true, text: func(s *view.Server) string { return perSecond(s.FailRate) }, style: func(s *view.Server) style {
			if s.FailRate > 0 {
				return yellow
			}
			return plain
		}},
		{title: "ACTIVE", number: true, text: func(s *view.Server) string { return count(s.Active) }},
		{title: "P99", number: true, text: func(s *view.Server) string { return quantile(slowest(s)) }},
		{title: "READ", number: true, text: func(s *view.Server) string { return byteRate(s.ReadRate) }},
		{title: "WRITTEN", number: true, text: func(s *view.Server) string { return byteRate(s.WriteRate) }},
		{title: "FREE", number: true, text: func(s *view.Server) string { return size(float64(s.SpaceFree)) }},
		{title: "USED", number: true, text: func(s *view.Server) string { return percent(s.SpaceTotal-s.SpaceFree, s.SpaceTotal) }},
		{title: "HEAL", text: func(s *view.Server) string { return work(s.Heal) }},
		{title: "SCRUB", text: func(s *view.Server) string { return work(s.Scrub) }},
		{title: "REFUSED", number: true, text: func(s *view.Server) string { return fmt.Sprintf("%.0f", s.RefusedTotal) }},
		{title: "", text: func(s *view.Server) string { return s.Error }, style: func(*view.Server) style { return red }},
	}
}

// slowest is the largest 99 % latency of the kinds that are requested now.
func slowest(s *view.Server) (most view.Quantile) {
	for _, k := range s.Kinds {
		if k.Rate > 0 && k.P99.Seconds > most.Seconds {
			most = k.P99
		}
	}
	return most
}

func work(p *view.Progress) string {
	switch {
	case p == nil:
		return "-"
	case !p.Running:
		return "done"
	case p.Left > 0:
		return percent(p.Done, p.Total) + ", " + seconds(p.Left) + " left"
	}
	return percent(p.Done, p.Total)
}

func kindColumns() []column[view.Kind] {
	columns := []column[view.Kind]{
		{title: "REQUEST", text: func(k *view.Kind) string { return k.Name }},
		{title: "RATE", number: true, text: func(k *view.Kind) string { return perSecond(k.Rate) }},
		{title: "ACTIVE", number: true, text: func(k *view.Kind) string { return count(k.Active) }},
	}
	for _, q := range []struct {
		title string
		of    func(k *view.Kind) view.Quantile
	}{
		{"P50", func(k *view.Kind) view.Quantile { return k.P50 }},
		{"P90", func(k *view.Kind) view.Quantile { return k.P90 }},
		{"P99", func(k *view.Kind) view.Quantile { return k.P99 }},
	} {
		columns = append(columns, column[view.Kind]{title: q.title, number: true, text: func(k *view.Kind) string { return quantile(q.of(k)) }})
	}
	return append(columns, []column[view.Kind]{
		{title: "MEAN", number: true, text: func(k *view.Kind) string { return seconds(k.Mean) }},
		{title: "ALL", number: true, text: func(k *view.Kind) string { return count(k.Count) }},
		{title: "FAILED", number: true, text: func(k *view.Kind) string { return count(k.Failed) }},
	}...)
}
