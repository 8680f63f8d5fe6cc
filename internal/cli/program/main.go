package program

import (
	"context"
	"fmt"
	"io"
	"os/signal"
	"strings"
	"syscall"
)

// Interruptible is a context that SIGINT and SIGTERM end; a second one ends the process at once.
// The function that comes with it makes both signals what they were.
func Interruptible(ctx context.Context) (context.Context, func()) {
	ctx, restore := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	still := context.AfterFunc(ctx, restore)
	return ctx, func() { still(); restore() }
}

// Complain says on w why a command ends with a code, and how to find out how it is used if that
// is what went wrong.
func Complain(w io.Writer, command, text string, code int) {
	fmt.Fprintf(w, "%s: %s\n", command, strings.TrimPrefix(text, command+": "))
	if code == ExitUsage {
		fmt.Fprintf(w, "Run '%s help' or '%s COMMAND -help' for how it is used.\n", command, command)
	}
}
