package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/datatype"
	"github.com/viaduct-hpc/viaduct/internal/tcp/wire"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
	pvfsconfig "github.com/viaduct-hpc/viaduct/pvfs/config"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// The attacks of strangers. Each stranger is an ordinary user without special rights, at another address than the measured
// client.
const (
	attackStalled = "stalled writes"
	attackRegions = "millions of regions"
	attackIdle    = "idle connections"
	attackHalf    = "half requests"

	roleStrangers   = "strangers"
	strangerUser    = 31337
	strangerAddress = "127.0.0.2"
	// strangersAgain is how long a stranger that lost its connection waits: a flood of connections is another attack, which
	// uses the processors of the measurement.
	strangersAgain = time.Second
)

var attackNames = []string{attackStalled, attackRegions, attackIdle, attackHalf}

// connectionsOf is the number of connections of each attack.
var connectionsOf = map[string]int{attackStalled: 640, attackRegions: 200, attackIdle: 2 * strangerServerFiles, attackHalf: 8000}

// An attack is the state of the strangers of one process.
type attack struct {
	kind    string
	servers []string
	conf    *pvfsconfig.Config
	file    proto.Attr // the strangers' own file
	handle  proto.Handle
}

// strangers runs their process. Its arguments are the kind of attack, the number of connections, the source of the file system,
// and the addresses of its servers. The attack runs from when it prints ok until its input ends.
func strangers(args []string) error {
	if len(args) < 4 {
		return fmt.Errorf("want an attack, a number, a source and servers, not %q", args)
	}
	count, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	a := &attack{kind: args[0], servers: args[3:]}
	files, err := raiseFiles()
	if err == nil {
		err = a.prepare(args[2])
	}
	if err != nil {
		return err
	}
	ready := make(chan struct{})
	count = min(count, files-64)
	for i := range count {
		go a.goOn(i, ready)
	}
	for range count {
		<-ready
	}
	fmt.Println("ok")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
	}
	return nil
}

// prepare makes the strangers' own file, on all servers, and gets the data that the attack needs.
func (a *attack) prepare(source string) error {
	ctx := context.Background()
	fs, err := client.Mount(ctx, source, client.Options{User: &client.Identity{UID: strangerUser, Groups: []uint32{strangerUser}}})
	if err != nil {
		return err
	}
	f, err := fs.OpenStriped(ctx, strangerDir+"/own", os.O_RDWR|os.O_CREATE, 0o600, client.Striping{Datafiles: len(a.servers)})
	if err != nil {
		return err
	}
	_, err = f.WriteAt(make([]byte, 1<<20), 0)
	a.handle = f.Handle()
	if err = errors.Join(err, f.Close(), fs.Close()); err != nil {
		return err
	}
	var conf proto.GetConfigResp
	if err := a.askOnce(0, &proto.GetConfigReq{}, &conf); err != nil {
		return err
	}
	if a.conf, err = pvfsconfig.Parse(conf.Text); err != nil {
		return err
	}
	cred := proto.Credential{User: strangerUser, Groups: []uint32{strangerUser}, Issuer: "C:stranger", Timeout: time.Now().Add(time.Hour)}
	var attr proto.GetAttrResp
	err = a.askOnce(a.owner(a.handle), &proto.GetAttrReq{Handle: a.handle, FS: a.conf.ID, Mask: proto.AttrMetafile | proto.AttrCapability, Cred: cred}, &attr)
	if err == nil && len(attr.Attr.Datafiles) != len(a.servers) {
		err = fmt.Errorf("a file has %d datafiles, not one on each server", len(attr.Attr.Datafiles))
	}
	a.file = attr.Attr
	return err
}

// owner is the server of an object.
func (a *attack) owner(h proto.Handle) int {
	server, _ := a.conf.Owner(h)
	return server
}

// askOnce sends a request on a separate connection.
func (a *attack) askOnce(server int, req proto.Request, resp proto.Response) error {
	c, err := a.dial(server)
	if err != nil {
		return err
	}
	return errors.Join(ask(c, &proto.Header{}, req, resp), c.Close())
}

// dial connects to a server from the strangers' address.
func (a *attack) dial(server int) (net.Conn, error) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(strangerAddress)}}
	return d.Dial("tcp", a.servers[server])
}

// ask sends a request and waits for its response.
func ask(c net.Conn, h *proto.Header, req proto.Request, resp proto.Response) error {
	const tag = 7
	b := proto.AppendRequest(nil, h, req)
	if _, err := c.Write(append(wire.Unexpected(tag, len(b)).Append(nil), b...)); err != nil {
		return err
	}
	var head [wire.HeaderLen]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return err
	}
	got := make([]byte, binary.LittleEndian.Uint64(head[16:]))
	if _, err := io.ReadFull(c, got); err != nil {
		return err
	}
	return proto.ParseResponse(got, resp)
}

// goOn runs one connection of an attack, to the server of one datafile, and a new one when it ends.
func (a *attack) goOn(i int, ready chan<- struct{}) {
	i %= len(a.servers)
	for first := true; ; first = false {
		c, err := a.dial(a.owner(a.file.Datafiles[i]))
		if err == nil {
			err = a.begin(c, i)
		}
		if first {
			ready <- struct{}{}
		}
		if err == nil {
			a.last(c, i)
		}
		if c != nil {
			_ = c.Close()
		}
		time.Sleep(strangersAgain)
	}
}

// begin starts the attack on a connection.
func (a *attack) begin(c net.Conn, i int) error {
	switch a.kind {
	case attackStalled:
		return a.write(c, proto.AppendRequest(nil, a.header(), a.stalled(i)), 0)
	case attackHalf:
		return a.write(c, make([]byte, wire.UnexpectedMax), wire.UnexpectedMax/2)
	}
	return nil
}

// write sends an unexpected message without its last bytes.
func (a *attack) write(c net.Conn, b []byte, missing int) error {
	_, err := c.Write(append(wire.Unexpected(1, len(b)).Append(nil), b[:len(b)-missing]...))
	return err
}

// last continues until the connection ends.
func (a *attack) last(c net.Conn, i int) {
	if a.kind != attackRegions {
		_, _ = io.Copy(io.Discard, c) // for any reason
		return
	}
	for ask(c, a.header(), a.regions(i), &proto.SmallIOResp{}) == nil {
	}
}

// header is a request header with the strangers' rights to their own file.
func (a *attack) header() *proto.Header {
	return &proto.Header{Capability: a.file.Capability, Hints: proto.Hints{{Type: proto.HintHandle, Value: uint64(a.handle)}}}
}

// stalled is a write to a datafile whose bytes are never sent.
func (a *attack) stalled(i int) *proto.IOReq {
	return &proto.IOReq{
		Handle: a.file.Datafiles[i], FS: a.conf.ID, Type: proto.IOWrite, Flow: proto.FlowMultiqueue, ServerNr: uint32(i),
		ServerCt: uint32(len(a.servers)), Dist: a.file.Dist, Request: proto.ByteStream(), Aggregate: 1 << 20,
	}
}

// regions is a read with the largest number of regions.
func (a *attack) regions(i int) *proto.SmallIOReq {
	const count = datatype.ChunksMax - 2
	req, err := datatype.Vector(0, count, 1, 2)
	if err != nil {
		panic(err)
	}
	return &proto.SmallIOReq{
		Handle: a.file.Datafiles[i], FS: a.conf.ID, Type: proto.IORead, ServerNr: uint32(i),
		ServerCt: uint32(len(a.servers)), Dist: a.file.Dist, Request: req, Aggregate: count,
	}
}
