package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// dependenciesPage says why the module needs each of its direct dependencies.
const dependenciesPage = "docs/internals/libraries.md"

// dependencyRow is a row of its table, with a reason.
var dependencyRow = regexp.MustCompile(`(?m)^\| ([\w.-]+\.[a-z]+/\S+) \| (?:programs|commands|tests) \| \S.{9,} \|$`)

// unexplained returns the direct dependencies of a go.mod, as go mod edit -json prints it, that a page gives no reason for, and
// the rows without a dependency.
func unexplained(mod, page []byte) (missing, stale []string, err error) {
	var parsed struct {
		Require []struct {
			Path     string
			Indirect bool
		}
	}
	if err := json.Unmarshal(mod, &parsed); err != nil {
		return nil, nil, err
	}
	rows := make(map[string]bool)
	for _, row := range dependencyRow.FindAllSubmatch(page, -1) {
		rows[string(row[1])] = true
	}
	for _, r := range parsed.Require {
		if !r.Indirect && !rows[r.Path] {
			missing = append(missing, r.Path)
		}
		if !r.Indirect {
			delete(rows, r.Path)
		}
	}
	for path := range rows {
		stale = append(stale, path)
	}
	return missing, stale, nil
}

// TestDependenciesAreExplained: each direct dependency has a row with a reason, and each row a dependency.
func TestDependenciesAreExplained(t *testing.T) {
	page, err := os.ReadFile("../../" + dependenciesPage)
	require.NoError(t, err)
	mod, err := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json", "../../go.mod").Output()
	require.NoError(t, err)
	missing, stale, err := unexplained(mod, page)
	require.NoError(t, err)
	assert.Empty(t, missing, "why does the module need them? Say so in %s", dependenciesPage)
	assert.Empty(t, stale, "they are no dependencies any more: remove their rows from %s", dependenciesPage)
}

// TestUnexplainedDependencies: the check finds what is missing and what is too much.
func TestUnexplainedDependencies(t *testing.T) {
	const mod = `{"Require":[{"Path":"example.org/a"},{"Path":"example.org/b"},{"Path":"example.org/c"},{"Path":"example.org/d","Indirect":true}]}`
	const page = "| example.org/a | tests | it has a reason |\n| example.org/c | tests | |\n| example.org/d | programs | it has a reason |\n"
	missing, stale, err := unexplained([]byte(mod), []byte(page))
	require.NoError(t, err)
	assert.Equal(t, []string{"example.org/b", "example.org/c"}, missing)
	assert.Equal(t, []string{"example.org/d"}, stale)
}
