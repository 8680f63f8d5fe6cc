package command

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/internal/mpi/launch"
)

// envOptions say which environment all processes get.
type envOptions struct {
	set       []string
	export    []string
	list      string
	none, all bool
}

func (o *envOptions) flags(f *pflag.FlagSet) {
	f.StringArrayVar(&o.set, "genv", nil, "as --env, for all programs")
	f.StringArrayVarP(&o.export, "x", "x", nil, "K=V is as --genv; K alone passes on a variable of mpiexec's environment, whatever --genvnone and --genvlist say")
	f.StringVar(&o.list, "genvlist", "", "pass on only these variables of mpiexec's environment, separated by commas")
	f.BoolVar(&o.none, "genvnone", false, "pass on no variable of mpiexec's environment")
	f.BoolVar(&o.all, "genvall", false, "pass on mpiexec's environment (the default)")
	program.Group(f, "The environment of the processes", "genv", "x", "genvlist", "genvnone", "genvall")
}

// apply sets the environment of a job: nil means that of mpiexec.
func (o *envOptions) apply(cfg *launch.Config, environment []string) error {
	if o.all && (o.none || o.list != "") || o.none && o.list != "" {
		return usagef("only one of --genvall, --genvnone and --genvlist may be given")
	}
	set, err := o.pairs(environment)
	if err != nil {
		return err
	}
	for i := range cfg.Programs {
		cfg.Programs[i].Env = slices.Concat(set, cfg.Programs[i].Env)
	}
	if !o.none && o.list == "" {
		return nil
	}
	keep := strings.Split(o.list, ",")
	cfg.Env = slices.DeleteFunc(slices.Clone(environment), func(pair string) bool {
		key, _, _ := strings.Cut(pair, "=")
		return !slices.Contains(keep, key)
	})
	return nil
}

// pairs returns the variables that are set or named one by one. They are passed on although they may
// belong to this host.
func (o *envOptions) pairs(environment []string) (set []string, err error) {
	for _, pair := range o.export {
		if !strings.Contains(pair, "=") {
			i := slices.IndexFunc(environment, func(one string) bool { return strings.HasPrefix(one, pair+"=") })
			if i < 0 {
				return nil, usagef("-x %s: there is no such variable in the environment", pair)
			}
			pair = environment[i]
		}
		set = append(set, pair)
	}
	set = append(set, o.set...)
	for _, pair := range set {
		if key, _, ok := strings.Cut(pair, "="); !ok || key == "" {
			return nil, usagef("--genv %s: it is written --genv KEY=VALUE", pair)
		}
	}
	return set, nil
}
