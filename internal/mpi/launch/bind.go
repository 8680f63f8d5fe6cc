package launch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrBind marks a binding that does not exist.
var ErrBind = errors.New("processes cannot be bound so")

// A binding is a list of sets of processors of this host. Each process is bound to the next set in
// turn. nil: processes are not bound.
type binding []unix.CPUSet

// newBinding returns the binding of a kind. It has only processors that this program may use.
func newBinding(kind string) (binding, error) {
	if kind == "" || kind == "none" {
		return nil, nil
	}
	name, known := map[string]string{
		"hwthread": "", "core": "topology/core_cpus_list", "socket": "topology/package_cpus_list", "numa": "node",
	}[kind]
	if !known {
		return nil, fmt.Errorf("%w: --bind-to none, core, hwthread, socket or numa, not %s", ErrBind, kind)
	}
	var ours unix.CPUSet
	if err := unix.SchedGetaffinity(0, &ours); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBind, err)
	}
	var b binding
	var seen unix.CPUSet
	for cpu := range len(ours) * 64 {
		if !ours.IsSet(cpu) || seen.IsSet(cpu) {
			continue
		}
		set := siblings(cpu, name, &ours)
		for other := range len(set) * 64 {
			if set.IsSet(other) {
				seen.Set(other)
			}
		}
		b = append(b, set)
	}
	return b, nil
}

// siblings returns the processors of the same core, socket or NUMA node that are in ours. Where the
// kernel does not tell, a processor is alone.
func siblings(cpu int, name string, ours *unix.CPUSet) (set unix.CPUSet) {
	set.Set(cpu)
	folder := "/sys/devices/system/cpu/cpu" + strconv.Itoa(cpu)
	switch name {
	case "":
		return set
	case "node":
		found, _ := filepath.Glob(folder + "/node[0-9]*") // the pattern is valid
		if len(found) == 0 {
			return siblings(cpu, "topology/package_cpus_list", ours)
		}
		folder, name = found[0], "cpulist"
	}
	text, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		return set
	}
	for one := range strings.SplitSeq(strings.TrimSpace(string(text)), ",") {
		low, high, isRange := strings.Cut(one, "-")
		first, err1 := strconv.Atoi(low)
		last, err2 := strconv.Atoi(high)
		if !isRange {
			last, err2 = first, nil
		}
		if err1 != nil || err2 != nil {
			continue
		}
		for n := first; n <= last && n < len(set)*64; n++ {
			if ours.IsSet(n) {
				set.Set(n)
			}
		}
	}
	return set
}

// of returns the processors of the process with a number on this host.
func (b binding) of(local int) *unix.CPUSet {
	if len(b) == 0 {
		return nil
	}
	return &b[local%len(b)]
}

// with binds the calling thread while do runs, so that a process that do starts is bound.
func with(set *unix.CPUSet, do func() error) error {
	if set == nil {
		return do()
	}
	var before unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return err
	}
	if err := unix.SchedSetaffinity(0, set); err != nil {
		return err
	}
	defer func() { _ = unix.SchedSetaffinity(0, &before) }() // it was allowed before
	return do()
}

// describe returns a set as the kernel writes it: 0-3,8.
func describe(set *unix.CPUSet) string {
	var text []string
	for cpu := 0; cpu < len(set)*64; cpu++ {
		if !set.IsSet(cpu) {
			continue
		}
		first := cpu
		for cpu+1 < len(set)*64 && set.IsSet(cpu+1) {
			cpu++
		}
		if first == cpu {
			text = append(text, strconv.Itoa(first))
		} else {
			text = append(text, fmt.Sprintf("%d-%d", first, cpu))
		}
	}
	return strings.Join(text, ",")
}
