package vipl_test

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	simnic "github.com/viaduct-hpc/viaduct/internal/nic/sim"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
	"github.com/viaduct-hpc/viaduct/methods/via/vipl/vipltest"
)

const flawVariable = "VIPL_TEST_FLAW"

// flaws are bugs of a provider that the conformance suite must find. Each looks at
// the events of one poll and returns what the provider reports instead; count
// numbers the events of the device.
var flaws = map[string]func(count int, ev nic.Event) []nic.Event{
	"reports a receive twice": func(count int, ev nic.Event) []nic.Event {
		if ev.Kind == nic.EventRecv && count%10 == 9 {
			return []nic.Event{ev, ev}
		}
		return []nic.Event{ev}
	},
	"loses a receive": func(count int, ev nic.Event) []nic.Event {
		if ev.Kind == nic.EventRecv && count%10 == 9 {
			return nil
		}
		return []nic.Event{ev}
	},
	"corrupts a byte": func(_ int, ev nic.Event) []nic.Event {
		if d := ev.Desc; ev.Kind == nic.EventRecv && d.Length > 50 && d.Data == nil {
			d.Segments[0].Data[0] ^= 1
		}
		return []nic.Event{ev}
	},
	"writes behind the receive": func(_ int, ev nic.Event) []nic.Event {
		if ev.Kind == nic.EventRecv && len(ev.Desc.Segments) > 0 {
			if mem := ev.Desc.Segments[0].Data; cap(mem) > len(mem) {
				mem[:len(mem)+1][len(mem)] ^= 1
			}
		}
		return []nic.Event{ev}
	},
	"does not flush": func(_ int, ev nic.Event) []nic.Event {
		if ev.Desc != nil && ev.Desc.Status == nic.StatusFlushed {
			return nil
		}
		return []nic.Event{ev}
	},
	"does not report the end": func(_ int, ev nic.Event) []nic.Event {
		if ev.Kind == nic.EventDisconnected {
			return nil
		}
		return []nic.Event{ev}
	},
	"forgets the immediate data": func(_ int, ev nic.Event) []nic.Event {
		if ev.Kind == nic.EventRecv {
			ev.Desc.Flags &^= nic.FlagImmediate
		}
		return []nic.Event{ev}
	},
	"calls every end a success": func(_ int, ev nic.Event) []nic.Event {
		if ev.Desc != nil {
			ev.Desc.Status = nic.StatusSuccess
		}
		return []nic.Event{ev}
	},
}

type flawedProvider struct {
	nic.Provider
	flaw func(int, nic.Event) []nic.Event
}

func (p flawedProvider) Open(cfg nic.Config) (nic.Device, error) {
	d, err := p.Provider.Open(cfg)
	return &flawedDevice{Device: d, flaw: p.flaw}, err
}

type flawedDevice struct {
	nic.Device
	flaw  func(int, nic.Event) []nic.Event
	count int
	queue []nic.Event
}

func (d *flawedDevice) Poll(out []nic.Event) int {
	var got [16]nic.Event
	for _, ev := range got[:d.Device.Poll(got[:])] {
		d.count++
		d.queue = append(d.queue, d.flaw(d.count, ev)...)
	}
	n := copy(out, d.queue)
	d.queue = d.queue[n:]
	return n
}

// TestFlawed runs the suite over a provider with one flaw. Only TestCanary wants
// that, in a process of its own, because it must fail.
func TestFlawed(t *testing.T) {
	flaw, ok := flaws[os.Getenv(flawVariable)]
	if !ok {
		t.Skip("this test must fail, and runs only as a child of TestCanary")
	}
	vipltest.Run(t, func(t *testing.T) vipltest.Setup {
		s := setup(1, simnic.Options{}, sim.LinkOptions{DelayMin: time.Microsecond})
		s.Provider = flawedProvider{s.Provider, flaw}
		return s
	})
}

// TestCanary proves that the suite sees.
func TestCanary(t *testing.T) {
	for name := range flaws {
		t.Run(name, func(t *testing.T) {
			child := exec.Command(os.Args[0], "-test.run=^TestFlawed$", "-test.timeout=60s")
			child.Env = append(os.Environ(), fmt.Sprintf("%s=%s", flawVariable, name))
			out, err := child.CombinedOutput()
			var exit *exec.ExitError
			require.ErrorAs(t, err, &exit, "the suite passed a provider that %s", name)
			assert.Contains(t, string(out), "--- FAIL: TestFlawed/")
		})
	}
}
