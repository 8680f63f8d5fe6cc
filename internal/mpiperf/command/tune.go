package command

import (
	"bytes"
	"fmt"
	"os"

	"github.com/viaduct-hpc/viaduct/internal/mpiperf"
	"github.com/viaduct-hpc/viaduct/mpi"
)

// tune measures algorithms and writes a tuning table, at rank 0. A file that cannot be written is an
// error before anything is measured.
func (a *App) tune(p *mpi.Process, file string, plan mpiperf.Plan) error {
	if p.World().Rank() != 0 {
		return mpiperf.Tune(p, plan, nil)
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	defer f.Close()
	var table bytes.Buffer
	if err := mpiperf.Tune(p, plan, &table); err != nil {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	if _, err := f.Write(table.Bytes()); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.Out, "%s is written: use it by %s=%s\n", file, mpi.TuningEnv, file)
	return err
}
