package topo

import (
	"math"
	"slices"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// nodesMax limits the nodes that DimsCreate factorizes; there are never more ranks.
const nodesMax = math.MaxInt32

// DimsCreate chooses the number of processes in each dimension of a grid of nodes processes
// (MPI_Dims_create; MPI-4.1, 8.5.2). It keeps the positive entries of dims, chooses a number for
// each 0, and returns a new slice.
//
// The chosen numbers do not increase and are as close to each other as possible. The standard does
// not define "close". Here the difference between the largest and the smallest is as small as
// possible. Of several such choices, the first dimension is as small as possible, then the second
// and so on.
//
// The error has class Dims if an entry is negative, if the positive entries do not divide nodes, or
// if nodes remain and no entry is 0. It has class Arg if nodes is not in 1 to 2^31-1.
func DimsCreate(nodes int, dims []int) ([]int, error) {
	if nodes < 1 || nodes > nodesMax {
		return nil, errclass.New(errclass.Arg, "a grid has 1 to %d nodes, not %d", nodesMax, nodes)
	}
	rest, free := nodes, 0
	for i, d := range dims {
		switch {
		case d < 0:
			return nil, errclass.New(errclass.Dims, "dimension %d has %d nodes: give a positive number, or 0 to have one chosen", i, d)
		case d == 0:
			free++
		case rest%d != 0:
			return nil, errclass.New(errclass.Dims, "%d nodes cannot be divided among fixed dimensions %v", nodes, dims)
		default:
			rest /= d
		}
	}
	if free == 0 && rest != 1 {
		return nil, errclass.New(errclass.Dims, "dimensions %v are all fixed but do not have %d nodes together: leave one 0", dims, nodes)
	}
	out := slices.Clone(dims)
	chosen := balanced(rest, free)
	for i, d := range out {
		if d == 0 {
			out[i], chosen = chosen[0], chosen[1:]
		}
	}
	return out, nil
}

// balanced returns the choice that DimsCreate describes: k factors of n.
func balanced(n, k int) []int {
	primes := factorize(n)
	if len(primes) <= k {
		// The smallest factor is 1, or there is no choice, so it is best to keep every prime
		// separate.
		ones := slices.Repeat([]int{1}, k-len(primes))
		return append(primes, ones...)
	}
	s := search{divisors: divisors(primes), least: math.MaxInt, at: make([]int, k)}
	s.choose(n, 0)
	return s.best
}

// factorize returns the prime factors of n, the largest first.
func factorize(n int) (primes []int) {
	for p := 2; p*p <= n; p++ {
		for n%p == 0 {
			primes = append(primes, p)
			n /= p
		}
	}
	if n > 1 {
		primes = append(primes, n)
	}
	slices.Reverse(primes)
	return primes
}

// divisors returns the divisors of the product of primes, in order.
func divisors(primes []int) []int {
	all := []int{1}
	for _, p := range primes {
		for _, d := range all {
			all = append(all, d*p)
		}
		slices.Sort(all)
		all = slices.Compact(all)
	}
	return all
}

// A search tries the ways to write a number as a product of len(at) ≥ 1 factors that do not
// increase, the smallest first factor first. It skips those that cannot be better than the best so
// far.
type search struct {
	divisors []int // of the number, in order
	at       []int // the chosen factors
	best     []int
	least    int // difference between the first and last of best
}

// choose tries all factors at index i; the product of the factors from i on is rest.
func (s *search) choose(rest, i int) {
	if i == len(s.at)-1 {
		s.at[i] = rest
		if d := s.at[0] - rest; d < s.least {
			s.least, s.best = d, slices.Clone(s.at)
		}
		return
	}
	more := len(s.at) - i - 1 // factors after this one
	most := rest
	if i > 0 {
		most = s.at[i-1]
	}
	from, _ := slices.BinarySearch(s.divisors, rootUp(rest, more+1))
	for _, d := range s.divisors[from:] {
		if d > most {
			return
		}
		if i == 0 {
			s.at[0] = d
		}
		// The other factors multiply to rest/d, so the smallest is at most its root, which becomes
		// smaller as d grows.
		if s.at[0]-rootDown(rest/d, more) >= s.least {
			return
		}
		// All later factors are at most d, so their product must be able to reach rest/d.
		if s.at[i] = d; rest%d == 0 && power(d, more) >= rest/d {
			s.choose(rest/d, i+1)
		}
	}
}

// rootDown returns the largest r with r^k ≤ n, for n ≥ 1.
func rootDown(n, k int) int {
	r := int(math.Pow(float64(n), 1/float64(k)))
	for power(r, k) > n {
		r--
	}
	for power(r+1, k) <= n {
		r++
	}
	return r
}

// rootUp returns the smallest r with r^k ≥ n, for n ≥ 1.
func rootUp(n, k int) int {
	r := rootDown(n, k)
	if power(r, k) < n {
		r++
	}
	return r
}

// power returns x^k, or a number above nodesMax if x^k is larger than that.
func power(x, k int) int {
	p := 1
	for range k {
		if p *= x; p > nodesMax || p <= 1 {
			return p // 0 and 1 stay; a number that is too large is large enough
		}
	}
	return p
}
