package client

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/rpc"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// fakeConf is the configuration of the fake: two servers, each with half the handles.
const fakeConf = `<Defaults>
	ClientRetryLimit 3
	ClientRetryDelayMilliSecs 0
</Defaults>
<Aliases>
	Alias a tcp://127.0.0.1:1
	Alias b tcp://127.0.0.1:2
</Aliases>
<FileSystem>
	Name fake
	ID 7
	RootHandle 10
	<MetaHandleRanges>
		Range a 3-9999
		Range b 10000-19999
	</MetaHandleRanges>
	<DataHandleRanges>
		Range a 20000-29999
		Range b 30000-39999
	</DataHandleRanges>
</FileSystem>
`

// fakeObject is an object of the fake.
type fakeObject struct {
	attr    proto.Attr
	entries map[string]proto.Handle // of a dirdata object
	xattrs  map[string]string
	size    int64 // of a datafile
}

// A fake is the servers of a file system in one map, for tests that look at the requests or make some fail.
type fake struct {
	t  testing.TB
	mu sync.Mutex

	objects map[proto.Handle]*fakeObject
	next    [2]proto.Handle // the last handle given out, by server
	now     int64
	buckets int // dirdata objects of new directories
	expires time.Duration
	clock   func() time.Time
	stock   bool // lacks features, as stock servers do
	ours    bool // removes files together with their names, as servers of ours do
	leaves  bool // also leaves files of other servers to these

	log []string // the requests, "CREATE"
	// fail is called before a request is carried out. An error with done means that the request was carried out.
	fail func(req proto.Request, h *proto.Header) (done bool, err error)
}

// newFake makes a fake and its client. Only the tests advance the time.
func newFake(t testing.TB, opt Options) (*fake, *FS) {
	cfg, err := config.Parse(fakeConf)
	require.NoError(t, err)
	now := time.Unix(1_000_000, 0)
	k := &fake{
		t: t, objects: make(map[proto.Handle]*fakeObject), next: [2]proto.Handle{9999, 19999}, now: 1, buckets: 1,
		expires: 10 * time.Minute, clock: func() time.Time { return now },
	}
	if opt.Clock == nil {
		opt.Clock = k.clock
	}
	k.clock = opt.Clock
	if opt.Seed == 0 {
		opt.Seed = 1
	}
	k.objects[10] = &fakeObject{attr: proto.Attr{Type: proto.TypeDirectory, Perms: 0o777, Mask: proto.AttrCommon}}
	k.spread(10, 0)
	c, err := newCore(cfg, nil, opt.withDefaults(), nil)
	require.NoError(t, err)
	c.send = k.send
	c.begin = func(ctx context.Context, server int, h *proto.Header, req proto.Request, resp proto.Response) func() error {
		err := k.send(ctx, server, h, req, resp)
		return func() error { return err }
	}
	return k, &FS{core: c, user: c.users.get(Identity{UID: 0, Groups: []uint32{0}}), ctx: context.Background()}
}

func (k *fake) server(h proto.Handle) int {
	if h >= 30000 || h >= 10000 && h < 20000 {
		return 1
	}
	return 0
}

// spread gives a directory its dirdata objects.
func (k *fake) spread(dir proto.Handle, server int) {
	d := &k.objects[dir].attr
	d.DistDir = proto.DistDir{TreeHeight: 0, Bitmap: []uint32{1<<k.buckets - 1}}
	for 1<<d.DistDir.TreeHeight < k.buckets {
		d.DistDir.TreeHeight++
	}
	for i := range k.buckets {
		h := k.alloc((server + i) % 2)
		k.objects[h] = &fakeObject{attr: proto.Attr{Type: proto.TypeDirdata, Mask: proto.AttrCommon}, entries: make(map[string]proto.Handle)}
		d.DistDir.Dirdata = append(d.DistDir.Dirdata, h)
	}
}

func (k *fake) alloc(server int) proto.Handle {
	k.next[server]--
	return k.next[server]
}

// take returns the requests since the last call.
func (k *fake) take() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := strings.Join(k.log, " ")
	k.log = nil
	return s
}

// send answers a request like a server.
func (k *fake) send(ctx context.Context, server int, h *proto.Header, req proto.Request, resp proto.Response) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return &rpc.CallError{Op: req.Op(), Kind: rpc.ErrNotSent, Err: err}
	}
	if h == nil {
		h = &proto.Header{}
	}
	k.log = append(k.log, req.Op().String())
	var after error
	if k.fail != nil {
		done, err := k.fail(req, h)
		if err != nil && !done {
			return err
		}
		after = err
	}
	if err := k.do(server, h, req, resp); after == nil {
		return err
	}
	return after // the answer is lost
}

// get returns an object, which must be on this server.
func (k *fake) get(server int, h proto.Handle) (*fakeObject, error) {
	o, ok := k.objects[h]
	if !ok {
		return nil, proto.ENOENT
	}
	if k.server(h) != server {
		return nil, proto.EINVAL
	}
	return o, nil
}

// attrOf is the answer to GETATTR.
func (k *fake) attrOf(h proto.Handle, o *fakeObject, cred *proto.Credential) proto.Attr {
	a := o.attr
	switch a.Type {
	case proto.TypeMetafile:
		a.Mask |= proto.AttrDist | proto.AttrDatafiles
		if a.Mask&proto.AttrUnstuffed == 0 {
			a.StuffedSize = int32(k.objects[a.Datafiles[0]].size)
		}
	case proto.TypeDirectory:
		a.Mask |= proto.AttrDistDir | proto.AttrDirHint
	case proto.TypeSymlink:
		a.Mask |= proto.AttrTarget
		if k.stock && len(a.Target) >= 256 {
			a.Target = a.Target[:256] + "rubbish"
		}
	case proto.TypeDatafile:
		a.Mask |= proto.AttrDatafileSize
		a.DatafileSize = o.size
	}
	if cred == nil {
		return a
	}
	a.Mask |= proto.AttrCapability
	mask := proto.MayAll
	if cred.User != 0 {
		bits := a.Perms & 7
		if cred.User == a.Owner {
			bits = a.Perms >> 6 & 7
			mask = proto.MaySetAttr
		} else {
			mask = 0
		}
		if bits&4 != 0 {
			mask |= proto.MayRead
		}
		if bits&2 != 0 {
			mask |= proto.MayWrite
		}
		if bits&1 != 0 {
			mask |= proto.MayExec
		}
		if bits&3 == 3 {
			mask |= proto.MayCreate | proto.MayRemove
		}
	}
	a.Capability = proto.Capability{
		Issuer: "S:fake", FS: 7, Timeout: k.clock().Add(k.expires), Mask: mask,
		Handles: slices.Concat([]proto.Handle{h}, a.Datafiles, a.DistDir.Dirdata),
	}
	return a
}

// may checks that the header's capability lists a handle and has rights.
func (k *fake) may(h *proto.Header, handle proto.Handle, need proto.OpMask) error {
	c := &h.Capability
	switch {
	case !slices.Contains(c.Handles, handle), c.Mask&need != need:
		return proto.EACCES
	case !c.Timeout.After(k.clock()):
		return proto.EAGAIN
	}
	return nil
}

// hint is the handle in the hints.
func hint(h *proto.Header) proto.Handle {
	for _, x := range h.Hints {
		if x.Type == proto.HintHandle {
			return proto.Handle(x.Value)
		}
	}
	return 0
}

// of returns the dirdata object for a request with a name.
func (k *fake) of(server int, h *proto.Header, dirdata proto.Handle, name string) (*fakeObject, error) {
	o, err := k.get(server, dirdata)
	if err == nil {
		err = k.may(h, dirdata, proto.MayWrite|proto.MayExec)
	}
	if err != nil {
		return nil, err
	}
	for _, dir := range k.objects {
		if i := slices.Index(dir.attr.DistDir.Dirdata, dirdata); i >= 0 {
			if b, _ := bucket(&dir.attr.DistDir, name); b != i {
				return nil, proto.EAGAIN
			}
		}
	}
	return o, nil
}
