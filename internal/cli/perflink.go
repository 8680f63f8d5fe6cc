package cli

import (
	"fmt"
	"text/tabwriter"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/perf"
)

// perfLink prints the method's link counters for the tests, if it has any.
func perfLink(ep *bmi.Endpoint, method string, out *perfOutput) error {
	for _, m := range ep.Stats().Methods {
		if r, ok := perf.LinkResult(&m); ok && m.Method == method {
			return out.link(r)
		}
	}
	return nil
}

// link prints a result of perf.LinkResult: below the table, or as one more line of
// JSON.
func (o *perfOutput) link(r perf.Result) error {
	if o.table.JSON() {
		return r.WriteJSON(o.w)
	}
	l := r.Link
	table := tabwriter.NewWriter(o.w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "\nlink of %s, this side:\n", r.Method)
	fmt.Fprintf(table, "segments sent\t%d\t%d again (%.3g %%), %d after a time-out, %d in vain\n",
		l.SegmentsSent, l.Retransmitted, percent(l.Retransmitted, l.SegmentsSent), l.TimedOut, l.Spurious)
	fmt.Fprintf(table, "segments received\t%d\t%d once more, %d without room\n", l.SegmentsReceived, l.Duplicates, l.Refused)
	fmt.Fprintf(table, "acks sent\t%d\t%d received\n", l.AcksSent, l.AcksReceived)
	fmt.Fprintf(table, "round trips\t%d\tmedian %s, p99 %s, p99.9 %s %s\n", l.RoundTrips,
		perf.FormatValue(r.Median, r.Unit), perf.FormatValue(r.P99, r.Unit), perf.FormatValue(l.RoundTripP999, r.Unit), r.Unit)
	fmt.Fprintf(table, "packets sent\t%d\t%d in groups, %d calls, %d not sent\n", l.PacketsSent, l.GroupedSent, l.SendCalls, l.Unsent)
	fmt.Fprintf(table, "packets received\t%d\t%d in groups, %d calls, %d lost at a full buffer, %d dropped, %d requests to connect refused\n",
		l.PacketsReceived, l.GroupedReceived, l.RecvCalls, l.Overflowed, l.Dropped, l.Strangers)
	return table.Flush()
}

// percent is 100 n/of, or 0 if of is 0.
func percent(n, of uint64) float64 {
	if of == 0 {
		return 0
	}
	return 100 * float64(n) / float64(of)
}
