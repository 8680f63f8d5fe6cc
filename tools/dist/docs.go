package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
)

// docs are the manual pages and completions of the programs.
type docs struct {
	pages       map[string][]byte // by file name, as bmi-perf.1
	completions map[string]shells // by the name of the installed program
	server      map[string]bool   // the names of pages and programs of the server's package
}

// shells are the completions of one program.
type shells struct{ bash, zsh, fish []byte }

// writeDocs makes the manual pages and completions of all programs.
func writeDocs(rel release) (*docs, error) {
	d := &docs{pages: make(map[string][]byte), completions: make(map[string]shells), server: make(map[string]bool)}
	for _, p := range programs {
		root := p.tree()
		_, rest, _ := strings.Cut(root.Use, " ")
		root.Use = strings.TrimSpace(p.installed + " " + rest)
		if p.server {
			d.server[p.installed] = true
		}
		if err := d.complete(p, root); err != nil {
			return nil, err
		}
		root.InitDefaultHelpCmd()
		root.InitDefaultCompletionCmd()
		literal(root)
		if err := d.describe(p, root, rel); err != nil {
			return nil, err
		}
	}
	// mount(8) looks for help under the name of the file system's type.
	d.pages["mount.pvfs.8"] = []byte(".so man1/pvfs-mount.1\n")
	return d, nil
}

// complete makes the completions of a program. A plugin has none, because nobody starts it by hand.
func (d *docs) complete(p program, root *cobra.Command) error {
	if strings.HasPrefix(p.name, "bmi-method-") {
		return nil
	}
	var bash, zsh, fish bytes.Buffer
	for _, err := range []error{root.GenBashCompletionV2(&bash, true), root.GenZshCompletion(&zsh), root.GenFishCompletion(&fish, true)} {
		if err != nil {
			return fmt.Errorf("completions of %s: %w", p.name, err)
		}
	}
	d.completions[p.installed] = shells{bash.Bytes(), zsh.Bytes(), fish.Bytes()}
	return nil
}

// describe makes the manual pages of a command and those below it.
func (d *docs) describe(p program, cmd *cobra.Command, rel release) error {
	cmd.DisableAutoGenTag = true
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() && !sub.IsAdditionalHelpTopicCommand() {
			if err := d.describe(p, sub, rel); err != nil {
				return err
			}
		}
	}
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
	var page bytes.Buffer
	header := &doc.GenManHeader{
		Title: strings.ToUpper(name), Section: p.section, Date: &rel.time, Source: "Viaduct " + rel.version, Manual: "Viaduct",
	}
	if err := doc.GenMan(cmd, header, &page); err != nil {
		return fmt.Errorf("the manual page of %s: %w", name, err)
	}
	file := name + "." + p.section
	d.pages[file] = page.Bytes()
	d.server[file] = p.server
	return nil
}

// literal protects the texts of a command, and of those below it, from the generator, which takes them for Markdown.
func literal(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		literal(sub)
	}
	cmd.Short, cmd.Long = escape(cmd.Short), paragraphs(cmd.Long)
	visit := func(f *pflag.Flag) { f.Usage = escape(f.Usage) }
	cmd.LocalNonPersistentFlags().VisitAll(visit)
	cmd.PersistentFlags().VisitAll(visit)
}

// markdown are the characters that mean something in Markdown, and what stands for them.
var markdown = strings.NewReplacer("\\", "\\\\", "*", "\\*", "_", "\\_", "<", "\\<", ">", "\\>", "`", "'", "[", "\\[", "]", "\\]", "#", "\\#")

func escape(text string) string { return markdown.Replace(text) }

// paragraphs escapes a text of paragraphs, except for indented examples.
func paragraphs(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "  ") {
			b.WriteString("    " + strings.TrimLeft(line, " "))
		} else {
			b.WriteString(escape(line))
		}
	}
	return b.String()
}

// pageFiles are the manual pages of one package, compressed.
func (d *docs) pageFiles(server bool) ([]file, error) {
	var files []file
	for _, name := range slices.Sorted(maps.Keys(d.pages)) {
		if d.server[name] != server {
			continue
		}
		body, err := compress(d.pages[name])
		if err != nil {
			return nil, err
		}
		section := strings.TrimPrefix(path.Ext(name), ".")
		files = append(files, file{to: "/usr/share/man/man" + section + "/" + name + ".gz", body: body, mode: 0o644})
	}
	return files, nil
}

// compress makes a gzip file without a name and a time.
func compress(body []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(body); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
