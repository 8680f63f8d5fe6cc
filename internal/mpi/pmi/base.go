package pmi

import (
	"strconv"
	"strings"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/mpi/pmi/wire"
	"github.com/viaduct-hpc/viaduct/mpi/boot"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// base is the common part of the clients of both versions.
type base struct {
	*link
	rank, size       int
	job              string
	keyMax, valueMax int
	appNum, universe int
	spawned          bool
	secret           []byte
	abortWait        func() // waits for the end of this process; nil: for abortWait
}

// Rank implements boot.Boot.
func (b *base) Rank() int { return b.rank }

// Size implements boot.Boot.
func (b *base) Size() int { return b.size }

// JobID implements boot.Boot.
func (b *base) JobID() string { return b.job }

// KeyMax implements boot.Boot.
func (b *base) KeyMax() int { return b.keyMax }

// ValueMax implements boot.Boot.
func (b *base) ValueMax() int { return b.valueMax }

// Secret implements boot.Boot.
func (b *base) Secret() []byte { return append([]byte(nil), b.secret...) }

// Parent implements boot.Spawner.
func (b *base) Parent() bool { return b.spawned }

// AppNum implements Client.
func (b *base) AppNum() int { return b.appNum }

// UniverseSize implements Client.
func (b *base) UniverseSize() int { return b.universe }

// Close implements boot.Boot.
func (b *base) Close() error { return b.conn.Close() }

// abortWait is how long a launcher may take to end a process that aborted.
const abortWait = 5 * time.Second

// tellAbort tells the launcher to end the job. It does not wait for its turn, because another
// goroutine may be waiting for an answer. Then it waits for this process to be ended.
func (b *base) tellAbort(words []byte, code int) error {
	_ = b.conn.SetWriteDeadline(time.Now().Add(abortWait))
	if _, err := b.conn.Write(words); err != nil {
		return errclass.Wrap(errclass.Other, err, "the launcher could not be asked to end the job with exit code %d", code)
	}
	if b.abortWait != nil {
		b.abortWait()
	} else {
		time.Sleep(abortWait)
	}
	return errclass.New(errclass.Other, "the launcher was asked to end the job with exit code %d, but did not end this process within %v", code, abortWait)
}

// checkSpawn checks whether the processes can be requested, and returns their number.
func (b *base) checkSpawn(programs []boot.Program, preput map[string]string) (n int, err error) {
	if len(programs) == 0 || len(programs) > programsMax {
		return 0, errclass.New(errclass.Spawn, "%d programs cannot be started at once: give 1 to %d", len(programs), programsMax)
	}
	for _, p := range programs {
		if p.Path == "" || p.N < 1 || p.N > ranksMax-n {
			return 0, errclass.New(errclass.Spawn, "%d processes of the program %q cannot be started", p.N, p.Path)
		}
		n += p.N
		for _, text := range append([]string{p.Path}, p.Args...) {
			if strings.ContainsAny(text, "\n\r\x00") {
				return 0, errclass.New(errclass.Spawn, "%.100q contains an end of line or a zero byte, which cannot be sent to a launcher", text)
			}
		}
	}
	for key, value := range preput {
		if err := boot.CheckText("key", key, b.keyMax); err != nil {
			return 0, err
		}
		if err := boot.CheckText("value", value, b.valueMax); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// codesOf returns n exit codes from a list such as "0,0,1", which may be absent or short.
func codesOf(text string, n int) []int {
	codes := make([]int, n)
	for i, code := range strings.Split(text, ",") {
		if i < n {
			codes[i], _ = strconv.Atoi(code) // an invalid code means that the process was started
		}
	}
	return codes
}

// failed returns the error of an answer whose rc is not 0.
func failed(c wire.Command, class errclass.Class, what string) error {
	rc, ok := c.Int("rc")
	if !ok || rc == 0 {
		return nil
	}
	text, found := c.Get("msg")
	if !found {
		text, _ = c.Get("errmsg")
	}
	return errclass.New(class, "%s: the launcher refuses (rc %d): %s", what, rc, describe(text))
}
