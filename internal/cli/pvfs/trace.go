package pvfs

import (
	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
)

// traced adds the option --trace to a command. What a mount in the background does is traced by the process in the background.
func (a *App) traced(cmd *cobra.Command) {
	plain := cmd.RunE
	program.TraceFlag(cmd, func() error { return a.mounts.close() })
	traced := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if background, err := cmd.Flags().GetBool("background"); err == nil && background && !isChild() {
			return plain(cmd, args)
		}
		return traced(cmd, args)
	}
}
