package sim

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// regressions are the seeds that a file lists for a test. A line has the test, the seed,
// and the error that it found:
//
//	TestSeeds 4711 a cancel crossed the peer's own: one of two completions was lost
//
// Empty lines and lines that begin with # are ignored. A missing file is not an error.
func regressions(file, test string) (seeds []uint64, err error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("sim: %w", err)
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		fields := strings.Fields(line)
		if len(fields) < 3 {
			return nil, fmt.Errorf("sim: %s:%d: a line has a test, a seed, and what the seed found", file, n)
		}
		seed, err := strconv.ParseUint(fields[1], 10, 64)
		if err != nil || seed == 0 {
			return nil, fmt.Errorf("sim: %s:%d: %q is no seed", file, n, fields[1])
		}
		if fields[0] == test {
			seeds = append(seeds, seed)
		}
	}
	return seeds, nil
}
