// Package fstest is a suite of tests for file-system behaviour, like pjdfstest and the generic group of xfstests. It can test
// everything that implements [FS]: the model of this package, a client with servers, a mount.
//
// # Using it
//
//	func TestBehaviour(t *testing.T) {
//		fstest.Run(t, func(t fstest.T) *fstest.Subject {
//			return &fstest.Subject{As: func(u fstest.User) fstest.FS { return mine(u) }}
//		})
//	}
//
// Cases are data: [All] has every case. A subject lists in Lacks the abilities that it does not have. Cases that need one are
// skipped with the reason.
//
// [Random] runs operations chosen by a seed on the subject and on the oracle, which is [Model]. It compares all results, and
// prints a short sequence that fails.
//
// # What lives here
//
// fs.go is the interface of a subject. subject.go and suite.go describe a subject and run the cases. env.go has the helpers for
// cases. One file per theme has the cases (names.go, sizes.go, rename.go, …). The model is in model*.go, the random runs in
// random*.go. The tests of this package add bugs to the model and require that the named cases report each of them.
package fstest
