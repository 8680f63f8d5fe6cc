package program

import (
	"context"
	"fmt"
	"io"
	"os/signal"
	"strings"
	"syscall"
)

// Interruptible returns a context that SIGINT and SIGTERM end; a second signal ends the process
// at once. The returned function restores the default handling of both signals.
func Interruptible(ctx context.Context) (context.Context, func()) {
	ctx, restore := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	still := context.AfterFunc(ctx, restore)
	return ctx, func() { still(); restore() }
}

// Complain prints to w why a command ends with a code. After a mistake in the command line it
// also says how to get help.
func Complain(w io.Writer, command, text string, code int) {
	fmt.Fprintf(w, "%s: %s\n", command, strings.TrimPrefix(text, command+": "))
	if code == ExitUsage {
		fmt.Fprintf(w, "Run '%s help' or '%s COMMAND -help' for how it is used.\n", command, command)
	}
}
