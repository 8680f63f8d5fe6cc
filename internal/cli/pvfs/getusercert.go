package pvfs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
	"github.com/viaduct-hpc/viaduct/pvfs/usercert"
)

// passwordBytesMax limits a line with a password.
const passwordBytesMax = 1024

type getCertOptions struct {
	ca   string
	days uint32
}

func (a *App) getUserCertCommand() *cobra.Command {
	var opt getCertOptions
	cmd := &cobra.Command{
		Use:     "get-user-cert [USER]",
		Short:   "Get a certificate from the servers, for a password",
		Example: `  pvfs get-user-cert --ca-file ca.pem alice`,
		Long: `Get-user-cert asks for the password of a user and gets a certificate for it, from servers whose
configuration has CAFile, ServerKey and <LDAP>. The certificate goes to the file of --cert-file, else of
` + certVariable + `, else to ~/` + certName + `. The private key is made here and does not leave this machine; it
goes to the file of --key-file, else of ` + keyVariable + `, else to ~/` + certKeyName + `. Existing files are
replaced. From then on all commands of pvfs and OrangeFS use them.

The password is encrypted with the key of the authority. --ca-file gives the certificate of the authority, and pvfs
then checks the key. Without it, an attacker who can change messages in the network can read the password.

USER is the name in the directory, by default that of the user who runs this. If standard input is
no terminal, the password is its first line.`,
		Args: program.Between(0, 1, "one USER at most"),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := ""
			if len(args) > 0 {
				name = args[0]
			}
			return a.getUserCert(cmd.Context(), name, opt)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	f := cmd.Flags()
	f.StringVar(&opt.ca, "ca-file", "", "the certificate of the authority, the same as CAFile of the servers")
	f.Uint32Var(&opt.days, "days", 0, "validity in days, limited by the servers (0: the servers' limit)")
	_ = cmd.MarkFlagFilename("ca-file")
	return cmd
}

func (a *App) getUserCert(ctx context.Context, name string, opt getCertOptions) error {
	req := client.CertificateRequest{Name: name, Days: opt.days}
	if name == "" {
		u, err := user.Current()
		if err != nil {
			return program.Usagef("for which user? Give its name: pvfs get-user-cert USER (%w)", err)
		}
		req.Name = u.Username
	}
	if err := usercert.CheckName(req.Name); err != nil {
		return program.Usage(err)
	}
	var err error
	if opt.ca != "" {
		if req.Authority, err = usercert.ReadAuthority(opt.ca, ""); err != nil {
			return program.Usage(err)
		}
	}
	source, err := a.source()
	if err != nil {
		return err
	}
	plain := a.mount
	plain.Key, plain.Certificate = nil, nil // a key file that is named is for the new certificate
	fsys, err := client.Mount(ctx, source, plain)
	if err != nil {
		return err
	}
	defer fsys.Close() // all answers have arrived
	if fsys.Config().Security.CAFile == "" {
		return fmt.Errorf("%s has no certificates of users: its configuration has no CAFile", source)
	}
	if req.Authority == nil {
		fmt.Fprintln(a.Err, "pvfs: without --ca-file, whoever can change messages on their way to the server can read the password")
	}
	if req.Password, err = a.password(fmt.Sprintf("Password of %s: ", req.Name)); err != nil {
		return err
	}
	cert, key, err := fsys.GetCertificate(ctx, req)
	switch {
	case errors.Is(err, proto.EACCES):
		return fmt.Errorf("the name or the password is wrong: %w", err)
	case errors.Is(err, proto.EAGAIN):
		return fmt.Errorf("the directory of users does not answer, or this machine has sent too many wrong passwords: try again in a minute: %w", err)
	case errors.Is(err, proto.ENOSYS):
		return fmt.Errorf("the servers issue no certificates: %w", err)
	case err != nil:
		return err
	}
	certFile, keyFile, _ := a.certPaths()
	if err := replace(keyFile, key.Private()); err != nil {
		return err
	}
	if err := replace(certFile, cert.PEM()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.Out, "the certificate of %s is in %s, its key in %s; it is valid until %s\n", cert.Name(), certFile, keyFile, cert.NotAfter().Format(time.DateOnly))
	return err
}

// password asks for a password on a terminal; otherwise it reads the first line of the input.
func (a *App) password(prompt string) (string, error) {
	if f, ok := a.In.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		fmt.Fprint(a.Err, prompt)
		text, err := term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(a.Err)
		return string(text), err
	}
	in := a.In
	if in == nil {
		in = strings.NewReader("")
	}
	line, err := bufio.NewReader(io.LimitReader(in, passwordBytesMax)).ReadString('\n')
	line = strings.TrimRight(line, "\r\n")
	if line == "" && err != nil {
		return "", program.Usagef("there is no password on standard input")
	}
	return line, nil
}

// replace writes a file that only this user can read, completely or not at all.
func replace(name string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*") // its mode is 0600
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // err has the reason
	}
	return err
}
