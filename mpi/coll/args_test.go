package coll_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/mpi/colltest"
	"github.com/viaduct-hpc/viaduct/mpi/coll"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/reduce"
)

func colltestOne(f func(c coll.Comm) error) error { return colltest.New(1, 1).Run(f) }

// TestBadArguments: each is refused before anything is sent, with its class.
func TestBadArguments(t *testing.T) {
	b := func(n int) []byte { return make([]byte, n) }
	i32, sum := datatype.Int32, reduce.Sum
	for name, tc := range map[string]struct {
		f     func(c coll.Comm) error
		class errclass.Class
	}{
		"barrier algorithm": {func(c coll.Comm) error { return coll.Barrier(c, coll.Rabenseifner) }, errclass.Arg},
		"bcast algorithm":   {func(c coll.Comm) error { return coll.Bcast(c, b(1), 0, nil, "quick") }, errclass.Arg},
		"bcast root":        {func(c coll.Comm) error { return coll.Bcast(c, b(1), 2, nil, coll.Auto) }, errclass.Root},
		"bcast root below":  {func(c coll.Comm) error { return coll.Bcast(c, b(1), coll.Root, nil, coll.Auto) }, errclass.Root},
		"gather root":       {func(c coll.Comm) error { return coll.Gather(c, b(1), b(2), -1, nil, coll.Auto) }, errclass.Root},
		"gather odd":        {func(c coll.Comm) error { return coll.Gather(c, b(1), b(3), c.Rank(), nil, coll.Auto) }, errclass.Count},
		"gather own piece":  {func(c coll.Comm) error { return coll.Gather(c, b(2), b(2), c.Rank(), nil, coll.Auto) }, errclass.Count},
		"gatherv root":      {func(c coll.Comm) error { return coll.Gatherv(c, b(1), nil, 7, nil) }, errclass.Root},
		"gatherv pieces":    {func(c coll.Comm) error { return coll.Gatherv(c, b(1), nil, c.Rank(), nil) }, errclass.Count},
		"gatherv own piece": {func(c coll.Comm) error { return coll.Gatherv(c, b(1), [][]byte{nil, nil}, c.Rank(), nil) }, errclass.Count},
		"scatter root":      {func(c coll.Comm) error { return coll.Scatter(c, b(2), b(1), 2, nil, coll.Auto) }, errclass.Root},
		"scatter odd":       {func(c coll.Comm) error { return coll.Scatter(c, b(3), b(1), c.Rank(), nil, coll.Auto) }, errclass.Count},
		"scatter own piece": {func(c coll.Comm) error { return coll.Scatter(c, b(2), b(2), c.Rank(), nil, coll.Auto) }, errclass.Count},
		"scatterv root":     {func(c coll.Comm) error { return coll.Scatterv(c, nil, b(1), -2, nil) }, errclass.Root},
		"scatterv pieces":   {func(c coll.Comm) error { return coll.Scatterv(c, nil, b(1), c.Rank(), nil) }, errclass.Count},
		"scatterv own":      {func(c coll.Comm) error { return coll.Scatterv(c, [][]byte{nil, nil}, b(1), c.Rank(), nil) }, errclass.Count},
		"allgather odd":     {func(c coll.Comm) error { return coll.Allgather(c, b(1), b(3), nil, coll.Auto) }, errclass.Count},
		"allgather piece":   {func(c coll.Comm) error { return coll.Allgather(c, b(1), b(4), nil, coll.Auto) }, errclass.Count},
		"allgatherv pieces": {func(c coll.Comm) error { return coll.Allgatherv(c, b(1), nil, nil, coll.Auto) }, errclass.Count},
		"allgatherv piece":  {func(c coll.Comm) error { return coll.Allgatherv(c, b(1), [][]byte{nil, nil}, nil, coll.Auto) }, errclass.Count},
		"alltoall odd":      {func(c coll.Comm) error { return coll.Alltoall(c, b(3), b(3), nil, coll.Auto) }, errclass.Count},
		"alltoall lengths":  {func(c coll.Comm) error { return coll.Alltoall(c, b(2), b(4), nil, coll.Auto) }, errclass.Count},
		"alltoallv pieces":  {func(c coll.Comm) error { return coll.Alltoallv(c, [][]byte{nil}, [][]byte{nil, nil}, nil, coll.Auto) }, errclass.Count},
		"alltoallv out":     {func(c coll.Comm) error { return coll.Alltoallv(c, nil, nil, nil, coll.Auto) }, errclass.Count},
		"alltoallv own": {func(c coll.Comm) error {
			return coll.Alltoallv(c, [][]byte{b(1), b(1)}, [][]byte{b(2), b(2)}, nil, coll.Auto)
		}, errclass.Truncate},
		"reduce root":     {func(c coll.Comm) error { return coll.Reduce(c, b(4), b(4), i32, 1, sum, 2, nil, coll.Auto) }, errclass.Root},
		"reduce in":       {func(c coll.Comm) error { return coll.Reduce(c, b(3), b(4), i32, 1, sum, 0, nil, coll.Auto) }, errclass.Count},
		"reduce out":      {func(c coll.Comm) error { return coll.Reduce(c, b(4), b(3), i32, 1, sum, c.Rank(), nil, coll.Auto) }, errclass.Count},
		"reduce in place": {func(c coll.Comm) error { return coll.Reduce(c, nil, b(3), i32, 1, sum, c.Rank(), nil, coll.Auto) }, errclass.Count},
		"reduce count":    {func(c coll.Comm) error { return coll.Reduce(c, nil, nil, i32, -1, sum, 0, nil, coll.Auto) }, errclass.Count},
		"reduce huge":     {func(c coll.Comm) error { return coll.Reduce(c, nil, nil, i32, math.MaxInt, sum, 0, nil, coll.Auto) }, errclass.Count},
		"reduce type":     {func(c coll.Comm) error { return coll.Reduce(c, nil, nil, nil, 0, sum, 0, nil, coll.Auto) }, errclass.Type},
		"allreduce op":    {func(c coll.Comm) error { return coll.Allreduce(c, b(4), b(4), i32, 1, nil, nil, coll.Auto) }, errclass.Op},
		"allreduce kind":  {func(c coll.Comm) error { return coll.Allreduce(c, b(4), b(4), i32, 1, reduce.MaxLoc, nil, coll.Auto) }, errclass.Op},
		"allreduce out":   {func(c coll.Comm) error { return coll.Allreduce(c, b(4), b(8), i32, 1, sum, nil, coll.Auto) }, errclass.Count},
		"allreduce in":    {func(c coll.Comm) error { return coll.Allreduce(c, b(8), b(4), i32, 1, sum, nil, coll.Auto) }, errclass.Count},
		"allreduce name":  {func(c coll.Comm) error { return coll.Allreduce(c, b(4), b(4), i32, 1, sum, nil, coll.Chain) }, errclass.Arg},
		"reduce-scatter":  {func(c coll.Comm) error { return coll.ReduceScatter(c, nil, nil, []int{0}, i32, sum, nil, coll.Auto) }, errclass.Count},
		"negative count": {func(c coll.Comm) error {
			return coll.ReduceScatter(c, nil, nil, []int{1, -1}, i32, sum, nil, coll.Auto)
		}, errclass.Count},
		"counts overflow": {func(c coll.Comm) error {
			return coll.ReduceScatter(c, nil, nil, []int{math.MaxInt, 2}, i32, sum, nil, coll.Auto)
		}, errclass.Count},
		"reduce-scatter out": {func(c coll.Comm) error { return coll.ReduceScatterBlock(c, b(8), b(8), i32, 1, sum, nil, coll.Auto) }, errclass.Count},
		"reduce-scatter in":  {func(c coll.Comm) error { return coll.ReduceScatterBlock(c, b(4), b(4), i32, 1, sum, nil, coll.Auto) }, errclass.Count},
		"reduce-scatter huge": {func(c coll.Comm) error {
			return coll.ReduceScatterBlock(c, nil, nil, i32, math.MaxInt, sum, nil, coll.Auto)
		}, errclass.Count},
		"scan":   {func(c coll.Comm) error { return coll.Scan(c, b(4), b(3), i32, 1, sum, nil, coll.Auto) }, errclass.Count},
		"exscan": {func(c coll.Comm) error { return coll.Exscan(c, b(4), b(4), i32, 1, sum, nil, coll.Ring) }, errclass.Arg},
	} {
		w := colltest.New(2, 1)
		require.ErrorIs(t, w.Run(tc.f), tc.class, name)
		require.Zero(t, w.Messages(), name)
	}
}
