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
// also says how to get help. The names of the command and of package bmi stand before the text of
// many errors, and would stand within that of others.
func Complain(w io.Writer, command, text string, code int) {
	complain(w, command, text)
	if code == ExitUsage {
		fmt.Fprintf(w, "Run '%s help' or '%s COMMAND --help' for how it is used.\n", command, command)
	}
}

// ComplainAlone is Complain for a program without subcommands.
func ComplainAlone(w io.Writer, command, text string, code int) {
	complain(w, command, text)
	if code == ExitUsage {
		fmt.Fprintf(w, "Run '%s --help' for how it is used.\n", command)
	}
}

func complain(w io.Writer, command, text string) {
	for _, name := range []string{command, "bmi"} {
		text = strings.ReplaceAll(strings.TrimPrefix(text, name+": "), ": "+name+": ", ": ")
	}
	fmt.Fprintf(w, "%s %s\n", StyleOf(w).Bad(command+":"), text)
}
