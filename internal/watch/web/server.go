package web

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/net/netutil"
)

// Limits of a server.
const (
	connectionsMax = 64
	headerBytesMax = 8 << 10
	headerTimeMax  = 5 * time.Second  // to send the header of a request
	readTimeMax    = 10 * time.Second // to send a request
	writeTimeMax   = 30 * time.Second // to take an answer; a handler can change that (http.ResponseController)
	idleTimeMax    = 60 * time.Second // between two requests of a connection
)

// A Server serves all paths of Handle at one place.
type Server struct {
	http   http.Server
	l      net.Listener
	remove func()

	mu     sync.Mutex
	ended  chan struct{} // closed when the server has ended; nil before Serve
	closed bool
}

// Listen takes the place. Connections wait there until Serve. The caller must close the server.
func Listen(w Where) (*Server, error) {
	l, remove, err := w.listen()
	if err != nil {
		return nil, fmt.Errorf("cannot serve metrics: %w", err)
	}
	return newServer(l, remove), nil
}

func newServer(l net.Listener, remove func()) *Server {
	s := &Server{l: l, remove: remove}
	s.http = http.Server{
		Handler:        http.MaxBytesHandler(http.HandlerFunc(serve), 0),
		MaxHeaderBytes: headerBytesMax, ReadHeaderTimeout: headerTimeMax,
		ReadTimeout: readTimeMax, WriteTimeout: writeTimeMax, IdleTimeout: idleTimeMax,
		ErrorLog: log.New(io.Discard, "", 0), // clients could fill it
	}
	return s
}

// Serve starts to answer, in the background. It is called when all that the process shows is there.
func (s *Server) Serve() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.ended != nil {
		return
	}
	s.ended = make(chan struct{})
	go func() {
		defer close(s.ended)
		_ = s.http.Serve(netutil.LimitListener(s.l, connectionsMax)) // it ends when the server is closed
	}()
}

// Addr is where the server listens.
func (s *Server) Addr() net.Addr { return s.l.Addr() }

// Where is Addr as Parse takes it.
func (s *Server) Where() string {
	at := s.l.Addr()
	if at.Network() == "unix" {
		return "unix:" + at.String()
	}
	return at.String()
}

// Close ends the server and all connections.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	var err error
	if s.ended == nil {
		err = s.l.Close()
	} else {
		err = s.http.Close()
		<-s.ended
	}
	s.remove()
	return err
}
