package store

import (
	"bytes"
	"errors"

	bolt "go.etcd.io/bbolt"
)

// verifyMax is up to which size of the database's file, in bytes, Open looks at all pages. That is some
// millions of files and takes about a second; beyond, only Check does.
const verifyMax = 512 << 20

// keyMax is the size of the longest key there may be, bytes.
const keyMax = 300

// verify looks whether the database is as a database should be. A damaged one must not be written to: a
// wrong length or a page that is free and in use would spread the damage, or take all memory.
func (s *Store) verify() error {
	return guard("verify", func() error {
		tx, err := s.db.Begin(false)
		if err != nil {
			return err
		}
		defer tx.Rollback() // of a reader it cannot fail
		if tx.Size() > verifyMax {
			return nil
		}
		if err := walkPages(tx); err != nil {
			return err
		}
		return checkPages(tx)
	})
}

// walkPages reads every key, without trust in any length.
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

// checkPages lets the database look at its pages. It does so in a goroutine of its own, where a fault would be
// the end: walkPages comes first.
func checkPages(tx *bolt.Tx) error {
	var errs []error
	for err := range tx.Check() {
		if len(errs) < 10 {
			errs = append(errs, damaged("database: %v", err))
		}
	}
	return errors.Join(errs...)
}
