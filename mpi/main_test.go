package mpi_test

import (
	"testing"

	"go.uber.org/goleak"

	_ "github.com/viaduct-hpc/viaduct/bmi/bmitest"
	_ "github.com/viaduct-hpc/viaduct/methods/tcp"
	_ "github.com/viaduct-hpc/viaduct/methods/via"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// everyMethod are those over which the basics are tested.
var everyMethod = []string{"mem", "via+shm", "tcp", "via+udp"}
