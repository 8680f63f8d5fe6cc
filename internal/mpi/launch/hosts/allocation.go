package hosts

import (
	"fmt"
	"strings"
)

// An Allocation is the hosts that a batch system gave to the job in which the launcher runs.
type Allocation struct {
	System string // the batch system's name
	Hosts  []Host
	// Shell starts a command on one of the hosts, whose name follows it; nil: the user's choice.
	Shell []string
}

// Found finds the allocation in an environment; there may be none, which is nil. read reads the files
// that the environment names.
func Found(getenv func(string) string, read func(name string) (string, error)) (*Allocation, error) {
	for _, system := range []struct {
		name, variable string
		find           func(value string, getenv func(string) string, read func(string) (string, error)) ([]Host, error)
		shell          []string
	}{
		{"Slurm", "SLURM_JOB_NODELIST", slurm, slurmShell},
		{"Slurm", "SLURM_NODELIST", slurm, slurmShell},
		{"LSF", "LSB_DJOB_HOSTFILE", file, []string{"blaunch"}},
		{"LSF", "LSB_MCPU_HOSTS", lsf, []string{"blaunch"}},
		{"Grid Engine", "PE_HOSTFILE", gridEngine, []string{"qrsh", "-inherit"}},
		{"PBS", "PBS_NODEFILE", file, nil},
		{"Cobalt", "COBALT_NODEFILE", file, nil},
	} {
		value := getenv(system.variable)
		if value == "" {
			continue
		}
		found, err := system.find(value, getenv, read)
		if err != nil {
			return nil, fmt.Errorf("the allocation of %s in %s: %w", system.name, system.variable, err)
		}
		return &Allocation{System: system.name, Hosts: found, Shell: system.shell}, nil
	}
	return nil, nil
}

// slurmShell starts one task on one node of the allocation, beside the other tasks there. Agents bind
// their processes themselves.
var slurmShell = []string{"srun", "--quiet", "--overlap", "--mpi=none", "--cpu-bind=none", "--mem=0", "--nodes=1", "--ntasks=1", "--input=0", "--nodelist"}

func slurm(value string, getenv func(string) string, _ func(string) (string, error)) ([]Host, error) {
	names, err := expand(value)
	if err != nil {
		return nil, err
	}
	counts := getenv("SLURM_TASKS_PER_NODE")
	if counts == "" {
		counts = getenv("SLURM_JOB_CPUS_PER_NODE")
	}
	var each []int
	if counts != "" {
		if each, err = tasks(counts); err != nil {
			return nil, err
		}
	}
	var l list
	for i, name := range names {
		h := Host{name, 1}
		if i < len(each) {
			h.Slots = each[i]
		}
		if err := l.add(h); err != nil {
			return nil, err
		}
	}
	return l.result()
}

func file(value string, _ func(string) string, read func(string) (string, error)) ([]Host, error) {
	text, err := read(value)
	if err != nil {
		return nil, err
	}
	return ParseFile(text)
}

// lsf parses "a 4 b 2".
func lsf(value string, _ func(string) string, _ func(string) (string, error)) ([]Host, error) {
	var l list
	words := strings.Fields(value)
	for i := 0; i < len(words); i += 2 {
		if i+1 == len(words) {
			return nil, bad("%.60q has no number of processes", words[i])
		}
		n, err := slots(words[i+1])
		if err == nil {
			err = checkName(words[i])
		}
		if err == nil {
			err = l.add(Host{words[i], n})
		}
		if err != nil {
			return nil, err
		}
	}
	return l.result()
}

// gridEngine parses lines of name, slots, queue and processors.
func gridEngine(value string, _ func(string) string, read func(string) (string, error)) ([]Host, error) {
	text, err := read(value)
	if err != nil {
		return nil, err
	}
	var l list
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if len(words) < 2 {
			return nil, bad("%.60q has no number of processes", line)
		}
		n, err := slots(words[1])
		if err == nil {
			err = checkName(words[0])
		}
		if err == nil {
			err = l.add(Host{words[0], n})
		}
		if err != nil {
			return nil, err
		}
	}
	return l.result()
}
