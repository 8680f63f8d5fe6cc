package pvfsd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/internal/hostlist"
	"github.com/viaduct-hpc/viaduct/pvfs/credential"
)

type genkeyOptions struct {
	keystore, dir string
	bits          int
}

func (a *App) genkeyCommand() *cobra.Command {
	var opt genkeyOptions
	cmd := &cobra.Command{
		Use:   "genkey --keystore FILE HOST...",
		Short: "Make keys for client machines",
		Long: `Genkey makes a pair of keys for each client machine. It writes the private key to HOST.pem, for
that machine. Only root should be able to read it there, because a program with the key can act
for every user. It adds the public key to the keystore. Each server needs a copy of the keystore, which
KeyStore in fs.conf names (pvfsd genconfig --keystore FILE).

HOST is what hostname prints on the client, or the name given by pvfs --host. 'node[001-128]' stands for
128 machines. OrangeFS's own
programs can use the same keys and keystore.

` + exitHelp,
		Example: `  pvfsd genkey --keystore keystore --dir keys 'node[001-128]'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return program.Usagef("for which machine? Give the name of one, or of several: pvfsd genkey --keystore FILE HOST")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.genkey(args, opt) },
	}
	f := cmd.Flags()
	f.StringVar(&opt.keystore, "keystore", "", "file to which the public keys are added; made if it does not exist")
	f.StringVar(&opt.dir, "dir", ".", "the folder for the private keys")
	f.IntVar(&opt.bits, "bits", 2048, "length of the keys, from 1024 to 4096")
	_ = cmd.MarkFlagFilename("keystore")
	_ = cmd.MarkFlagDirname("dir")
	return cmd
}

func (a *App) genkey(hosts []string, opt genkeyOptions) error {
	if opt.keystore == "" {
		return program.Usagef("which keystore? Give --keystore FILE")
	}
	known := new(credential.Keystore)
	switch keys, err := credential.ReadKeystore(opt.keystore); {
	case err == nil:
		known = keys
	case !errors.Is(err, fs.ErrNotExist):
		return program.Usage(err)
	}
	hosts, err := hostlist.ExpandAll(hosts)
	if err != nil {
		return program.Usage(err)
	}
	for _, host := range hosts {
		if host == "" || strings.ContainsFunc(host, func(r rune) bool { return unicode.IsSpace(r) || r == '/' }) {
			return program.Usagef("%q is no name of a machine", host)
		}
		if known.Has(host) {
			return program.Usagef("%s already has a key of %s; remove it first", opt.keystore, host)
		}
	}
	for _, host := range hosts {
		path, err := newKey(host, opt)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(a.Out, "the key of %s is in %s\n", host, path); err != nil {
			return err
		}
	}
	return nil
}

// newKey makes the keys of one machine. It writes the private key before servers know the public one.
func newKey(host string, opt genkeyOptions) (path string, err error) {
	key, err := credential.GenerateKey(opt.bits)
	if err != nil {
		return "", program.Usage(err)
	}
	public, err := key.Public()
	if err != nil {
		return "", err
	}
	path = filepath.Join(opt.dir, host+".pem")
	if err := writeNew(path, string(key.Private()), 0o600); err != nil {
		return "", err
	}
	f, err := os.OpenFile(opt.keystore, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return "", err
	}
	_, err = f.WriteString("\n" + credential.Entry(host, public))
	return path, errors.Join(err, f.Close())
}
