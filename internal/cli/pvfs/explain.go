package pvfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/pvfs/client"
)

// explainTime limits the time for an explanation.
const explainTime = 5 * time.Second

// remoteError is an error about a name on a file system.
type remoteError struct {
	fs *client.FS
	at place
	error
}

func (e remoteError) Unwrap() error { return e.error }

// about adds the name on a file system to an error; nil stays nil.
func about(fs *client.FS, at place, err error) error {
	var known remoteError
	if err == nil || errors.As(err, &known) {
		return err
	}
	return remoteError{fs, at, err}
}

// missing explains an error about a name that does not exist: which part of it exists, and which name may have been meant. It is
// "" for all other errors.
func (a *App) missing(ctx context.Context, err error) string {
	var e remoteError
	if !errors.Is(err, fs.ErrNotExist) || !errors.As(err, &e) {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, explainTime)
	defer cancel()
	parent, part := "/", ""
	for p := range strings.SplitSeq(e.at.path, "/") {
		if p == "" {
			continue
		}
		next := strings.TrimSuffix(parent, "/") + "/" + p
		if info, err := e.fs.StatCtx(ctx, next); err != nil {
			part = p
			break
		} else if !info.IsDir() {
			return ""
		}
		parent = next
	}
	if part == "" {
		return ""
	}
	text := fmt.Sprintf("%s: no such file or directory: %s is there, but has no %q", e.at.given, parent, part)
	if target, err := e.fs.ReadLinkCtx(ctx, strings.TrimSuffix(parent, "/")+"/"+part); err == nil {
		return fmt.Sprintf("%s: no such file or directory: %s/%s is a symbolic link to %s, which does not exist",
			e.at.given, strings.TrimSuffix(parent, "/"), part, target)
	}
	if near := nearest(ctx, e.fs, parent, part); near != "" {
		text += fmt.Sprintf("; did you mean %q?", near)
	}
	return text
}

// lookAtMost is how many names are compared with a mistyped one, at most.
const lookAtMost = 10000

// nearest is the name in a directory that is most similar to a missing one.
func nearest(ctx context.Context, fs *client.FS, dir, want string) string {
	best, least, seen := "", max(len(want)/3, 1)+1, 0
	for entry, err := range fs.Entries(ctx, dir) {
		if seen++; err != nil || seen > lookAtMost {
			break
		}
		d := distance(strings.ToLower(entry.Name), strings.ToLower(want))
		if d < least {
			best, least = entry.Name, d
		}
	}
	return best
}

// distance is how many bytes must be inserted, removed, changed or swapped with the next one.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// completeTime is how long a shell waits for completions.
const completeTime = 2 * time.Second

// complete completes names of the file system for a shell.
func (a *App) complete(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	p, err := either(begun)
	if cmd.Name() == "cp" && (err != nil || p.local) {
		return nil, cobra.ShellCompDirectiveDefault
	}
	ctx, cancel := context.WithTimeout(context.Background(), completeTime)
	defer cancel()
	if begun == "" {
		begun = "/"
	}
	typed := begun[:strings.LastIndex(begun, "/")+1]
	fs, dir, err := a.find(ctx, typed+".")
	if err != nil {
		return nil, none
	}
	entries, err := fs.ReadDirCtx(ctx, dir.path)
	if err != nil {
		return nil, none
	}
	var offers []string
	for _, entry := range entries {
		offer := typed + entry.Name()
		if entry.IsDir() {
			offer += "/"
		}
		if strings.HasPrefix(offer, begun) {
			offers = append(offers, offer)
		}
	}
	_ = a.mounts.close() // the mounts were only read
	return offers, none | cobra.ShellCompDirectiveNoSpace
}
