package docs

import (
	"fmt"
	"path"
	"strings"
)

// Marker begins a line of output that says which line of the page the next output belongs to.
const Marker = "\x1e"

// Script returns the commands of a page as one script for bash. Each command has the line that it has in
// the page, so that bash itself names the right lines; all other lines are empty. skip says why a block
// is not run, or "".
//
// prologue.sh defines the functions that the script calls.
func Script(blocks []Block, skip func(Block) string) string {
	var lines []string
	put := func(line int, text string) {
		for len(lines) < line {
			lines = append(lines, "")
		}
		if lines[line-1] != "" {
			text = lines[line-1] + "; " + text
		}
		lines[line-1] = text
	}
	for _, b := range blocks {
		end := b.Line + len(b.Text) + 1
		switch {
		case b.File != "":
			put(b.Line, fmt.Sprintf("mkdir -p %s && cat >> %s <<'__END'", quote(path.Dir(b.File)), quote(b.File)))
			for i, text := range b.Text {
				put(b.Line+1+i, text)
			}
			put(end, "__END")
			// A heredoc's last line must stand alone.
			put(end+1, "")
			continue
		case !b.Mark.Run || skip(b) != "":
			continue
		}
		if b.Mark.Fails {
			put(b.Line, "__may_fail")
		}
		if b.Mark.Until != "" {
			put(b.Line, "{ trap - ERR")
		}
		for i, text := range b.Text {
			put(b.Line+1+i, b.command(b.Line+1+i, text))
		}
		if b.Mark.Until != "" {
			put(end, fmt.Sprintf(`} > "$__work/%d.out" 2>&1 & __until %d $! %s`, b.Line, b.Line, quote(b.Mark.Until)))
		}
		if b.Lang == "console" {
			put(end, "__at 0") // what comes now belongs to no command
		}
		if b.Mark.Fails {
			put(end, fmt.Sprintf("__must_have_failed %d", b.Line))
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// command returns what runs for a line of a block.
func (b *Block) command(line int, text string) string {
	if b.Lang != "console" {
		return text
	}
	if more, ok := strings.CutPrefix(text, "> "); ok {
		return more
	}
	if command, ok := strings.CutPrefix(text, "$ "); ok {
		return fmt.Sprintf("__at %d; %s", line, command)
	}
	return ""
}

// quote makes one word of the shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
