package environ_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/environ"
	"github.com/viaduct-hpc/viaduct/internal/golden"
)

func TestThePage(t *testing.T) {
	golden.Check(t, "../../docs/reference/environment.md", []byte(environ.Markdown()))
}

func TestTheTableIsComplete(t *testing.T) {
	seen := make(map[string]bool)
	for _, v := range environ.Table() {
		assert.False(t, seen[v.Name], v.Name)
		seen[v.Name] = true
		assert.NotEmpty(t, v.Text, v.Name)
		assert.NotEmpty(t, v.Reader, v.Name)
		assert.Regexp(t, `^[A-Z][A-Z0-9_]+$`, v.Name)
		found, ok := environ.Find(v.Name)
		require.True(t, ok)
		assert.Equal(t, v, found)
		assert.NotEmpty(t, v.Kind.String())
	}
	assert.Contains(t, environ.Names(), "VIADUCT_SHM_DIR")
	assert.NotContains(t, environ.Names(), "PMI_RANK")
	_, ok := environ.Find("VIADUCT_NOTHING")
	assert.False(t, ok)
	assert.Equal(t, "file with the key of the job", environ.Text("VIADUCT_JOB_KEY_FILE"))
}

func TestUnknown(t *testing.T) {
	assert.Equal(t, []string{"VIADUCT_A", "VIADUCT_B"}, environ.Unknown([]string{"VIADUCT_B=", "VIADUCT_A=1", "VIADUCT_TEST_C=1", "PATH=/bin", "BMI_X=1", "VIADUCT_UDP_KEY=x"}))
}

func TestValues(t *testing.T) {
	t.Setenv("VIADUCT_SHM_DIR", "/x")
	assert.Equal(t, "/x", environ.Getenv("VIADUCT_SHM_DIR"))
	_, set := environ.LookupEnv("VIADUCT_SHM_DIR")
	assert.True(t, set)
}
