package logtext

import (
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestBuffer: what several goroutines write is there, record by record, while others look.
func TestBuffer(t *testing.T) {
	var b Buffer
	assert.Empty(t, b.String())
	log := slog.New(slog.NewTextHandler(&b, nil))
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 100 {
				log.Info("written")
				assert.Contains(t, b.String(), "msg=written\n")
			}
		})
	}
	all.Wait()
	assert.Equal(t, 400, strings.Count(b.String(), "msg=written\n"))
}
