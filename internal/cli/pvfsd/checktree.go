package pvfsd

import (
	"errors"
	"fmt"
	"strings"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
)

// checkTree checks the stores of all servers of a file system, and then the references between them. It skips servers whose
// folder is not on this machine, and says so.
func (a *App) checkTree(at placeOptions, folders []string, repair, inJSON bool) (err error) {
	fs, err := at.read()
	if err != nil {
		return err
	}
	dirs, err := foldersOf(fs, folders)
	if err != nil {
		return err
	}
	tree := store.Tree{Root: fs.Root, Stores: make([]*store.Store, len(fs.Servers)), Owner: fs.Owner}
	defer func() {
		for _, st := range tree.Stores {
			if st != nil {
				err = errors.Join(err, st.Close())
			}
		}
	}()
	var problems []store.Problem
	there := 0
	for i, dir := range dirs {
		if ok, err := exists(dir); err != nil {
			return err
		} else if dir == "" || !ok {
			to := a.Out
			if inJSON {
				to = a.Err
			}
			fmt.Fprintf(to, "server %s is left out: its folder %q is not here; say where with --at %[1]s=DIR\n", fs.Servers[i].Alias, dir)
			continue
		}
		p := &place{fs: fs, index: i, alias: fs.Servers[i].Alias, dir: dir}
		opts := p.options()
		opts.ReadOnly = !repair
		st, err := open(dir, opts)
		if err != nil {
			return err
		}
		tree.Stores[i] = st
		there++
		found, err := st.Check(repair)
		if problems = append(problems, found...); err != nil {
			return fmt.Errorf("%w: %s: %w", errDamaged, dir, err)
		}
	}
	if there == 0 {
		return program.Usagef("no server of %s has its folder on this machine", at.config)
	}
	found, err := store.CheckTree(tree, repair)
	problems = append(problems, found...)
	if err := a.report(problems, err, repair, inJSON); err != nil || inJSON {
		return err
	}
	_, err = fmt.Fprintf(a.Out, "%s is in order: %s of %d\n", fs.Name, count(there, "server"), len(fs.Servers))
	return err
}

// foldersOf are the folders of the servers: from ALIAS=DIR, or else from the configuration.
func foldersOf(fs *config.Config, folders []string) ([]string, error) {
	dirs := make([]string, len(fs.Servers))
	for i := range dirs {
		dirs[i] = fs.MetaDir(i)
	}
	for _, f := range folders {
		alias, dir, ok := strings.Cut(f, "=")
		if !ok || dir == "" {
			return nil, program.Usagef("--at %s: it must look like ALIAS=DIR", f)
		}
		i := fs.Index(alias)
		if i < 0 {
			return nil, program.Usagef("there is no server %q; the servers are: %s", alias, aliases(fs))
		}
		dirs[i] = dir
	}
	return dirs, nil
}

// problem is a problem in check --json.
type problem struct {
	Handle   uint64 `json:"handle,omitempty"` // of the object; missing: in the store as a whole
	What     string `json:"problem"`
	Repaired bool   `json:"repaired"`
	Leftover bool   `json:"leftover"` // of an interrupted operation, no damage
}

func (a *App) printProblem(p store.Problem, inJSON bool) error {
	if inJSON {
		return program.WriteJSON(a.Out, problem{uint64(p.Handle), p.What, p.Repaired, p.Leftover})
	}
	_, err := fmt.Fprintln(a.Out, p)
	return err
}

// report prints problems and returns an error for those that are left.
func (a *App) report(problems []store.Problem, err error, repair, inJSON bool) error {
	left, what := 0, errLeftovers
	for _, p := range problems {
		if !p.Repaired {
			left++
			if !p.Leftover {
				what = errDamaged
			}
		}
		if e := a.printProblem(p, inJSON); e != nil {
			return e
		}
	}
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", errDamaged, err)
	case left > 0 && !repair:
		return fmt.Errorf("%w: %s; --repair repairs what can be repaired", what, count(left, "problem"))
	case left > 0:
		return fmt.Errorf("%w: %s left", what, count(left, "problem"))
	}
	return nil
}
