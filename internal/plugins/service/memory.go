//go:build linux

package service

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/plugins/bell"
	"github.com/viaduct-hpc/viaduct/internal/plugins/segment"
	"github.com/viaduct-hpc/viaduct/internal/plugins/stream"
)

// A memory is the memory that a session shares with its program.
type memory struct {
	rings *segment.Rings
	arena *segment.Arena
	// toPlugin wakes the session, toProgram the program.
	toPlugin, toProgram *bell.Bell
}

// Sizes of the private memory of a session with a stream, in bytes.
const (
	privateRing  = 1 << 20
	privateArena = stream.ArenaBytes // only the used part takes memory
)

// shared maps the memory of the descriptors that the program passed, in this order: rings, arena,
// bell of the plugin, bell of the program. It takes ownership of all of them.
func shared(fds []int) (_ *memory, err error) {
	m := &memory{}
	defer func() {
		for _, fd := range fds {
			_ = unix.Close(fd) // the mapping stays
		}
		if err != nil {
			_ = m.close() // the other error is more important
		}
	}()
	if len(fds) != 4 {
		return nil, fmt.Errorf("%w: %d descriptors for a session, want those of the rings, the arena and two bells", bmi.ErrInvalid, len(fds))
	}
	if m.rings, err = segment.MapRings(fds[0]); err != nil {
		return nil, fmt.Errorf("%w: rings: %w", bmi.ErrInvalid, err)
	}
	if m.arena, err = segment.MapArena(fds[1]); err != nil {
		return nil, fmt.Errorf("%w: arena: %w", bmi.ErrInvalid, err)
	}
	bells := fds[2:]
	fds = fds[:2]
	for i, at := range []**bell.Bell{&m.toPlugin, &m.toProgram} {
		if *at, err = bellOf(bells[i]); err != nil {
			fds = append(fds, bells[i:]...)
			return nil, fmt.Errorf("%w: bell: %w", bmi.ErrInvalid, err)
		}
	}
	return m, nil
}

// bellOf makes a bell of a descriptor, which must be an eventfd: with any other kind, a write might
// not end a wait.
func bellOf(fd int) (*bell.Bell, error) {
	const want = "anon_inode:[eventfd]"
	switch kind, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd)); {
	case err != nil:
		return nil, fmt.Errorf("cannot tell what it is, is /proc mounted? %w", err)
	case kind != want:
		return nil, fmt.Errorf("a descriptor of %.100q, want %q", kind, want)
	}
	return bell.Of(fd)
}

// private makes memory that is not shared with another process.
func private() (_ *memory, err error) {
	m := &memory{}
	defer func() {
		if err != nil {
			_ = m.close() // the other error is more important
		}
	}()
	var fd int
	if m.rings, fd, err = segment.CreateRings(privateRing); err != nil {
		return nil, err
	}
	_ = unix.Close(fd) // the mapping stays
	if m.arena, fd, err = segment.CreateArena(privateArena); err != nil {
		return nil, err
	}
	_ = unix.Close(fd)
	if m.toPlugin, err = bell.New(); err != nil {
		return nil, err
	}
	m.toProgram, err = bell.New()
	return m, err
}

// close frees everything. The memory must not be in use any more.
func (m *memory) close() error {
	var errs []error
	if m.rings != nil {
		errs = append(errs, m.rings.Close())
	}
	if m.arena != nil {
		errs = append(errs, m.arena.Close())
	}
	for _, b := range []*bell.Bell{m.toPlugin, m.toProgram} {
		if b != nil {
			errs = append(errs, b.Close())
		}
	}
	*m = memory{}
	return errors.Join(errs...)
}
