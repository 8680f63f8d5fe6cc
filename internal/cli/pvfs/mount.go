package pvfs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/fuse"
)

func (a *App) mountCommand() *cobra.Command {
	var opt mountOptions
	var lists []string
	cmd := &cobra.Command{
		Use:   "mount [SOURCE] DIR",
		Short: "Mount the file system on a directory, for all programs",
		Example: `  pvfs mount /mnt/pvfs
  pvfs mount --background --log-file /var/log/pvfs.log tcp://server:3334/pvfs2-fs /mnt/pvfs`,
		Long: `Mount shows the file system in a directory, by FUSE, until it is interrupted or the directory is
unmounted (umount DIR, or fusermount3 -u DIR). It stays in the foreground. With --background it
returns as soon as the directory is mounted.

Root mounts for all users, each with its own rights. Other users mount for themselves, with the
program fusermount3. With --allow-other they mount for all users, if /etc/fuse.conf has
user_allow_other. With --user everything is done for that user.

-o takes the same options as fstab: ` + strings.Join(mountKnown, ", ") + `;
options only for mount(8) are ignored. With a link /sbin/mount.pvfs to this program, mount -t pvfs SOURCE DIR
and lines of fstab with the type pvfs work.`,
		Args: program.Between(1, 2, "a SOURCE and a DIR, or a DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			source, dir := "/", args[len(args)-1]
			if len(args) == 2 {
				var err error
				if source, err = a.mountSource(args[0]); err != nil {
					return err
				}
			}
			for _, list := range lists {
				if err := opt.list(list); err != nil {
					return err
				}
			}
			return a.mountOn(cmd.Context(), source, dir, opt)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&opt.allowOther, "allow-other", os.Geteuid() == 0, "let other users use the mount")
	f.BoolVar(&opt.readOnly, "read-only", false, "refuse every change")
	f.BoolVar(&opt.background, "background", false, "return as soon as the directory is mounted")
	opt.log.Flags(f, "warn")
	opt.log.FileFlag(f)
	program.DurationFlag(f, &opt.keep, "keep", time.Second, "how long the kernel and this program cache names, attributes and sizes")
	f.BoolVar(&opt.debug, "debug", false, "write every request of the kernel to standard error")
	f.StringArrayVarP(&lists, "options", "o", nil, "options separated by commas, as in fstab")
	return cmd
}

// mountSource returns the name of the file system for a SOURCE. A SOURCE may also be a value of
// --fs.
func (a *App) mountSource(source string) (string, error) {
	if strings.Contains(source, "://") || source == "/" {
		return source, nil
	}
	if info, err := os.Stat(source); err == nil && info.Mode().IsRegular() {
		a.fsFlag = source
		return "/", nil
	}
	return "", program.Usagef("%q is no source of a file system: want tcp://HOST:PORT/NAME or another METHOD://ADDRESS/NAME, or the path of a pvfs2tab", source)
}

func (a *App) mountOn(ctx context.Context, source, dir string, opt mountOptions) error {
	if opt.keep < 0 {
		return program.Usagef("--keep cannot be negative")
	}
	if opt.keep == 0 {
		opt.keep = -1
	}
	if err := fuse.Available(); err != nil {
		return err
	}
	if opt.background && !isChild() {
		return a.inBackground()
	}
	log, logFile, err := opt.log.Open(a.Err, slog.LevelWarn)
	if err != nil {
		return err
	}
	defer logFile.Close()
	a.keyFlag, a.certFlag, a.mount.Host = cmp.Or(opt.keyFile, a.keyFlag), cmp.Or(opt.certFile, a.certFlag), cmp.Or(opt.host, a.mount.Host)
	a.mount.AttrTime, a.mount.SizeTime, a.mount.NameTime = opt.keep, opt.keep, opt.keep
	fsys, p, err := a.find(ctx, source)
	if err != nil {
		return err
	}
	if p.path != "/" {
		return program.Usagef("%s is not the top of the file system, which is all that can be mounted", source)
	}
	m, err := fuse.New(ctx, fsys, dir, fuse.Options{
		AllowOther: opt.allowOther,
		Callers:    opt.allowOther && os.Geteuid() == 0 && a.userFlag == "",
		ReadOnly:   opt.readOnly,
		Flags:      opt.flags,
		EntryTime:  opt.keep, AttrTime: opt.keep,
		Log:   log,
		Debug: opt.debug,
	})
	if err != nil {
		return err
	}
	text := fmt.Sprintf("file system %s is mounted on %s", fsys.Name(), m.Dir())
	if opt.background {
		err = ready(text)
	} else if _, err = fmt.Fprintln(a.Out, text); err == nil {
		_, err = daemon.SdNotify(false, daemon.SdNotifyReady) // to systemd, if that started this program
	}
	if err != nil {
		return errors.Join(err, m.Close())
	}
	select {
	case <-ctx.Done(): // the normal end
	case <-m.Done():
	}
	_, _ = daemon.SdNotify(false, daemon.SdNotifyStopping)
	return m.Close()
}
