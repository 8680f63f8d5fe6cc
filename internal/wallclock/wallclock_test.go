package wallclock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// failing counts the failures that a test reports.
type failing struct {
	testing.TB
	errors int
}

func (*failing) Helper()                 {}
func (f *failing) Errorf(string, ...any) { f.errors++ }

func TestUnder(t *testing.T) {
	var f failing
	Under(&f, time.Second, 2*time.Second, "nothing")
	assert.Zero(t, f.errors)
	Under(&f, 3*time.Second, 2*time.Second, "something")
	if testing.Short() {
		assert.Zero(t, f.errors, "the fast tier does not look at the clock")
	} else {
		assert.Equal(t, 1, f.errors)
	}
	f.errors = 0
	Under(&f, 2*Patience, Patience, "everything")
	assert.Equal(t, 1, f.errors, "that is a hang")
}
