package logtext

import (
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestBuffer: records that several goroutines write are all there, while others read.
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
