package server

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/viaduct-hpc/viaduct/internal/mpi/pmi/wire"
)

// A session is the connection of one process.
type session struct {
	job  *Job
	rank int
	r    *bufio.Reader
	line []byte // the latest line, reused

	mu sync.Mutex // for w: a fence may end while another answer is written
	w  io.Writer

	waits  sync.WaitGroup
	spawns []wire.Spawn // the programs of an incomplete spawn
}

// Serve answers the requests of a process until it closes the connection, which is not an error, or
// sends an invalid request. The caller must close the connection; that or Close also ends Serve.
func (j *Job) Serve(rank int, conn io.ReadWriter) error {
	s := &session{job: j, rank: rank, r: bufio.NewReader(conn), w: conn}
	done := make(chan struct{})
	defer s.waits.Wait()
	defer close(done)
	for {
		err := s.next(done)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("rank %d of %s: %w", rank, j.cfg.Name, err)
		}
	}
}

// next reads one command and answers it.
func (s *session) next(done <-chan struct{}) error {
	var err error
	if s.line, err = wire.ReadLine(s.r, s.line[:0]); err != nil {
		return err
	}
	if string(s.line) == wire.SpawnStart {
		return s.spawn()
	}
	c, err := wire.ParseLine(s.line)
	if err != nil {
		return err
	}
	switch c.Name {
	case "init":
		return s.init(c)
	case "finalize":
		if err := s.job.become(s.rank, Finalized); err != nil {
			return err
		}
		return s.answer("finalize_ack", "rc", "0")
	case "barrier_in":
		return s.barrier(done)
	case "put", "get":
		return s.pair(c)
	case "publish_name", "unpublish_name", "lookup_name":
		return s.name(c)
	case "abort":
		code, ok := c.Int("exitcode")
		if !ok {
			code = 1
		}
		message, _ := c.Get("message")
		if s.job.cfg.Abort != nil {
			s.job.cfg.Abort(s.rank, code, message)
		}
		return nil
	}
	return s.about(c)
}

// about answers requests for fixed values.
func (s *session) about(c wire.Command) error {
	cfg := &s.job.cfg
	switch c.Name {
	case "get_maxes":
		return s.answer("maxes", "rc", "0", "kvsname_max", strconv.Itoa(nameBytesMax), "keylen_max", strconv.Itoa(keyBytesMax), "vallen_max", strconv.Itoa(valueBytesMax))
	case "get_appnum":
		return s.answer("appnum", "rc", "0", "appnum", s.job.appNum(s.rank))
	case "get_my_kvsname":
		return s.answer("my_kvsname", "rc", "0", "kvsname", cfg.Name)
	case "get_universe_size":
		return s.answer("universe_size", "rc", "0", "size", strconv.Itoa(cfg.Universe))
	}
	return fmt.Errorf("%w: %q is no command of PMI-1", wire.ErrMalformed, c.Name)
}

func (s *session) answer(name string, keysAndValues ...string) error {
	line, err := wire.AppendLine(nil, wire.New(name, keysAndValues...))
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err = s.w.Write(line)
	return err
}

func (s *session) init(c wire.Command) error {
	version, _ := c.Int("pmi_version")
	if version != 1 {
		return s.answer("response_to_init", "pmi_version", "1", "pmi_subversion", "1", "rc", "-1")
	}
	if err := s.job.become(s.rank, Ready); err != nil {
		return err
	}
	return s.answer("response_to_init", "pmi_version", "1", "pmi_subversion", "1", "rc", "0")
}

// barrier answers the process when all ranks are in the fence; meanwhile the process may abort.
func (s *session) barrier(done <-chan struct{}) error {
	fence, err := s.job.enter(s.rank)
	if err != nil {
		return err
	}
	s.waits.Go(func() {
		select {
		case <-fence:
			_ = s.answer("barrier_out", "rc", "0") // an error means that the process is gone
		case <-done:
		case <-s.job.closed:
		}
	})
	return nil
}

func (s *session) pair(c wire.Command) error {
	result := c.Name + "_result"
	key, _ := c.Get("key")
	if name, ok := c.Get("kvsname"); ok && name != s.job.cfg.Name {
		return s.answer(result, "rc", "-1", "msg", "no_such_kvs")
	}
	if c.Name == "put" {
		value, _ := c.Get("value")
		if why := s.job.put(key, value); why != "" {
			return s.answer(result, "rc", "-1", "msg", word(why))
		}
		return s.answer(result, "rc", "0", "msg", "success")
	}
	value, ok := s.job.get(s.rank, key)
	if !ok {
		return s.answer(result, "rc", "-1", "msg", "key_not_found", "value", "unknown")
	}
	return s.answer(result, "rc", "0", "msg", "success", "value", value)
}

func (s *session) name(c wire.Command) error {
	result := strings.TrimSuffix(c.Name, "_name") + "_result"
	service, _ := c.Get("service")
	port, _ := c.Get("port")
	names, why := s.job.cfg.Names, ""
	switch {
	case names == nil:
		why = "names_cannot_be_published_here"
	case c.Name == "publish_name":
		why = names.Publish(service, port)
	case c.Name == "unpublish_name":
		why = names.Unpublish(service)
	default:
		var ok bool
		if port, ok = names.Lookup(service); ok {
			return s.answer(result, "rc", "0", "info", "ok", "port", port)
		}
		why = "no_such_service"
	}
	if why != "" {
		return s.answer(result, "rc", "-1", "info", why, "msg", why)
	}
	return s.answer(result, "rc", "0", "info", "ok")
}
