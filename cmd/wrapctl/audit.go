package main

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/wrapexec/wrap/argv"
	"github.com/wrapexec/wrap/audit"
)

func auditPath(out *output) (int, error) {
	dir, err := stateDir()
	if err != nil {
		return 0, err
	}
	// As it is, unquoted: it is for $(wrapctl audit path). A newline in it is
	// the caller's own.
	return exitOK, out.text(filepath.Join(dir, audit.FileName) + "\n")
}

func auditVerify(out *output, name string, named bool) (int, error) {
	if named && name == "" {
		return 0, fmt.Errorf("audit verify: the file's name is empty")
	}
	if !named {
		dir, err := stateDir()
		if err != nil {
			return 0, err
		}
		name = filepath.Join(dir, audit.FileName)
	}
	sum, err := audit.Verify(name)
	if err != nil {
		return 0, err
	}
	code := exitOK
	if !sum.OK() {
		code = exitBad
	}
	if out.json {
		out.object(struct {
			Path string `json:"path"`
			OK   bool   `json:"ok"`
			audit.Summary
		}{name, sum.OK(), sum})
		return code, nil
	}
	out.line("%s: %s", argv.Quote(name), summary(&sum))
	if b := sum.FirstBad; b != nil {
		out.line("line %d: %s", b.Line, argv.Escape(b.Reason))
		if sum.Bad > 1 {
			out.line("and %s more", count(sum.Bad-1, "bad line"))
		}
	}
	return code, nil
}

// summary is what Verify found, in a few words.
func summary(sum *audit.Summary) string {
	s := count(sum.Records, "record") + ", chain "
	if sum.OK() {
		s += "intact"
	} else {
		s += "broken"
	}
	if n := len(sum.Torn); n > 0 {
		lines := make([]string, 0, 8)
		for _, line := range sum.Torn[:min(n, cap(lines))] {
			lines = append(lines, strconv.Itoa(line))
		}
		if n > cap(lines) {
			lines = append(lines, "…")
		}
		s += ", " + count(n, "line") + " broken off by a crash or a full disk (" + strings.Join(lines, ", ") + ")"
	}
	return s
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return strconv.Itoa(n) + " " + what
}
