//go:build linux

package service_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/bmi/bmitest"
	"github.com/viaduct-hpc/viaduct/plugins/proto"
)

// TestStreamsRefused: a stream of no session, or of a session that needs none.
func TestStreamsRefused(t *testing.T) {
	p := newPlugin(t)
	rings, err := p.open(newProgram(), nil, nil)
	require.NoError(t, err)
	p.client = p.connect()
	f, err := p.open(newProgram(), nil, nil)
	require.NoError(t, err)
	failed := f.await(f.post(bmi.KindSend, "mem://nobody", []byte{1}))
	require.ErrorIs(t, failed.err, bmi.ErrUnreachable, "it has the stream that open opened")
	second := &proto.Record{Kind: proto.Kind_ATTACH, Session: f.id}
	assert.Equal(t, codes.FailedPrecondition, refusal(t, p.client, second))
	for want, first := range map[codes.Code]*proto.Record{
		codes.FailedPrecondition: {Kind: proto.Kind_ATTACH, Session: rings.id},
		codes.NotFound:           {Kind: proto.Kind_ATTACH, Session: 1000},
		codes.InvalidArgument:    {Kind: proto.Kind_SEND, Session: f.id},
	} {
		assert.Equal(t, want, refusal(t, p.client, first))
	}
	require.NoError(t, f.ping(), "it is none the worse")
	require.NoError(t, rings.Close(t.Context()))
	require.NoError(t, f.Close(t.Context()))
}

// refusal opens a stream, sends a record first, and returns the code with which the stream ends.
func refusal(t *testing.T, c proto.MethodClient, first *proto.Record) codes.Code {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	s, err := c.Data(ctx)
	require.NoError(t, err)
	require.NoError(t, s.Send(first))
	_, err = s.Recv()
	return status.Code(err)
}

// TestStreamEnds: a session whose stream broke ends and frees everything; so does one that is
// closed before it has a stream.
func TestStreamEnds(t *testing.T) {
	maps, fds := mappings(t), descriptors(t)
	p := newPlugin(t)
	for id, how := range map[uint64]func(ctx context.Context, cancel func(), d proto.Method_DataClient){
		1: func(_ context.Context, cancel func(), _ proto.Method_DataClient) { cancel() },
		2: func(_ context.Context, _ func(), d proto.Method_DataClient) {
			require.NoError(t, d.Send(&proto.Record{Kind: proto.Kind_DONE}))
			_, err := d.Recv()
			assert.Equal(t, codes.Aborted, status.Code(err))
		},
	} {
		client := p.connect()
		r, err := client.Open(t.Context(), &proto.OpenRequest{Session: id, Method: bmitest.Name})
		require.NoError(t, err)
		require.Nil(t, r.Failure)
		ctx, cancel := context.WithCancel(t.Context())
		d, err := client.Data(ctx)
		require.NoError(t, err)
		require.NoError(t, d.Send(&proto.Record{Kind: proto.Kind_ATTACH, Session: id}))
		require.NoError(t, d.Send(&proto.Record{Kind: proto.Kind_PEER, Peer: 1, Text: "mem://nobody"}))
		require.NoError(t, d.Send(&proto.Record{Kind: proto.Kind_SEND, Peer: 1, Op: 5, Size: 1, Message: []byte{1}}))
		done, err := d.Recv()
		require.NoError(t, err)
		require.Equal(t, proto.Kind_DONE, done.Kind)
		require.Equal(t, proto.Status_UNREACHABLE, done.Status)
		how(ctx, cancel, d)
		cancel()
		select {
		case <-p.server.Gone(id):
		case <-time.After(limit):
			t.Fatal("the session goes on")
		}
		_, err = client.Close(t.Context(), &proto.CloseRequest{Session: id})
		require.NoError(t, err)
	}
	client := p.connect()
	_, err := client.Open(t.Context(), &proto.OpenRequest{Session: 3, Method: bmitest.Name})
	require.NoError(t, err)
	_, err = client.Close(t.Context(), &proto.CloseRequest{Session: 3})
	require.NoError(t, err)
	assert.Zero(t, p.server.Sessions())
	assert.Equal(t, maps, mappings(t))
	assert.LessOrEqual(t, descriptors(t)-fds, 2, "of those that the runtime polls with, at most")
}

// TestStreamAlone: a plugin without shared memory reports that.
func TestStreamAlone(t *testing.T) {
	p := newPlugin(t)
	p.alone()
	d, err := p.server.Describe(t.Context(), &proto.DescribeRequest{})
	require.NoError(t, err)
	assert.False(t, d.Rings)
	_, err = p.open(newProgram(), nil, nil)
	require.ErrorIs(t, err, bmi.ErrNotSupported)
	p.client = p.connect()
	f, err := p.open(newProgram(), nil, nil)
	require.NoError(t, err)
	require.NoError(t, f.Close(t.Context()))
}
