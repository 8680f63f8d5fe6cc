package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/internal/hostlist"
	"github.com/viaduct-hpc/viaduct/internal/keyfile"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/secure"
)

type genkeyOptions struct {
	clients, dir string
}

func (a *App) genkeyCommand() *cobra.Command {
	var opt genkeyOptions
	cmd := &cobra.Command{
		Use:   "genkey NAME...",
		Short: "Make keys for endpoints of via+udp",
		Long: `Genkey makes a pair of keys for each name. It writes the private key to NAME.key; the endpoint
reads it from the file that VIADUCT_UDP_PRIVATE_KEY_FILE names. It prints a line with the public key,
or adds it to the file of --clients. A server knows its clients by these lines, in the file that
VIADUCT_UDP_CLIENTS_FILE names. A client knows a server by a line HOST:PORT KEY in the file that
VIADUCT_UDP_SERVERS_FILE names. 'node[01-16]' stands for 16 names. See docs/reference/security-udp.md.

` + exitHelp,
		Example: `  bmi genkey server > clients.txt
  bmi genkey --clients clients.txt --dir keys 'node[01-16]'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return program.Usagef("a name is missing: bmi genkey NAME, or several names")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.genkey(args, opt) },
	}
	f := cmd.Flags()
	f.StringVar(&opt.clients, "clients", "", "the file to add the public keys to, created if missing (default: print them)")
	f.StringVar(&opt.dir, "dir", ".", "the folder for the private keys")
	_ = cmd.MarkFlagFilename("clients")
	_ = cmd.MarkFlagDirname("dir")
	return cmd
}

func (a *App) genkey(lists []string, opt genkeyOptions) error {
	names, err := hostlist.ExpandAll(lists)
	if err != nil {
		return program.Usage(err)
	}
	for _, name := range names {
		if err := secure.CheckName(name); err != nil {
			return program.Usage(err)
		}
	}
	known, err := readClients(opt.clients)
	if err != nil {
		return program.Usage(err)
	}
	for _, name := range names {
		line, path, err := newKeyPair(name, opt)
		if err != nil {
			return err
		}
		if opt.clients == "" {
			if _, err := fmt.Fprint(a.Out, line); err != nil {
				return err
			}
			continue
		}
		if _, err := fmt.Fprintf(a.Out, "the private key of %s is in %s\n", name, path); err != nil {
			return err
		}
		if known.Has(name) {
			fmt.Fprintf(a.Err, "bmi: %s has more than one key of %s now; remove those no longer in use\n", opt.clients, name)
		}
	}
	return nil
}

// readClients reads the file to which lines are added, so that nothing is added to a file of another kind.
func readClients(file string) (*secure.Clients, error) {
	if file == "" {
		return &secure.Clients{}, nil
	}
	text, err := keyfile.Trusted(file, secure.PublicFileBytesMax)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	clients, err := secure.ParseClients(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return clients, nil
}

// newKeyPair makes the keys of one endpoint, and returns the line of the public one. The private key is written before
// servers know the public one.
func newKeyPair(name string, opt genkeyOptions) (line, path string, err error) {
	key, err := secure.NewPrivateKey()
	if err != nil {
		return "", "", err
	}
	path = filepath.Join(opt.dir, name+".key")
	if err := writePrivate(path, key.Text()); err != nil {
		return "", "", err
	}
	line = fmt.Sprintf("%s %s\n", name, key.Public())
	if opt.clients == "" {
		return line, path, nil
	}
	f, err := os.OpenFile(opt.clients, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return "", "", err
	}
	text := line
	if !endsLine(f) {
		text = "\n" + line
	}
	_, err = f.WriteString(text)
	return line, path, errors.Join(err, f.Close())
}

// endsLine reports whether the next byte of a file begins a line.
func endsLine(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return true
	}
	var last [1]byte
	_, err = f.ReadAt(last[:], info.Size()-1)
	return err == nil && last[0] == '\n'
}

// writePrivate makes a file that only this user can read. It fails if the file exists.
func writePrivate(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already, and may be in use: remove it, or give another folder (--dir)", path)
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		_ = os.Remove(path) // half a key is useless
	}
	return err
}
