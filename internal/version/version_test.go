package version

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTheMostExactVersionCounts(t *testing.T) {
	commit := []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: "7cfbedd"}}
	for want, info := range map[string]*debug.BuildInfo{
		"v0.3.0":        {Main: debug.Module{Version: "v0.3.0"}, Settings: commit},
		"7cfbedd":       {Main: debug.Module{Version: "(devel)"}, Settings: commit},
		"(development)": {Main: debug.Module{Version: "(devel)"}},
	} {
		assert.Equal(t, want, of(info))
	}
	assert.Regexp(t, `^bmi \S+ go1\.\S+ linux/\w+\n$`, Line("bmi"))
}
