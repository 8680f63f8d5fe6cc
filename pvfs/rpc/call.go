package rpc

import (
	"context"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A Call is one request at the server.
type Call struct {
	Peer    bmi.Addr
	Tag     bmi.Tag
	Header  *proto.Header
	Request proto.Request

	server *Server
}

// Context ends when the server stops and has waited for long enough. Calls to other servers
// are made with it, or one derived from it.
func (c *Call) Context() context.Context { return context.Background() }

// Endpoint is where the request came in.
func (c *Call) Endpoint() *bmi.Endpoint { return c.server.ep }

// Reply answers the request. A second answer is ignored, but for a WriteCompletionResp after
// ReceiveFlow. It does not wait for the client.
func (c *Call) Reply(resp proto.Response) {}

// Fail answers the request with the status of err, see proto.StatusOf. After ReceiveFlow began
// it is the completion's.
func (c *Call) Fail(err error) {}

// ReceiveFlow answers an IO request with resp and receives total bytes, which it hands to sink
// in order, piece by piece, each with its place in the flow. The pieces are sink's only during
// the call. An error of sink is returned, after the rest of the data came and went; the client
// is waiting for its completion then, as after success: the handler goes on with Reply or Fail. If the flow
// failed in another way (errors.Is ErrFlow), nothing can be sent any more, and Fail does nothing.
func (c *Call) ReceiveFlow(resp *proto.IOResp, total int64, sink func(b []byte, at int64) error) (int64, error) {
	return 0, ErrClosed
}

// SendFlow answers an IO request with resp and sends total bytes, which source fills in, in
// order, piece by piece. It reads the first piece before it answers: if source fails there
// nothing was answered yet, and Fail may be used. It returns when all is sent.
func (c *Call) SendFlow(resp *proto.IOResp, total int64, source func(b []byte, at int64) error) (int64, error) {
	return 0, ErrClosed
}
