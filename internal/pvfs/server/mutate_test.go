package server_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/server"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/stripe"
	"github.com/viaduct-hpc/viaduct/internal/race"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// mutations is the number of requests in TestMutated, unless VIADUCT_MUTATIONS says otherwise.
const mutations = 100_000

// The process may grow by this much after any number of requests: in bytes, because of the workers that a server keeps and the
// datafiles that it keeps open.
const (
	growthMax      = 48 << 20
	goroutinesMax  = 400
	descriptorsMax = 600
)

// mutator makes requests that are nearly valid.
type mutator struct {
	rng   *rand.Rand
	seeds []seed
}

type seed struct {
	header *proto.Header
	req    proto.Request
}

// strange are numbers that often cause errors.
var strange = []uint64{
	0, 1, 2, 3, 255, 256, 1024, 1025, math.MaxUint16, math.MaxInt32, math.MaxInt32 + 1, math.MaxUint32,
	proto.TokenStart, proto.TokenEnd, 1 << 40, math.MaxInt64, math.MaxInt64 + 1, math.MaxUint64,
}

// next is an encoded request with changed fields, changed bytes, or both.
func (m *mutator) next() []byte {
	s := m.seeds[m.rng.IntN(len(m.seeds))]
	h, req, err := proto.ParseRequest(proto.AppendRequest(nil, s.header, s.req)) // a copy
	if err != nil {
		return nil
	}
	how := m.rng.IntN(8)
	if how != 0 {
		for range 1 + m.rng.IntN(3) {
			m.change(reflect.ValueOf(req).Elem())
		}
	}
	if how == 1 {
		m.change(reflect.ValueOf(h).Elem())
	}
	b := proto.AppendRequest(nil, h, req)
	if how == 0 || how == 2 {
		for range 1 + m.rng.IntN(4) {
			b[m.rng.IntN(len(b))] = byte(m.rng.Uint32())
		}
	}
	switch m.rng.IntN(50) {
	case 0:
		b = b[:m.rng.IntN(len(b))]
	case 1:
		b = append(b, make([]byte, m.rng.IntN(9))...)
	}
	return b[:min(len(b), proto.MaxUnexpected)]
}

// change changes something in a value.
func (m *mutator) change(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		if v.NumField() > 0 {
			if f := v.Field(m.rng.IntN(v.NumField())); f.CanSet() {
				m.change(f)
			}
		}
	case reflect.Int32, reflect.Int64:
		v.SetInt(int64(m.number()))
	case reflect.Uint32, reflect.Uint64:
		v.SetUint(m.number())
	case reflect.String:
		v.SetString([]string{"", ".", "..", "a/b", "\x00", string(make([]byte, 300)), "lost+found", "x"}[m.rng.IntN(8)])
	case reflect.Slice:
		switch n := v.Len(); {
		case n > 0 && m.rng.IntN(3) > 0:
			m.change(v.Index(m.rng.IntN(n)))
		case n > 0 && m.rng.IntN(2) == 0:
			v.Set(v.Slice(0, m.rng.IntN(n)))
		case n < 100:
			v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
		}
	}
}

func (m *mutator) number() uint64 {
	n := strange[m.rng.IntN(len(strange))]
	return n + uint64(m.rng.IntN(3)) - 1
}

// seedsOf are valid requests of every kind.
func seedsOf(k *kit) []seed {
	f := k.create(0, 1, stripe.Default(proto.DistStripe))
	f.write(0, pattern(100000, 1))
	id, dir := k.c.FS.ID, k.attr(k.c.FS.Root).DistDir.Dirdata[0]
	read, write, both := f.ioReq(0, f.op(0, 50000)), f.ioReq(0, f.op(0, 5000)), f.attr.Datafiles
	read.Type, write.Type = proto.IORead, proto.IOWrite
	attr := proto.Attr{Perms: 0o644, Mask: proto.AttrCreate, Type: proto.TypeMetafile, Dist: f.attr.Dist}
	layout := proto.Layout{Algorithm: proto.LayoutRoundRobin}
	admin := &f.header
	return []seed{
		{nil, &proto.GetConfigReq{}}, {nil, &proto.NoopReq{}}, {nil, &proto.StatFSReq{FS: id}},
		{&k.root, &proto.LookupPathReq{Path: "a/b/c", FS: id, Start: k.c.FS.Root, Mask: proto.AttrCommon, Cred: k.cred}},
		{nil, &proto.GetAttrReq{Handle: f.handle, FS: id, Mask: proto.AttrStat, Cred: k.cred}},
		{nil, &proto.ListAttrReq{FS: id, Mask: proto.AttrListAttr, Handles: append(both, f.handle)}},
		{admin, &proto.SetAttrReq{Handle: f.handle, FS: id, Attr: attr, Cred: k.cred}},
		{&k.root, &proto.CreateReq{FS: id, Cred: k.cred, Attr: attr, Datafiles: 2, Layout: layout}},
		{&k.root, &proto.MkdirReq{FS: id, Cred: k.cred, Attr: proto.Attr{Mask: proto.AttrMkdir, Type: proto.TypeDirectory}, Extents: k.c.FS.Servers[0].Meta, Layout: layout}},
		{&k.root, &proto.BatchCreateReq{FS: id, Type: proto.TypeSymlink, Count: 1, Extents: k.c.FS.Servers[0].Meta}},
		{&k.root, &proto.BatchRemoveReq{FS: id, Handles: []proto.Handle{5}}},
		{&k.root, &proto.RemoveReq{Handle: 5, FS: id, Cred: k.cred}},
		{&k.root, &proto.TreeRemoveReq{FS: id, Cred: k.cred, Handles: []proto.Handle{5, 6}}},
		{nil, &proto.TreeGetFileSizeReq{FS: id, Cred: k.cred, Handles: both}},
		{nil, &proto.TreeGetAttrReq{FS: id, Cred: k.cred, Mask: proto.AttrCommon, Handles: both}},
		{admin, &proto.TreeSetAttrReq{FS: id, Cred: k.cred, Attr: attr, Handles: both}},
		{&k.root, &proto.CrDirentReq{Cred: k.cred, Name: "n", New: f.handle, Dir: k.c.FS.Root, Dirdata: dir, FS: id}},
		{&k.root, &proto.RmDirentReq{Name: "n", Dirdata: dir, FS: id}},
		{&k.root, &proto.ChDirentReq{Name: "n", New: f.handle, Dirdata: dir, FS: id}},
		{&k.root, &proto.ReadDirReq{Dirdata: dir, FS: id, Count: 10, Token: proto.TokenStart}},
		{admin, &proto.UnstuffReq{Handle: f.handle, FS: id, Mask: proto.AttrUnstuff, Cred: k.cred}},
		{admin, &proto.TruncateReq{Handle: both[0], FS: id, Size: 70000}},
		{admin, &proto.FlushReq{Handle: both[0], FS: id}},
		{admin, read}, {admin, write},
		{admin, f.smallReq(0, f.op(10, 200), nil)}, {admin, f.smallReq(0, f.op(10, 200), pattern(200, 2))},
		{admin, &proto.GetEattrReq{Handle: f.handle, FS: id, Keys: []string{"user.a", "system.pvfs2.dh"}, Sizes: []int64{100, 100}}},
		{admin, &proto.SetEattrReq{Handle: f.handle, FS: id, Keys: []string{"user.a"}, Values: [][]byte{{1, 2}}}},
		{admin, &proto.DelEattrReq{Handle: f.handle, FS: id, Key: "user.a"}},
		{admin, &proto.ListEattrReq{Handle: f.handle, FS: id, Token: proto.TokenStart, Sizes: []int64{100, 100}}},
		{admin, &proto.AtomicEattrReq{Handle: f.handle, FS: id, Keys: []string{"user.a"}, Values: [][]byte{{1}}, Sizes: []int64{10}}},
		{nil, &proto.SetParamReq{FS: id, Param: proto.ParamRootHandle, Value: uint64(k.c.FS.Root)}},
		{nil, &proto.IterateHandlesReq{FS: id, Count: 100, Position: proto.TokenStart}},
		{nil, &proto.DspaceInfoReq{FS: id, Handles: both}}, {nil, &proto.PerfMonReq{KeyCount: 20, SampleCount: 5}},
		{nil, &proto.EventMonReq{Count: 5}}, {nil, &proto.GetUIDReq{History: 5}}, {nil, &proto.ImmCopiesReq{}},
		{nil, &proto.RemoveObjectReq{Handle: 5, FS: id}}, {nil, &proto.RemoveDirentReq{Dirdata: dir, FS: id, Name: "n"}},
		{nil, &proto.GetDirdataHandleReq{Handle: k.c.FS.Root, FS: id}}, {nil, &proto.GetDirentReq{Dirdata: dir, FS: id, Name: "n"}},
		{nil, &proto.CreateRootDirReq{Handle: k.c.FS.Root, FS: id}},
		{nil, &proto.MirrorReq{Source: both[0], FS: id, Dist: f.attr.Dist}},
		{nil, &proto.SplitDirentReq{FS: id, Dirdata: dir, Dist: f.attr.Dist, Handles: both, Names: []string{"a", "b"}}},
	}
}

// usage is the resources that the process uses.
type usage struct {
	bytes                   int64
	goroutines, descriptors int
}

// used measures it. It waits a while for resources that are just being released.
func used(t testing.TB, atMost usage) (now usage) {
	for end := time.Now().Add(farOff); ; time.Sleep(10 * time.Millisecond) {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		open, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		now = usage{int64(m.HeapInuse + m.StackInuse), runtime.NumGoroutine(), len(open)}
		if now.goroutines <= atMost.goroutines && now.descriptors <= atMost.descriptors || time.Now().After(end) {
			return now
		}
	}
}

// clientsOfFlood is how many clients send mutated requests at a time.
const clientsOfFlood = 4

// flood sends mutated requests to the first server.
func flood(t testing.TB, k *kit, seeds []seed, round uint64, count int) {
	t.Helper()
	errs := make(chan error, clientsOfFlood)
	for i := range uint64(clientsOfFlood) {
		go func() {
			m := &mutator{rng: rand.New(rand.NewPCG(round, i)), seeds: seeds}
			rude := &rudeClient{kit: k}
			err := rude.storm(m, count/clientsOfFlood)
			errs <- errors.Join(err, rude.close())
		}()
	}
	for range clientsOfFlood {
		require.NoError(t, <-errs)
	}
}

// TestMutated sends nearly valid requests to a live server over tcp. Each is answered. Afterwards the server works as before, and
// has not grown. Where management is not allowed for these clients, another client is not affected meanwhile.
func TestMutated(t *testing.T) {
	count := mutations
	if text := os.Getenv("VIADUCT_MUTATIONS"); text != "" {
		n, err := strconv.Atoi(text)
		require.NoError(t, err)
		count = n
	} else if testing.Short() {
		count /= 40
	} else if race.Enabled {
		count /= 10
	}
	t.Run("management", func(t *testing.T) { mutated(t, count/4, nil) })
	t.Run("beside a client", func(t *testing.T) { mutated(t, count-count/4, []string{"tcp://192.0.2.1"}) })
}

func mutated(t *testing.T, count int, trusted []string) {
	k := newKit(t, pvfstest.Options{Method: pvfstest.TCP, Servers: 1, Server: func(_ int, cfg *server.Config) {
		cfg.Trusted = trusted
	}})
	k.ctx = t.Context() // a million requests have no time limit
	seeds := seedsOf(k)
	flood(t, k, seeds, 1, count/10)
	before := used(t, usage{goroutines: math.MaxInt, descriptors: math.MaxInt})
	sane := newClient(t, k.c)
	sane.ctx = k.ctx
	stop, slowest := make(chan struct{}), make(chan time.Duration, 1)
	if trusted != nil {
		go sane.works(stop, slowest)
	} else {
		slowest <- 0
	}
	flood(t, k, seeds, 2, count-count/10)
	close(stop)
	slow := <-slowest
	limit := usage{before.bytes + growthMax, before.goroutines + goroutinesMax, before.descriptors + descriptorsMax}
	after := used(t, limit)
	if after.bytes > limit.bytes || after.goroutines > limit.goroutines || after.descriptors > limit.descriptors {
		t.Errorf("in use %+v, before %+v", after, before)
	}
	st := k.c.Server(0).Stats()
	require.Zero(t, st.RPC.Panics)
	t.Logf("%d requests: %d undecodable, %d changed something; in use %+v, before %+v; the slowest of another client's took %v",
		count, st.RPC.Undecodable, st.Changes, after, before, slow)

	if trusted == nil {
		require.Equal(t, proto.OK, sane.setParam(0, proto.ParamMode, 1))
	}
	f := sane.create(0, 1, stripe.Default(proto.DistStripe))
	f.write(5, pattern(1000, 3))
	require.Equal(t, append(make([]byte, 5), pattern(1000, 3)...), f.read(0, 2000))
}

// works makes files, writes and reads them until stop is closed, and returns the duration of the slowest round.
func (k *kit) works(stop <-chan struct{}, slowest chan<- time.Duration) {
	slow := time.Duration(0)
	defer func() { slowest <- slow }()
	for i := byte(0); ; i++ {
		select {
		case <-stop:
			return
		case <-time.After(20 * time.Millisecond): // so that it does not use the whole server
		}
		began := time.Now()
		f := k.create(0, 1, stripe.Default(proto.DistStripe))
		data := pattern(1000*int(i), i)
		f.write(0, append(data, i))
		if !bytes.Equal(data, f.read(0, len(data))) {
			k.t.Error("other bytes than were written")
			return
		}
		if s := k.status(0, &k.root, &proto.RemoveReq{Handle: f.handle, FS: k.c.FS.ID, Cred: k.cred}); s != proto.OK {
			k.t.Errorf("remove: %v", s)
			return
		}
		slow = max(slow, time.Since(began))
	}
}

// rudeClient sends requests, requires an answer to each, and leaves in the middle of flows.
type rudeClient struct {
	kit *kit
	ep  *bmi.Endpoint
	ctx *bmi.Context
	tag bmi.Tag
	buf [64 << 10]byte
}

// storm sends count requests.
func (r *rudeClient) storm(m *mutator, count int) error {
	for range count {
		if b := m.next(); b != nil {
			if err := r.send(b); err != nil {
				return fmt.Errorf("request % x: %w", b, err)
			}
		}
	}
	return nil
}

func (r *rudeClient) send(b []byte) (err error) {
	k := r.kit
	if r.ep == nil {
		if r.ep, err = bmi.Open(k.ctx, bmi.Config{}); err != nil {
			return err
		}
		if r.ctx, err = r.ep.OpenContext(); err != nil {
			return err
		}
	}
	to, err := r.ep.Lookup(k.c.Address(0))
	if err != nil {
		return err
	}
	r.tag++
	n, err := r.ctx.Call(k.ctx, to, 0, r.tag, b, r.buf[:])
	if errors.Is(err, bmi.ErrTruncated) {
		return nil // a long one
	} else if err != nil {
		return err
	}
	resp, _, _ := proto.ParseAnyResponse(r.buf[:n])
	switch resp.(type) {
	case *proto.IOResp:
		return r.close()
	case *proto.SetParamResp: // it may be in admin mode now
		normal := proto.AppendRequest(nil, &k.root, &proto.SetParamReq{FS: k.c.FS.ID, Param: proto.ParamMode, Value: 1})
		r.tag++
		_, err = r.ctx.Call(k.ctx, to, 0, r.tag, normal, r.buf[:])
	}
	return err
}

func (r *rudeClient) close() error {
	if r.ep == nil {
		return nil
	}
	ep := r.ep
	r.ep = nil
	return ep.Close()
}
