package main

import (
	"crypto/sha256"
	"encoding/binary"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// setTimes gives the files that tests read, in folders called testdata and docs below root, times that say what is in
// them. go test takes a result from its cache if what the test opened has the size and the time that it had then,
// but in a clone every file is new.
func setTimes(root string) error {
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || !entry.IsDir():
			return err
		case entry.Name() == "testdata" || entry.Name() == "docs":
			if err := filepath.WalkDir(path, setTime); err != nil {
				return err
			}
			return fs.SkipDir
		case entry.Name() == ".git":
			return fs.SkipDir
		}
		return nil
	})
}

// setTime gives a file a time by its content, and a folder the time of an empty file: a test that opens a folder sees
// the files in it. What cannot be read or set, because it is somebody else's, costs no more than a run of its test.
func setTime(path string, entry fs.DirEntry, err error) error {
	if err != nil || !entry.IsDir() && !entry.Type().IsRegular() {
		return err
	}
	var content []byte
	if !entry.IsDir() {
		if content, err = os.ReadFile(path); err != nil {
			return nil //nolint:nilerr // as said above
		}
	}
	_ = os.Chtimes(path, time.Time{}, timeOf(content))
	return nil
}

// timeOf is a moment in the twenty years from 1987 that no other content is likely to have.
func timeOf(content []byte) time.Time {
	sum := sha256.Sum256(content)
	const span = 20 * 365 * 24 * time.Hour
	return time.Unix(1<<29, 0).Add(time.Duration(binary.BigEndian.Uint64(sum[:]) % uint64(span)))
}
