package mpi_test

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	_ "github.com/viaduct-hpc/viaduct/bmi/bmitest"
	_ "github.com/viaduct-hpc/viaduct/methods/tcp"
	_ "github.com/viaduct-hpc/viaduct/methods/via"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bg is the context of calls that nothing ends.
var bg = context.Background()

// everyMethod are those over which the basics are tested.
var everyMethod = []string{"mem", "via+shm", "tcp", "via+udp"}
