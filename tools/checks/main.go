package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// errFailed ends the command with status 1; what failed has been printed.
var errFailed = errors.New("checks: something failed")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := &cobra.Command{
		Use:           "checks",
		Short:         "run the tests of the module in their tiers; see docs/internals/testing.md",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(fastCommand(), neededCommand(), slowCommand(), flakeCommand(), soakCommand(), referencesCommand(), standardCommand(), vulnsCommand(), apiCommand(), wordsCommand())
	if err := root.ExecuteContext(ctx); err != nil {
		if !errors.Is(err, errFailed) {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1)
	}
}
