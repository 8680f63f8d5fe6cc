package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/cli"
	"github.com/viaduct-hpc/viaduct/internal/freeport"
	"github.com/viaduct-hpc/viaduct/internal/sayonce"
)

// TestMessages: what users get for the usual mistakes says once what happened, with what, and what to do.
func TestMessages(t *testing.T) {
	dir := t.TempDir()
	key, other := filepath.Join(dir, "key"), filepath.Join(dir, "other")
	require.NoError(t, os.WriteFile(key, []byte(strings.Repeat("5eed", 16)), 0o600))
	require.NoError(t, os.WriteFile(other, []byte(strings.Repeat("0ddb", 16)), 0o600))
	serve := func(address string, env ...string) string {
		p := command(t, "serve", address)
		p.cmd.Env = append(p.cmd.Env, env...)
		p.start()
		require.Eventually(t, func() bool {
			ping := command(t, "ping", address, "--count", "1")
			ping.cmd.Env = append(ping.cmd.Env, env...)
			return ping.start().wait() == cli.ExitOK
		}, waitMax, 1)
		return address
	}
	tcp := serve("tcp://" + freeport.Address(t))
	udp := serve("via+udp://"+freeport.Address(t), "VIADUCT_UDP_KEY_FILE="+key)
	tcps := serve("tcps://"+freeport.Address(t), "VIADUCT_TLS_SECRET="+key)
	_, port, _ := strings.Cut(tcp, "://")
	free := freeport.Address(t)
	for _, c := range []struct {
		line string
		env  string // K=V
		code int
		says string // all of it, but for the hint at the help; * is any text
	}{
		{"ping via+shm://absent", "", cli.ExitNobody, "bmi: nobody answers at via+shm://absent, check the address and that the other side runs: no process listens under this name in *, nor in * (VIADUCT_SHM_TRUST adds users)"},
		{"ping tcp://" + free, "", cli.ExitNobody, "bmi: nobody answers at tcp://" + free + ", check the address and that the other side runs: connection refused"},
		{"ping via+udp://" + free, "VIADUCT_UDP_KEY_FILE=" + key, cli.ExitNobody, "bmi: nobody answers at via+udp://" + free + ", check the address and that the other side runs: no process has this port there, says the machine"},
		{"ping " + udp, "", cli.ExitFailed, "bmi: cannot open method via+udp: udp: connections need a key that all sides share: put one into a file *"},
		{"ping " + udp, "VIADUCT_UDP_KEY_FILE=" + other, cli.ExitPeerFailed, "bmi: the connection to " + udp + " was refused: the other side refused us: its shared key is a different one: give both sides the same (see VIADUCT_UDP_KEY_FILE)"},
		{"ping " + udp, "VIADUCT_UDP_INSECURE=1", cli.ExitPeerFailed, "bmi: the connection to " + udp + " was refused: this side is insecure and the other one has a shared key: give this side the key (see VIADUCT_UDP_KEY_FILE)"},
		{"ping " + udp, "VIADUCT_UDP_KEY_FILE=/no/key", cli.ExitFailed, "bmi: cannot open method via+udp: udp: VIADUCT_UDP_KEY_FILE: shared key: open /no/key: no such file or directory"},
		{"ping " + udp, "VIADUCT_UDP_KEY=" + key, cli.ExitFailed, "bmi: cannot open method via+udp: udp: VIADUCT_UDP_KEY: shared key: this is the name of a file, and the key itself is expected; a variable that ends in _FILE takes the name"},
		{"ping " + tcps, "VIADUCT_TLS_SECRET=" + other, cli.ExitPeerFailed, "bmi: the connection to " + tcps + " was refused: the other side failed to prove who it is: the other side has a different shared key (both sides need the same file with the shared key)"},
		{"ping tcps://" + port, "VIADUCT_TLS_SECRET=" + key, cli.ExitPeerFailed, "bmi: the connection to tcps://" + port + " was refused: the other side closed the connection when it was asked for TLS: does it speak tcp:// rather than tcps://?"},
		{"ping tcp", "", cli.ExitUsage, `bmi: bad address "tcp": an address looks like *`},
		{"ping tpc://x:1", "", cli.ExitUsage, `bmi: unknown method "tpc"; available: *`},
		{"ping " + tcp + " -cuont 3", "", cli.ExitUsage, "bmi: bmi ping has no option -cuont; did you mean --count?"},
		{"ping " + tcp + " --timeout 3x", "", cli.ExitUsage, "bmi: --timeout 3x: want a time with its unit, such as 200ms, 3s or 1m30s"},
		{"pnig " + tcp, "", cli.ExitUsage, `bmi: unknown command "pnig"; did you mean ping?`},
		{"serve " + tcp, "", cli.ExitInUse, "bmi: a running process listens at " + tcp + " already: choose another address, or end that process"},
		{"send via+shm://absent /no/file", "", cli.ExitFailed, "bmi: open /no/file: no such file or directory"},
		{"recv via+shm://here -o /no/folder/file", "", cli.ExitUsage, "bmi: -o /no/folder/file: there is no folder /no/folder"},
		{"send tcp://" + free + " --timeout 1ms", "", cli.ExitNobody, "bmi: send: nobody receives there: looked for 1ms; start `bmi recv tcp://" + free + "`, or look longer with --timeout: nobody answers at *"},
		{"perf tcp://" + free + " --tests latency", "", cli.ExitNobody, "bmi: latency of 0 B: nobody answers at tcp://" + free + ", check the address and that the other side runs: connection refused"},
	} {
		t.Run(c.line+" "+c.env, func(t *testing.T) {
			p := command(t, strings.Fields(c.line)...)
			for _, name := range []string{"VIADUCT_UDP_KEY", "VIADUCT_UDP_KEY_FILE", "VIADUCT_UDP_INSECURE", "VIADUCT_TLS_SECRET"} {
				p.cmd.Env = append(p.cmd.Env, name+"=")
			}
			p.cmd.Env = append(p.cmd.Env, c.env)
			assert.Equal(t, c.code, p.start().wait())
			said, _, _ := strings.Cut(p.err.String(), "Run 'bmi help'")
			assert.Regexp(t, "^"+strings.ReplaceAll(regexp.QuoteMeta(c.says), `\*`, ".*")+"\n$", said)
			assert.Empty(t, sayonce.Repeats(said), said)
		})
	}
}
