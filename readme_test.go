package viaduct_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/viaduct-hpc/viaduct/bmi"
	_ "github.com/viaduct-hpc/viaduct/methods/via" // the methods that this program carries
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// The lines between the marks are those of docs/guides/first-message.md.
func Example() {
	// guide: begin
	ctx := context.Background()
	server := must(bmi.Open(ctx, bmi.Config{Listen: []string{"via+shm://viaduct-readme"}}))
	defer server.Close()
	answers := must(server.OpenContext())
	go func() {
		var in [1]bmi.Unexpected
		for {
			if _, err := server.TestUnexpected(in[:], bmi.Forever); err != nil {
				return // the server was closed
			}
			reply := append([]byte("hello, "), in[0].Data...)
			_ = answers.Send(ctx, in[0].From, in[0].Tag, reply) // fails if the client is gone
			in[0].Release()
		}
	}()
	client := must(bmi.Open(ctx, bmi.Config{}))
	defer client.Close()
	to := must(client.Lookup("via+shm://viaduct-readme"))
	c := must(client.OpenContext())
	reply := make([]byte, 64)
	n := must(c.Call(ctx, to, 0, 1, []byte("world"), reply)) // class 0, tag 1
	fmt.Println(string(reply[:n]))
	// guide: end

	// Output: hello, world
}

func TestGuideShowsCodeThatRuns(t *testing.T) {
	source, err := os.ReadFile("readme_test.go")
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(source), "\t// guide: begin\n")
	require.True(t, ok)
	code, _, ok := strings.Cut(rest, "\t// guide: end\n")
	require.True(t, ok)
	var shown bytes.Buffer
	for line := range strings.Lines(code) {
		shown.WriteString(strings.TrimPrefix(line, "\t"))
	}

	guide, err := os.ReadFile("docs/guides/first-message.md")
	require.NoError(t, err)
	assert.Contains(t, string(guide), "```go\n"+shown.String()+"```\n", "docs/guides/first-message.md and readme_test.go differ")
}
