package command

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/internal/perf"
	"github.com/viaduct-hpc/viaduct/mpi"
)

// Values of --pin besides numbers of cores.
const (
	pinOn  = "on"
	pinOff = "off"
)

// parseCores reads the numbers of cores in --pin; on and off have none.
func parseCores(pin string) (cores []int, err error) {
	if pin == pinOn || pin == pinOff {
		return nil, nil
	}
	for word := range strings.SplitSeq(pin, ",") {
		core, err := strconv.Atoi(word)
		if err != nil || core < 0 {
			return nil, program.Usagef("bad --pin %q: want on, off or numbers of cores such as 0,1", pin)
		}
		cores = append(cores, core)
	}
	return cores, nil
}

// bind binds the calling goroutine to the core of its rank on this host, if --pin requests
// that, until undo is called. Binding may fail on one host and work on others, so its errors
// are not shared with the other ranks.
func bind(ctx context.Context, p *mpi.Process, pin string) (undo func(), err error) {
	nothing := func() {}
	cores, err := parseCores(pin)
	if err != nil || pin == pinOff {
		return nothing, err
	}
	allowed, err := perf.AllowedCores()
	if err != nil {
		return nothing, err
	}
	for _, core := range cores {
		if !slices.Contains(allowed, core) {
			return nothing, fmt.Errorf("bad --pin %q: this process may not run on core %d, only on %v", pin, core, allowed)
		}
	}
	host, err := p.World().SplitType(ctx, mpi.SplitShared, 0, nil)
	if err != nil {
		return nothing, err
	}
	rank, ranks := host.Rank(), host.Size()
	if err := host.Free(); err != nil {
		return nothing, err
	}
	if cores == nil {
		if ranks > len(allowed) {
			return nothing, nil
		}
		cores = allowed
	}
	return perf.PinThread(cores[rank%len(cores)])
}
