package main

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// machine is the properties of the machine on which the numbers depend, read at
// run time.
type machine struct {
	CPU    string `json:"cpu"`
	CPUs   int    `json:"cpus"`
	Cores  string `json:"cores"`
	Kernel string `json:"kernel"`
	Memory string `json:"memory"`
	Go     string `json:"go"`
	Date   string `json:"date"`
	Load   string `json:"load_before"`
	// Versions of the peers that report theirs.
	Versions map[string]string `json:"versions"`
}

func lookAtMachine(cfg config) machine {
	m := machine{
		CPU:      field("/proc/cpuinfo", "model name"),
		CPUs:     runtime.NumCPU(),
		Cores:    cfg.cores.String(),
		Memory:   field("/proc/meminfo", "MemTotal"),
		Go:       runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH,
		Date:     time.Now().UTC().Format("2006-01-02 15:04 MST"),
		Load:     firstLine("/proc/loadavg"),
		Versions: make(map[string]string),
	}
	if m.CPU == "" {
		m.CPU = "(unknown)"
	}
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		m.Kernel = unix.ByteSliceToString(name.Sysname[:]) + " " + unix.ByteSliceToString(name.Release[:])
	}
	for method, line := range map[string][]string{
		openMPI:   {"mpirun.openmpi", "--version"},
		mpich:     {"mpichversion"},
		ucx:       {"ucx_info", "-v"},
		libfabric: {"fi_info", "--version"},
	} {
		if out, err := exec.Command(line[0], line[1:]...).Output(); err == nil {
			first, _, _ := strings.Cut(string(out), "\n")
			m.Versions[method] = strings.TrimSpace(strings.TrimPrefix(first, "#"))
		}
	}
	return m
}

// field is the value of the first line "name : value" of a file.
func field(file, name string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		key, value, ok := strings.Cut(line, ":")
		if ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func firstLine(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return line
}
