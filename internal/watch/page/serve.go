package page

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"

	"github.com/viaduct-hpc/viaduct/internal/watch/view"
)

// Limits of a server.
const (
	connectionsMax = 64
	headerBytesMax = 16 << 10
	headerTimeMax  = 5 * time.Second
	writeTimeMax   = 30 * time.Second
	idleTimeMax    = time.Minute
)

// Serve serves the page of a source until ctx ends. It closes the listener, where readers may be waiting already. It calls ready once
// it answers them.
func Serve(ctx context.Context, l net.Listener, source view.Source, ready func()) error {
	s := &http.Server{
		Handler: http.MaxBytesHandler(Handler(source), 0), MaxHeaderBytes: headerBytesMax,
		ReadHeaderTimeout: headerTimeMax, ReadTimeout: headerTimeMax, WriteTimeout: writeTimeMax, IdleTimeout: idleTimeMax,
		ErrorLog: log.New(io.Discard, "", 0), // readers could fill it
	}
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer stop()
	ready()
	err := s.Serve(netutil.LimitListener(l, connectionsMax))
	if ctx.Err() != nil && errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
