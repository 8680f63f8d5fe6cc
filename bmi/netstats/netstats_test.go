package netstats

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestLinkAddAddsEveryCounter finds a counter that Add forgets, and a
// percentile that is not of the later connection.
func TestLinkAddAddsEveryCounter(t *testing.T) {
	var one, sum Link
	v := reflect.ValueOf(&one).Elem()
	for i := range v.NumField() {
		if f := v.Field(i); f.CanUint() {
			f.SetUint(uint64(i + 1))
		} else {
			f.SetInt(int64(i + 1))
		}
	}
	two := one
	two.RoundTripP50, two.RoundTripP99, two.RoundTripP999 = 70, 80, 90
	sum.Add(&one)
	sum.Add(&two)
	s := reflect.ValueOf(sum)
	for i := range s.NumField() {
		if f := s.Field(i); f.CanUint() {
			assert.EqualValues(t, 2*(i+1), f.Uint(), s.Type().Field(i).Name)
		}
	}
	percentiles := func() [3]time.Duration {
		return [3]time.Duration{sum.RoundTripP50, sum.RoundTripP99, sum.RoundTripP999}
	}
	assert.Equal(t, [3]time.Duration{70, 80, 90}, percentiles())
	sum.Add(&Link{AcksSent: 1})
	assert.Equal(t, [3]time.Duration{70, 80, 90}, percentiles(), "a connection that measured nothing knows nothing better")
}
