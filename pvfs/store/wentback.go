package store

import bolt "go.etcd.io/bbolt"

// After a loss of power a store may be what it was some seconds before. Its server cannot see that by itself, and has to know: other servers have
// not gone back with it. So the start that restores the older state notes it in the same transaction with which it begins, and the note stays until
// the server has drawn its conclusions.
var wentBackKey = []byte("went back")

// noteWentBack notes that the store is in an older state than it was left in.
func noteWentBack(tx *bolt.Tx) error {
	record := seal(wentBackKey, 0, func(b []byte) []byte { return b })
	return tx.Bucket([]byte(tableNames[tStore])).Put(wentBackKey, record)
}

// WentBack reports whether a loss of power took the store back to an older state, and ForgetWentBack was not called since.
func (t *Tx) WentBack() bool { return t.table(tStore).Get(wentBackKey) != nil }

// ForgetWentBack is called with the changes that are due after WentBack.
func (t *Tx) ForgetWentBack() error {
	if err := t.mayWrite(); err != nil {
		return err
	}
	return t.remove(tStore, wentBackKey)
}
