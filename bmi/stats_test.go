package bmi

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/viaduct-hpc/viaduct/bmi/netstats"
)

// TestPeerStatsAddAddsEveryCounter finds a counter that Add forgets.
func TestPeerStatsAddAddsEveryCounter(t *testing.T) {
	one := PeerStats{State: "READY", CreditsAvailable: 1, CreditsOwed: 2, Refs: 3, QueuedSends: 6, QueuedBytes: 7, Age: 8, WindowBytes: 9, InFlightBytes: 10, Traffic: Traffic{MessagesSent: 4}, Link: netstats.Link{Retransmitted: 5}}
	assert.Equal(t, 13, reflect.TypeFor[PeerStats]().NumField(), "Add knows all fields")
	sum := PeerStats{State: "INIT"}
	sum.Add(&one)
	sum.Add(&one)
	assert.Equal(t, PeerStats{State: "READY", CreditsAvailable: 2, CreditsOwed: 4, Refs: 6, QueuedSends: 12, QueuedBytes: 14, Age: 8, WindowBytes: 18, InFlightBytes: 20, Traffic: Traffic{MessagesSent: 8}, Link: netstats.Link{Retransmitted: 10}}, sum)
}

// TestTrafficAddAddsEveryCounter finds a counter that Add forgets.
func TestTrafficAddAddsEveryCounter(t *testing.T) {
	var one, sum Traffic
	v := reflect.ValueOf(&one).Elem()
	for i := range v.NumField() {
		v.Field(i).SetUint(uint64(i + 1))
	}
	sum.Add(&one)
	sum.Add(&one)
	s := reflect.ValueOf(sum)
	for i := range s.NumField() {
		assert.Equal(t, uint64(2*(i+1)), s.Field(i).Uint(), s.Type().Field(i).Name)
	}
}
