package mpiperf

import (
	"testing"

	"go.uber.org/goleak"

	_ "github.com/viaduct-hpc/viaduct/bmi/bmitest"
	_ "github.com/viaduct-hpc/viaduct/methods/via"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
