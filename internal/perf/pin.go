package perf

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Cores are the processor cores on which the two sides of a measurement run.
type Cores struct {
	// Pinned: Near is the core of this process and Far that of its peer. Otherwise the
	// kernel chooses, and Near and Far have no meaning.
	Pinned    bool
	Near, Far int
}

// String is the form of the option --pin.
func (c Cores) String() string {
	if !c.Pinned {
		return "off"
	}
	return fmt.Sprintf("%d,%d", c.Near, c.Far)
}

// AllowedCores lists the cores on which this process may run.
func AllowedCores() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("perf: ask for the allowed cores: %w", err)
	}
	var out []int
	for core := range len(set) * strconv.IntSize {
		if set.IsSet(core) {
			out = append(out, core)
		}
	}
	return out, nil
}

// ParsePin reads the option --pin: "on" chooses the first two allowed cores if
// there are two, "off" none, "A,B" exactly these.
func ParsePin(text string) (Cores, error) {
	switch text {
	case "off", "false", "no":
		return Cores{}, nil
	}
	allowed, err := AllowedCores()
	if err != nil {
		return Cores{}, err
	}
	if text == "on" || text == "true" || text == "yes" || text == "" {
		if len(allowed) < 2 {
			return Cores{}, nil
		}
		return Cores{Pinned: true, Near: allowed[0], Far: allowed[1]}, nil
	}
	a, b, ok := strings.Cut(text, ",")
	near, errNear := strconv.Atoi(a)
	far, errFar := strconv.Atoi(b)
	if !ok || errNear != nil || errFar != nil {
		return Cores{}, fmt.Errorf("bad --pin %q: want on, off or two core numbers such as 0,1", text)
	}
	for _, core := range []int{near, far} {
		if !contains(allowed, core) {
			return Cores{}, fmt.Errorf("bad --pin %q: this process may not run on core %d, only on %v", text, core, allowed)
		}
	}
	return Cores{Pinned: true, Near: near, Far: far}, nil
}

func contains(list []int, n int) bool {
	for _, x := range list {
		if x == n {
			return true
		}
	}
	return false
}

// PinThread locks the calling goroutine to its thread and the thread to a core until undo
// is called. Only this thread is bound. The runtime's other threads, which sleep during a
// measurement, stay where the kernel puts them. The runtime never starts a thread as the
// child of a locked one, so neither those threads nor child processes inherit the
// binding.
func PinThread(core int) (undo func(), err error) {
	runtime.LockOSThread()
	var before, only unix.CPUSet
	if err = unix.SchedGetaffinity(0, &before); err == nil {
		only.Set(core)
		err = unix.SchedSetaffinity(0, &only)
	}
	if err != nil {
		runtime.UnlockOSThread()
		return nil, fmt.Errorf("perf: bind the thread to core %d: %w", core, err)
	}
	return func() {
		// A thread that cannot be released stays locked: it then ends with its goroutine.
		if unix.SchedSetaffinity(0, &before) == nil {
			runtime.UnlockOSThread()
		}
	}, nil
}
