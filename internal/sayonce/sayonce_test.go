package sayonce

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestRepeats(t *testing.T) {
	for message, want := range map[string]string{
		"bmi: nobody answers at tcp://a:1, check the address and that the other side runs: connection refused": "",
		"bmi: nobody answers at this address: via+shm://a: absent: vipl: remote side is not reachable":         "not reachable",
		"bmi: cannot open method tcp: bmi: it is busy":                                                         "bmi",
		"pvfs: /x: no such file or directory: / is there":                                                      "",
		"open key: no such file or directory: file does not exist":                                             "does not exist",
		"the other side is gone; the other side is gone":                                                       "the other side is gone",
		"name is taken by a process: address in use":                                                           "address in use",
	} {
		assert.Equal(t, want, Repeats(message), message)
	}
}
