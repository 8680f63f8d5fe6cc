package main

import (
	"archive/zip"
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/need"
)

// unreachableVulns are a database and a module that do not exist, with a proxy that is an empty folder.
func unreachableVulns(t *testing.T) vulnSource {
	t.Helper()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	t.Setenv("GOPROXY", "file://"+t.TempDir())
	return vulnSource{gone.URL, "example.org/vulndb@latest", gone.Client()}
}

// TestVulnsAreNotSkippedSilently: without data, vulns says so, and fails if it must not skip.
func TestVulnsAreNotSkippedSilently(t *testing.T) {
	from := unreachableVulns(t)
	t.Setenv(need.MustVariable, "")
	var out bytes.Buffer
	require.NoError(t, vulns(t.Context(), &out, from, []string{"."}))
	assert.Contains(t, out.String(), "KNOWN VULNERABILITIES WERE NOT CHECKED: "+from.database+" is out of reach")
	assert.Contains(t, out.String(), from.module)
	t.Setenv(need.MustVariable, need.Modules)
	require.ErrorContains(t, vulns(t.Context(), &out, from, []string{"."}), need.MustVariable)
}

// TestVulnsFromAModule: if the web does not answer well, the reports come from a module.
func TestVulnsFromAModule(t *testing.T) {
	from := unreachableVulns(t)
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	t.Cleanup(busy.Close)
	from.database = busy.URL
	proxy := t.TempDir()
	dir := filepath.Join(proxy, "example.org", "vulndb", "@v")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	for name, text := range map[string]string{"go.mod": "module example.org/vulndb\n", "data/osv/GO-2026-0001.json": "{}"} {
		f, err := w.Create("example.org/vulndb@v0.1.0/" + name)
		require.NoError(t, err)
		_, err = f.Write([]byte(text))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	for name, text := range map[string]string{
		"list": "v0.1.0\n", "v0.1.0.info": `{"Version":"v0.1.0"}`, "v0.1.0.mod": "module example.org/vulndb\n", "v0.1.0.zip": archive.String(),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	t.Setenv("GOPROXY", "file://"+proxy)
	t.Setenv("GONOSUMDB", "example.org")
	t.Setenv("GOFLAGS", "-modcacherw")
	t.Setenv("GOMODCACHE", t.TempDir())
	url, about, err := from.find(t.Context())
	require.NoError(t, err)
	assert.Regexp(t, `^file:///.*/example\.org/vulndb@v0\.1\.0/data/osv$`, url)
	assert.Contains(t, about, "example.org/vulndb@v0.1.0, because "+busy.URL+" is out of reach (it answers 503")
}

// TestVulnsThatCount: code that is reached counts, once; what a module only has does not. The standard library is no module of ours.
func TestVulnsThatCount(t *testing.T) {
	const result = `{"config":{"db":"x"}}
{"osv":{"id":"GO-1"}}
{"finding":{"osv":"GO-1","fixed_version":"v1.2.0","trace":[{"module":"example.org/m","version":"v1.0.0"}]}}
{"finding":{"osv":"GO-1","fixed_version":"v1.2.0","trace":[{"module":"example.org/m","version":"v1.0.0","package":"example.org/m"}]}}
{"finding":{"osv":"GO-2","trace":[{"module":"stdlib","version":"v1.26.8","package":"os","function":"Open"},{"module":"x","function":"main","position":{"filename":"main.go","line":7}}]}}
{"finding":{"osv":"GO-2","trace":[{"module":"stdlib","version":"v1.26.8","package":"os","function":"Close"}]}}
`
	found, err := reachable(strings.NewReader(result))
	require.NoError(t, err)
	require.Equal(t, []vuln{{id: "GO-2", module: "stdlib", version: "v1.26.8", from: "main.go:7"}}, found)
	var out bytes.Buffer
	require.NoError(t, judge(&out, found))
	assert.Contains(t, out.String(), "1 KNOWN VULNERABILITIES OF THE INSTALLED GO")

	found = append(found, vuln{id: "GO-1", module: "example.org/m", version: "v1.0.0", fixed: "v1.2.0", from: "a.go:1"})
	require.ErrorContains(t, judge(&out, found), "1 known vulnerabilities of modules")
	assert.Contains(t, out.String(), "GO-1: example.org/m@v1.0.0, reached from a.go:1, fixed in v1.2.0")
	_, err = reachable(strings.NewReader("no JSON"))
	require.Error(t, err)
}
