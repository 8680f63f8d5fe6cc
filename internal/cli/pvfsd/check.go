package pvfsd

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/pvfs/store"
)

func (a *App) checkCommand() *cobra.Command {
	var at placeOptions
	var repair bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Look whether the store of a server is in order",
		Long: `Check looks at everything in the folder of a server that does not run: every record, the
counts, and the files with the bytes. It prints a line for each problem. With -repair it mends
what it can; files that belong to nothing go to the folder orphans.

With -dir no configuration is needed.

` + exitHelp,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error { return a.check(at, repair) },
	}
	at.flags(cmd)
	cmd.Flags().BoolVar(&repair, "repair", false, "mend what is wrong")
	return cmd
}

func (a *App) check(at placeOptions, repair bool) (err error) {
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
	left := 0
	for _, p := range problems {
		if !p.Repaired {
			left++
		}
		fmt.Fprintln(a.Out, p)
	}
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", errDamaged, err)
	case left > 0 && !repair:
		return fmt.Errorf("%w: %s; -repair mends what can be mended", errDamaged, count(left, "problem"))
	case left > 0:
		return fmt.Errorf("%w: %s left", errDamaged, count(left, "problem"))
	}
	s := st.Stats()
	objects := int64(0)
	for _, n := range s.Objects {
		objects += n
	}
	_, err = fmt.Fprintf(a.Out, "%s is in order: %s, %s\n", dir, count(int(objects), "object"), count(int(s.Entries), "directory entry"))
	return err
}

// count is a number of things in words.
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
