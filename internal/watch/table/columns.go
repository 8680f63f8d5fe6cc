package table

import (
	"maps"
	"slices"

	"github.com/viaduct-hpc/viaduct/internal/watch"
)

// numbers are the columns with numbers, by the name that queries use.
var numbers = map[string]func(r *watch.Row) float64{
	"credits":         func(r *watch.Row) float64 { return float64(r.Credits) },
	"window":          func(r *watch.Row) float64 { return float64(r.Window) },
	"queued":          func(r *watch.Row) float64 { return float64(r.QueuedSends) },
	"queued-bytes":    func(r *watch.Row) float64 { return float64(r.QueuedBytes) },
	"retransmissions": func(r *watch.Row) float64 { return float64(r.Retransmissions) },
	"retransmit-rate": func(r *watch.Row) float64 { return r.Rates.Retransmissions },
	"lost":            func(r *watch.Row) float64 { return float64(r.Lost) },
	"round-trip":      func(r *watch.Row) float64 { return r.RoundTrip.Seconds() },
	"sent":            func(r *watch.Row) float64 { return float64(r.BytesSent) },
	"received":        func(r *watch.Row) float64 { return float64(r.BytesReceived) },
	"send-rate":       func(r *watch.Row) float64 { return r.Rates.BytesSent },
	"receive-rate":    func(r *watch.Row) float64 { return r.Rates.BytesReceived },
	"rate":            func(r *watch.Row) float64 { return r.Rates.BytesSent + r.Rates.BytesReceived },
	"messages":        func(r *watch.Row) float64 { return float64(r.MessagesSent) + float64(r.MessagesReceived) },
	"message-rate":    func(r *watch.Row) float64 { return r.Rates.MessagesSent + r.Rates.MessagesReceived },
	"rails":           func(r *watch.Row) float64 { return float64(len(r.Rails)) },
}

// texts are the columns with text.
var texts = map[string]func(r *watch.Row) string{
	"address": func(r *watch.Row) string { return r.Address },
	"method":  func(r *watch.Row) string { return r.Method },
	"state":   func(r *watch.Row) string { return r.State },
}

// Columns are the names that a query can sort by.
func Columns() []string {
	return slices.Sorted(func(yield func(string) bool) {
		for _, all := range []func(func(string) bool){maps.Keys(numbers), maps.Keys(texts)} {
			for name := range all {
				if !yield(name) {
					return
				}
			}
		}
	})
}
