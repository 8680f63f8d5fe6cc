package tool

import (
	"slices"

	"github.com/viaduct-hpc/viaduct/bmi/about"
)

// lock locks the session of a handle that can be used.
func (h *Handle) lock() (unlock func(), err error) {
	if h == nil {
		return nil, fail(ErrInvalidHandle, "there is no handle: Session.Handle returns one")
	}
	h.s.mu.Lock()
	switch {
	case h.s.freed:
		err = fail(ErrInvalidSession, "the session of %s is over", h.Name)
	case h.freed:
		err = fail(ErrInvalidHandle, "the handle of %s was freed", h.Name)
	default:
		return h.s.mu.Unlock, nil
	}
	h.s.mu.Unlock()
	return nil, err
}

// Start begins, or continues, to measure; a HighWatermark begins with the present level
// (MPI_T_pvar_start; MPI-4.1, 15.3.7). It does nothing if the handle is started.
func (h *Handle) Start() error { return h.startStop((*Handle).start) }

// Stop ends to measure; Read then returns what was measured (MPI_T_pvar_stop; MPI-4.1, 15.3.7). It
// does nothing if the handle is not started.
func (h *Handle) Stop() error { return h.startStop((*Handle).stop) }

func (h *Handle) startStop(do func(h *Handle, now snapshot)) error {
	unlock, err := h.lock()
	if err != nil {
		return err
	}
	defer unlock()
	if h.Continuous {
		return fail(ErrPvarNoStartStop, "%s is a %s, which is measured all the time", h.Name, h.Class)
	}
	do(h, make(snapshot))
	return nil
}

// Read returns the value: one number, or one for each rank (MPI_T_pvar_read; MPI-4.1, 15.3.7).
func (h *Handle) Read() ([]uint64, error) {
	unlock, err := h.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	return h.value(make(snapshot)), nil
}

// ReadReset is Read and Reset in one step: nothing that happens in between is lost
// (MPI_T_pvar_readreset; MPI-4.1, 15.3.7).
func (h *Handle) ReadReset() ([]uint64, error) {
	unlock, err := h.lockToWrite()
	if err != nil {
		return nil, err
	}
	defer unlock()
	if h.mark != nil {
		was := max(h.highest, h.mark.Reset())
		h.highest = 0
		return []uint64{was}, nil
	}
	now := make(snapshot)
	value := h.value(now)
	h.reset(now)
	return value, nil
}

// Reset makes a count 0, and the present level the highest (MPI_T_pvar_reset; MPI-4.1, 15.3.7).
func (h *Handle) Reset() error {
	unlock, err := h.lockToWrite()
	if err != nil {
		return err
	}
	defer unlock()
	h.reset(make(snapshot))
	return nil
}

// Write changes the value in this handle (MPI_T_pvar_write; MPI-4.1, 15.3.7): one number, or as many
// as Read returns.
func (h *Handle) Write(value ...uint64) error {
	unlock, err := h.lockToWrite()
	if err != nil {
		return err
	}
	defer unlock()
	if len(value) != len(h.sum) && h.Class != about.HighWatermark || len(value) == 0 {
		return fail(ErrInvalid, "%s has %d values, not %d", h.Name, len(h.sum), len(value))
	}
	h.reset(make(snapshot))
	if h.Class == about.HighWatermark {
		h.highest = value[0]
	} else {
		copy(h.sum, value)
	}
	return nil
}

func (h *Handle) lockToWrite() (unlock func(), err error) {
	if unlock, err = h.lock(); err == nil && h.ReadOnly {
		unlock()
		err = fail(ErrPvarNoWrite, "%s is a %s, which can only be read", h.Name, h.Class)
	}
	return unlock, err
}

// Free ends the handle (MPI_T_pvar_handle_free; MPI-4.1, 15.3.7). The end of its session does so,
// too.
func (h *Handle) Free() error {
	unlock, err := h.lock()
	if err != nil {
		return err
	}
	defer unlock()
	h.end()
	h.s.handles = slices.DeleteFunc(h.s.handles, func(other *Handle) bool { return other == h })
	return nil
}

// What follows is called with the session locked.

func (h *Handle) end() {
	h.freed = true
	if h.mark != nil {
		h.mark.Stop()
		h.mark = nil
	}
}

func (h *Handle) start(now snapshot) {
	if h.running {
		return
	}
	h.running = true
	c := now.of(h)
	if h.Class == about.HighWatermark {
		if c.Watch != nil {
			h.mark = c.Watch()
		}
		return
	}
	h.base = fitted(c.Values, len(h.sum))
}

func (h *Handle) stop(now snapshot) {
	if !h.running {
		return
	}
	if h.mark != nil {
		h.highest = max(h.highest, h.mark.Highest())
		h.mark.Stop()
		h.mark = nil
	} else {
		h.sum = h.value(now)
	}
	h.running = false
}

func (h *Handle) reset(now snapshot) {
	h.highest = 0
	clear(h.sum)
	switch {
	case h.mark != nil:
		h.mark.Reset()
	case h.running:
		h.base = fitted(now.of(h).Values, len(h.sum))
	}
}

// value returns the present value.
func (h *Handle) value(now snapshot) []uint64 {
	switch {
	case h.Continuous:
		return fitted(now.of(h).Values, len(h.sum))
	case h.mark != nil:
		return []uint64{max(h.highest, h.mark.Highest())}
	case h.Class == about.HighWatermark:
		return []uint64{h.highest}
	case !h.running:
		return slices.Clone(h.sum)
	}
	value := fitted(now.of(h).Values, len(h.sum))
	for i := range value {
		// What a connection had counted is gone with it, if it was forgotten.
		value[i] = h.sum[i] + value[i] - min(value[i], h.base[i])
	}
	return value
}

// fitted returns a copy of some values, with zeros for those that are not known any more.
func fitted(values []uint64, n int) []uint64 {
	all := make([]uint64, n)
	copy(all, values)
	return all
}
