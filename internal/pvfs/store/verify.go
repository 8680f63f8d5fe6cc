package store

import (
	"bytes"
	"errors"

	bolt "go.etcd.io/bbolt"
)

// If the database has at most verifyMax bytes, Open checks all its pages. That takes about a second, for some millions of
// files. The pages of a larger database are only checked by Check.
const verifyMax = 512 << 20

// keyMax is the size of the longest valid key, bytes.
const keyMax = 300

// verify checks the structure of the database. A damaged one must not be written to: a wrong length, or a page that is free and
// in use, would spread the damage or take all memory.
func (s *Store) verify() error {
	return guard("verify", func() error {
		tx, err := s.db.Begin(false)
		if err != nil {
			return err
		}
		defer tx.Rollback() // cannot fail for a reader
		if tx.Size() > verifyMax {
			return nil
		}
		if err := walkPages(tx); err != nil {
			return err
		}
		return checkPages(tx)
	})
}

// walkPages reads every key, and trusts no length.
func walkPages(tx *bolt.Tx) error {
	for _, name := range tableNames {
		b := tx.Bucket([]byte(name))
		if b == nil {
			continue // a new store, or one that load refuses
		}
		var last []byte
		c := b.Cursor()
		for key, record := c.First(); key != nil; key, record = c.Next() {
			switch {
			case len(key) == 0 || len(key) > keyMax || record == nil || len(record) > recordMax:
				return damaged("table %s: a key of %d bytes with %d bytes", name, len(key), len(record))
			case bytes.Compare(last, key) >= 0:
				return damaged("table %s: keys are not in order", name)
			}
			last = key
		}
	}
	return nil
}

// checkPages runs the database's own check. That uses a goroutine of its own, where a fault would end the process, so walkPages
// must have run first.
func checkPages(tx *bolt.Tx) error {
	var errs []error
	for err := range tx.Check() {
		if len(errs) < 10 {
			errs = append(errs, damaged("database: %v", err))
		}
	}
	return errors.Join(errs...)
}
