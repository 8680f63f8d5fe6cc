package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/need"
)

// TestDebianPackages unpacks the packages with dpkg and runs what is in them.
func TestDebianPackages(t *testing.T) {
	need.Program(t, "dpkg-deb")
	t.Setenv("TZ", "UTC")
	m := all(t)
	server, tools := m.file(t, "viaduct-server_*.deb"), m.file(t, "viaduct-tools_*.deb")
	assert.Equal(t, "0.3.1~rc.1-1\n", run(t, "dpkg-deb", "-f", server, "Version"))
	assert.Equal(t, "fuse3\n", run(t, "dpkg-deb", "-f", tools, "Recommends"))
	assert.Empty(t, strings.TrimSpace(run(t, "dpkg-deb", "-f", server, "Depends")), "the programs are static")
	for _, line := range strings.Split(strings.TrimSpace(run(t, "dpkg-deb", "-c", server)+run(t, "dpkg-deb", "-c", tools)), "\n") {
		assert.Regexp(t, `^([d-]rwxr-xr-x|-rw-r--r--|lrwxrwxrwx) (root/root|0/0) +\d+ 2026-11-26 17:25 \./`, line)
	}

	// dpkg wants a database. The scripts would need a shell below the folder, so they run only below.
	into := t.TempDir()
	for _, dir := range []string{"var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers"} {
		require.NoError(t, os.MkdirAll(filepath.Join(into, dir), 0o755))
	}
	for _, name := range []string{"status", "available"} {
		require.NoError(t, os.WriteFile(filepath.Join(into, "var/lib/dpkg", name), nil, 0o644))
	}
	run(t, "dpkg", "--root="+into, "--force-not-root", "--force-architecture", "--unpack", server, tools)
	for _, p := range programs {
		out := run(t, filepath.Join(into, "usr/bin", p.installed), "--version")
		assert.Regexp(t, `^\S+ \S+ go1\.\S+ linux/\w+\n$`, out)
	}
	target, err := os.Readlink(filepath.Join(into, "usr/sbin/mount.pvfs"))
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(into, "usr/sbin", target))
	conffiles, err := os.ReadFile(filepath.Join(into, "var/lib/dpkg/info/viaduct-server.conffiles"))
	require.NoError(t, err)
	assert.Equal(t, "/etc/viaduct/pvfsd.env\n", string(conffiles))

	// Without systemd the scripts have nothing to do, and do not fail.
	for script, args := range map[string][]string{"postinst": {"configure"}, "prerm": {"remove"}, "postrm": {"purge"}} {
		cmd := exec.Command("/bin/sh", append([]string{filepath.Join(into, "var/lib/dpkg/info/viaduct-server."+script)}, args...)...)
		cmd.Env = []string{"PATH=" + t.TempDir()}
		out, err := cmd.CombinedOutput()
		assert.NoError(t, err, "%s: %s", script, out)
	}
}

// TestRPMPackages asks rpm what the packages have.
func TestRPMPackages(t *testing.T) {
	need.Program(t, "rpm")
	m := all(t)
	server, tools := m.file(t, "viaduct-server-*.rpm"), m.file(t, "viaduct-tools-*.rpm")
	for pattern, path := range map[string]string{
		server: "/usr/bin/pvfsd\n", tools: "/usr/bin/mpiexec.viaduct\n",
	} {
		list := run(t, "rpm", "-qlp", pattern)
		assert.Contains(t, list, path)
		assert.Contains(t, list, "/usr/share/zsh/site-functions/_")
	}
	assert.Equal(t, "0.3.1~rc.1 1 localhost", run(t, "rpm", "-qp", "--qf", "%{VERSION} %{RELEASE} %{BUILDHOST}", server))
	assert.Equal(t, "/etc/viaduct/pvfsd.env\n", run(t, "rpm", "-qcp", server))
	assert.Contains(t, run(t, "rpm", "-qp", "--recommends", tools), "fuse3")
	assert.Contains(t, run(t, "rpm", "-qp", "--scripts", server), "systemd-sysusers viaduct.conf")
	assert.Empty(t, strings.TrimSpace(strings.ReplaceAll(run(t, "rpm", "-qp", "--qf", "[%{FILEUSERNAME}\n]", server), "root", "")))
}

// TestTheArchive has the programs under their own names.
func TestTheArchive(t *testing.T) {
	need.Program(t, "tar")
	m := all(t)
	dir := t.TempDir()
	run(t, "tar", "-xzf", m.file(t, "viaduct_*.tar.gz"), "-C", dir)
	top := filepath.Join(dir, "viaduct_v0.3.1-rc.1_linux_")
	found, err := filepath.Glob(top + "*")
	require.NoError(t, err)
	require.Len(t, found, 1)
	for _, p := range programs {
		assert.Contains(t, run(t, filepath.Join(found[0], "bin", p.name), "--version"), p.name)
	}
	licences, err := os.ReadFile(filepath.Join(found[0], "THIRD-PARTY-LICENCES"))
	require.NoError(t, err)
	for _, name := range []string{"Go's standard library", "github.com/spf13/cobra", "go.etcd.io/bbolt"} {
		assert.Contains(t, string(licences), "\n"+name+" ")
	}
	sums := exec.Command("sha256sum", "--quiet", "-c", "SHA256SUMS")
	sums.Dir = m.out
	out, err := sums.CombinedOutput()
	require.NoError(t, err, string(out))
}
