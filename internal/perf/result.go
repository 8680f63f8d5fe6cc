package perf

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/viaduct-hpc/viaduct/internal/perf/service"
)

// A Test names one kind of measurement.
type Test string

// The tests. The limits are measured without any library, between the same two
// cores.
const (
	Latency       Test = "latency"       // half round trip of one message
	Rate          Test = "rate"          // messages a second, one way, in windows
	Bandwidth     Test = "bandwidth"     // bytes a second, one way, in windows
	Bidirectional Test = "bidirectional" // bytes a second, both ways at once, sum of both
	LimitBounce   Test = "limit-bounce"  // half round trip of one cache line
	LimitMemcpy   Test = "limit-memcpy"  // half round trip of data by one plain copy
	LimitSocket   Test = "limit-socket"  // half round trip over a bare TCP socket on loopback
	LimitUDP      Test = "limit-udp"     // half round trip over a bare UDP socket on loopback
)

// MethodTests are the tests of a method, in the order of a full run.
var MethodTests = []Test{Latency, Rate, Bandwidth, Bidirectional}

// LimitsOf are the limits of the machine to compare a method with.
func LimitsOf(method string) []Test {
	switch {
	case service.OverDatagrams(method):
		return []Test{LimitUDP}
	case service.OverSockets(method):
		return []Test{LimitSocket}
	}
	return []Test{LimitBounce, LimitMemcpy}
}

// allTests are all tests.
var allTests = append([]Test{LimitBounce, LimitMemcpy, LimitSocket, LimitUDP}, MethodTests...)

// ParseTests reads names of tests of a method; each argument is a list separated
// by commas. "limit" means the limits of the method, "all" those and all other
// tests.
func ParseTests(method string, args []string) ([]Test, error) {
	var out []Test
	for _, arg := range args {
		for name := range strings.SplitSeq(arg, ",") {
			switch name = strings.TrimSpace(name); name {
			case "all":
				out = append(append(out, LimitsOf(method)...), MethodTests...)
			case "limit", "limits":
				out = append(out, LimitsOf(method)...)
			default:
				if !Test(name).known() {
					return nil, fmt.Errorf("unknown test %q: choose from %s, limit, all", name, joinTests())
				}
				out = append(out, Test(name))
			}
		}
	}
	return unique(out), nil
}

// Limit reports whether the test measures the machine and not a method.
func (t Test) Limit() bool { return t.known() && !slices.Contains(MethodTests, t) }

func (t Test) known() bool { return slices.Contains(allTests, t) }

func joinTests() string {
	names := make([]string, len(allTests))
	for i, t := range allTests {
		names[i] = string(t)
	}
	return strings.Join(names, ", ")
}

func unique(in []Test) []Test {
	var out []Test
	seen := make(map[Test]bool)
	for _, t := range in {
		if !seen[t] {
			seen[t] = true
			out = append(out, t)
		}
	}
	return out
}

// Units of results.
const (
	UnitMicros   = "us"
	UnitMessages = "msg/s"
	UnitMB       = "MB/s" // 10^6 bytes a second
)

// MethodBare is Result.Method of a limit, for which no method is used.
const MethodBare = "bare"

// A Result is one measured point, and one line of `bmi perf --json`.
type Result struct {
	Test   Test   `json:"test"`
	Method string `json:"method"`
	// Size of a message, in bytes.
	Size int `json:"size"`
	// Window is the number of messages under way at once.
	Window int `json:"window"`
	// Median is the median of the batches, in Unit. 99 in 100 batches are at
	// least as good as P99: for a time P99 is larger than the median, for a rate
	// smaller.
	Median float64 `json:"median"`
	P99    float64 `json:"p99"`
	Unit   string  `json:"unit"`
	// Link is the method's counters for that time, only with a RoundTrip.
	Link *LinkCounts `json:"link,omitempty"`
}

// WriteJSON writes the result as one line.
func (r Result) WriteJSON(w io.Writer) error {
	line, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("perf: encode a result: %w", err)
	}
	if _, err = w.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("perf: write a result: %w", err)
	}
	return nil
}

// FormatValue formats a number with the digits that are useful for its unit.
func FormatValue(v float64, unit string) string {
	switch {
	case unit == UnitMessages:
		return fmt.Sprintf("%.0f", v)
	case unit == UnitMicros && v < 10:
		return fmt.Sprintf("%.3f", v)
	case v < 1000:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.0f", v)
}
