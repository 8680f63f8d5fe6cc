package stream

import (
	"bytes"
	"context"
	"crypto/sha256"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// fakeSender speaks to a receiver message by message.
type fakeSender struct {
	t    *testing.T
	x    *transfer
	c    *bmi.Context
	peer bmi.Addr
}

func newFakeSender(t *testing.T, x *transfer) *fakeSender {
	peer, err := x.sendEP.Lookup(x.address)
	require.NoError(t, err)
	c, err := x.sendEP.OpenContext()
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	return &fakeSender{t: t, x: x, c: c, peer: peer}
}

func (f *fakeSender) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), waitMax)
	f.t.Cleanup(cancel)
	return ctx
}

func (f *fakeSender) offer(b []byte) (reply, error) {
	buf := make([]byte, 512)
	n, err := f.c.Call(f.ctx(), f.peer, Class, tagAnswer, b, buf)
	require.NoError(f.t, err)
	return parseReply(buf[:n], kindAnswer, testSession)
}

func (f *fakeSender) block(b []byte) {
	require.NoError(f.t, f.c.Send(f.ctx(), f.peer, tagBlock, b))
}

func (f *fakeSender) verdict() reply {
	buf := make([]byte, 512)
	n, err := f.c.Recv(f.ctx(), f.peer, tagVerdict, buf)
	require.NoError(f.t, err)
	r, err := parseReply(buf[:n], kindVerdict, testSession)
	require.NoError(f.t, err)
	require.NoError(f.t, f.c.Send(f.ctx(), f.peer, tagGoodbye, nil))
	return r
}

func TestAWrongChecksumOrLengthIsNoSuccess(t *testing.T) {
	right := sha256.Sum256([]byte("abc"))
	for name, end := range map[string]func(payload []byte){
		"checksum": func(p []byte) { putEnd(p, 3, sha256.Sum256([]byte("abd"))) },
		"length":   func(p []byte) { putEnd(p, 4, right) },
	} {
		x := newTransfer(t)
		var out bytes.Buffer
		x.receive(context.Background(), RecvOptions{}, &out)
		f := newFakeSender(t, x)
		answer, err := f.offer(offer{session: testSession, total: -1, block: 1024, blocks: 2}.append(nil))
		require.NoError(t, err)
		require.False(t, answer.refused)
		f.block(testBlock(kindData, 0, "abc"))
		payload := make([]byte, endBytes)
		end(payload)
		f.block(testBlock(kindEnd, 1, string(payload)))
		v := f.verdict()
		assert.True(t, v.refused, name)
		assert.Contains(t, v.text, "checksum differs", name)
		assert.ErrorIs(t, x.received().err, ErrChecksum, name)
	}
}

func TestForbiddenBlocksEndTheTransfer(t *testing.T) {
	for name, b := range map[string][]byte{
		"garbage":  bytes.Repeat([]byte{0xff}, 100),
		"empty":    nil,
		"sequence": testBlock(kindData, 1, "abc"),
		"overlong": testBlock(kindData, 0, string(make([]byte, 1025))),
		"session":  append(make([]byte, headerBytes), 1),
	} {
		x := newTransfer(t)
		x.receive(context.Background(), RecvOptions{}, &bytes.Buffer{})
		f := newFakeSender(t, x)
		_, err := f.offer(offer{session: testSession, total: -1, block: 1024, blocks: 2}.append(nil))
		require.NoError(t, err)
		if name == "overlong" {
			// Longer than the receive: the receiver's method reports it.
			_ = f.c.Send(f.ctx(), f.peer, tagBlock, b)
			assert.True(t, f.verdict().refused)
			assert.ErrorIs(t, x.received().err, bmi.ErrTruncated)
			continue
		}
		f.block(b)
		assert.True(t, f.verdict().refused, name)
		assert.ErrorIs(t, x.received().err, ErrFormat, name)
	}
}

func TestForbiddenOffersAreRefusedAndTheReceiverWaitsOn(t *testing.T) {
	x := newTransfer(t)
	var out bytes.Buffer
	x.receive(context.Background(), RecvOptions{}, &out)
	f := newFakeSender(t, x)
	for _, b := range [][]byte{nil, []byte("garbage"), offer{block: 1, blocks: 1}.append(nil), make([]byte, 4000)} {
		buf := make([]byte, 512)
		n, err := f.c.Call(f.ctx(), f.peer, Class, tagAnswer, b, buf)
		require.NoError(t, err)
		r, err := parseReply(buf[:n], kindAnswer, 0)
		require.NoError(t, err)
		assert.True(t, r.refused)
	}
	sent := x.send(context.Background(), SendOptions{Total: -1}, bytes.NewReader([]byte("good")))
	require.NoError(t, sent.err)
	require.NoError(t, x.received().err)
	assert.Equal(t, "good", out.String())
}

func TestAFalseVerdictFailsTheSender(t *testing.T) {
	for name, answer := range map[string]func() []byte{
		"fewer bytes": func() []byte { return reply{kind: kindVerdict, session: 0, bytes: 1}.append(nil) },
		"garbage":     func() []byte { return []byte("garbage") },
	} {
		x := newTransfer(t)
		sent := make(chan ended, 1)
		go func() { sent <- x.send(context.Background(), SendOptions{Total: -1}, bytes.NewReader([]byte("abc"))) }()
		c, err := x.recvEP.OpenContext()
		require.NoError(t, err)
		var offers [1]bmi.Unexpected
		require.Eventually(t, func() bool {
			n, err := x.recvEP.TestUnexpectedClass(Class, offers[:], 100*time.Millisecond)
			return n == 1 && err == nil
		}, waitMax, time.Millisecond)
		o, err := parseOffer(offers[0].Data)
		require.NoError(t, err)
		from := offers[0].From
		offers[0].Release()
		ctx, cancel := context.WithTimeout(context.Background(), waitMax)
		require.NoError(t, c.Send(ctx, from, tagAnswer, reply{kind: kindAnswer, session: o.session}.append(nil)))
		verdict := answer()
		if len(verdict) > 16 {
			copy(verdict[8:16], testSessionBytes(o.session))
		}
		buf := make([]byte, 4096)
		for range 2 { // the data and the end
			_, err = c.Recv(ctx, from, tagBlock, buf)
			require.NoError(t, err)
		}
		require.NoError(t, c.Send(ctx, from, tagVerdict, verdict))
		assert.ErrorIs(t, (<-sent).err, ErrFormat, name)
		cancel()
		require.NoError(t, c.Close())
	}
}

func testSessionBytes(session uint64) []byte {
	return offer{session: session}.append(nil)[8:16]
}
