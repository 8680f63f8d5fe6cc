package proto

import (
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// noExample are the operations that no captured stock program sent. Their formats are from the OrangeFS sources.
var noExample = map[Op]string{
	OpDspaceInfo:       "no program of the original sends it",
	OpEventMon:         "no tool of a default build sends it",
	OpRemoveObject:     "tools send it to remove objects that are astray, of which there were none",
	OpGetDirdataHandle: "no tool of a default build sends it",
	OpBatchRemove:      "no program of the original sends it",
	OpMirror:           "servers send it to make mirrors of a file, and nobody asked for any",
	OpImmCopies:        "the same",
	OpTreeSetAttr:      "servers send it when a spread directory is made, and the captured ones were there already",
	OpTreeGetAttr:      "servers send it when a spread directory is removed, and the captured ones stayed",
	OpCreateRootDir:    "a server has it for itself, and sends it to nobody",
	OpAtomicEattr:      "only the library for programs sends it, no tool",
}

// TestExamples: there are captured messages of every operation in both directions, or a reason for their absence.
func TestExamples(t *testing.T) {
	all := captured(t)
	for op := range Op(len(operations)) {
		if op.operation().name == "" {
			continue
		}
		requests, responses := 0, 0
		for _, v := range all[fileOf(op)] {
			if isRequest(v.Name) {
				requests++
			} else {
				responses++
			}
		}
		if why, none := noExample[op]; none {
			assert.Zero(t, requests+responses, "%s has examples: take it out of noExample (%s)", op, why)
			continue
		}
		assert.Equal(t, NewRequest(op) != nil, requests > 0, "requests of %s", op)
		assert.Equal(t, NewResponse(op) != nil, responses > 0, "responses of %s", op)
	}
}

// page is the documentation of the protocol.
const page = "../../docs/internals/protocols/pvfs.md"

// TestPage: it has every operation and every status with the right number.
func TestPage(t *testing.T) {
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	told := make(map[string]int)
	for _, row := range regexp.MustCompile(`(?m)^ *(\d+)  ([A-Z][A-Z_]+)(?: |$)`).FindAllStringSubmatch(string(text), -1) {
		told[row[2]], err = strconv.Atoi(row[1])
		require.NoError(t, err)
	}
	spoken := 0
	for op := range Op(len(operations)) {
		if NewRequest(op) == nil && NewResponse(op) == nil {
			continue
		}
		spoken++
		number, ok := told[op.String()]
		assert.True(t, ok, "%s is not in %s", op, page)
		assert.EqualValues(t, op, number, "%s in %s", op, page)
	}
	assert.Len(t, told, spoken, "operations in %s", page)

	rows := regexp.MustCompile(`(\d+) (E[A-Z]+)`).FindAllStringSubmatch(string(text), -1)
	found := make(map[string]bool)
	for _, one := range rows {
		code, err := strconv.Atoi(one[1])
		require.NoError(t, err)
		found[one[2]] = found[one[2]] || hasStatus(one[2], Status(-(statusBit|code))) || hasStatus(one[2], Status(-(statusBit|statusOther|code)))
	}
	for s := range statuses {
		assert.True(t, found[s.Name()], "%s by its number in %s", s.Name(), page)
	}
}

// hasStatus reports whether a status has a name.
func hasStatus(name string, s Status) bool {
	_, known := statuses[s]
	return known && s.Name() == name
}
