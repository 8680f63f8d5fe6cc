package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/internal/trace/tracefile"
)

func (a *App) traceSummaryCommand() *cobra.Command {
	var asJSON bool
	var top int
	cmd := &cobra.Command{
		Use:   "summary FILE...",
		Short: "Say which calls, messages and peers took the time",
		Long: `Summary adds up the events of traces, joined or not. A folder stands for the traces in it. It prints the calls by
their total time, the operations that took longest, the time by peer, and what had begun and not ended. The time
of an operation is that from its post until its completion, so operations may overlap.

` + exitHelp,
		Example: `  bmi trace summary traces
  bmi trace summary job.json --top 20`,
		Args: program.Between(1, -1, "one FILE or folder, or more"),
		RunE: func(_ *cobra.Command, args []string) error { return a.traceSummary(args, top, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().IntVar(&top, "top", 10, "rows of each table but the first")
	return cmd
}

func (a *App) traceSummary(args []string, top int, asJSON bool) error {
	if top < 0 || top > 1<<16 {
		return program.Usagef("bad --top %d: choose 0 to %d", top, 1<<16)
	}
	names, err := traceFiles(args, "")
	if err != nil {
		return err
	}
	s, err := tracefile.Summarize(names, top)
	if err != nil {
		return usageIfFormat(err)
	}
	if asJSON {
		return json.NewEncoder(a.Out).Encode(s)
	}
	return a.printSummary(s)
}

func (a *App) printSummary(s *tracefile.Summary) error {
	out := bufio.NewWriter(a.Out)
	fmt.Fprintf(out, "%d files, %d processes, %d events\n", s.Files, s.Processes, s.Events)
	if s.Dropped > 0 {
		fmt.Fprintf(out, "%d events were dropped, because they came faster than they could be written: times and counts are too small\n", s.Dropped)
	}
	if s.Full > 0 {
		fmt.Fprintf(out, "%d files reached their largest size\n", s.Full)
	}
	if s.Cut > 0 {
		fmt.Fprintf(out, "%d files are of processes that were killed while they wrote\n", s.Cut)
	}
	if s.Left > 0 {
		fmt.Fprintf(out, "%d events are not counted below, because there are too many kinds and peers\n", s.Left)
	}
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	if len(s.Calls) > 0 {
		fmt.Fprintln(w, "\nCALLS BY TOTAL TIME\tCOUNT\tFAILED\tTOTAL\tMEAN\tLONGEST\tBYTES")
	}
	for i := range s.Calls {
		c := &s.Calls[i]
		fmt.Fprintf(w, "%s %s\t%d\t%d\t%s\t%s\t%s\t%d\n", plain(c.Category), plain(c.Name), c.Count, c.Failed, took(c.Total), took(c.Mean()), took(c.Longest), c.Bytes)
	}
	if len(s.Slowest) > 0 {
		fmt.Fprintln(w, "\nSLOWEST\tTIME\tBEGAN\tBYTES\tTAG\tPROCESS\tPEER\tRESULT")
	}
	for _, x := range s.Slowest {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%s\t%s\t%s\n", plain(x.Name), took(x.Time), took(x.Began), x.Bytes, x.Tag, plain(x.Process), plain(x.Peer), plain(x.Result))
	}
	if len(s.Waits) > 0 {
		fmt.Fprintln(w, "\nTIME BY PEER\tTOTAL\tCOUNT\tLONGEST\tPROCESS\tPEER")
	}
	for _, x := range s.Waits {
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%s\n", plain(x.Name), took(x.Total), x.Count, took(x.Longest), plain(x.Process), plain(x.Peer))
	}
	if len(s.Pending) > 0 {
		fmt.Fprintln(w, "\nBEGUN AND NOT ENDED\tBEGAN\tBYTES\tTAG\tPROCESS\tPEER")
	}
	for _, x := range s.Pending {
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%s\t%s\n", plain(x.Name), took(x.Began), x.Bytes, x.Tag, plain(x.Process), plain(x.Peer))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if s.PendingMore > 0 {
		fmt.Fprintf(out, "and %d more\n", s.PendingMore)
	}
	return out.Flush()
}

// took is a duration with three or four digits.
func took(d time.Duration) string {
	for _, unit := range []time.Duration{time.Second, time.Millisecond, time.Microsecond} {
		if d >= unit || d <= -unit {
			return d.Round(unit / 1000).String()
		}
	}
	return d.String()
}

// plain makes text of a file harmless for a terminal and a table.
func plain(s string) string {
	b := []rune(s)
	for i, r := range b {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u202e' {
			b[i] = '?'
		}
	}
	return string(b)
}
