package main

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/need"
)

func TestScreen(t *testing.T) {
	start := time.Now()
	s := screen{commands: map[string]string{"7": "ls"}, start: start}
	s.write(start.Add(time.Second), []byte("\x1e7\r\n10 %\r20"))
	s.write(start.Add(2*time.Second), []byte(" %\r\x1b[K\x1b[1mdone\x1b[0m  \r\n\x1e0\r\nrest"))
	lines := s.end()
	require.Len(t, lines, 3)
	assert.Equal(t, line{time.Second, "ls", true}, lines[0])
	assert.Equal(t, line{2 * time.Second, "done", false}, lines[1])
	assert.Equal(t, "rest", lines[2].text)
}

func TestDraw(t *testing.T) {
	picture := draw([]line{{0, "cat <a >b & true", true}, {time.Hour, strings.Repeat("é", columns+1), false}})
	var texts []string
	for in := xml.NewDecoder(strings.NewReader(string(picture))); ; {
		token, err := in.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if text, ok := token.(xml.CharData); ok {
			texts = append(texts, string(text))
		}
	}
	assert.Contains(t, texts, "cat <a >b & true")
	assert.Contains(t, texts, strings.Repeat("é", columns-1)+"…", "lines end where the terminal does")
	assert.Contains(t, string(picture), "animation-delay:1.50s", "a pause of an hour is made shorter")
}

func TestTerminal(t *testing.T) {
	outside, inside, err := openTerminal()
	need.Unless(t, need.Terminal, err)
	_, err = inside.WriteString("a\n")
	require.NoError(t, err)
	buf := make([]byte, 10)
	n, err := outside.Read(buf)
	require.NoError(t, err)
	assert.Equal(t, "a\r\n", string(buf[:n]))
	require.NoError(t, errors.Join(inside.Close(), outside.Close()))
}
