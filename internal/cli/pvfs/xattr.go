package pvfs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

func (a *App) xattrCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "xattr",
		Short: "Show and set extended attributes",
		Example: `  pvfs xattr set user.note 'first run' /data
  pvfs xattr list --values /data`,
		Long: `Extended attributes are small values with names that you choose. The names begin with
"user.". A value may have up to 8192 bytes.

` + exitHelp,
		SuggestionsMinimumDistance: 2,
		Args:                       cobra.ArbitraryArgs,
		RunE:                       program.Unknown,
	}
	cmd.AddCommand(a.xattrListCommand(), a.xattrGetCommand(), a.xattrSetCommand(), a.xattrRemoveCommand())
	for _, sub := range cmd.Commands() {
		sub.ValidArgsFunction = a.complete
	}
	return cmd
}

func (a *App) xattrListCommand() *cobra.Command {
	var values, all, inJSON bool
	cmd := &cobra.Command{
		Use:     "list NAME...",
		Short:   "List the keys of an object",
		Example: `  pvfs xattr list --values --json /data`,
		Args:    program.Between(1, -1, "one NAME or more"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.each(cmd.Context(), args, func(ctx context.Context, t remoteTree, p place) error {
				return a.listXattrs(ctx, t, p, xattrOptions{values, all, inJSON})
			})
		},
	}
	cmd.Flags().BoolVar(&values, "values", false, "also print values")
	cmd.Flags().BoolVarP(&all, "all", "a", false, "also those of the file system itself, whose keys begin with 'system.'")
	program.JSONFlag(cmd, &inJSON, listedXattr{})
	return cmd
}

type xattrOptions struct{ values, all, json bool }

// listedXattr is an attribute of xattr list --json.
type listedXattr struct {
	Name  string  `json:"name"`
	Key   string  `json:"key"`
	Value *string `json:"value,omitempty"` // bytes that are no text are escaped as in Go
}

func (a *App) listXattrs(ctx context.Context, t remoteTree, p place, opt xattrOptions) error {
	keys, err := t.fs.ListXattr(ctx, p.path)
	if err != nil {
		return err
	}
	slices.Sort(keys)
	for _, key := range keys {
		if strings.HasPrefix(key, "system.") && !opt.all {
			continue
		}
		if err := a.printXattr(ctx, t, p, key, opt); err != nil {
			return err
		}
	}
	return nil
}

func (a *App) printXattr(ctx context.Context, t remoteTree, p place, key string, opt xattrOptions) error {
	row := listedXattr{Name: p.given, Key: key}
	if !opt.values {
		if opt.json {
			return program.WriteJSON(a.Out, row)
		}
		_, err := fmt.Fprintln(a.Out, key)
		return err
	}
	value, err := t.fs.GetXattr(ctx, p.path, key)
	if err != nil {
		return err
	}
	if opt.json {
		text := shown(value)
		row.Value = &text
		return program.WriteJSON(a.Out, row)
	}
	_, err = fmt.Fprintf(a.Out, "%s=%s\n", key, shown(value))
	return err
}

// shown formats a value on one line.
func shown(value []byte) string {
	text := strings.TrimSuffix(string(value), "\x00")
	if utf8.ValidString(text) && strings.IndexFunc(text, func(c rune) bool { return !unicode.IsPrint(c) }) < 0 {
		return text
	}
	return strconv.Quote(string(value))
}

func (a *App) xattrGetCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "get KEY NAME",
		Short:   "Print a value, as it is",
		Example: `  pvfs xattr get user.note /data`,
		Args:    program.Between(2, 2, "a KEY and a NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.each(cmd.Context(), args[1:], func(ctx context.Context, t remoteTree, p place) error {
				value, err := t.fs.GetXattr(ctx, p.path, args[0])
				if err != nil {
					return xattrError(p, args[0], err)
				}
				_, err = a.Out.Write(value)
				return err
			})
		},
	}
}

func (a *App) xattrSetCommand() *cobra.Command {
	var create, replace bool
	cmd := &cobra.Command{
		Use:     "set KEY VALUE NAME...",
		Short:   "Set a value",
		Example: `  pvfs xattr set user.note 'first run' /data`,
		Args:    program.Between(3, -1, "a KEY, a VALUE and one NAME or more"),
		RunE: func(cmd *cobra.Command, args []string) error {
			flags := 0
			switch {
			case create && replace:
				return program.Usagef("--create and --replace exclude each other")
			case create:
				flags = client.XattrCreate
			case replace:
				flags = client.XattrReplace
			}
			return a.each(cmd.Context(), args[2:], func(ctx context.Context, t remoteTree, p place) error {
				return xattrError(p, args[0], t.fs.SetXattr(ctx, p.path, args[0], []byte(args[1]), flags))
			})
		},
	}
	f := cmd.Flags()
	f.BoolVar(&create, "create", false, "fail if the key exists")
	f.BoolVar(&replace, "replace", false, "fail if the key does not exist")
	return cmd
}

func (a *App) xattrRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "rm KEY NAME...",
		Short:   "Remove a key and its value",
		Example: `  pvfs xattr rm user.note /data`,
		Args:    program.Between(2, -1, "a KEY and one NAME or more"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.each(cmd.Context(), args[1:], func(ctx context.Context, t remoteTree, p place) error {
				return xattrError(p, args[0], t.fs.RemoveXattr(ctx, p.path, args[0]))
			})
		},
	}
}

// xattrError explains an error about a key.
func xattrError(p place, key string, err error) error {
	switch {
	case errors.Is(err, proto.ENODATA):
		return fmt.Errorf("%s has no attribute %q; pvfs xattr list shows those it has: %w", p.given, key, err)
	case err != nil && !strings.HasPrefix(key, "user."):
		return fmt.Errorf("%w; keys of users begin with user., like user.%s", err, key)
	}
	return err
}
