package command

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/viaduct-hpc/viaduct/mpi/launch"
)

// envOptions say which environment all processes get.
type envOptions struct {
	set       []string
	export    []string
	list      string
	none, all bool
}

func (o *envOptions) flags(f *pflag.FlagSet) {
	f.StringArrayVar(&o.set, "genv", nil, "as -env, for all programs")
	f.StringArrayVarP(&o.export, "x", "x", nil, "K=V is as -genv; K alone passes on a variable of mpiexec's environment, beside -genvnone and -genvlist")
	f.StringVar(&o.list, "genvlist", "", "pass on only these variables of mpiexec's environment, separated by commas")
	f.BoolVar(&o.none, "genvnone", false, "pass on no variable of mpiexec's environment")
	f.BoolVar(&o.all, "genvall", false, "pass on mpiexec's environment (the default)")
}

// apply sets the environment of a job: nil means that of mpiexec.
func (o *envOptions) apply(cfg *launch.Config, environment []string) error {
	if o.all && (o.none || o.list != "") || o.none && o.list != "" {
		return usagef("only one of -genvall, -genvnone and -genvlist can be had")
	}
	keep := strings.Split(o.list, ",")
	var set []string
	for _, pair := range o.export {
		key, _, whole := strings.Cut(pair, "=")
		if whole {
			set = append(set, pair)
			continue
		}
		if !slices.ContainsFunc(environment, func(pair string) bool { return strings.HasPrefix(pair, key+"=") }) {
			return usagef("-x %s: there is no such variable in the environment", key)
		}
		keep = append(keep, key)
	}
	set = append(set, o.set...)
	for _, pair := range set {
		if key, _, ok := strings.Cut(pair, "="); !ok || key == "" {
			return usagef("-genv %s: it is written -genv KEY=VALUE", pair)
		}
	}
	if !o.none && o.list == "" && len(set) == 0 {
		return nil
	}
	cfg.Env = []string{}
	for _, pair := range environment {
		key, _, _ := strings.Cut(pair, "=")
		if !o.none && o.list == "" || slices.Contains(keep, key) {
			cfg.Env = append(cfg.Env, pair)
		}
	}
	cfg.Env = append(cfg.Env, set...)
	return nil
}
