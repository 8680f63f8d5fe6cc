package replay_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/golden"
	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/replay"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/server"
	"github.com/viaduct-hpc/viaduct/internal/race"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// Ports of the captured servers, in the order of their aliases.
var ports = []uint16{3334, 3335}

// farOff is a limit for hangs.
const farOff = 2 * time.Minute

// stage has live servers with the configuration of the captured ones, and a player.
type stage struct {
	t    *testing.T
	ctx  context.Context
	c    *pvfstest.Cluster
	p    *replay.Player
	root proto.Handle
}

func newStage(t *testing.T, method, config string) *stage {
	ctx, cancel := context.WithTimeout(context.Background(), farOff)
	t.Cleanup(cancel)
	s := &stage{t: t, ctx: ctx}
	s.c = pvfstest.Start(t, pvfstest.Options{Method: method, Text: config, Server: func(_ int, cfg *server.Config) {
		cfg.Trusted = []string{method + "://*"} // pvfs2-fsck and others show no capability
	}})
	s.root = s.c.FS.Root
	ep := s.c.Endpoint()
	var err error
	s.p, err = replay.NewPlayer(ep, replay.NewMapping(s.root))
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.p.Close() })
	s.p.Text = s.c.Original
	s.p.Owner = func(h proto.Handle) (bmi.Addr, bool) {
		i, ok := s.c.FS.Owner(h)
		if !ok {
			return bmi.Addr{}, false
		}
		return s.p.Servers[ports[i]], true
	}
	for i, port := range ports {
		s.p.Servers[port], err = ep.Lookup(s.c.Address(i))
		require.NoError(t, err)
	}
	return s
}

// play plays a session; every answer must be as captured.
func (s *stage) play(name string, exchanges []*replay.Exchange) {
	s.t.Helper()
	played := 0
	for i, x := range exchanges {
		if replay.Skip(x) {
			continue
		}
		diffs, err := s.p.Play(s.ctx, x)
		_, req, _ := proto.ParseRequest(x.Request)
		require.NoError(s.t, err, "%s, exchange %d: %s", name, i, req)
		for _, d := range diffs {
			s.t.Errorf("%s, exchange %d, %T: %s", name, i, req, d)
		}
		played++
	}
	for _, d := range s.p.Finish() {
		s.t.Errorf("%s: %s", name, d)
	}
	require.NotZero(s.t, played, name)
}

// do sends a test's own request with live handles to the owner of a handle.
func (s *stage) do(near, owner proto.Handle, req proto.Request) proto.Response {
	s.t.Helper()
	h := &proto.Header{Capability: s.attr(near).Capability, Hints: proto.Hints{{Type: proto.HintHandle, Value: uint64(near)}}}
	return s.must(h, owner, req)
}

func (s *stage) must(h *proto.Header, owner proto.Handle, req proto.Request) proto.Response {
	s.t.Helper()
	i, ok := s.c.FS.Owner(owner)
	require.True(s.t, ok)
	resp, status, err := s.p.Do(s.ctx, s.p.Servers[ports[i]], h, req)
	require.NoError(s.t, err)
	require.Equal(s.t, proto.OK, status, "%s", req)
	return resp
}

var rootCred = proto.Credential{Groups: []uint32{0}, Issuer: "C:test", Timeout: time.Now().Add(time.Hour)}

// attr returns the attributes of a live object.
func (s *stage) attr(h proto.Handle) proto.Attr {
	s.t.Helper()
	resp := s.must(nil, h, &proto.GetAttrReq{Handle: h, FS: s.c.FS.ID, Mask: proto.AttrMetafile, Cred: rootCred})
	return resp.(*proto.GetAttrResp).Attr
}

// dirdata is the dirdata object of a live directory that has only one.
func (s *stage) dirdata(dir proto.Handle) proto.Handle {
	return s.attr(dir).DistDir.Dirdata[0]
}

// entries lists a live directory that has only one dirdata object.
func (s *stage) entries(dir proto.Handle) []proto.DirEntry {
	dirdata := s.dirdata(dir)
	resp := s.do(dir, dirdata, &proto.ReadDirReq{Dirdata: dirdata, FS: s.c.FS.ID, Count: proto.MaxReadDir, Token: proto.TokenStart})
	return resp.(*proto.ReadDirResp).Entries
}

// find is the live handle of a name.
func (s *stage) find(dir proto.Handle, name string) proto.Handle {
	s.t.Helper()
	for _, e := range s.entries(dir) {
		if e.Name == name {
			return e.Handle
		}
	}
	s.t.Fatalf("no %q", name)
	return 0
}

// unlink removes a name.
func (s *stage) unlink(dir proto.Handle, name string) {
	dirdata := s.dirdata(dir)
	s.do(dir, dirdata, &proto.RmDirentReq{Name: name, Dirdata: dirdata, FS: s.c.FS.ID})
}

// between has the changes that happened between captures without being captured, by the capture after them.
var between = map[string]func(s *stage){
	"27-readdir": func(s *stage) { // mv /d/f1k /d/g100k
		d := s.find(s.root, "d")
		dirdata := s.dirdata(d)
		s.do(d, dirdata, &proto.ChDirentReq{Name: "g100k", New: s.find(d, "f1k"), Dirdata: dirdata, FS: s.c.FS.ID})
		s.unlink(d, "f1k")
	},
	"45-remove-dirent": func(s *stage) { // makes the entry that it removes
		d := s.find(s.root, "d")
		dirdata := s.dirdata(d)
		s.do(d, dirdata, &proto.CrDirentReq{Cred: rootCred, Name: "victim", New: s.find(d, "f"), Dir: d, Dirdata: dirdata, FS: s.c.FS.ID})
	},
	"51-rmdir": func(s *stage) { // removes everything that is left
		d := s.find(s.root, "d")
		for _, e := range s.entries(d) {
			s.unlink(d, e.Name)
		}
	},
}

// captures is the folder of the captures. Tests that need it are skipped without it.
func captures(t *testing.T) string {
	t.Helper()
	dir, err := replay.Captures()
	need.Unless(t, need.Captures, err)
	return dir
}

func load(t *testing.T, path ...string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(path...))
	require.NoError(t, err)
	return b
}

func loadCapture(t *testing.T, path ...string) []*replay.Exchange {
	t.Helper()
	messages, err := replay.Read(load(t, path...), ports...)
	require.NoError(t, err)
	return replay.Exchanges(messages)
}

// configOf is the configuration of the captured servers.
func configOf(t *testing.T, exchanges []*replay.Exchange) string {
	t.Helper()
	for _, x := range exchanges {
		if _, req, err := proto.ParseRequest(x.Request); err != nil || req.Op() != proto.OpGetConfig || len(x.Received) == 0 {
			continue
		}
		var resp proto.GetConfigResp
		require.NoError(t, proto.ParseResponse(x.Received[0], &resp))
		return resp.Text
	}
	t.Fatal("nobody asked for the configuration")
	return ""
}

// The cuts of the captures.
var (
	cutFile    = filepath.Join("testdata", "sessions.gz")
	spreadFile = filepath.Join("testdata", "spread.gz")
	probesFile = filepath.Join("testdata", "probes.gz")
)

// update writes a cut of sessions if the test runs with -update.
func update(t *testing.T, path string, sessions []replay.Session) {
	t.Helper()
	if !golden.Updating() {
		return
	}
	var cut bytes.Buffer
	require.NoError(t, replay.WriteCut(&cut, sessions))
	golden.Check(t, path, cut.Bytes())
}

// ofClients removes exchanges that are not played.
func ofClients(sessions []replay.Session) (kept []replay.Session) {
	for _, s := range sessions {
		kept = append(kept, replay.Session{Name: s.Name, Exchanges: slices.DeleteFunc(slices.Clone(s.Exchanges), replay.Skip)})
	}
	return kept
}

// loadCut reads a cut.
func loadCut(t *testing.T, path string) []replay.Session {
	t.Helper()
	sessions, err := replay.ReadCut(bytes.NewReader(load(t, path)))
	require.NoError(t, err)
	require.NotEmpty(t, sessions)
	return sessions
}

// playAll plays the session, and then on the same servers each operation in the order of capture.
func playAll(t *testing.T, method string, sessions []replay.Session) {
	t.Helper()
	s := newStage(t, method, configOf(t, sessions[0].Exchanges))
	for _, one := range sessions {
		if step := between[one.Name]; step != nil {
			step(s)
		}
		s.play(one.Name, one.Exchanges)
	}
}

// capturedSessions are the session and the operations in the captures.
func capturedSessions(t *testing.T, dir string) []replay.Session {
	t.Helper()
	sessions := []replay.Session{{Name: "session", Exchanges: loadCapture(t, dir, "session.pcap")}}
	files, err := filepath.Glob(filepath.Join(dir, "ops", "*.pcap"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	slices.Sort(files)
	for _, f := range files {
		sessions = append(sessions, replay.Session{Name: strings.TrimSuffix(filepath.Base(f), ".pcap"), Exchanges: loadCapture(t, f)})
	}
	return sessions
}

// TestCaptures plays the captures themselves. With -update it writes the cut.
func TestCaptures(t *testing.T) {
	sessions := capturedSessions(t, captures(t))
	update(t, cutFile, ofClients(sessions))
	playAll(t, pvfstest.Memory, sessions)
}

// TestSessions plays the cut of the captures, with the slow race detector over one method only.
func TestSessions(t *testing.T) {
	methods := pvfstest.Methods
	if race.Enabled {
		methods = methods[:1]
	}
	for _, method := range methods {
		t.Run(method, func(t *testing.T) { playAll(t, method, loadCut(t, cutFile)) })
	}
}

// capturedStart is the ping of two servers that have just started, without the messages between the servers.
func capturedStart(t *testing.T, dir string) []*replay.Exchange {
	t.Helper()
	exchanges := loadCapture(t, dir, "00-server-startup.pcap")
	ofServers := map[int]bool{}
	for _, x := range exchanges {
		_, req, err := proto.ParseRequest(x.Request)
		require.NoError(t, err)
		ofServers[x.Conn] = ofServers[x.Conn] || req.Op() == proto.OpBatchCreate
	}
	return slices.DeleteFunc(exchanges, func(x *replay.Exchange) bool { return ofServers[x.Conn] })
}

// TestCapturedStart plays the ping. lost+found did not exist yet when the client counted.
func TestCapturedStart(t *testing.T) {
	exchanges := capturedStart(t, captures(t))
	exchanges = slices.DeleteFunc(exchanges, func(x *replay.Exchange) bool {
		_, req, err := proto.ParseRequest(x.Request)
		require.NoError(t, err)
		get, is := req.(*proto.GetAttrReq)
		return is && get.Mask == proto.AttrOfDirdata
	})
	newStage(t, pvfstest.Memory, configOf(t, exchanges)).play("start", exchanges)
}

// playSpread plays the operations on a directory on two servers, after making it.
func playSpread(t *testing.T, method string, sessions []replay.Session) {
	t.Helper()
	s := newStage(t, method, configOf(t, sessions[0].Exchanges))
	extents := s.c.FS.Servers[1].Meta
	made := s.do(s.root, extents[0].First, &proto.MkdirReq{
		FS: s.c.FS.ID, Cred: rootCred, Extents: extents, Layout: proto.Layout{Algorithm: proto.LayoutRoundRobin},
		Attr: proto.Attr{Perms: 0o755, Mask: proto.AttrMkdir, Type: proto.TypeDirectory},
	}).(*proto.MkdirResp)
	bucket := s.attr(s.root).DistDir.Dirdata[1] // the bucket of "dd"
	s.do(s.root, bucket, &proto.CrDirentReq{Cred: rootCred, Name: "dd", New: made.Handle, Dir: s.root, Dirdata: bucket, FS: s.c.FS.ID})
	for _, one := range sessions {
		s.play(one.Name, one.Exchanges)
	}
}

// capturedSpread are the sessions with a directory on two servers in the captures.
func capturedSpread(t *testing.T, dir string) (sessions []replay.Session) {
	t.Helper()
	for _, name := range []string{"distdir-2-touch12", "distdir-2-ls"} {
		sessions = append(sessions, replay.Session{Name: name, Exchanges: loadCapture(t, dir, name+".pcap")})
	}
	return sessions
}

// TestCapturedSpread plays these captures. With -update it writes the cut.
func TestCapturedSpread(t *testing.T) {
	sessions := capturedSpread(t, captures(t))
	update(t, spreadFile, ofClients(sessions))
	playSpread(t, pvfstest.Memory, sessions)
}

// TestSpread plays the cut of these.
func TestSpread(t *testing.T) {
	for _, method := range pvfstest.Methods {
		t.Run(method, func(t *testing.T) { playSpread(t, method, loadCut(t, spreadFile)) })
	}
}

// TestEveryCaptureIsPlayed: one of these tests reads each capture. All those in ops are read.
func TestEveryCaptureIsPlayed(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(captures(t), "*.pcap"))
	require.NoError(t, err)
	var names []string
	for _, f := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(f), ".pcap"))
	}
	require.ElementsMatch(t, []string{"session", "00-server-startup", "distdir-2-touch12", "distdir-2-ls", "probes"}, names)
}
