package overlays

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/wrapexec/wrap/argv"
)

// What keeps the kernel from executing a file that has the permission for it.
var (
	// ErrNoShebang: the file is no ELF program and has no "#!" line. Shells run
	// such a file themselves, execve(2) answers ENOEXEC; we do as execve.
	ErrNoShebang = errors.New("exec format error: neither an ELF file nor a #! script")
	// ErrInterpreter: the file names an interpreter that cannot be followed.
	ErrInterpreter = errors.New("interpreter cannot be followed")
)

// Bounds of the kernel (binfmt_script.c, exec.c; the same since Linux 5.0).
const (
	shebangSize = 256 // BINPRM_BUF_SIZE: a "#!" line is cut here
	maxNested   = 4   // interpreters that are scripts themselves
)

// Interpreter lists the files that the kernel executes to run the program at
// path, an absolute name: the file itself, then what it needs. For an ELF file
// that is its loader (PT_INTERP), if it has one. For a script it is the "#!"
// interpreter and what that needs in turn; where that is env(1), also the
// program that env will find in searchPath.
//
// look, if not nil, is asked before each file is read; its error is returned as
// it is. A script may name any file, and what its first line holds would show in
// what follows.
//
// The error is an *os.PathError from reading a file, or wraps ErrNoShebang or
// ErrInterpreter. Formats that binfmt_misc adds are not known: their files are
// ErrNoShebang.
func Interpreter(path, searchPath string, look func(path string) error) ([]string, error) {
	return interpreter(nil, path, searchPath, look, 0)
}

func interpreter(files []string, path, searchPath string, look func(string) error, depth int) ([]string, error) {
	if slices.Contains(files, path) || depth > maxNested {
		return nil, fmt.Errorf("%w: %s runs itself, or more than %d scripts", ErrInterpreter, argv.Quote(path), maxNested)
	}
	files = append(files, path)
	if look != nil {
		if err := look(path); err != nil {
			return nil, err
		}
	}
	// O_NONBLOCK: a FIFO in its place must not hold us.
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	buf := make([]byte, 4096)
	n, err := f.ReadAt(buf, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	buf = buf[:n]
	switch {
	case bytes.HasPrefix(buf, []byte("\x7fELF")):
		loader, err := elfInterpreter(f, buf)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", argv.Quote(path), err)
		}
		if loader != "" && !slices.Contains(files, loader) {
			files = append(files, loader)
		}
		return files, nil
	case !bytes.HasPrefix(buf, []byte("#!")):
		return nil, fmt.Errorf("%s: %w", argv.Quote(path), ErrNoShebang)
	}
	program, arg, err := shebang(buf)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", argv.Quote(path), err)
	}
	if files, err = interpreter(files, program, searchPath, look, depth+1); err != nil {
		return nil, err
	}
	if program[strings.LastIndexByte(program, '/')+1:] != "env" {
		return files, nil
	}
	if program, err = envProgram(arg, searchPath); err != nil {
		return nil, fmt.Errorf("%s: %w", argv.Quote(path), err)
	}
	return interpreter(files, program, searchPath, look, depth+1)
}

// shebang reads the "#!" line at the start of buf as the kernel does: the
// interpreter up to the first blank, and all the rest as one argument.
func shebang(buf []byte) (program, arg string, err error) {
	line, _, whole := bytes.Cut(buf[2:min(len(buf), shebangSize)], []byte("\n"))
	whole = whole || len(buf) < shebangSize
	text := strings.Trim(string(line), " \t")
	i := strings.IndexAny(text, " \t")
	if i < 0 {
		i = len(text)
		if !whole {
			return "", "", fmt.Errorf("%w: #! line is longer than %d bytes", ErrInterpreter, shebangSize)
		}
	}
	program, arg = text[:i], strings.Trim(text[i:], " \t")
	switch {
	case program == "":
		return "", "", ErrNoShebang
	case program[0] != '/':
		// The kernel would take it from the working directory.
		return "", "", fmt.Errorf("%w: %s is relative", ErrInterpreter, argv.Quote(program))
	}
	return program, arg, nil
}

// envProgram finds the program that env(1) runs when a "#!" line gives it arg.
// Without -S the whole of arg is one word. With it, only lines of plain words
// are followed: quotes, escapes and variables are not, nor options that change
// where the program is looked for.
func envProgram(arg, searchPath string) (string, error) {
	words := []string{arg}
	for _, prefix := range []string{"--split-string=", "-S"} {
		if rest, ok := strings.CutPrefix(arg, prefix); ok {
			words = strings.Fields(rest)
			break
		}
	}
	if strings.ContainsAny(arg, `\'"$#`) {
		return "", fmt.Errorf("%w: env %s", ErrInterpreter, argv.Quote(arg))
	}
	for i := 0; i < len(words); i++ {
		name, _, set := strings.Cut(words[i], "=")
		switch {
		case words[i] == "-i" || words[i] == "-" || words[i] == "--ignore-environment":
		case words[i] == "-u" || words[i] == "--unset":
			i++
		case set && name == "--unset":
		case set && name != "PATH" && !strings.HasPrefix(name, "-"):
		case set || strings.HasPrefix(words[i], "-") || words[i] == "":
			return "", fmt.Errorf("%w: env %s", ErrInterpreter, argv.Quote(arg))
		default:
			return lookPath(words[i], searchPath)
		}
	}
	return "", fmt.Errorf("%w: env %s names no program", ErrInterpreter, argv.Quote(arg))
}

// lookPath is the first file of that name on searchPath, whose entries are
// absolute. That it may be executed is left for the kernel to say.
func lookPath(name, searchPath string) (string, error) {
	if strings.HasPrefix(name, "/") {
		return name, nil
	}
	if !strings.Contains(name, "/") && searchPath != "" {
		for dir := range strings.SplitSeq(searchPath, ":") {
			path := strings.TrimRight(dir, "/") + "/" + name
			var st unix.Stat_t
			if unix.Stat(path, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG {
				return path, nil
			}
		}
	}
	return "", fmt.Errorf("%w: %s is not on PATH", ErrInterpreter, argv.Quote(name))
}

// The parts of the ELF header that lead to PT_INTERP (elf(5)). It is read by
// hand: debug/elf would cost every call what it costs to link it.
const (
	elfClass64   = 2
	elfBigEndian = 2
	ptInterp     = 3
	maxHeaders   = 256 // program headers; the kernel allows 64 KiB of them
)

// elfInterpreter is the loader that the ELF file f, which begins with head,
// names; "" for a static program.
func elfInterpreter(f io.ReaderAt, head []byte) (string, error) {
	bad := errors.New("exec format error: malformed ELF file")
	if len(head) < 64 {
		return "", bad
	}
	var order binary.ByteOrder = binary.LittleEndian
	if head[5] == elfBigEndian {
		order = binary.BigEndian
	}
	wide := head[4] == elfClass64
	// Offsets in the file header and in a program header, by class.
	off, entry, count, at, size, least := uint64(order.Uint32(head[28:])), order.Uint16(head[42:]), order.Uint16(head[44:]), 4, 16, uint16(32)
	if wide {
		off, entry, count, at, size, least = order.Uint64(head[32:]), order.Uint16(head[54:]), order.Uint16(head[56:]), 8, 32, 56
	}
	if entry < least || count > maxHeaders || off > 1<<62 {
		return "", bad
	}
	headers := make([]byte, int(entry)*int(count))
	if _, err := f.ReadAt(headers, int64(off)); err != nil {
		return "", bad
	}
	for ; len(headers) > 0; headers = headers[entry:] {
		if order.Uint32(headers) != ptInterp {
			continue
		}
		start, n := uint64(order.Uint32(headers[at:])), uint64(order.Uint32(headers[size:]))
		if wide {
			start, n = order.Uint64(headers[at:]), order.Uint64(headers[size:])
		}
		if n < 2 || n > unix.PathMax || start > 1<<62 { // as the kernel (binfmt_elf.c)
			return "", bad
		}
		name := make([]byte, n)
		if _, err := f.ReadAt(name, int64(start)); err != nil || name[n-1] != 0 {
			return "", bad
		}
		name, _, _ = bytes.Cut(name, []byte{0})
		if len(name) == 0 || name[0] != '/' {
			return "", fmt.Errorf("%w: ELF loader %s is relative", ErrInterpreter, argv.Quote(string(name)))
		}
		return string(name), nil
	}
	return "", nil
}
