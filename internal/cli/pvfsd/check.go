package pvfsd

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
)

func (a *App) checkCommand() *cobra.Command {
	var at placeOptions
	var repair, all, inJSON bool
	var folders []string
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check the store of a server",
		Long: `Check examines everything in the folder of a server that does not run: every record, the
counts, and the files with the data. It prints a line for each problem. With --repair it repairs
what it can; files that belong to no object go to the folder orphans.

With --dir no configuration is needed.

With --all it checks all servers of the configuration whose folders are on this machine, and
then the references between them. It finds names without an object, files and directories without
a name, which --repair puts into lost+found, and data without a file.

` + exitHelp,
		Example: `  pvfsd check --dir /var/lib/pvfsd
  pvfsd check --config fs.conf --all --repair --json`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			if all {
				return a.checkTree(at, folders, repair, inJSON)
			}
			return a.check(at, repair, inJSON)
		},
	}
	at.flags(cmd)
	cmd.Flags().BoolVar(&repair, "repair", false, "repair the problems")
	cmd.Flags().BoolVar(&all, "all", false, "check all servers and the references between them")
	cmd.Flags().StringArrayVar(&folders, "at", nil, "with --all: the folder of a server, as ALIAS=DIR")
	program.JSONFlag(cmd, &inJSON, problem{})
	return cmd
}

func (a *App) check(at placeOptions, repair, inJSON bool) (err error) {
	dir := at.dir
	if dir == "" {
		p, err := at.find()
		if err != nil {
			return err
		}
		dir = p.dir
	}
	if err := mustExist(dir, "is it the right folder?"); err != nil {
		return err
	}
	st, err := open(dir, store.Options{ReadOnly: !repair})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	problems, err := st.Check(repair)
	if err := a.report(problems, err, repair, inJSON); err != nil || inJSON {
		return err
	}
	s := st.Stats()
	objects := int64(0)
	for _, n := range s.Objects {
		objects += n
	}
	_, err = fmt.Fprintf(a.Out, "%s is in order: %s, %s\n", dir, count(int(objects), "object"), count(int(s.Entries), "directory entry"))
	return err
}

// count formats a number of things.
func count(n int, what string) string {
	switch {
	case n == 1:
	case what[len(what)-1] == 'y':
		what = what[:len(what)-1] + "ies"
	default:
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
