package bmi

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
)

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
