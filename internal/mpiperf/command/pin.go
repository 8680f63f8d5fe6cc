package command

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/viaduct-hpc/viaduct/internal/perf"
	"github.com/viaduct-hpc/viaduct/mpi"
)

// What -pin says besides numbers of cores.
const (
	pinOn  = "on"
	pinOff = "off"
)

// parseCores reads the numbers of cores in -pin; there are none in on and off.
func parseCores(pin string) (cores []int, err error) {
	if pin == pinOn || pin == pinOff {
		return nil, nil
	}
	for word := range strings.SplitSeq(pin, ",") {
		core, err := strconv.Atoi(word)
		if err != nil || core < 0 {
			return nil, usageError{fmt.Errorf("bad -pin %q: want on, off or numbers of cores such as 0,1", pin)}
		}
		cores = append(cores, core)
	}
	return cores, nil
}

// bind binds the calling goroutine to the core that its rank has on this host, if -pin wants
// that, until undo is called. Where that cannot be, others perhaps can: its errors are not
// everybody's.
func bind(p *mpi.Process, pin string) (undo func(), err error) {
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
			return nothing, fmt.Errorf("bad -pin %q: this process may not run on core %d, only on %v", pin, core, allowed)
		}
	}
	host, err := p.World().SplitType(mpi.SplitShared, 0, nil)
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
