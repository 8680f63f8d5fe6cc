package main

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/examples/mpi/internal/job"
	"github.com/viaduct-hpc/viaduct/examples/mpi/internal/samplesort"
)

// contents are the records of a file.
func contents(t *testing.T, name string) []samplesort.Record {
	t.Helper()
	f, err := os.Open(name)
	require.NoError(t, err)
	defer func() { assert.NoError(t, f.Close()) }()
	info, err := f.Stat()
	require.NoError(t, err)
	header, err := samplesort.ReadHeader(f, info.Size())
	require.NoError(t, err)
	records := make([]samplesort.Record, header.Count)
	require.NoError(t, samplesort.ReadRecords(f, 0, records))
	return records
}

// inOrder is by key and value, so that two files of the same records are the same.
func inOrder(records []samplesort.Record) []samplesort.Record {
	return slices.SortedFunc(slices.Values(records), func(a, b samplesort.Record) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Value, b.Value))
	})
}

func TestAFileIsSorted(t *testing.T) {
	b := job.Build(t)
	in, out := filepath.Join(t.TempDir(), "in"), filepath.Join(t.TempDir(), "out")
	kinds := []string{"uniform", "few", "constant", "skewed", "sorted", "reverse"}
	for i, s := range job.Settings() {
		t.Run(s.String(), func(t *testing.T) {
			said := b.MustRun(t, s, "-generate", "100001", "-kind", kinds[i%len(kinds)], in, out)
			assert.Contains(t, said, "samplesort: 100001 records on ")
			given, got := contents(t, in), contents(t, out)
			assert.True(t, slices.IsSortedFunc(got, func(a, b samplesort.Record) int { return cmp.Compare(a.Key, b.Key) }))
			assert.True(t, slices.Equal(inOrder(given), inOrder(got)), "the records are not those of the input")
		})
	}
	five := job.Setting{N: 5, Method: "via+shm"}
	t.Run("fewer records than processes", func(t *testing.T) {
		b.MustRun(t, five, "-generate", "3", in, out)
		assert.Equal(t, inOrder(contents(t, in)), contents(t, out))
	})
	t.Run("bad input", func(t *testing.T) {
		assert.Contains(t, b.MustFail(t, five, in, in), "is the input, too")
		assert.Contains(t, b.MustFail(t, five, in+"none", out), "no such file")
		assert.Contains(t, b.MustFail(t, five, "-generate", "3", "-kind", "odd", in, out), `there is no input "odd"`)
		require.NoError(t, os.Truncate(in, samplesort.HeaderBytes+40))
		assert.Contains(t, b.MustFail(t, five, in, out), "is it cut off?")
	})
	t.Run("under Hydra", func(t *testing.T) {
		said, errs, err := b.Hydra(t, 4, "-generate", "1000", in, out)
		require.NoError(t, err, "%s%s", said, errs)
		assert.Contains(t, said, "samplesort: 1000 records on 4 processes in ")
		said, errs, err = b.Hydra(t, 4, in+"none", out)
		require.Error(t, err)
		assert.Regexp(t, `mpi: rank \d aborts the job: open .*none: no such file or directory`, said+errs)
	})
	t.Run("an input that is not what its header says", func(t *testing.T) {
		b.MustRun(t, five, "-generate", "100", in, out)
		f, err := os.OpenFile(in, os.O_WRONLY, 0)
		require.NoError(t, err)
		_, err = f.WriteAt([]byte{1, 2, 3}, samplesort.HeaderBytes+8)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		assert.Contains(t, b.MustFail(t, five, in, out), "the output has other records than the input")
	})
}
