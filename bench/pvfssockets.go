package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/viaduct-hpc/viaduct/internal/perf"
)

const (
	roleSocketServer = "pvfs-socket-server"
	roleSocketCopy   = "pvfs-socket-copy"
	// socketPiece is the size of reads from a file or a socket: it stays in a core's cache.
	socketPiece = 256 << 10
)

// bareSocketsContender is the machine's speed over TCP without a file system: two processes that each have half of the file
// in memory, and one that copies it in and out, with read, send, receive and write and nothing else.
func bareSocketsContender(cfg config) contender {
	return contender{name: pvfsSockets, run: func(ctx context.Context) (all []perf.Result, err error) {
		input, err := pvfsInput(cfg)
		if err != nil {
			return nil, err
		}
		var addresses []string
		for i := range pvfsServerCount {
			name := memoryName(fmt.Sprint("sockets-", i))
			child, err := perf.StartChild("process with sockets", onCores(cfg, perf.SelfCommand(roleSocketServer, memoryFolder+"/"+name)...))
			if err != nil {
				return nil, err
			}
			defer func() { err = errors.Join(err, child.Close()) }()
			address, err := child.Answer()
			if err != nil {
				return nil, err
			}
			addresses = append(addresses, strings.TrimSpace(address))
		}
		if err := warmMemory(cfg); err != nil {
			return nil, err
		}
		for _, way := range []struct {
			test      perf.Test
			way, file string
		}{{pvfsIn, "in", input}, {pvfsOut, "out", os.DevNull}} {
			line := append([]string{roleSocketCopy, way.way, way.file, fmt.Sprint(cfg.pvfsBytes)}, addresses...)
			took, err := timed(ctx, cfg, nil, perf.SelfCommand(line...)...)
			if err != nil {
				return nil, err
			}
			all = append(all, bytesResult(cfg, way.test, took))
		}
		return all, nil
	}}
}

// socketServer runs a process that holds half of the file. Its argument is the name of its own file.
func socketServer(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("want the name of a file, not %q", args)
	}
	file, err := os.Create(args[0])
	if err != nil {
		return err
	}
	_ = os.Remove(args[0]) // the open file lasts as long as the process
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("ok", listener.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // its end is the command to stop
		_ = listener.Close()
	}()
	for {
		conn, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return file.Close()
		}
		if err == nil {
			err = serveSocket(conn, file)
		}
		if err != nil {
			return err
		}
	}
}

// serveSocket does what the first line requests: "in" or "out", and the number of bytes.
func serveSocket(conn net.Conn, file *os.File) error {
	defer conn.Close()
	order := bufio.NewReaderSize(conn, 16) // only the line has arrived yet
	line, err := order.ReadString('\n')
	if err != nil {
		return err
	}
	var way string
	var size int64
	if _, err := fmt.Sscan(line, &way, &size); err != nil {
		return fmt.Errorf("bad order %q: %w", line, err)
	}
	if _, err := conn.Write([]byte("go\n")); err != nil {
		return err
	}
	if way == "in" {
		err = receiveFile(conn, file, 0, size)
		if err == nil {
			_, err = conn.Write([]byte("ok\n")) // it has arrived
		}
		return err
	}
	return sendFile(conn, file, 0, size)
}

// socketCopy copies a file in or out. Its arguments are the direction, the file, its size and the addresses. Each address
// gets an equal part.
func socketCopy(args []string) error {
	if len(args) < 4 {
		return fmt.Errorf("want a way, a file, a size and addresses, not %q", args)
	}
	way, name, addresses := args[0], args[1], args[3:]
	size, err := strconv.ParseInt(args[2], 10, 64)
	if err != nil {
		return err
	}
	flags := os.O_RDONLY
	if way == "out" {
		flags = os.O_WRONLY
	}
	file, err := os.OpenFile(name, flags, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	part := size / int64(len(addresses))
	done := make(chan error, len(addresses))
	for i, address := range addresses {
		go func() { done <- copyPart(way, address, file, int64(i)*part, part) }()
	}
	for range addresses {
		err = errors.Join(err, <-done)
	}
	return err
}

func copyPart(way, address string, file *os.File, at, size int64) error {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := fmt.Fprintln(conn, way, size); err != nil {
		return err
	}
	var said [3]byte
	if _, err := io.ReadFull(conn, said[:]); err != nil {
		return err
	}
	if way == "out" {
		return receiveFile(conn, file, at, size)
	}
	if err := sendFile(conn, file, at, size); err != nil {
		return err
	}
	_, err = io.ReadFull(conn, said[:])
	return err
}

// sendFile sends size bytes from an offset of a file.
func sendFile(conn net.Conn, file *os.File, at, size int64) error {
	piece := make([]byte, socketPiece)
	for end := at + size; at < end; {
		n, err := file.ReadAt(piece[:min(socketPiece, end-at)], at)
		if err != nil {
			return err
		}
		if _, err := conn.Write(piece[:n]); err != nil {
			return err
		}
		at += int64(n)
	}
	return nil
}

// receiveFile writes size bytes at an offset of a file; for the null device the offset does not matter.
func receiveFile(conn net.Conn, file *os.File, at, size int64) error {
	piece := make([]byte, socketPiece)
	for end := at + size; at < end; {
		n, err := conn.Read(piece[:min(socketPiece, end-at)])
		if err != nil {
			return err
		}
		if _, err := file.WriteAt(piece[:n], at); err != nil {
			return err
		}
		at += int64(n)
	}
	return nil
}
