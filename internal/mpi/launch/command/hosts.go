package command

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/internal/mpi/launch"
	"github.com/viaduct-hpc/viaduct/internal/mpi/launch/hosts"
)

// hostOptions say where processes run.
type hostOptions struct {
	list, file, rsh, agent string
	fanout, perHost        int
	mapBy, bindTo          string
	report                 bool
}

func (o *hostOptions) flags(f *pflag.FlagSet) {
	f.StringVar(&o.list, "hosts", "", "run on these hosts: a,b:4,node[01-16]:2 with numbers of slots")
	f.StringVar(&o.file, "hostfile", "", "run on the hosts in a file, one a line: b, b:4 or b slots=4")
	f.IntVar(&o.perHost, "ppn", 0, "processes for each host before the next one gets some")
	f.StringVar(&o.mapBy, "map-by", "", "place ranks by slot (the default), node or ppr:N:node")
	f.StringVar(&o.bindTo, "bind-to", "", "bind each process to a core, hwthread, socket or numa node, or to none (the default)")
	f.BoolVar(&o.report, "report-bindings", false, "say where each process runs, and what it is bound to")
	f.StringVar(&o.rsh, "rsh", "", "command that runs a program on a host, whose name follows it (default: that of the batch system, or ssh)")
	f.StringVar(&o.agent, "agent", "", "path of mpiexec on the hosts, if it is another one")
	f.IntVar(&o.fanout, "fanout", launch.ArityDefault, "hosts that mpiexec, and each host, starts at most")
	program.Group(f, "Where processes run", "hosts", "hostfile", "ppn", "map-by", "bind-to", "report-bindings")
	program.Group(f, "How hosts are reached", "rsh", "agent", "fanout")
}

// ssh starts programs without asking questions, and notices hosts that have gone.
var ssh = []string{"ssh", "-x", "-T", "-oBatchMode=yes", "-oConnectTimeout=30", "-oServerAliveInterval=15", "-oServerAliveCountMax=4", "-oLogLevel=ERROR"}

// apply finds the hosts of a job: those on the command line, or those of an allocation. Without
// either, it runs on this machine.
func (o *hostOptions) apply(cfg *launch.Config, getenv func(string) string) error {
	m, err := o.mapping()
	if err != nil {
		return err
	}
	cfg.Bind, cfg.ReportBindings = o.bindTo, o.report
	allocation, err := hosts.Found(getenv, readFile)
	if err != nil && o.list == "" && o.file == "" {
		return usagef("%v: give --hosts or --hostfile", err)
	}
	h := &launch.Hosts{Map: m, Shell: ssh, Agent: o.agent, Arity: o.fanout, Direct: o.rsh == "", ReachTimeout: cfg.InitTimeout}
	if err == nil && allocation != nil {
		h.List = allocation.Hosts
		if allocation.Shell != nil {
			h.Shell = allocation.Shell
		}
	}
	switch {
	case o.list != "" && o.file != "":
		return usagef("--hosts and --hostfile cannot both be had: give one of them")
	case o.list != "":
		if h.List, err = hosts.Parse(o.list); err != nil {
			return usagef("--hosts: %v", err)
		}
	case o.file != "":
		text, err := readFile(o.file)
		if err == nil {
			h.List, err = hosts.ParseFile(text)
		}
		if path := (*fs.PathError)(nil); errors.As(err, &path) {
			return usagef("--hostfile %s: %v: give a file that you can read, with a host a line", o.file, path.Err)
		}
		if err != nil {
			return usagef("--hostfile %s: %v", o.file, err)
		}
	}
	if o.rsh != "" {
		if h.Shell = strings.Fields(o.rsh); len(h.Shell) == 0 {
			return usagef("--rsh: the command is missing")
		}
	}
	for i := range cfg.Programs {
		switch {
		case cfg.Programs[i].N > 0:
		case len(h.List) > 0 && len(cfg.Programs) == 1:
			cfg.Programs[i].N = m.Slots(h.List)
		default:
			cfg.Programs[i].N = 1
		}
	}
	if len(h.List) == 0 || len(h.List) == 1 && h.Direct && h.Here(h.List[0].Name) {
		return nil
	}
	cfg.Hosts = h
	return nil
}

// mapping returns how ranks are placed.
func (o *hostOptions) mapping() (m hosts.Map, err error) {
	if o.mapBy != "" {
		if m, err = hosts.ParseMap(o.mapBy); err != nil {
			return m, usagef("--map-by: %v", err)
		}
	}
	switch {
	case o.perHost < 0:
		return m, usagef("--ppn %d: a host has 1 process or more", o.perHost)
	case o.perHost > 0 && m.PerHost > 0 && o.perHost != m.PerHost:
		return m, usagef("--ppn %d and --map-by %s contradict each other", o.perHost, o.mapBy)
	case o.perHost > 0:
		m.PerHost = o.perHost
	}
	switch o.bindTo {
	case "", "none", "core", "hwthread", "socket", "numa":
	default:
		return m, usagef("--bind-to %s: it is none, core, hwthread, socket or numa", o.bindTo)
	}
	return m, nil
}

// check finds mistakes before anything is started.
func (o *hostOptions) check(h *launch.Hosts) error {
	if o.fanout < 1 {
		return usagef("--fanout %d: it is 1 or more", o.fanout)
	}
	if _, err := exec.LookPath(h.Shell[0]); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return usagef("%s, which starts programs on hosts, is not in PATH: --rsh names another command", h.Shell[0])
		}
		return usagef("--rsh: %v", err)
	}
	if h.Agent == "" {
		var err error
		if h.Agent, err = os.Executable(); err != nil {
			return usagef("--agent is needed: %v", err)
		}
	}
	// ssh hands it to a shell.
	if plain := "/._+-@%,:="; !filepath.IsAbs(h.Agent) || strings.ContainsFunc(h.Agent, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune(plain, r)
	}) {
		return usagef("--agent %s: it is an absolute path of letters, digits and %s", h.Agent, plain)
	}
	return nil
}

func readFile(name string) (string, error) {
	text, err := os.ReadFile(name)
	return string(text), err
}
