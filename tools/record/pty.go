package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/docs"
)

// Size of the terminal, in characters.
const (
	columns = 100
	rows    = 40
)

// openTerminal makes a terminal and returns both of its ends.
func openTerminal() (outside, inside *os.File, err error) {
	outside, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	fd := int(outside.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns})
	}
	if err == nil {
		inside, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		return nil, nil, errors.Join(err, outside.Close())
	}
	return outside, inside, nil
}

// record runs a script in a terminal and returns what it showed, line by line.
func record(ctx context.Context, s *docs.Session, script string, commands map[string]string) ([]line, error) {
	outside, inside, err := openTerminal()
	if err != nil {
		return nil, err
	}
	s.Terminal = inside
	shown := make(chan []line)
	go func() {
		screen := screen{commands: commands, start: time.Now()}
		buf := make([]byte, 4096)
		for {
			n, err := outside.Read(buf)
			screen.write(time.Now(), buf[:n])
			if err != nil { // EIO: nobody has the other end any more
				shown <- screen.end()
				return
			}
		}
	}()
	_, err = s.Run(ctx, script)
	err = errors.Join(err, inside.Close())
	lines := <-shown
	return lines, errors.Join(err, outside.Close())
}
