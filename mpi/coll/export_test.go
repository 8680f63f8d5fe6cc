package coll

// CheckChoices panics if a choice for this number of ranks and bytes is not in its table, or has
// requirements that are not met.
func CheckChoices(n, bytes int) {
	for _, far := range []bool{false, true} {
		check(bcasts, chooseBcast(n, bytes, far), n, false)
		check(allgathers, chooseAllgather(n, bytes, far), n, false)
		check(allgathervs, chooseAllgatherv(n, bytes, far), n, false)
	}
	check(gathers, chooseGather(bytes), n, false)
	check(scatters, chooseGather(bytes), n, false)
	check(alltoalls, chooseAlltoall(n, bytes), n, false)
	check(alltoallvs, chooseAlltoallv(n), n, false)
	for _, count := range []int{1, bytes} {
		check(reduces, chooseReduce(n, bytes, count), n, false)
	}
	for _, commutes := range []bool{false, true} {
		check(allreduces, chooseAllreduce(n, bytes, commutes), n, commutes)
	}
	check(reduceScatters, chooseReduceScatter(n, bytes, false), n, false)
	check(reduceScatters, chooseReduceScatter(n, bytes, true), n, true)
}

func check[F any](t table[F], name Choice, n int, commutes bool) {
	e := t.named(name)
	if e == nil || e.powerOfTwo && !powerOfTwo(n) || e.commutative && !commutes {
		panic(name)
	}
}
