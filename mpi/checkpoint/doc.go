// Package checkpoint saves what a job computes, so that it can go on after a failure: distributed
// arrays, which all ranks write at once, and values that all ranks have.
//
//	s, err := checkpoint.Open(ctx, w, "run7", checkpoint.Options{Keep: 3})
//	items := []checkpoint.Item{
//		checkpoint.Block("plate", mpi.Slice(mine), []int{rows, cols}, []int{first, 0}, []int{n, cols}),
//		checkpoint.Value("settings", &settings),
//	}
//	got, err := s.Restore(ctx, items...) // ErrNone at first
//	err = s.Save(ctx, step, items...)
//	err = s.Close(ctx)
//
// A checkpoint exists whole or not at all, whenever processes are killed or the machine loses power.
// Arrays lie in the file in their global order, so a job with another number of ranks reads its own
// parts. Everything has checksums, which Restore compares. If the newest checkpoint is damaged, it
// takes the one before.
//
// Survive keeps a job going that loses processes: the others take up the newest checkpoint. Their
// launcher must let them go on, as mpiexec does with --keep-going.
//
// # Calls and errors
//
// All calls on a Store are collective: all ranks of its communicator make them in the same order, with
// the same arguments except for memory and parts, one at a time. Errors have a class, such as
// mpi.ErrNoSpace, which is the same on all ranks, and a sentence. If a process has failed or the context
// has ended within a call, the communicator is revoked, and all ranks get an error; the Store can only be
// closed. After any other error it can be used. After an error of Save the checkpoints from before are
// as they were. After an error of Restore the memory of arrays is undefined.
//
// # What is stored
//
// A store is a directory of package file: one of the operating system, or of a PVFS by a name that
// begins with "pvfs:". Only one job may use it at a time. A checkpoint is two files, data and a manifest:
// docs/internals/protocols/checkpoint.md describes them byte by byte. Files with other names are left alone.
//
// # What lives where
//
// store.go opens stores and closes them. item.go has what is saved, describe.go makes the ranks agree on
// it, part.go knows which bytes of it are this rank's. save.go and restore.go are the calls;
// directory.go is rank 0's work on names. survive.go goes on after a failure. In internal, manifest is
// the manifest, and sums the checksums.
package checkpoint
