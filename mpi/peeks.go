package mpi

// PeekAny is TestAny, but leaves the requests unchanged (MPI_Request_get_status_any; MPI-4.1,
// 3.7.6).
func PeekAny(reqs []Request) (i int, st Status, done bool, err error) {
	waiting := false
	for i, r := range reqs {
		if r.operation().Idle() {
			continue
		}
		if st, done, err := r.Peek(); done {
			return i, st, true, err
		}
		waiting = true
	}
	if waiting {
		return Undefined, Status{}, false, nil
	}
	return Undefined, emptyStatus, true, nil
}

// PeekSome is TestSome, but leaves the requests unchanged (MPI_Request_get_status_some; MPI-4.1,
// 3.7.6). If errs is not nil, errs[i] is the error of reqs[i].
func PeekSome(reqs []Request, indices []int, statuses []Status, errs []error) (_ []int, err error) {
	if err := checkResults(reqs, statuses, errs); err != nil {
		return indices, err
	}
	for i, r := range reqs {
		if r.operation().Idle() {
			continue
		}
		st, done, perr := r.Peek()
		if !done {
			continue
		}
		indices = append(indices, i)
		if statuses != nil {
			statuses[i] = st
		}
		if errs != nil {
			errs[i] = perr
		}
		if perr != nil && err == nil {
			err = inStatus(i, perr)
		}
	}
	return indices, err
}
