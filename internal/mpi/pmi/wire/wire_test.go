package wire

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// All commands in use, in the form of launchers and clients.
func golden() []Command {
	return []Command{
		New("init", "pmi_version", "1", "pmi_subversion", "1"),
		New("response_to_init", "pmi_version", "1", "pmi_subversion", "1", "rc", "0"),
		New("get_maxes"),
		New("maxes", "kvsname_max", "256", "keylen_max", "64", "vallen_max", "1024"),
		New("my_kvsname", "kvsname", "kvs_17_0_55_host-1"),
		New("put", "kvsname", "kvs_17", "key", "card-0", "value", "a+/b,c:d"),
		New("get_result", "rc", "-1", "msg", "key_x_not_found", "value", "unknown"),
		New("get_result", "rc", "0", "value", ""),
		New("abort", "exitcode", "13", "message", "no more room, says rank 3"),
	}
}

func TestLineGolden(t *testing.T) {
	want := `cmd=init pmi_version=1 pmi_subversion=1
cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0
cmd=get_maxes
cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024
cmd=my_kvsname kvsname=kvs_17_0_55_host-1
cmd=put kvsname=kvs_17 key=card-0 value=a+/b,c:d
cmd=get_result rc=-1 msg=key_x_not_found value=unknown
cmd=get_result rc=0 value=
cmd=abort exitcode=13 message=no more room, says rank 3
`
	var got []byte
	for _, c := range golden() {
		start := len(got)
		var err error
		got, err = AppendLine(got, c)
		require.NoError(t, err)
		back, err := ParseLine(got[start:])
		require.NoError(t, err)
		assert.Equal(t, c, back)
	}
	assert.Equal(t, want, string(got))
}

func TestFrameGolden(t *testing.T) {
	for want, c := range map[string]Command{
		"49    cmd=fullinit;pmijobid=7;pmirank=3;threaded=FALSE;": New("fullinit", "pmijobid", "7", "pmirank", "3", "threaded", "FALSE"),
		"14    cmd=job-getid;":                           New("job-getid"),
		"40    cmd=kvs-get;jobid=1.0;srcid=-1;key=card;": New("kvs-get", "jobid", "1.0", "srcid", "-1", "key", "card"),
		"37    cmd=kvs-put-response;rc=1;errmsg=;;x;":    New("kvs-put-response", "rc", "1", "errmsg", ";x"),
		"40    cmd=abort;isworld=TRUE;msg=nothing left;": New("abort", "isworld", "TRUE", "msg", "nothing left"),
	} {
		got, err := AppendFrame([]byte("before"), c)
		require.NoError(t, err)
		body := got[len("before")+FrameHeadBytes:]
		assert.Equal(t, want, string(got[len("before"):]))
		n, err := ParseFrameHead([FrameHeadBytes]byte(got[len("before"):]))
		require.NoError(t, err)
		assert.Equal(t, len(body), n)
		back, err := ParseFrame(body)
		require.NoError(t, err)
		assert.Equal(t, c, back)
	}
}

func TestLinesThatAreNone(t *testing.T) {
	for _, line := range []string{
		"", "\n", " ", "cmd", "cmd=", "cmd=a=b", "put cmd=x", "cmd=x cmd=y", "cmd=put word", "cmd=put =v", "cmd=put k\xff=v",
		"cmd=put k=a\rb", "cmd=put k=a\x00", "cmd=a\ncmd=b\n", "cmd=" + strings.Repeat("x", 65),
	} {
		_, err := ParseLine([]byte(line))
		assert.ErrorIs(t, err, ErrMalformed, "%q", line)
	}
	_, err := ParseLine(bytes.Repeat([]byte("x"), LineBytesMax+1))
	assert.ErrorIs(t, err, ErrTooLong)
	for _, c := range []Command{
		New(""), New("a b"), New("a", "", "x"), New("a", "cmd", "x"), New("a", "k", "x\ny"),
		New("a", "k", "x y", "l", "z"), New("a", "k", "x  y"), New("a", "k", "x y=z"), New("a", "k", "x "),
	} {
		got, err := AppendLine([]byte("before"), c)
		assert.ErrorIs(t, err, ErrMalformed, "%v", c)
		assert.Equal(t, "before", string(got))
	}
	_, err = AppendLine(nil, New("a", "k", strings.Repeat("v", LineBytesMax)))
	assert.ErrorIs(t, err, ErrTooLong)
}

func TestFramesThatAreNone(t *testing.T) {
	for _, body := range []string{"", ";", "cmd=x", "cmd=;", "rc=0;cmd=x;", "cmd=x;cmd=y;", "cmd=x;k;", "cmd=x;k=v", "cmd=x;k=v;;", "cmd=x;k=a\nb;"} {
		_, err := ParseFrame([]byte(body))
		assert.ErrorIs(t, err, ErrMalformed, "%q", body)
	}
	for _, head := range []string{"      ", "0     ", "-5    ", "+5    ", "5 5   ", "0x1   "} {
		_, err := ParseFrameHead([FrameHeadBytes]byte([]byte(head)))
		assert.ErrorIs(t, err, ErrMalformed, "%q", head)
	}
	_, err := ParseFrameHead([FrameHeadBytes]byte([]byte("999999")))
	assert.ErrorIs(t, err, ErrTooLong)
	_, err = ParseFrame(make([]byte, FrameBytesMax+1))
	assert.ErrorIs(t, err, ErrTooLong)
	_, err = AppendFrame(nil, New("a", "k", strings.Repeat("v", FrameBytesMax)))
	assert.ErrorIs(t, err, ErrTooLong)
	_, err = AppendFrame(nil, New("a", "k", "a\nb"))
	assert.ErrorIs(t, err, ErrMalformed)
	n, err := ParseFrameHead([FrameHeadBytes]byte([]byte("   17 ")))
	require.NoError(t, err)
	assert.Equal(t, 17, n)
}

func TestWordsFitBothProtocols(t *testing.T) {
	for _, text := range []string{"a=b", " two  words\n", "x;y\r\x00z", "", "é"} {
		c := New("abort", "message", Words(text))
		line, err := AppendLine(nil, c)
		require.NoError(t, err, "%q", text)
		back, err := ParseLine(line)
		require.NoError(t, err)
		assert.Equal(t, c, back)
		_, err = AppendFrame(nil, c)
		require.NoError(t, err)
	}
	assert.Equal(t, "a:b c", Words("a=b\n c "))
}

var spawnText = strings.Join([]string{
	"mcmd=spawn", "nprocs=2", "execname=./worker", "totspawns=1", "spawnssofar=1",
	"arg1=-v", "arg2=two words = one", "argcnt=2",
	"preput_num=1", "preput_key_0=PARENT", "preput_val_0=tag:1", "info_num=1", "info_key_0=wdir", "info_val_0=/tmp", "endcmd", "",
}, "\n")

func TestSpawnGolden(t *testing.T) {
	s := Spawn{
		Total: 1, Number: 1, Processes: 2, Program: "./worker", Args: []string{"-v", "two words = one"},
		Preput: []Pair{{"PARENT", "tag:1"}}, Info: []Pair{{"wdir", "/tmp"}},
	}
	got, err := AppendSpawn(nil, s)
	require.NoError(t, err)
	assert.Equal(t, spawnText, string(got))
	back, err := parseSpawn(got)
	require.NoError(t, err)
	assert.Equal(t, s, back)
}

func parseSpawn(text []byte) (Spawn, error) {
	var p SpawnParser
	text = bytes.TrimPrefix(text, []byte(SpawnStart))
	for line := range bytes.Lines(text) {
		done, err := p.Line(line)
		if err != nil {
			return Spawn{}, err
		}
		if done {
			return p.Spawn()
		}
	}
	return Spawn{}, ErrMalformed
}

func TestSpawnsThatAreNone(t *testing.T) {
	for from, to := range map[string]string{
		"nprocs=2": "nprocs=0", "execname=./worker": "execname=", "totspawns=1": "totspawns=x", "spawnssofar=1": "spawnssofar=2",
		"argcnt=2": "argcnt=999999999", "arg1=-v": "arg1", "preput_num=1": "preput_num=-1", "info_num=1": "info_num=2", "arg2=two": "arg1=two",
	} {
		_, err := parseSpawn([]byte(strings.Replace(spawnText, from, to, 1)))
		assert.ErrorIs(t, err, ErrMalformed, "%s", to)
	}
	var p SpawnParser
	var err error
	for i := 0; err == nil && i < SpawnBytesMax; i++ {
		_, err = p.Line(fmt.Appendf(nil, "arg%d=%s\n", i, strings.Repeat("x", 1000)))
	}
	assert.ErrorIs(t, err, ErrTooLong)
	for _, bad := range []Spawn{{Args: []string{"a\nb"}}, {Program: "a\nb"}} {
		_, err = AppendSpawn(nil, bad)
		assert.ErrorIs(t, err, ErrMalformed)
	}
	_, err = AppendSpawn(nil, Spawn{Args: []string{strings.Repeat("x", LineBytesMax)}})
	assert.ErrorIs(t, err, ErrTooLong)
}

func TestCommandIsShownSafely(t *testing.T) {
	assert.Equal(t, `cmd=put key=a value="b\n"`, New("put", "key", "a", "value", "b\n").String())
	assert.Less(t, len(New("put", "value", strings.Repeat("x", 5000)).String()), 200)
	n, ok := New("x", "rc", "-1").Int("rc")
	assert.True(t, ok)
	assert.Equal(t, -1, n)
	_, ok = New("x", "rc", "a").Int("rc")
	assert.False(t, ok)
	_, ok = New("x").Int("rc")
	assert.False(t, ok)
}

// A parsed command can be written, and is then parsed as the same.
func FuzzParse(f *testing.F) {
	for _, c := range golden() {
		line, _ := AppendLine(nil, c)
		f.Add(line)
		frame, _ := AppendFrame(nil, c)
		f.Add(frame[FrameHeadBytes:])
	}
	f.Add([]byte(spawnText))
	f.Fuzz(func(t *testing.T, text []byte) {
		if c, err := ParseLine(text); err == nil {
			_ = c.String()
			if line, err := AppendLine(nil, c); err == nil {
				back, err := ParseLine(line)
				require.NoError(t, err)
				require.Equal(t, c, back)
			}
		}
		if c, err := ParseFrame(text); err == nil {
			frame, err := AppendFrame(nil, c)
			if err != nil { // only escapes can make it longer than the input
				require.ErrorIs(t, err, ErrTooLong)
				return
			}
			back, err := ParseFrame(frame[FrameHeadBytes:])
			require.NoError(t, err)
			require.Equal(t, c, back)
		}
		if s, err := parseSpawn(text); err == nil {
			if out, err := AppendSpawn(nil, s); err == nil {
				back, err := parseSpawn(out)
				require.NoError(t, err)
				require.Equal(t, s, back)
			}
		}
	})
}
