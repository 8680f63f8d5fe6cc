package program

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/version"
)

func TestUsageMarksAnErrorAndKeepsItsWords(t *testing.T) {
	err := Usage(fmt.Errorf("bad --size: %w", io.ErrUnexpectedEOF))
	assert.ErrorIs(t, err, ErrUsage)
	assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
	assert.EqualError(t, err, "bad --size: unexpected EOF")
	assert.EqualError(t, Usagef("bad --jobs %d", -1), "bad --jobs -1")
	assert.NotErrorIs(t, io.EOF, ErrUsage)
}

func TestExitCodeOfTheCommandAndItsOwn(t *testing.T) {
	lost, both := errors.New("lost"), errors.New("both")
	own := []Exit{{Code: 7, Errors: []error{io.EOF, lost}}, {Code: 8, Errors: []error{both}}, {Code: 9, Errors: []error{both}}}
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, ExitOK},
		{errors.New("x"), ExitFailed},
		{Usagef("x"), ExitUsage},
		{bmi.ErrBadAddress, ExitUsage},
		{bmi.ErrUnknownMethod, ExitUsage},
		{bmi.TakenError("tcp://here:1", syscall.EADDRINUSE), ExitInUse},
		{bmi.PeerError(bmi.ErrUnreachable, "tcp://here:1", io.ErrUnexpectedEOF), ExitNobody},
		{context.Canceled, ExitInterrupted},
		{io.EOF, 7},
		{fmt.Errorf("at home: %w", lost), 7},
		{both, 8},
		{errors.Join(lost, Usagef("x")), ExitUsage},
		{errors.Join(lost, context.Canceled), ExitInterrupted},
	} {
		assert.Equal(t, c.want, ExitCode(c.err, own), c.err)
	}
}

func TestExplain(t *testing.T) {
	assert.Equal(t, "interrupted", Explain(fmt.Errorf("rpc: %w", context.Canceled)))
	assert.Contains(t, Explain(bmi.ErrUnknownMethod), "; available: "+MethodList())
	_, unknown := bmi.Open(t.Context(), bmi.Config{Methods: []string{"pigeon"}})
	require.ErrorIs(t, unknown, bmi.ErrUnknownMethod)
	assert.Equal(t, unknown.Error(), Explain(unknown), "it lists the methods itself")
	assert.Equal(t, "EOF", Explain(io.EOF))
}

// This test binary links no method.
func TestMethodsOfAProgramWithout(t *testing.T) {
	assert.Empty(t, Methods())
	assert.Contains(t, MethodList(), "none")
}

func TestComplainNamesTheProgramOnce(t *testing.T) {
	var out bytes.Buffer
	Complain(&out, "pvfs", "pvfs: no such file", ExitFailed)
	assert.Equal(t, "pvfs: no such file\n", out.String())
	out.Reset()
	Complain(&out, "pvfs", "bad -x", ExitUsage)
	assert.Equal(t, "pvfs: bad -x\nRun 'pvfs help' or 'pvfs COMMAND --help' for how it is used.\n", out.String())
}

func TestRoot(t *testing.T) {
	var out bytes.Buffer
	run := func(args ...string) error {
		out.Reset()
		root := Root(&cobra.Command{Use: "tool", Long: "A tool."}, &out, &out)
		two := &cobra.Command{Use: "status", Args: Between(1, 2, "a NAME or two"), RunE: func(*cobra.Command, []string) error { return io.EOF }}
		many := &cobra.Command{Use: "many", Args: Between(1, -1, "one NAME or more"), RunE: func(*cobra.Command, []string) error { return io.EOF }}
		two.Flags().Int("count", 0, "")
		DurationFlag(two.Flags(), new(time.Duration), "wait", 0, "")
		root.AddCommand(two, many, VersionCommand(&out))
		root.SetArgs(args)
		return root.Execute()
	}
	require.NoError(t, run())
	assert.Contains(t, out.String(), "A tool.")
	for _, c := range []struct{ args, want []string }{
		{[]string{"statsu"}, []string{`unknown command "statsu"; did you mean status?`}},
		{[]string{"nothing-like-it"}, []string{`unknown command "nothing-like-it"`}},
		{[]string{"status"}, []string{"tool status takes a NAME or two, not 0 arguments"}},
		{[]string{"status", "a", "b", "c"}, []string{"not 3 arguments"}},
		{[]string{"many"}, []string{"tool many takes one NAME or more"}},
		{[]string{"version", "x"}, []string{"takes no arguments"}},
		{[]string{"--strange"}, []string{"tool has no option --strange"}},
		{[]string{"status", "--cuont", "3"}, []string{"tool status has no option --cuont; did you mean --count?"}},
		{[]string{"status", "--count", "x"}, []string{"--count x: want a whole number"}},
		{[]string{"status", "--wait", "x"}, []string{"--wait x: want a time with its unit, such as 200ms, 3s or 1m30s"}},
		{[]string{"status", "--count"}, []string{"--count needs a value behind it"}},
	} {
		err := run(c.args...)
		assert.ErrorIs(t, err, ErrUsage, c.args)
		for _, want := range c.want {
			assert.ErrorContains(t, err, want)
		}
		assert.Empty(t, out.String(), "errors are Complain's")
	}
	assert.Equal(t, io.EOF, run("status", "a", "b"))
	assert.Equal(t, io.EOF, run("many", "a", "b", "c"))
	for _, how := range []string{"version", "--version"} {
		require.NoError(t, run(how))
		assert.Equal(t, version.Line("tool"), out.String())
	}
}

func TestInterruptible(t *testing.T) {
	ctx, stop := Interruptible(context.Background())
	defer stop()
	require.NoError(t, ctx.Err())
	self, err := os.FindProcess(os.Getpid())
	require.NoError(t, err)
	require.NoError(t, self.Signal(syscall.SIGTERM))
	<-ctx.Done()
	assert.ErrorIs(t, ctx.Err(), context.Canceled)
}

func TestProgress(t *testing.T) {
	var out bytes.Buffer
	none := NewProgress(&out, "x", false)
	assert.Nil(t, none)
	none.Begin(1)
	none.Set(1)
	none.Add(1)
	none.End()

	p := NewProgress(&out, "sending", true)
	p.Set(5) // nothing is known yet
	p.Begin(1000).Set(10)
	p.Add(10)
	assert.Empty(t, out.String(), "a short transfer shows nothing")
	p.start = p.start.Add(-2 * progressAfter)
	require.Eventually(t, func() bool { // the bar is drawn only so often
		p.Set(500)
		return strings.Contains(out.String(), "sending")
	}, time.Minute, 10*time.Millisecond)
	p.End()
}

func TestRate(t *testing.T) {
	assert.Equal(t, "3000000 bytes in 1.5s (2 MB/s)", Rate(3_000_000, 1500*time.Millisecond))
	assert.Contains(t, Rate(0, 0), "0 bytes in 0s (0 MB/s)")
}
