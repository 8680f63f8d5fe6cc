package server_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/server"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/stripe"
	"github.com/viaduct-hpc/viaduct/internal/race"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A grammar makes requests of an attacker. The attacker knows the protocol, all handles and all names, and has the capabilities
// that servers gave it. Most requests are about one object, and send a capability for it. The rest is random, by its type.
type grammar struct {
	rng          *rand.Rand
	ep           *bmi.Endpoint // its address
	user         *user
	squashed     bool             // the server's rules map its address to nobody
	rightly      int              // answers with data that its group may read
	handles      []proto.Handle   // all
	objects      [][]proto.Handle // with their parts: datafiles or dirdata
	names        []string
	others       int                                 // number of objects from the start, the first ones
	entries      map[proto.Handle][]string           // names in directories
	capabilities map[proto.Handle][]proto.Capability // by their first handle

	about []proto.Handle // objects of this request
}

// request draws a request and its header.
func (g *grammar) request() (*proto.Header, proto.Request) {
	for {
		req := proto.NewRequest(proto.Op(g.rng.IntN(64)))
		if req == nil {
			continue
		}
		g.about = g.objects[g.rng.IntN(len(g.objects))]
		if g.rng.IntN(2) == 0 {
			req = g.likely()
		} else {
			g.fill(reflect.ValueOf(req).Elem())
		}
		h := g.header()
		if _, _, err := proto.ParseRequest(proto.AppendRequest(nil, h, req)); err == nil {
			return h, req
		}
	}
}

// likely is a request that an attack would probably use, with sensible values.
func (g *grammar) likely() proto.Request {
	id, cred, object, part := g.user.fs(), g.user.cred, g.about[0], g.about[len(g.about)-1]
	switch g.rng.IntN(20) {
	case 0, 15, 16, 17:
		req := &proto.SmallIOReq{
			Handle: part, FS: id, Type: proto.IORead, ServerNr: uint32(max(len(g.about)-2, 0)), ServerCt: uint32(max(len(g.about)-1, 1)), Dist: stripe.Default(proto.DistStripe),
			Request: proto.ByteStream(), Aggregate: 1000,
		}
		if g.rng.IntN(4) == 0 {
			req.Type, req.Data, req.Total = proto.IOWrite, make([]byte, 1000), 1000
		}
		return req
	case 1:
		return &proto.TruncateReq{Handle: part, FS: id}
	case 2:
		return &proto.ReadDirReq{Dirdata: part, FS: id, Count: 100, Token: proto.TokenStart}
	case 3:
		return &proto.CrDirentReq{Cred: cred, Name: g.name(), New: g.handle(), Dir: object, Dirdata: part, FS: id}
	case 4:
		return &proto.RmDirentReq{Name: g.name(), Dirdata: part, FS: id}
	case 5:
		return &proto.ChDirentReq{Name: g.name(), New: g.handle(), Dirdata: part, FS: id}
	case 6:
		return &proto.RemoveReq{Handle: g.handle(), FS: id, Cred: cred}
	case 7:
		return &proto.SetAttrReq{Handle: object, FS: id, Cred: cred, Attr: proto.Attr{Owner: stranger, Group: stranger, Perms: 0o777, Mask: proto.AttrPerm | proto.AttrMask(g.rng.IntN(4)), Type: proto.TypeMetafile}}
	case 8:
		return &proto.LookupPathReq{Path: g.name(), FS: id, Start: object, Mask: proto.AttrStat, Cred: cred}
	case 9:
		return &proto.CreateReq{FS: id, Cred: cred, Attr: proto.Attr{Owner: g.id(), Group: stranger, Perms: 0o666, Mask: proto.AttrCreate, Type: proto.TypeMetafile, Dist: stripe.Default(proto.DistStripe)}, Datafiles: 2, Layout: proto.Layout{Algorithm: proto.LayoutRoundRobin}}
	case 10:
		return &proto.MkdirReq{FS: id, Cred: cred, Attr: proto.Attr{Owner: g.id(), Group: stranger, Perms: 0o777, Mask: proto.AttrMkdir, Type: proto.TypeDirectory}, Extents: g.user.c.FS.Servers[0].Meta, Layout: proto.Layout{Algorithm: proto.LayoutRoundRobin}}
	case 11:
		return &proto.UnstuffReq{Handle: object, FS: id, Mask: proto.AttrUnstuff, Cred: cred}
	case 12:
		return &proto.GetEattrReq{Handle: object, FS: id, Keys: []string{g.name()}, Sizes: []int64{1000}}
	case 13:
		return &proto.SetEattrReq{Handle: object, FS: id, Keys: []string{g.name()}, Values: [][]byte{[]byte("x")}}
	case 14:
		return &proto.BatchRemoveReq{FS: id, Handles: []proto.Handle{g.handle()}}
	}
	return &proto.GetAttrReq{Handle: object, FS: id, Mask: proto.AttrStat, Cred: cred}
}

func (g *grammar) header() *proto.Header {
	h := &proto.Header{}
	of := g.about[0]
	if g.rng.IntN(4) == 0 {
		of = g.handle()
	}
	if all := g.capabilities[of]; len(all) > 0 && g.rng.IntN(8) > 0 {
		h.Capability = all[g.rng.IntN(len(all))]
		h.Capability.Handles = slices.Clone(h.Capability.Handles)
		h.Capability.Signature = bytes.Clone(h.Capability.Signature)
		switch g.rng.IntN(24) { // sometimes a forged one
		case 0:
			h.Capability.Mask = proto.MayAll
		case 1:
			h.Capability.Handles = append(h.Capability.Handles, g.handle())
		case 2:
			h.Capability.Signature = nil
		case 3:
			h.Capability.Issuer = "S:server0"
		}
	}
	if g.rng.IntN(2) == 0 {
		h.Hints = append(h.Hints, proto.Hint{Type: proto.HintHandle, Value: uint64(g.about[0])})
	}
	for range g.rng.IntN(4) {
		switch g.rng.IntN(14) {
		default:
			h.Hints = append(h.Hints, proto.Hint{Type: proto.HintHandle, Value: uint64(g.handle())})
		case 0:
			h.Hints = append(h.Hints, proto.Hint{Type: proto.HintServerID, Value: g.rng.Uint64N(3)})
		case 1:
			h.Hints = append(h.Hints, proto.Hint{Type: proto.HintOwnerGID, Value: uint64(g.id())})
		case 2:
			h.Hints = append(h.Hints, proto.OpensHint())
		case 3:
			h.Hints = append(h.Hints, proto.TellsHint())
		case 4:
			h.Hints = append(h.Hints, proto.Withdrawal{Object: g.handle(), At: time.Now().UnixNano(), Owner: g.id()}.Hint())
		case 5:
			h.Hints = append(h.Hints, proto.NameChange{Dir: g.handle(), Object: g.handle()}.Hint())
		case 6:
			h.Hints = append(h.Hints, proto.WroteHint(), proto.GivesHint())
		case 7:
			h.Hints = append(h.Hints, proto.UserHint(g.id(), []uint32{g.id()}))
		case 8:
			if shows, ok := proto.ShowsHint(&h.Capability); ok {
				h.Hints = append(h.Hints, shows)
			}
		case 9:
			h.Hints = append(h.Hints, proto.MovesHint(g.handle(), g.handle()))
		}
	}
	return h
}

// handle is most often one of the request's object.
func (g *grammar) handle() proto.Handle {
	switch g.rng.IntN(8) {
	case 0:
		return g.handles[g.rng.IntN(len(g.handles))]
	case 1:
		other := g.objects[g.rng.IntN(len(g.objects))]
		return other[g.rng.IntN(len(other))]
	case 2, 3:
		return g.about[g.rng.IntN(len(g.about))]
	}
	return g.about[0]
}

func (g *grammar) id() uint32 { return []uint32{0, 1000, stranger, 1<<32 - 1}[g.rng.IntN(4)] }

// name is most often one in the request's directory.
func (g *grammar) name() string {
	if there := g.entries[g.about[0]]; len(there) > 0 && g.rng.IntN(3) > 0 {
		return there[g.rng.IntN(len(there))]
	}
	return g.names[g.rng.IntN(len(g.names))]
}

var (
	typeOfHandle = reflect.TypeFor[proto.Handle]()
	typeOfFS     = reflect.TypeFor[proto.FSID]()
	typeOfCred   = reflect.TypeFor[proto.Credential]()
	typeOfAttr   = reflect.TypeFor[proto.Attr]()
	typeOfDist   = reflect.TypeFor[proto.Dist]()
	typeOfType   = reflect.TypeFor[proto.ObjType]()
)

// fill draws a random value.
func (g *grammar) fill(v reflect.Value) {
	switch v.Type() {
	case typeOfHandle:
		v.SetUint(uint64(g.handle()))
		return
	case typeOfFS:
		v.SetInt(int64(g.user.fs()))
		return
	case typeOfCred:
		v.Set(reflect.ValueOf(g.user.cred))
		return
	case typeOfAttr:
		v.Set(reflect.ValueOf(g.attr()))
		return
	case typeOfDist:
		v.Set(reflect.ValueOf(stripe.Default(proto.DistStripe)))
		return
	case typeOfType:
		v.SetInt(int64(1) << g.rng.IntN(7))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				g.fill(f)
			}
		}
	case reflect.Int32, reflect.Int64:
		v.SetInt([]int64{0, 1, 2, 100, 65536}[g.rng.IntN(5)])
	case reflect.Uint32, reflect.Uint64:
		v.SetUint([]uint64{0, 1, 2, 100, proto.TokenStart, g.rng.Uint64(), uint64(proto.AttrStat), uint64(proto.AttrMetafile)}[g.rng.IntN(8)])
	case reflect.String:
		v.SetString(g.name())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), g.rng.IntN(4), 4))
		for i := range v.Len() {
			g.fill(v.Index(i))
		}
	case reflect.Uint8:
		v.SetUint(g.rng.Uint64N(256))
	}
}

// attr draws attributes.
func (g *grammar) attr() proto.Attr {
	a := proto.Attr{
		Owner: g.id(), Group: g.id(), Perms: uint32(g.rng.IntN(0o10000)), Type: proto.ObjType(1) << g.rng.IntN(7),
		Mask: proto.AttrMask(g.rng.Uint32()), ATime: 1, MTime: 2, CTime: 3, Target: g.name(),
		Dist: stripe.Default(proto.DistStripe),
	}
	for range g.rng.IntN(3) {
		a.Datafiles = append(a.Datafiles, g.handle())
	}
	return a
}

// learn stores the information in an answer.
func (g *grammar) learn(resp proto.Response) {
	attr := func(a *proto.Attr) {
		if len(a.Capability.Handles) > 0 {
			g.keep(a.Capability)
		}
	}
	switch r := resp.(type) {
	case *proto.GetAttrResp:
		attr(&r.Attr)
	case *proto.LookupPathResp:
		for i := range r.Attrs {
			attr(&r.Attrs[i])
		}
	case *proto.UnstuffResp:
		attr(&r.Attr)
	case *proto.MkdirResp:
		g.made([]proto.Handle{r.Handle})
	case *proto.CreateResp:
		g.made(append([]proto.Handle{r.Handle}, r.Attr.Datafiles...))
	case *proto.BatchCreateResp:
		for _, h := range r.Handles {
			g.made([]proto.Handle{h})
		}
	}
}

// ownMax is how many of its own objects a grammar remembers, because most requests should be about the objects of others.
const ownMax = 16

// made stores an object that the attacker has made.
func (g *grammar) made(object []proto.Handle) {
	if len(g.objects) < g.others+ownMax {
		g.objects = append(g.objects, object)
	} else {
		g.objects[g.others+g.rng.IntN(ownMax)] = object
	}
}

// capabilitiesMax is how many capabilities of one object a grammar stores.
const capabilitiesMax = 8

func (g *grammar) keep(c proto.Capability) {
	all := g.capabilities[c.Handles[0]]
	if len(all) < capabilitiesMax {
		g.capabilities[c.Handles[0]] = append(all, c)
	} else {
		all[g.rng.IntN(capabilitiesMax)] = c
	}
}

// Sizes of one run of TestStrangersGrammar.
const (
	strangerRequests = 500 // between two checks of the victims' objects
	strangerLooks    = 6
)

// TestStrangersGrammar: an attacker that knows all handles sends random requests. It must not read without the right to, and
// must not change, remove or take over an object of another user.
func TestStrangersGrammar(t *testing.T) {
	sim.Run(t, func(t *testing.T, seed uint64) {
		c, v := attacked(t, stranger)
		g := newGrammar(t, c, v, seed, stranger)
		g.asks()
		want := v.shot()
		for range strangerLooks {
			for range strangerRequests {
				require.NoError(t, g.attack(v))
			}
			require.Equal(t, want, v.shot())
		}
	})
}

// attackers is the number of attackers in TestSixteenStrangers at a time. Together they send this many requests, unless
// VIADUCT_STRANGERS says otherwise.
const (
	attackers        = 16
	attackerRequests = 100_000
)

// TestSixteenStrangers is the same with sixteen attackers at a time, each with its own uid, group and address. Each may read a
// file of its group, unless rules for its address squash it: that is so for every fourth.
func TestSixteenStrangers(t *testing.T) {
	count := attackerRequests
	if text := os.Getenv("VIADUCT_STRANGERS"); text != "" {
		n, err := strconv.Atoi(text)
		require.NoError(t, err)
		count = n
	} else if testing.Short() || race.Enabled {
		count /= 10
	}
	var groups []uint32
	for i := range uint32(attackers) {
		groups = append(groups, stranger+i)
	}
	c, v := attacked(t, groups...)
	var all []*grammar
	var squashed []string
	for i, gid := range groups {
		g := newGrammar(t, c, v, sim.Seed(t)+uint64(i), gid)
		if g.squashed = i%4 == 3; g.squashed {
			squashed = append(squashed, g.user.peer.String())
		}
		all = append(all, g)
	}
	c.Reload(func(fs *config.Config) { fs.Export.AllSquash = networks(t, squashed...) })
	for _, g := range all {
		g.mayRead(t, c)
		g.asks()
	}
	want := v.shot()
	const looks = 10
	for range looks {
		errs := make(chan error)
		for _, g := range all {
			go func() {
				var err error
				for n := 0; n < count/looks/attackers && err == nil; n++ {
					err = g.attack(v)
				}
				errs <- err
			}()
		}
		for range all {
			assert.NoError(t, <-errs)
		}
		require.Equal(t, want, v.shot())
	}
	rightly := 0
	for _, g := range all {
		g.mayRead(t, c)
		rightly += g.rightly
	}
	require.Positive(t, rightly, "the requests are so bad that nobody reads what it may")
	t.Logf("%d answers with what only a group may read went to its member", rightly)
}

// mayRead checks which files the attacker's user may and may not read, through an ordinary client.
func (g *grammar) mayRead(t *testing.T, c *pvfstest.Cluster) {
	t.Helper()
	require.Contains(t, g.user.peer.String(), fmt.Sprint("-stranger-", g.group()))
	id := client.Identity{UID: g.user.cred.User, Groups: g.user.cred.Groups}
	f, err := client.Mount(t.Context(), c.Source(), client.Options{Endpoint: g.ep, User: &id, Seed: 1})
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	for _, gid := range []uint32{g.group(), g.group() ^ 1} {
		b, err := fs.ReadFile(f, groupDir(gid)[1:]+"/file")
		if gid == g.group() && !g.squashed {
			require.NoError(t, err)
			require.Contains(t, string(b), onlyFor(gid))
		} else {
			require.Error(t, err)
		}
	}
}

func (g *grammar) group() uint32 { return g.user.cred.Groups[0] }

// attacked is a file system with victims.
func attacked(t *testing.T, groups ...uint32) (*pvfstest.Cluster, *victims) {
	t.Helper()
	c := pvfstest.Start(t, pvfstest.Options{Servers: 2, Server: func(_ int, cfg *server.Config) { cfg.Strict = true }})
	return c, newVictims(t, c, groups...)
}

func newGrammar(t *testing.T, c *pvfstest.Cluster, v *victims, seed uint64, uid uint32) *grammar {
	t.Helper()
	g := &grammar{
		rng: rand.New(rand.NewPCG(seed, 0)), user: newUser(t, c, uid, uid),
		capabilities: map[proto.Handle][]proto.Capability{},
	}
	own := fmt.Sprint(c.Address(0), "-stranger-", uid)
	var err error
	g.ep, err = bmi.Open(t.Context(), bmi.Config{Listen: []string{own}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, g.ep.Close()) })
	g.user.peer, err = g.ep.Lookup(own)
	require.NoError(t, err)
	g.knows(t, c, v)
	return g
}

// attack sends one request. It returns an error if the answer reveals something that it must not.
func (g *grammar) attack(v *victims) error {
	h, req := g.request()
	c := g.user.c
	at := g.rng.IntN(c.Len())
	if owner, ok := c.FS.Owner(g.about[0]); ok && g.rng.IntN(8) > 0 {
		at = owner
	}
	resp, err := g.user.do(at, h, req)
	if err != nil {
		return nil //nolint:nilerr // refused, as nearly all are
	}
	answer := proto.AppendResponse(nil, resp)
	if bytes.Contains(answer, []byte(secret)) {
		return fmt.Errorf("%v %v gives away %v", h, req, resp)
	}
	for _, m := range onlyForAny.FindAll(answer, -1) {
		if string(m) != onlyFor(g.group()) || g.squashed {
			return fmt.Errorf("%v %v gives %s to group %d", h, req, m, g.group())
		}
		g.rightly++
	}
	if r, ok := req.(*proto.ReadDirReq); ok {
		if gid, is := v.closed[r.Dirdata]; is && (gid != g.group() || g.squashed) {
			return fmt.Errorf("%v %v lists a directory of another user for group %d", h, req, g.group())
		}
	}
	g.learn(resp)
	return nil
}

// asks requests a capability for each object.
func (g *grammar) asks() {
	for _, object := range g.objects {
		for _, h := range object {
			if at, ok := g.user.c.FS.Owner(h); ok {
				resp, err := g.user.do(at, nil, &proto.GetAttrReq{Handle: h, FS: g.user.fs(), Mask: proto.AttrStat, Cred: g.user.cred})
				if err == nil {
					g.learn(resp)
				}
			}
		}
	}
}

// knows gives a grammar all handles.
func (g *grammar) knows(t testing.TB, c *pvfstest.Cluster, v *victims) {
	t.Helper()
	admin := root(t, c)
	h := admin.header(c.FS.Root)
	for i := range c.Len() {
		resp, err := admin.do(i, h, &proto.IterateHandlesReq{FS: g.user.fs(), Count: 1000, Position: proto.TokenStart})
		require.NoError(t, err)
		g.handles = append(g.handles, resp.(*proto.IterateHandlesResp).Handles...)
	}
	require.NotEmpty(t, g.handles)
	slices.Sort(g.handles)
	g.entries = make(map[proto.Handle][]string)
	for _, name := range slices.Concat(v.all, v.dirs, []string{"/pub"}) {
		info, err := v.root.LstatCtx(t.Context(), name)
		require.NoError(t, err)
		if info.IsDir() {
			g.entries[info.Handle], err = v.root.ReadNames(t.Context(), name)
			require.NoError(t, err)
		}
		g.objects = append(g.objects, slices.Concat([]proto.Handle{info.Handle}, info.Attr.Datafiles, info.Attr.DistDir.Dirdata))
	}
	g.names = []string{"pub", "home", "etc", "motd", "shadow", "x", "y", "/", "pub/x", "home/x", "small", "large", "dir", "inner", "home/small", "user.note", "user.x", "system.posix_acl_access", "trusted.x", "..", ""}
	g.others = len(g.objects)
}
