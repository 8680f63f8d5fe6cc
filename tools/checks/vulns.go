package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/internal/need"
)

// govulncheck is the program that looks for known vulnerabilities, by its version.
const govulncheck = "golang.org/x/vuln/cmd/govulncheck@v1.9.0"

// A vulnSource is where data on vulnerabilities may come from: the database on the web, or else the module of its reports, which
// every module proxy has.
type vulnSource struct {
	database string // a URL
	module   string
	client   *http.Client
}

// publicVulns is the source that the go project keeps.
var publicVulns = vulnSource{"https://vuln.go.dev", "golang.org/x/vulndb@latest", &http.Client{Timeout: 20 * time.Second}}

func vulnsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "vulns PACKAGE...",
		Short: "look for known vulnerabilities that the packages can reach (govulncheck)",
		Long: `vulns runs govulncheck with the database vuln.go.dev, or with the newest module golang.org/x/vulndb
where that is out of reach. Without either nothing is checked: vulns says so, and fails if
` + need.MustVariable + ` has "` + need.Modules + `". It fails if a vulnerability of a module can be reached; those of the
standard library are listed.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, packages []string) error {
			return vulns(c.Context(), c.OutOrStdout(), publicVulns, packages)
		},
	}
}

// vulns checks packages and writes to out what with.
func vulns(ctx context.Context, out io.Writer, from vulnSource, packages []string) error {
	db, about, err := from.find(ctx)
	if err != nil {
		fmt.Fprintf(out, "vulns: KNOWN VULNERABILITIES WERE NOT CHECKED: %v\n", err)
		if need.Must(need.Modules) {
			return fmt.Errorf("vulns: %s forbids to skip", need.MustVariable)
		}
		return nil
	}
	fmt.Fprintf(out, "vulns: %s, data: %s\n", govulncheck, about)
	cmd := exec.CommandContext(ctx, "go", append([]string{"run", govulncheck, "-db", db, "-format", "json"}, packages...)...)
	cmd.Stderr = out
	result, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("vulns: %v: %w", cmd, err)
	}
	found, err := reachable(bytes.NewReader(result))
	if err != nil {
		return fmt.Errorf("vulns: the output of govulncheck: %w", err)
	}
	return judge(out, found)
}

// A vuln is a vulnerability in code that the packages can reach.
type vuln struct{ id, module, version, fixed, from string }

// reachable reads the output of govulncheck and returns each vulnerability once.
func reachable(result io.Reader) (found []vuln, err error) {
	seen := make(map[string]bool)
	for d := json.NewDecoder(result); ; {
		var message struct {
			Finding *struct {
				OSV   string
				Fixed string `json:"fixed_version"`
				Trace []struct {
					Module, Version, Package, Function string
					Position                           struct {
						Filename string
						Line     int
					}
				}
			}
		}
		if err := d.Decode(&message); errors.Is(err, io.EOF) {
			return found, nil
		} else if err != nil {
			return nil, err
		}
		f := message.Finding
		if f == nil || len(f.Trace) == 0 || f.Trace[0].Function == "" || seen[f.OSV] {
			continue
		}
		seen[f.OSV] = true
		at, first := f.Trace[0], f.Trace[len(f.Trace)-1]
		found = append(found, vuln{f.OSV, at.Module, at.Version, f.Fixed, fmt.Sprintf("%s:%d", first.Position.Filename, first.Position.Line)})
	}
}

// standardLibrary is the name of the module of the standard library.
const standardLibrary = "stdlib"

// judge prints what was found. Vulnerabilities of the standard library are those of the installed Go: they are no failure of the
// module, which builds with a later one as well.
func judge(out io.Writer, found []vuln) error {
	ours := 0
	for _, v := range found {
		fixed := "it is not fixed yet"
		if v.fixed != "" {
			fixed = "fixed in " + v.fixed
		}
		fmt.Fprintf(out, "vulns: %s: %s@%s, reached from %s, %s (https://pkg.go.dev/vuln/%s)\n", v.id, v.module, v.version, v.from, fixed, v.id)
		if v.module != standardLibrary {
			ours++
		}
	}
	if goes := len(found) - ours; goes > 0 {
		fmt.Fprintf(out, "vulns: %d KNOWN VULNERABILITIES OF THE INSTALLED GO: build releases with a later version\n", goes)
	}
	if ours > 0 {
		return fmt.Errorf("vulns: %d known vulnerabilities of modules; take a version that is fixed", ours)
	}
	fmt.Fprintln(out, "vulns: no known vulnerability of a module is reached")
	return nil
}

// find returns the URL of a database that can be read, and what it is.
func (s vulnSource) find(ctx context.Context) (url, about string, err error) {
	webErr := s.reach(ctx)
	if webErr == nil {
		return s.database, s.database, nil
	}
	version, dir, err := s.download(ctx)
	if err != nil {
		return "", "", fmt.Errorf("%s is out of reach (%w), and so is %s (%w)", s.database, webErr, s.module, err)
	}
	return "file://" + dir, fmt.Sprintf("%s, because %s is out of reach (%v)", version, s.database, webErr), nil
}

// reach reports whether the database on the web answers.
func (s vulnSource) reach(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, s.database+"/index/modules.json.gz", http.NoBody)
	if err != nil {
		return err
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return errors.Unwrap(err) // without the URL
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("it answers %s", resp.Status)
	}
	return nil
}

// download gets the module of the database, and returns its version and the folder of its reports.
func (s vulnSource) download(ctx context.Context) (version, dir string, err error) {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", s.module)
	out, runErr := cmd.Output() // with an error it tells it there
	var m struct{ Path, Version, Dir, Error string }
	if err := json.Unmarshal(out, &m); err != nil {
		return "", "", cmp.Or(runErr, err)
	}
	if m.Error != "" {
		return "", "", errors.New(strings.TrimSpace(m.Error))
	}
	dir = filepath.Join(m.Dir, "data", "osv")
	if _, err := os.Stat(dir); err != nil {
		return "", "", err
	}
	return m.Path + "@" + m.Version, dir, nil
}
