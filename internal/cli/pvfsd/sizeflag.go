package pvfsd

import (
	"fmt"
	"math"
	"strconv"

	"github.com/viaduct-hpc/viaduct/internal/perf"
)

// A sizeFlag is an option with a size, such as 64MiB. A bare number counts units, as it did before options took more.
type sizeFlag struct {
	bytes *int
	unit  int // bytes
}

// String is the default in the help.
func (s sizeFlag) String() string {
	if s.bytes == nil || *s.bytes == 0 {
		return ""
	}
	return perf.FormatSize(*s.bytes)
}

// Type is the name of the value in the help.
func (sizeFlag) Type() string { return "size" }

// Set implements pflag.Value.
func (s sizeFlag) Set(text string) error {
	n, err := strconv.Atoi(text)
	switch {
	case err == nil && n < 0:
		return fmt.Errorf("a size is not negative")
	case err == nil && n > math.MaxInt/s.unit:
		return fmt.Errorf("it is more than this machine can address")
	case err == nil:
		*s.bytes = n * s.unit
		return nil
	}
	*s.bytes, err = perf.ParseSize(text)
	return err
}
