package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/viaduct-hpc/viaduct/internal/perf"
)

// report has all results of a run: results.json.
type report struct {
	Machine machine           `json:"machine"`
	Rounds  int               `json:"rounds"`
	Seconds int               `json:"seconds"`
	States  stateReport       `json:"states"`
	Rows    []row             `json:"rows"`
	Counts  counts            `json:"counts"`
	Notes   map[string]string `json:"notes,omitempty"` // why a contender is missing
	Points  []point           `json:"points"`

	collectives string // the section on simulated collective operations
}

// write writes everything to a folder; draw draws the charts.
func (r *report) write(folder string, draw func(folder string, charts []chart) error) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "results.json"), append(text, '\n'), 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "results.md"), []byte(r.markdown()), 0o644); err != nil {
		return err
	}
	if err := draw(folder, r.charts()); err != nil {
		return err
	}
	fmt.Print(r.markdown())
	return nil
}

// show writes the rows with a prefix, and the points and notes behind them.
func (r *report) show(w io.Writer, prefix string) error {
	var b strings.Builder
	r.Rows = slices.DeleteFunc(r.Rows, func(one row) bool { return !strings.HasPrefix(one.What, prefix) })
	m := r.Machine
	fmt.Fprintf(&b, "%s, cores %s; %s. %s, load average before: %s. Medians of %d rounds, %d s in all.\n\n",
		m.CPU, m.Cores, m.Go, m.Date, m.Load, r.Rounds, r.Seconds)
	b.WriteString(r.States.lines())
	if len(r.Rows) > 0 {
		writeRows(&b, r.Rows)
	}
	b.WriteString(r.States.markdown())
	b.WriteString("\n")
	for _, p := range r.Points {
		fmt.Fprintf(&b, "- %s, %s: %.3f %s (%s)\n", p.Method, p.Test, p.Median, p.Unit, numbers(p.Rounds))
	}
	for _, method := range slices.Sorted(maps.Keys(r.Notes)) {
		fmt.Fprintf(&b, "- %s: %s\n", method, r.Notes[method])
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeRows writes the table of aims.
func writeRows(b *strings.Builder, rows []row) {
	b.WriteString("| what | measured | against the bare limit | against the best peer | reach | aim | verdict |\n")
	b.WriteString("| --- | --- | --- | --- | --- | --- | --- |\n")
	for _, row := range rows {
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | **%s** |\n", row.What, row.Value, row.Bare, row.Best, row.Reach, row.Aim, row.Verdict)
	}
}

func (r *report) markdown() string {
	var b strings.Builder
	m := r.Machine
	fmt.Fprintf(&b, "# Results\n\nWritten by `make bench`, not by hand; [README.md](README.md) explains the method.\n\n")
	fmt.Fprintf(&b, "%s, %d CPUs, measured on cores %s; %s; %s; %s. %s, load average before: %s. Medians of %d rounds, %d s in all.\n\n",
		m.CPU, m.CPUs, m.Cores, m.Kernel, m.Memory, m.Go, m.Date, m.Load, r.Rounds, r.Seconds)
	b.WriteString(r.States.lines())
	writeRows(&b, r.Rows)
	b.WriteString(r.States.markdown())
	b.WriteString("\n![half round trip](latency.svg)\n\n![bandwidth](bandwidth.svg)\n\n![against the bare limit](ratios.svg)\n\n![half round trip over TCP](latency-tcp.svg)\n\n![half round trip over UDP](latency-udp.svg)\n")
	b.WriteString(r.pointTables())
	if r.collectives != "" {
		b.WriteString("\n" + r.collectives)
	}
	b.WriteString(r.countList())
	b.WriteString(r.noteList())
	return b.String()
}

// A resultTable is a test of all contenders of a kind.
type resultTable struct {
	test    perf.Test
	title   string
	limit   perf.Test // shown as the bare contender; "" for none
	decimal string
	method  []string // those that are compared only with each other; nil: all others
}

// withBesideUDP are the contenders over UDP and those with which they are compared.
var withBesideUDP = append(append([]string{}, overUDP...), besideUDP...)

// tables are the tables of the results, in order.
var tables = []resultTable{
	{perf.Latency, "Half round trip, µs", perf.LimitMemcpy, "%.3f", nil},
	{perf.Rate, "Message rate, one way, messages/s", "", "%.0f", nil},
	{perf.Bandwidth, "Bandwidth, one way, MB/s", "", "%.0f", nil},
	{perf.Bidirectional, "Bandwidth, both ways, MB/s", "", "%.0f", nil},
	{perf.Latency, "Over TCP: half round trip, µs", perf.LimitSocket, "%.3f", overTCP},
	{perf.Rate, "Over TCP: message rate, one way, messages/s", "", "%.0f", overTCP},
	{perf.Bandwidth, "Over TCP: bandwidth, one way, MB/s", "", "%.0f", overTCP},
	{perf.Bidirectional, "Over TCP: bandwidth, both ways, MB/s", "", "%.0f", overTCP},
	{perf.Latency, "Over UDP: half round trip, µs", perf.LimitUDP, "%.3f", withBesideUDP},
	{perf.Rate, "Over UDP: message rate, one way, messages/s", "", "%.0f", withBesideUDP},
	{perf.Bandwidth, "Over UDP: bandwidth, one way, MB/s", "", "%.0f", withBesideUDP},
	{perf.Bidirectional, "Over UDP: bandwidth, both ways, MB/s", "", "%.0f", withBesideUDP},
	{perf.Latency, "Both endpoints in one program, which moves them on in turn: half round trip, µs", "", "%.3f", overPlugins},
	{barrier, "Barrier of two ranks, µs", "", "%.3f", nil},
	{allreduce, "Allreduce of two ranks, µs", "", "%.3f", nil},
	{alltoall, "More ranks than processors: 8 B all to all, µs", "", "%.1f", overSubscribed},
	{barrier, "More ranks than processors: barrier, µs", "", "%.1f", overSubscribed},
	{allreduce, "More ranks than processors: 8 B allreduce, µs", "", "%.1f", overSubscribed},
	{heat, "More ranks than processors: heat, s", "", "%.3f", overSubscribed},
	{put, "One-sided: put and flush, µs", "", "%.3f", overOneSided},
	{get, "One-sided: get and flush, µs", "", "%.3f", overOneSided},
	{fetchAndOp, "One-sided: fetch_and_op and flush, µs", "", "%.3f", overOneSided},
	{fence, "One-sided: put between fences, µs", "", "%.3f", overOneSided},
	{perf.Latency, "One message, half round trip, µs", "", "%.2f", overOneSided},
	{partitioned, fmt.Sprintf("The same message in %d partitions, half round trip, µs", partitions), "", "%.2f", overOneSided},
	{writeAll, fmt.Sprintf("Files: collective write in blocks, %d ranks, MB/s", filesRanks), "", "%.0f", overFiles},
	{readAll, fmt.Sprintf("Files: collective read in blocks, %d ranks, MB/s", filesRanks), "", "%.0f", overFiles},
	{writeContiguous, "Files: the same bytes written by each rank on its own, contiguous, MB/s", "", "%.0f", overFiles},
	{readContiguous, "Files: the same bytes read by each rank on its own, contiguous, MB/s", "", "%.0f", overFiles},
	{writeStrided, "Files: the blocks written by each rank on its own, MB/s", "", "%.0f", overFiles},
	{readStrided, "Files: the blocks read by each rank on its own, MB/s", "", "%.0f", overFiles},
	{perf.Latency, "Beside busy processes: 8 B half round trip, median of the runs, µs", "", "%.2f", overBusy},
	{sampleSort, fmt.Sprintf("Sample sort of a file, %d processes on 2 cores, s", sortRanks), "", "%.3f", nil},
	{pvfsIn, "File system: a file in, s", "", "%.3f", overPVFS},
	{pvfsOut, "File system: a file out to the null device, s", "", "%.3f", overPVFS},
	{namesTest("create", 1), "File system: creates by one client, /s", "", "%.0f", overPVFS},
	{namesTest("stat", 1), "File system: stats by one client, /s", "", "%.0f", overPVFS},
	{namesTest("remove", 1), "File system: removes by one client, /s", "", "%.0f", overPVFS},
	{namesTest("create", pvfsCrowd), fmt.Sprintf("File system: creates by %d clients, /s", pvfsCrowd), "", "%.0f", overPVFS},
	{namesTest("stat", pvfsCrowd), fmt.Sprintf("File system: stats by %d clients, /s", pvfsCrowd), "", "%.0f", overPVFS},
	{namesTest("remove", pvfsCrowd), fmt.Sprintf("File system: removes by %d clients, /s", pvfsCrowd), "", "%.0f", overPVFS},
	{checkpointSave, fmt.Sprintf("Checkpoints on our file system: %d ranks save, s", checkpointRanks), "", "%.3f", overCheckpoint},
	{checkpointRestore, fmt.Sprintf("Checkpoints on our file system: %d ranks restore, s", checkpointRanks), "", "%.3f", overCheckpoint},
	{checkpointIn, "Checkpoints on our file system: pvfs cp in of as many bytes, s", "", "%.3f", overCheckpoint},
	{checkpointOut, "Checkpoints on our file system: pvfs cp out of as many bytes, s", "", "%.3f", overCheckpoint},
	{threadsOne, "One goroutine, messages/s", "", "%.0f", nil},
	{threadsOwn, fmt.Sprintf("%d goroutines with a context each, messages/s", threadsMany), "", "%.0f", nil},
	{threadsSharing, fmt.Sprintf("%d goroutines with one context, messages/s", threadsMany), "", "%.0f", nil},
	{crowdTest(shapePairs), fmt.Sprintf("%d processes on 2 cores, ping-pong two by two, µs per message", crowdSize), "", "%.3f", nil},
	{crowdTest(shapeRing), fmt.Sprintf("%d processes on 2 cores, in a ring, µs per message", crowdSize), "", "%.3f", nil},
	{crowdTest(shapeAll), fmt.Sprintf("%d processes on 2 cores, all to all, µs per message", crowdSize), "", "%.3f", nil},
}

// holds reports whether a point belongs to the table.
func (t resultTable) holds(p point) bool {
	among := slices.Contains(t.method, p.Method)
	if t.method == nil {
		among = !slices.ContainsFunc([][]string{overTCP, overUDP, overPlugins, overPVFS, overSubscribed, overOneSided, overFiles, overCheckpoint, overBusy}, func(all []string) bool { return slices.Contains(all, p.Method) })
	}
	return among && (p.Test == t.test || t.limit != "" && p.Test == t.limit)
}

func (r *report) pointTables() string {
	var b strings.Builder
	for _, t := range tables {
		cells := make(map[string]map[int]float64)
		sizes := make(map[int]bool)
		for _, p := range r.Points {
			if t.holds(p) {
				if cells[p.Method] == nil {
					cells[p.Method] = make(map[int]float64)
				}
				cells[p.Method][p.Size] = p.Median
				sizes[p.Size] = true
			}
		}
		columns := slices.Sorted(maps.Keys(sizes))
		fmt.Fprintf(&b, "\n## %s\n\n|", t.title)
		for _, n := range columns {
			fmt.Fprintf(&b, " | %s", perf.FormatSize(n))
		}
		b.WriteString(" |\n| ---" + strings.Repeat(" | ---", len(columns)) + " |\n")
		for _, method := range slices.Sorted(maps.Keys(cells)) {
			fmt.Fprintf(&b, "| %s", label(method))
			for _, n := range columns {
				text := ""
				if v, ok := cells[method][n]; ok {
					text = fmt.Sprintf(t.decimal, v)
				}
				fmt.Fprintf(&b, " | %s", text)
			}
			b.WriteString(" |\n")
		}
	}
	return b.String()
}

// label is the name of a contender for people.
func label(method string) string {
	switch method {
	case bare:
		return "bare copy"
	case openMPI:
		return "Open MPI"
	case oursMPI:
		return "mpi over via+shm"
	case mpich:
		return "MPICH"
	case ucx:
		return "UCX"
	case openMPITCP:
		return "Open MPI over TCP"
	case mpichTCP:
		return "MPICH over TCP"
	case ucxTCP:
		return "UCX over TCP"
	case libfabricTCP:
		return "libfabric over TCP"
	case bareUDP:
		return "bare UDP"
	case openMPIUDP:
		return "Open MPI over libfabric over UDP"
	case libfabricUDP:
		return "libfabric over UDP"
	}
	return method
}

func (r *report) countList() string {
	var b strings.Builder
	b.WriteString("\n## Counts\n\n")
	c := r.Counts
	for _, name := range slices.Sorted(maps.Keys(c.MatchNanos)) {
		fmt.Fprintf(&b, "- match, %s: %.1f ns\n", name, c.MatchNanos[name])
	}
	for _, line := range []struct {
		what  string
		bytes *float64
	}{
		{"per connection, resident in the hub", c.ConnectedBytes},
		{"per connection, of the whole machine, both ends, shared memory counted once", c.MachineBytes},
		{"per connection, shared memory mapped in the hub", c.SegmentBytes},
		{"per connection, of that resident in the hub", c.ResidentBytes},
		{"per known unconnected peer, heap of the hub", c.KnownBytes},
		{"per connection over TCP, resident in the hub, without the kernel's memory", c.TCPConnectedBytes},
		{"per connection over UDP, encrypted, resident in the hub, without the kernel's memory", c.UDPConnectedBytes},
	} {
		if line.bytes != nil {
			fmt.Fprintf(&b, "- %s: %.0f B\n", line.what, *line.bytes)
		}
	}
	var bounces []string
	for _, p := range r.Points {
		if p.Test == perf.LimitBounce {
			bounces = append(bounces, fmt.Sprintf("%s %.3f µs (rounds %s)", p.Method, p.Median, numbers(p.Rounds)))
		}
	}
	fmt.Fprintf(&b, "- bounce of a cache line, in Go and in C: %s\n", strings.Join(bounces, "; "))
	return b.String()
}

func numbers(values []float64) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = fmt.Sprintf("%.3f", v)
	}
	return strings.Join(words, ", ")
}

func (r *report) noteList() string {
	var b strings.Builder
	names := slices.Sorted(maps.Keys(r.Machine.Versions))
	b.WriteString("\n## Peers\n\n")
	for _, method := range names {
		fmt.Fprintf(&b, "- %s: %s\n", label(method), r.Machine.Versions[method])
	}
	for _, method := range slices.Sorted(maps.Keys(r.Notes)) {
		fmt.Fprintf(&b, "- %s: %s\n", label(method), r.Notes[method])
	}
	for _, problem := range r.Counts.Problems {
		fmt.Fprintf(&b, "- %s\n", problem)
	}
	return b.String()
}
