package store

import bolt "go.etcd.io/bbolt"

// Notes are records of the store itself without contents. The start after a power loss makes them in its first transaction. Each
// stays, over any number of starts, until what it asks for was done.
var (
	// wentBackKey: the store has returned to an older state. Its server must know, because the other servers have not.
	wentBackKey = []byte("went back")

	// unsweptKey: there may be files that belong to nothing, see sweep.
	unsweptKey = []byte("unswept")
)

// makeNote makes a note.
func makeNote(tx *bolt.Tx, key []byte) error {
	record := seal(key, 0, func(b []byte) []byte { return b })
	return tx.Bucket([]byte(tableNames[tStore])).Put(key, record)
}

// noted reports whether there is a note.
func (t *Tx) noted(key []byte) bool { return t.table(tStore).Get(key) != nil }

// removeNote is called together with the changes that the note requires.
func (t *Tx) removeNote(key []byte) error {
	if err := t.mayWrite(); err != nil {
		return err
	}
	return t.remove(tStore, key)
}

// WentBack reports whether a power loss took the store back to an older state, and ForgetWentBack was not called since.
func (t *Tx) WentBack() bool { return t.noted(wentBackKey) }

// ForgetWentBack is called together with the changes that WentBack requires.
func (t *Tx) ForgetWentBack() error { return t.removeNote(wentBackKey) }
