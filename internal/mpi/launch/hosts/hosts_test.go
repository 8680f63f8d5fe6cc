package hosts

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	for text, want := range map[string][]Host{
		"a":                    {{"a", 1}},
		"a,b:4":                {{"a", 1}, {"b", 4}},
		"a,b,a:2":              {{"a", 3}, {"b", 1}},
		"me@a.example.org:2":   {{"me@a.example.org", 2}},
		"[fd00::1]:3,10.0.0.1": {{"[fd00::1]", 3}, {"10.0.0.1", 1}},
		"n[1-2,07]:2,x":        {{"n1", 2}, {"n2", 2}, {"n07", 2}, {"x", 1}},
	} {
		got, err := Parse(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for text, want := range map[string]string{
		"": "a name is empty", "a,,b": "a name is empty", "a:0": "no number of processes", "a:x": "no number", "-oProxyCommand=x": "no name", "a b": "no spaces",
		"a;b": "no name", "fd00::1": "no name", "n[1-2": "a [ has no ]", "n[2-1]": "ends before it begins", "n[x]": "brackets hold", "n[]": "brackets hold",
		"n[1-2]:0": "no number of processes", "n[0-9999999]": "more than 65536 names", "a:1048576,a": "gets more than", "n[1-2]]": "a ] has no [",
		strings.Repeat("a", 256): "no name",
	} {
		_, err := Parse(text)
		require.ErrorIs(t, err, ErrList, text)
		assert.ErrorContains(t, err, want, text)
	}
}

func TestParseFile(t *testing.T) {
	got, err := ParseFile("# hosts\n\na\nb:2  # two\nc 3\nd slots=4 max_slots=8\na ifhn=a-ib\ne[1-2]:2\n")
	require.NoError(t, err)
	assert.Equal(t, []Host{{"a", 2}, {"b", 2}, {"c", 3}, {"d", 4}, {"e1", 2}, {"e2", 2}}, got)
	for text, want := range map[string]string{"": "names none", "a\nb slots=0\n": "line 2: ", "a 0": "line 1: ", "-x": "no name of a host"} {
		_, err := ParseFile(text)
		require.ErrorIs(t, err, ErrList, text)
		assert.ErrorContains(t, err, want, text)
	}
}

func environment(pairs ...string) func(string) string {
	return func(key string) string {
		for _, p := range pairs {
			if k, v, _ := strings.Cut(p, "="); k == key {
				return v
			}
		}
		return ""
	}
}

func files(texts map[string]string) func(string) (string, error) {
	return func(name string) (string, error) {
		if text, ok := texts[name]; ok {
			return text, nil
		}
		return "", errors.New("no such file")
	}
}

func TestAllocations(t *testing.T) {
	read := files(map[string]string{"/pbs": "a\na\nb\n", "/sge": "a 4 all.q@a UNDEFINED\nb 2 all.q@b <NULL>\n", "/cobalt": "x\ny\n"})
	for _, c := range []struct {
		env    string
		system string
		want   []Host
		shell  string
	}{
		{"SLURM_JOB_NODELIST=n[1-3] SLURM_TASKS_PER_NODE=4(x2),1", "Slurm", []Host{{"n1", 4}, {"n2", 4}, {"n3", 1}}, "srun"},
		{"SLURM_JOB_NODELIST=n[1-2] SLURM_JOB_CPUS_PER_NODE=8(x2)", "Slurm", []Host{{"n1", 8}, {"n2", 8}}, "srun"},
		{"SLURM_NODELIST=n1", "Slurm", []Host{{"n1", 1}}, "srun"},
		{"PBS_NODEFILE=/pbs", "PBS", []Host{{"a", 2}, {"b", 1}}, ""},
		{"COBALT_NODEFILE=/cobalt", "Cobalt", []Host{{"x", 1}, {"y", 1}}, ""},
		{"PE_HOSTFILE=/sge", "Grid Engine", []Host{{"a", 4}, {"b", 2}}, "qrsh"},
		{"LSB_DJOB_HOSTFILE=/pbs", "LSF", []Host{{"a", 2}, {"b", 1}}, "blaunch"},
	} {
		got, err := Found(environment(strings.Fields(c.env)...), read)
		require.NoError(t, err, c.env)
		assert.Equal(t, c.system, got.System)
		assert.Equal(t, c.want, got.Hosts, c.env)
		assert.Equal(t, c.shell, append(got.Shell, "")[0], c.env)
	}
	got, err := Found(environment("LSB_MCPU_HOSTS=a 4 b 2"), read)
	require.NoError(t, err)
	assert.Equal(t, []Host{{"a", 4}, {"b", 2}}, got.Hosts)
	got, err = Found(environment(), read)
	require.NoError(t, err)
	assert.Nil(t, got)

	for env, want := range map[string]string{
		"SLURM_JOB_NODELIST=n[": "the allocation of Slurm in SLURM_JOB_NODELIST: ", "PBS_NODEFILE=/none": "no such file", "PE_HOSTFILE=/pbs": "has no number",
		"LSB_MCPU_HOSTS=a": "has no number",
	} {
		_, err := Found(environment(env), read)
		assert.ErrorContains(t, err, want, env)
	}
	for _, counts := range []string{"x", "2(x", "2(x0)", "0", "1(x65537)", "1,,2"} {
		_, err := Found(environment("SLURM_JOB_NODELIST=n1", "SLURM_TASKS_PER_NODE="+counts), read)
		assert.ErrorIs(t, err, ErrList, counts)
	}
}

func TestPlace(t *testing.T) {
	three := []Host{{"a", 2}, {"b", 1}, {"c", 3}}
	for _, c := range []struct {
		by   string
		n    int
		want string
	}{
		{"slot", 6, "0 0 1 2 2 2"},
		{"core", 8, "0 0 1 2 2 2 0 0"},
		{"node", 6, "0 1 2 0 2 2"},
		{"node", 8, "0 1 2 0 2 2 0 1"},
		{"ppr:2:node", 5, "0 0 1 1 2"},
		{"ppr:1:node", 4, "0 1 2 0"},
	} {
		m, err := ParseMap(c.by)
		require.NoError(t, err)
		assert.Equal(t, c.want, strings.Trim(fmt.Sprint(m.Place(three, c.n)), "[]"), c.by)
	}
	assert.Equal(t, 6, Map{}.Slots(three))
	assert.Equal(t, 12, Map{PerHost: 4}.Slots(three))
	for _, by := range []string{"", "nodes", "ppr:0:node", "ppr:x:node", "ppr:2:core"} {
		_, err := ParseMap(by)
		assert.ErrorIs(t, err, ErrList, by)
	}
}

func FuzzLists(f *testing.F) {
	for _, text := range []string{"a,b:4", "node[001-010,12]:2", "r[0-1]n[1-2]x", "a slots=2\nb 3 #x", "4(x2),1", "[fd00::1]:2"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, parse := range []func(string) ([]Host, error){Parse, ParseFile} {
			list, err := parse(text)
			if err != nil {
				require.ErrorIs(t, err, ErrList)
				continue
			}
			require.NotEmpty(t, list)
			require.LessOrEqual(t, len(list), HostsMax)
			names := map[string]bool{}
			for _, h := range list {
				require.NoError(t, checkName(h.Name))
				require.Positive(t, h.Slots)
				require.False(t, names[h.Name], "twice: %s", h.Name)
				names[h.Name] = true
			}
		}
		if counts, err := tasks(text); err == nil {
			require.NotEmpty(t, counts)
		}
	})
}
