package samplesort

import (
	"fmt"
	"math"
)

// kinds are the kinds of input, by name: the distributions of keys.
var kinds = map[string]func(i, count, random uint64) uint64{
	"uniform":  func(_, _, random uint64) uint64 { return random },
	"sorted":   func(i, count, _ uint64) uint64 { return math.MaxUint64 / count * i },
	"reverse":  func(i, count, _ uint64) uint64 { return math.MaxUint64 / count * (count - i) },
	"few":      func(_, _, random uint64) uint64 { return random % 10 },
	"constant": func(uint64, uint64, uint64) uint64 { return 42 },
	// Small keys are much more frequent than large ones: there are as many below 2^8 as between 2^8
	// and 2^16, and so on.
	"skewed": func(_, _, random uint64) uint64 { return mix(random) >> (random % 64) },
}

// An Input makes the records of a file, each independently, so that processes can share the work.
type Input struct {
	count, seed uint64
	key         func(i, count, random uint64) uint64
}

// NewInput returns an input of count records of a kind: uniform, sorted, reverse, few (different
// keys), constant or skewed.
func NewInput(kind string, count, seed uint64) (*Input, error) {
	key, ok := kinds[kind]
	if !ok {
		return nil, fmt.Errorf("samplesort: there is no input %q: take uniform, sorted, reverse, few, constant or skewed", kind)
	}
	if count > countMax {
		return nil, fmt.Errorf("samplesort: %d records are more than the %d that a file can have", count, uint64(countMax))
	}
	return &Input{count: count, seed: seed, key: key}, nil
}

// Fill makes the records, beginning with number first. The value of a record is its number.
func (in *Input) Fill(first uint64, records []Record) {
	for k := range records {
		i := first + uint64(k)
		records[k] = Record{Key: in.key(i, in.count, mix(in.seed+(i+1)*golden)), Value: i}
	}
}
