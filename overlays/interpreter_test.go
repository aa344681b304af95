package overlays_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/wrapexec/wrap/overlays"
)

// elf64 and elf32 are headers with one PT_INTERP, which names loader.
func elf64(loader string, change func([]byte)) string {
	b := make([]byte, 64+56)
	copy(b, "\x7fELF\x02\x01\x01")
	binary.LittleEndian.PutUint64(b[32:], 64)
	binary.LittleEndian.PutUint16(b[54:], 56)
	binary.LittleEndian.PutUint16(b[56:], 1)
	binary.LittleEndian.PutUint32(b[64:], 3)
	binary.LittleEndian.PutUint64(b[72:], uint64(len(b)))
	binary.LittleEndian.PutUint64(b[96:], uint64(len(loader)+1))
	if change != nil {
		change(b)
	}
	return string(b) + loader + "\x00"
}

func elf32(loader string) string {
	b := make([]byte, 52+32)
	copy(b, "\x7fELF\x01\x02\x01")
	binary.BigEndian.PutUint32(b[28:], 52)
	binary.BigEndian.PutUint16(b[42:], 32)
	binary.BigEndian.PutUint16(b[44:], 1)
	binary.BigEndian.PutUint32(b[52:], 3)
	binary.BigEndian.PutUint32(b[56:], uint32(len(b)))
	binary.BigEndian.PutUint32(b[68:], uint32(len(loader)+1))
	return string(b) + loader + "\x00"
}

func TestInterpreter(t *testing.T) {
	d := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(d, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write("elf", elf64("/lib/ld.so", nil))
	write("python", elf64("/lib/ld.so", nil))
	write("env", elf64("/lib/ld.so", nil))
	write("static", elf64("", func(b []byte) { b[64] = 1 }))
	for i := range 6 {
		write(fmt.Sprintf("n%d", i+1), fmt.Sprintf("#!%s/n%d\n", d, i))
	}
	write("n0", elf64("/lib/ld.so", nil))
	for _, tt := range []struct {
		name string
		text string
		want []string // below d unless absolute; without the file itself
		err  error
	}{
		{"dynamic", elf64("/lib64/ld-linux-x86-64.so.2", nil), []string{"/lib64/ld-linux-x86-64.so.2"}, nil},
		{"32 bits, big endian", elf32("/lib/ld.so.1"), []string{"/lib/ld.so.1"}, nil},
		{"static", elf64("", func(b []byte) { b[64] = 1 }), nil, nil},
		{"loader behind the first page", elf64("", func(b []byte) {
			binary.LittleEndian.PutUint64(b[72:], 5000)
			binary.LittleEndian.PutUint64(b[96:], 11)
		}) + strings.Repeat("\x00", 5000-64-56-1) + "/lib/ld.so\x00", []string{"/lib/ld.so"}, nil},
		{"relative loader", elf64("ld.so", nil), nil, overlays.ErrInterpreter},
		{"loader without end", elf64("/lib/ld.so", func(b []byte) { b[96]-- }), nil, errAny},
		{"loader beyond the file", elf64("/lib/ld.so", func(b []byte) { b[73] = 0xff }), nil, errAny},
		{"headers beyond the file", elf64("/lib/ld.so", func(b []byte) { b[33] = 0xff }), nil, errAny},
		{"offset out of range", elf64("/lib/ld.so", func(b []byte) { b[39] = 0xff }), nil, errAny},
		{"small headers", elf64("/lib/ld.so", func(b []byte) { b[54] = 8 }), nil, errAny},
		{"many headers", elf64("/lib/ld.so", func(b []byte) { b[57] = 0xff }), nil, errAny},
		{"cut", "\x7fELF\x02\x01", nil, errAny},
		{"script", "#!$D/elf\necho\n", []string{"elf", "/lib/ld.so"}, nil},
		{"script with blanks and an argument", "#! \t$D/elf  -e -x \n", []string{"elf", "/lib/ld.so"}, nil},
		{"script without line end", "#!$D/elf", []string{"elf", "/lib/ld.so"}, nil},
		{"script of a static program", "#!$D/static\n", []string{"static"}, nil},
		{"script of a script", "#!$D/n1\n", []string{"n1", "n0", "/lib/ld.so"}, nil},
		{"four scripts deep", "#!$D/n3\n", []string{"n3", "n2", "n1", "n0", "/lib/ld.so"}, nil},
		{"too deep", "#!$D/n5\n", nil, overlays.ErrInterpreter},
		{"script of itself", "#!$D/file\n", nil, overlays.ErrInterpreter},
		{"relative interpreter", "#!elf\n", nil, overlays.ErrInterpreter},
		{"missing interpreter", "#!$D/none\n", nil, fs.ErrNotExist},
		{"line too long", "#!" + "/" + strings.Repeat("x", 300) + "\n", nil, overlays.ErrInterpreter},
		{"long argument is cut, as the kernel does", "#!$D/elf " + strings.Repeat("x", 300) + "\n", []string{"elf", "/lib/ld.so"}, nil},
		{"env", "#!$D/env python\n", []string{"env", "/lib/ld.so", "python"}, nil},
		{"env -S", "#!$D/env -S python -u\n", []string{"env", "/lib/ld.so", "python"}, nil},
		{"env -S, attached", "#!$D/env -Spython\n", []string{"env", "/lib/ld.so", "python"}, nil},
		{"env --split-string", "#!$D/env --split-string=python -u\n", []string{"env", "/lib/ld.so", "python"}, nil},
		{"env -S with settings", "#!$D/env -S -i -u X A=b python\n", []string{"env", "/lib/ld.so", "python"}, nil},
		{"env with an absolute name", "#!$D/env $D/python\n", []string{"env", "/lib/ld.so", "python"}, nil},
		{"env without -S: one word", "#!$D/env python -u\n", nil, overlays.ErrInterpreter},
		{"env with another PATH", "#!$D/env -S PATH=/tmp python\n", nil, overlays.ErrInterpreter},
		{"env with another directory", "#!$D/env -S --chdir=/tmp python\n", nil, overlays.ErrInterpreter},
		{"env with quotes", "#!$D/env -S 'python'\n", nil, overlays.ErrInterpreter},
		{"env with a variable", "#!$D/env -S ${X}\n", nil, overlays.ErrInterpreter},
		{"env with a relative path", "#!$D/env ./python\n", nil, overlays.ErrInterpreter},
		{"env without a program", "#!$D/env\n", nil, overlays.ErrInterpreter},
		{"env and nothing on PATH", "#!$D/env nothing\n", nil, overlays.ErrInterpreter},
		{"text", "echo hello\n", nil, overlays.ErrNoShebang},
		{"empty", "", nil, overlays.ErrNoShebang},
		{"#! alone", "#!\n", nil, overlays.ErrNoShebang},
		{"#! late", "\n#!/bin/sh\n", nil, overlays.ErrNoShebang},
	} {
		t.Run(tt.name, func(t *testing.T) {
			write("file", strings.ReplaceAll(tt.text, "$D", d))
			got, err := overlays.Interpreter(d+"/file", "/nonexistent:"+d, nil)
			if tt.err != nil {
				if err == nil || tt.err != errAny && !errors.Is(err, tt.err) {
					t.Errorf("Interpreter = %q, %v, want error %v", got, err, tt.err)
				}
				return
			}
			want := []string{d + "/file"}
			for _, w := range tt.want {
				if !strings.HasPrefix(w, "/") {
					w = d + "/" + w
				}
				want = append(want, w)
			}
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("Interpreter = %q, %v, want %q", got, err, want)
			}
		})
	}
	if _, err := overlays.Interpreter(d+"/none", "", nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v, want %v", err, fs.ErrNotExist)
	}
	if _, err := overlays.Interpreter(d, "", nil); err == nil {
		t.Error("a directory has no interpreter, and there is no error")
	}
}

// errAny stands for an error that has no name.
var errAny = errors.New("any")

// TestInterpreterAgainstKernel: what is listed exists, and what the kernel
// refuses to execute as no program is refused here.
func TestInterpreterAgainstKernel(t *testing.T) {
	for _, tool := range []string{"cat", "git", "sh"} {
		path, err := exec.LookPath(tool)
		if err != nil {
			missing(t, "%s is not installed", tool)
		}
		files, err := overlays.Interpreter(path, os.Getenv("PATH"), nil)
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		for _, f := range files {
			if _, err := os.Stat(f); err != nil {
				t.Errorf("%s needs %s: %v", path, f, err)
			}
		}
	}
	d := t.TempDir()
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"#!" + sh + "\n", "#! " + sh + " -e\n", "echo\n", "#!\n", "", "#!" + strings.Repeat("/", 300) + sh + "\n"} {
		name := filepath.Join(d, "script")
		if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		kernel := exec.Command(name).Run()
		_, err := overlays.Interpreter(name, "", nil)
		if (err == nil) != (kernel == nil) {
			t.Errorf("%.20q: Interpreter says %v, the kernel %v", text, err, kernel)
		}
	}
}
