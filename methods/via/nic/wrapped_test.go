package nic_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi/about"
	"github.com/viaduct-hpc/viaduct/bmi/netstats"
	"github.com/viaduct-hpc/viaduct/internal/nic/fault"
	simnic "github.com/viaduct-hpc/viaduct/internal/nic/sim"
	"github.com/viaduct-hpc/viaduct/internal/nic/trace"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// A counter is a provider whose devices and ports count; the simulated ones that
// it wraps do not.
type counter struct{ nic.Provider }

type countingDevice struct{ nic.Device }

type countingPort struct{ nic.Port }

func (c counter) Open(cfg nic.Config) (nic.Device, error) {
	d, err := c.Provider.Open(cfg)
	return countingDevice{d}, err
}

func (d countingDevice) OpenPort(attrs nic.PortAttrs, cookie any) (nic.Port, error) {
	p, err := d.Device.OpenPort(attrs, cookie)
	return countingPort{p}, err
}

func (countingDevice) LinkStats() netstats.Link {
	return netstats.Link{SegmentsSent: 7, Retransmitted: 2}
}
func (countingDevice) PacketStats() netstats.Packets { return netstats.Packets{Sent: 9} }
func (countingDevice) OwnCounts() []about.Count      { return []about.Count{{Name: "nic.own"}} }
func (countingPort) LinkStats() netstats.Link        { return netstats.Link{SegmentsSent: 5} }
func (countingPort) Window() (most, used int)        { return 4, 3 }

// TestStatsPassThrough: the counters of the device and the port below are visible
// through the wrappers, and there are none if those count nothing.
func TestStatsPassThrough(t *testing.T) {
	silent := simnic.New(sim.New(sim.Options{Seed: 1}), simnic.Options{})
	for name, wrap := range map[string]func(nic.Provider) nic.Provider{
		"fault": func(p nic.Provider) nic.Provider { return fault.Wrap(p, fault.Options{}) },
		"trace": func(p nic.Provider) nic.Provider { return trace.Wrap(p, &trace.Recorder{}, trace.Options{}) },
	} {
		for _, below := range []nic.Provider{silent, counter{silent}} {
			d, err := wrap(below).Open(nic.Config{})
			require.NoError(t, err, name)
			p, err := d.OpenPort(nic.PortAttrs{RecvDepth: 1, SendDepth: 1}, nil)
			require.NoError(t, err, name)
			if below == silent {
				assert.Zero(t, nic.LinkStatsOf(d), name)
				assert.Zero(t, nic.PacketStatsOf(d), name)
				assert.Zero(t, nic.LinkStatsOf(p), name)
				assert.Empty(t, nic.OwnCountsOf(d), name)
			} else {
				assert.Equal(t, netstats.Link{SegmentsSent: 7, Retransmitted: 2}, nic.LinkStatsOf(d), name)
				assert.Equal(t, netstats.Packets{Sent: 9}, nic.PacketStatsOf(d), name)
				assert.Equal(t, netstats.Link{SegmentsSent: 5}, nic.LinkStatsOf(p), name)
				most, used := nic.WindowOf(p)
				assert.Equal(t, [2]int{4, 3}, [2]int{most, used}, name)
				assert.Equal(t, []about.Count{{Name: "nic.own"}}, nic.OwnCountsOf(d), name)
			}
			require.NoError(t, p.Close())
			require.NoError(t, d.Close())
		}
	}
}
