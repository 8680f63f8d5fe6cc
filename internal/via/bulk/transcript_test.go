package bulk_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/golden"
)

// TestTranscripts plays testdata/*.txt, one way of a message each, and compares the results with those in the file.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			script, _, _ := strings.Cut(string(text), "----\n")
			played, err := play(script)
			require.NoError(t, err)
			golden.Check(t, file, []byte(script+"----\n"+played))
		})
	}
}

// play carries out a script:
//
//	message SIZE mine N [write] [short]   what is sent, and what the receiver reads itself
//	announce                              the send is posted
//	deliver sender|receiver               its next packet
//	give sender|receiver N                N bytes more to the NIC
//	complete sender|receiver              its oldest RDMA
//	fail sender|receiver                  the connection is lost
func play(script string) (string, error) {
	var out strings.Builder
	p := newPair(options{})
	for line := range strings.Lines(script) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		fmt.Fprintln(&out, ">", line)
		word, rest, _ := strings.Cut(line, " ")
		name, arg, _ := strings.Cut(rest, " ")
		s := &p.send
		if name == "receiver" {
			s = &p.recv
		}
		var err error
		switch word {
		case "message":
			var o options
			if _, err = fmt.Sscanf(line, "message %d mine %d", &o.size, &o.mine); err == nil {
				o.write, o.short = strings.Contains(line, "write"), strings.Contains(line, "short")
				p = newPair(o)
				p.log = func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
			}
		case "announce":
			p.announce()
		case "deliver":
			if err = p.deliver(s); err != nil {
				fmt.Fprintln(&out, "   ", err)
				err = nil
			}
		case "give":
			var n int
			if _, err = fmt.Sscan(arg, &n); err == nil {
				p.give(s, n)
			}
		case "complete":
			p.complete(s)
		case "fail":
			p.fail(s)
		default:
			err = fmt.Errorf("no command %q", word)
		}
		if err != nil {
			return "", fmt.Errorf("%s: %w", line, err)
		}
	}
	return out.String(), nil
}
