package shm

import (
	"crypto/rand"
	"encoding/hex"
	"os"
	"strconv"
	"strings"
)

// draftBytes is the length of the random part of a draft's name.
const draftBytes = 4

// draftOf is the name of a socket until it has its own: "~NAME.PID.RANDOM".
func draftOf(name string) string {
	var random [draftBytes]byte
	_, _ = rand.Read(random[:]) // never fails
	return "~" + name + "." + strconv.Itoa(os.Getpid()) + "." + hex.EncodeToString(random[:])
}

// draftPID is the process that made a draft; ok is false for other files.
func draftPID(file string) (pid int, ok bool) {
	parts := strings.Split(file, ".")
	if len(parts) < 3 || !strings.HasPrefix(file, "~") || len(parts[len(parts)-1]) != 2*draftBytes {
		return 0, false
	}
	pid, err := strconv.Atoi(parts[len(parts)-2])
	return pid, err == nil && pid > 0
}
