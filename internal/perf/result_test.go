package perf

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestResultLineHasExactlyTheDocumentedFields(t *testing.T) {
	var out bytes.Buffer
	r := Result{Test: Latency, Method: "via+shm", Size: 8, Window: 1, Median: 0.25, P99: 0.5, Unit: UnitMicros}
	require.NoError(t, r.WriteJSON(&out))
	assert.Equal(t, `{"test":"latency","method":"via+shm","size":8,"window":1,"median":0.25,"p99":0.5,"unit":"us"}`+"\n", out.String())

	var back Result
	require.NoError(t, json.Unmarshal(out.Bytes(), &back))
	assert.Equal(t, r, back)
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestResultLineReportsAFailedWrite(t *testing.T) {
	assert.ErrorContains(t, Result{}.WriteJSON(brokenWriter{}), "disk full")
}

func TestParseTests(t *testing.T) {
	got, err := ParseTests("via+shm", []string{"rate,latency", "latency"})
	require.NoError(t, err)
	assert.Equal(t, []Test{Rate, Latency}, got)

	got, err = ParseTests("via+shm", []string{"limit"})
	require.NoError(t, err)
	assert.Equal(t, []Test{LimitBounce, LimitMemcpy}, got)

	got, err = ParseTests("via+shm", []string{"all"})
	require.NoError(t, err)
	assert.Equal(t, []Test{LimitBounce, LimitMemcpy, Latency, Rate, Bandwidth, Bidirectional}, got)

	got, err = ParseTests("tcp", []string{"limit,limit-bounce,rate"})
	require.NoError(t, err)
	assert.Equal(t, []Test{LimitSocket, LimitBounce, Rate}, got, "a method over sockets has another limit; others must be named")

	got, err = ParseTests("via+udp", []string{"all"})
	require.NoError(t, err)
	assert.Equal(t, []Test{LimitUDP, Latency, Rate, Bandwidth, Bidirectional}, got, "and one over datagrams a third")

	_, err = ParseTests("via+shm", []string{"latncy"})
	require.Error(t, err)
	assert.Contains(t, err.Error(), "bandwidth", "the error lists what there is")
}

func TestNumbersHaveTheDigitsWorthReading(t *testing.T) {
	for want, got := range map[string]string{
		"123457": FormatValue(123456.7, UnitMessages),
		"9.877":  FormatValue(9.8765, UnitMicros),
		"98.77":  FormatValue(98.765, UnitMicros),
		"9877":   FormatValue(9876.6, UnitMicros),
		"9.88":   FormatValue(9.8765, UnitMB),
	} {
		assert.Equal(t, want, got)
	}
}
