package store

import bolt "go.etcd.io/bbolt"

// After a power loss a store may be in a state from some seconds before. Its server must know that, because other servers have
// not gone back with it. So the start that restores the older state notes it in its first transaction. The note stays until the
// server has handled it.
var wentBackKey = []byte("went back")

// noteWentBack records that the store is in an older state than the one in which it was left.
func noteWentBack(tx *bolt.Tx) error {
	record := seal(wentBackKey, 0, func(b []byte) []byte { return b })
	return tx.Bucket([]byte(tableNames[tStore])).Put(wentBackKey, record)
}

// WentBack reports whether a power loss took the store back to an older state, and ForgetWentBack was not called since.
func (t *Tx) WentBack() bool { return t.table(tStore).Get(wentBackKey) != nil }

// ForgetWentBack is called together with the changes that WentBack requires.
func (t *Tx) ForgetWentBack() error {
	if err := t.mayWrite(); err != nil {
		return err
	}
	return t.remove(tStore, wentBackKey)
}
