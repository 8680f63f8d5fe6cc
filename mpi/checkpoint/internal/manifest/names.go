package manifest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The files of a checkpoint are named by its number and what they are.
const (
	dataSuffix     = ".data"
	manifestSuffix = ".manifest"
	newSuffix      = ".manifest.new" // of a manifest that is being written
)

// numberMax is the largest number of a checkpoint, so that there is always a next one.
const numberMax = 1 << 62

// DataName returns the name of the file with the data.
func DataName(number int64) string { return base(number) + dataSuffix }

// Name returns the name of the manifest.
func Name(number int64) string { return base(number) + manifestSuffix }

// NewName returns the name of the manifest before the checkpoint exists.
func NewName(number int64) string { return base(number) + newSuffix }

func base(number int64) string { return fmt.Sprintf("checkpoint-%09d", number) }

// A Listing has the numbers of the checkpoints in a directory, by the files that exist of them.
type Listing struct {
	Whole  []int64 // those with a manifest and data, ascending
	Broken []int64 // those with a manifest and no data
	Data   []int64 // data without a manifest
	New    []int64 // manifests that were being written
	Last   int64   // the largest number of all, or 0
}

// List finds the files of checkpoints among all names in a directory.
func List(names []string) (l Listing) {
	data, done := map[int64]bool{}, map[int64]bool{}
	for _, name := range names {
		number, suffix, ok := split(name)
		if !ok {
			continue
		}
		l.Last = max(l.Last, number)
		switch suffix {
		case dataSuffix:
			data[number] = true
		case manifestSuffix:
			done[number] = true
		case newSuffix:
			l.New = append(l.New, number)
		}
	}
	for number := range done {
		if data[number] {
			l.Whole = append(l.Whole, number)
		} else {
			l.Broken = append(l.Broken, number)
		}
	}
	for number := range data {
		if !done[number] {
			l.Data = append(l.Data, number)
		}
	}
	for _, list := range [][]int64{l.Whole, l.Broken, l.Data, l.New} {
		slices.Sort(list)
	}
	return l
}

// HasManifest tells whether a checkpoint has a manifest.
func (l *Listing) HasManifest(number int64) bool {
	return slices.Contains(l.Whole, number) || slices.Contains(l.Broken, number)
}

// split takes a name apart.
func split(name string) (number int64, suffix string, ok bool) {
	rest, ok := strings.CutPrefix(name, "checkpoint-")
	if !ok {
		return 0, "", false
	}
	digits, suffix, _ := strings.Cut(rest, ".")
	suffix = "." + suffix
	number, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || number < 1 || number > numberMax || base(number)+suffix != name {
		return 0, "", false
	}
	return number, suffix, true
}
