package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
)

const pluginsRunUsage = "bmi plugins run takes a PATH and, behind --, a command of bmi, for instance: bmi plugins run bin/bmi-method-via -- perf via+shm"

func (a *App) pluginsRunCommand() *cobra.Command {
	var flags pluginFlags
	cmd := &cobra.Command{
		Use:   "run PATH [flags] -- COMMAND [ARGS...]",
		Short: "Run another command of bmi with the methods of a plugin",
		Long: `Run loads the plugin and runs another command of bmi. The methods of the plugin
replace bmi's own methods of the same names. If the command starts the other side
(bmi perf METHOD), they do so on both.

` + exitHelp,
		Example: `  bmi plugins run bin/bmi-method-via -- perf via+shm --sizes 8
  bmi plugins run ./bmi-method-mine --env MINE_DEVICE=0 -- serve mine://here`,
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() != 1 || len(args) < 2 {
				return program.Usagef("%s", pluginsRunUsage)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.pluginsRun(cmd.Context(), args[0], flags, args[1:])
		},
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return program.Usage(fmt.Errorf("%w; the command and its options go behind --", program.FlagError(cmd, err)))
	})
	flags.register(cmd)
	return cmd
}

func (a *App) pluginsRun(ctx context.Context, path string, flags pluginFlags, command []string) (err error) {
	path, err = pluginFile(path)
	if err != nil {
		return err
	}
	p, err := flags.load(ctx, path, a.warnings())
	if err != nil {
		return err
	}
	defer unload(p, &err)
	inner := *a
	inner.self = slices.Concat(a.self, []string{"plugins", "run", path}, flags.args(), []string{"--"})
	root := inner.root()
	return program.Execute(ctx, root, command)
}
