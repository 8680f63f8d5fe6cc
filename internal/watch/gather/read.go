package gather

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/viaduct-hpc/viaduct/internal/watch"
)

// bodyBytesMax limits an answer. 10,000 peers with all their rails have 8 MB.
const bodyBytesMax = 16 << 20

// Read decodes and checks a snapshot that another process sent.
func Read(r io.Reader) (*watch.Snapshot, error) {
	limited := &io.LimitedReader{R: r, N: bodyBytesMax + 1}
	var s watch.Snapshot
	err := json.NewDecoder(limited).Decode(&s)
	switch {
	case limited.N <= 0:
		return nil, fmt.Errorf("its snapshot is over %d MiB", bodyBytesMax>>20)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, errors.New("its snapshot ends in the middle")
	case err != nil:
		return nil, fmt.Errorf("its answer is not a snapshot: %s", Clean(err.Error()))
	}
	if err := check(&s); err != nil {
		return nil, fmt.Errorf("its snapshot makes no sense: %w", err)
	}
	return &s, nil
}
