// Package fstest is one suite of file-system behaviour, in the spirit of pjdfstest and of
// xfstests' generic group. Whatever can be called through [FS] may be its subject: the model
// of this package, a client with servers behind it, a mount.
//
// # Using it
//
//	func TestBehaviour(t *testing.T) {
//		fstest.Run(t, func(t fstest.T) *fstest.Subject {
//			return &fstest.Subject{As: func(u fstest.User) fstest.FS { return mine(u) }}
//		})
//	}
//
// Cases are data: [All] holds every one. A subject says in Lacks what it cannot do; cases that
// need it skip and say why.
//
// [Random] runs operations chosen by a seed against the subject and the oracle, which is
// [Model], compares every answer, and prints a short sequence that fails.
//
// # What lives here
//
// fs.go is the seam, subject.go and suite.go say who is tested and how, env.go is what cases
// are written with. One file per theme holds the cases (names.go, sizes.go, rename.go, …).
// The model is in model*.go, the random runs in random*.go. The tests of this package plant
// bugs in the model and require that the cases named report each of them.
package fstest
