package rma

import (
	"strconv"
	"strings"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/info"
)

// Keys of a window's hints (MPI-4.1, 12.2.1 to 12.2.3).
const (
	keyNoLocks      = "no_locks"
	keyOrdering     = "accumulate_ordering"
	keyOps          = "accumulate_ops"
	keyGranularity  = "mpi_accumulate_granularity"
	keySameSize     = "same_size"
	keySameDispUnit = "same_disp_unit"
	keyNoncontig    = "alloc_shared_noncontig"
)

// hints are the hints that a window uses.
type hints struct {
	noLocks, sameSize, sameUnit, noncontig bool
	given                                  *info.Info // checked; what Info returns, with defaults
}

// hintsOf checks hints. Keys that are not known are ignored, as the standard asks (MPI-4.1, 10).
func hintsOf(in *info.Info) (h hints, err error) {
	h.given = new(info.Info)
	for _, k := range []struct {
		key, otherwise string
		to             *bool
	}{
		{keyNoLocks, "false", &h.noLocks}, {keySameSize, "false", &h.sameSize},
		{keySameDispUnit, "false", &h.sameUnit}, {keyNoncontig, "false", &h.noncontig},
	} {
		value, ok := in.Get(k.key)
		if !ok {
			value = k.otherwise
		}
		if *k.to, err = truth(k.key, value); err != nil {
			return h, err
		}
		if err := h.given.Set(k.key, value); err != nil {
			return h, err
		}
	}
	for _, k := range []struct {
		key, otherwise string
		check          func(string) bool
	}{
		{keyOrdering, "rar,raw,war,waw", isOrdering},
		{keyOps, "same_op_no_op", func(v string) bool { return v == "same_op" || v == "same_op_no_op" }},
		{keyGranularity, "0", func(v string) bool { n, err := strconv.Atoi(v); return err == nil && n >= 0 }},
	} {
		value, ok := in.Get(k.key)
		if !ok {
			value = k.otherwise
		}
		if !k.check(value) {
			return h, errclass.New(errclass.InfoValue, "%q is no value of %s", value, k.key)
		}
		if err := h.given.Set(k.key, value); err != nil {
			return h, err
		}
	}
	return h, nil
}

func truth(key, value string) (bool, error) {
	switch value {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, errclass.New(errclass.InfoValue, "%q is no value of %s: give true or false", value, key)
}

func isOrdering(v string) bool {
	if v == "none" {
		return true
	}
	for _, part := range strings.Split(v, ",") {
		switch part {
		case "rar", "raw", "war", "waw":
		default:
			return false
		}
	}
	return true
}

// SetInfo sets the window's hints and keeps a copy of them. no_locks stays as it was when the window
// was made, and accumulates keep their order whatever the hints are (MPI_Win_set_info; MPI-4.1,
// 12.2.8).
func (w *Win) SetInfo(in *info.Info) error {
	return w.local("MPI_Win_set_info", func() error {
		h, err := hintsOf(in)
		if err == nil {
			err = h.given.Set(keyNoLocks, strconv.FormatBool(w.hints.noLocks))
		}
		if err != nil {
			return err
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.hints.given = h.given
		return nil
	})
}

// Info returns a copy of the hints that are in use (MPI_Win_get_info; MPI-4.1, 12.2.8).
func (w *Win) Info() *info.Info {
	if w == nil {
		return new(info.Info)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	dup, err := w.hints.given.Dup()
	if err != nil {
		return new(info.Info)
	}
	return dup
}
