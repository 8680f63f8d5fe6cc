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
	at     net.Addr
	remove func()
	ended  chan struct{}
	once   sync.Once
}

// Listen starts a server. The caller must close it.
func Listen(w Where) (*Server, error) {
	l, remove, err := w.listen()
	if err != nil {
		return nil, fmt.Errorf("cannot serve metrics: %w", err)
	}
	return newServer(l, remove), nil
}

func newServer(l net.Listener, remove func()) *Server {
	s := &Server{at: l.Addr(), remove: remove, ended: make(chan struct{})}
	s.http = http.Server{
		Handler:        http.MaxBytesHandler(http.HandlerFunc(serve), 0),
		MaxHeaderBytes: headerBytesMax, ReadHeaderTimeout: headerTimeMax,
		ReadTimeout: readTimeMax, WriteTimeout: writeTimeMax, IdleTimeout: idleTimeMax,
		ErrorLog: log.New(io.Discard, "", 0), // clients could fill it
	}
	go func() {
		defer close(s.ended)
		_ = s.http.Serve(netutil.LimitListener(l, connectionsMax)) // it ends when the server is closed
	}()
	return s
}

// Addr is where the server listens.
func (s *Server) Addr() net.Addr { return s.at }

// Where is Addr as Parse takes it.
func (s *Server) Where() string {
	if s.at.Network() == "unix" {
		return "unix:" + s.at.String()
	}
	return s.at.String()
}

// Close ends the server and all connections.
func (s *Server) Close() error {
	var err error
	s.once.Do(func() {
		err = s.http.Close()
		<-s.ended
		s.remove()
	})
	return err
}
