package mpi_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/viaduct-hpc/viaduct/internal/logtext"
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/boot"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

// keyless is a job of a launcher that makes no key, as Hydra and Slurm.
type keyless struct{ boot.Boot }

func (keyless) Secret() []byte { return nil }

// TestExposed: rank 0 of a job on several hosts whose messages go unprotected says so, unless the user chose the method.
func TestExposed(t *testing.T) {
	for _, c := range []struct {
		name     string
		insecure string
		hosts    int
		keyed    bool
		method   string
		warns    bool
	}{
		{name: "no key", hosts: 2, warns: true},
		{name: "a key", hosts: 2, keyed: true},
		{name: "one host", hosts: 1},
		{name: "asked for", hosts: 2, method: "via+shm,tcp"},
		{name: "insecure on purpose", hosts: 2, insecure: "1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("VIADUCT_UDP_KEY", "")
			t.Setenv("VIADUCT_UDP_KEY_FILE", "")
			t.Setenv("VIADUCT_UDP_INSECURE", c.insecure)
			logs := make([]logtext.Buffer, 2)
			mpitest.Run(t, 2, mpitest.Options{Each: func(rank int, o *mpi.Options) {
				o.Method, o.Host, o.ListenHost = c.method, fmt.Sprint("host", rank%c.hosts), "127.0.0.1"
				o.Log = slog.New(slog.NewTextHandler(&logs[rank], nil))
				if !c.keyed {
					o.Boot = keyless{o.Boot}
				}
			}}, func(*testing.T, *mpi.Process) {})
			assert.Equal(t, c.warns, strings.Contains(logs[0].String(), "neither encrypted nor authenticated, because the job has no key"), logs[0].String())
			assert.False(t, strings.Contains(logs[1].String(), "encrypted"), "rank 0 says it for all")
		})
	}
}
