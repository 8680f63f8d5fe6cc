package wire

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/viaduct-hpc/viaduct/matchbits"
)

func keepAliveSamples() []sample {
	ask, reply := KeepAlive{WantReply: true}, KeepAlive{}
	return []sample{
		{name: "ask", value: ask, header: header(matchbits.TypeKeepAlive, 0, ask.Aux())},
		{name: "reply", value: reply, header: header(matchbits.TypeKeepAlive, 0, reply.Aux())},
	}
}

func TestKeepAlive(t *testing.T) { checkSamples(t, "keepalive", keepAliveSamples()) }

func TestKeepAliveRefusesTheImpossible(t *testing.T) {
	refuses(t, keepAliveSamples()[0], "neither ask nor reply", aux(2))
	refuses(t, keepAliveSamples()[0], "neither ask nor reply", aux(1<<31))
}

func TestKeepAliveString(t *testing.T) {
	assert.Equal(t, "ask", KeepAlive{WantReply: true}.String())
	assert.Equal(t, "reply", KeepAlive{}.String())
}
