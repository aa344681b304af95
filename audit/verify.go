package audit

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Summary is what Verify found. The log is what was written if Bad is 0: torn
// lines are what a crash or a full disk leaves, and the record behind each of
// them says so.
type Summary struct {
	// Records counts the lines that are records, First and Last are their times.
	Records int    `json:"records"`
	First   string `json:"first,omitempty"`
	Last    string `json:"last,omitempty"`
	// Torn are the lines that a crash broke off. Where the last line has no
	// newline it is among them: a writer may be about to complete it.
	Torn []int `json:"torn,omitempty"`
	// Bad counts the lines at which the chain does not hold, FirstBad is the
	// first of them.
	Bad      int  `json:"bad"`
	FirstBad *Bad `json:"first_bad,omitempty"`
	// Seq and Hash are the last record's: what to note down elsewhere, since
	// nothing in the log itself shows that its end was cut off.
	Seq  uint64 `json:"seq"`
	Hash string `json:"hash,omitempty"`
}

// OK reports that no line is bad.
func (s *Summary) OK() bool { return s.Bad == 0 }

// Bad is a line at which the chain does not hold. Line counts from 1.
type Bad struct {
	Line   int    `json:"line"`
	Seq    uint64 `json:"seq,omitempty"`
	Reason string `json:"reason"`
}

// Verify reads the log at path and checks every line and the chain. It finds
// each record that was changed, cut out, added, doubled or moved, and says
// where. It cannot find that records at the end are gone, or that the whole log
// was written anew by somebody who knows the format: compare Seq and Hash with
// what was noted before.
//
// The error is that of reading, an *fs.PathError; what the log holds is never
// an error. Writers may go on meanwhile: the log is read as it is at the start.
func Verify(path string) (Summary, error) {
	fd, err := open(unix.AT_FDCWD, path, unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return Summary{}, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	size, err := settled(f)
	if err != nil {
		return Summary{}, &fs.PathError{Op: "read", Path: path, Err: err}
	}
	v := verifier{know: true, head: link{hash: genesis}}
	in := bufio.NewReaderSize(io.LimitReader(f, size), 64<<10)
	for {
		line, whole, err := readLine(in)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return v.sum, &fs.PathError{Op: "read", Path: path, Err: errno(err)}
		}
		v.line(line, whole)
	}
	v.end()
	return v.sum, nil
}

// settled is the size of the log while nobody writes, as far as one who waits
// no longer than Append can tell.
func settled(f *os.File) (int64, error) {
	for until := time.Now().Add(patience); time.Now().Before(until); time.Sleep(time.Millisecond) {
		if err := unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB); err == nil {
			defer unix.Flock(int(f.Fd()), unix.LOCK_UN)
			break
		}
	}
	st, err := f.Stat()
	if err != nil {
		return 0, errno(err)
	}
	if !st.Mode().IsRegular() {
		return 0, ErrUnsafe
	}
	return st.Size(), nil
}

// readLine reads a line without its newline; whole is false if it has none. Of
// a line beyond maxLine the head is returned, which is no record.
func readLine(in *bufio.Reader) (line []byte, whole bool, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if len(line) <= maxLine {
			line = append(line, part...)
		}
		switch {
		case err == nil:
			if n := len(line) - 1; line[n] == '\n' {
				line = line[:n]
			}
			return line, true, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(line) > 0:
			return line, false, nil
		default:
			return nil, false, err
		}
	}
}

// verifier walks the lines.
type verifier struct {
	sum Summary
	// n is the current line, whole says that it ends in a newline.
	n     int
	whole bool

	// head is the last good record. claimed is what a complete line that is
	// not good calls itself; the writer goes on from head, the old record
	// behind an edited one from claimed. know is false where a bad line left
	// neither: then the next record is taken at its word.
	head    link
	claimed *link
	know    bool
	// fragments are the lines since then that are no records.
	fragments []int
}

func (v *verifier) bad(line int, seq uint64, reason string) {
	v.sum.Bad++
	if b := v.sum.FirstBad; b == nil || line < b.Line {
		v.sum.FirstBad = &Bad{Line: line, Seq: seq, Reason: reason}
	}
}

func (v *verifier) line(line []byte, whole bool) {
	v.n++
	v.whole = whole
	l, complete, good := parseLink(line)
	switch {
	case good:
		// Even without its newline, which the next Append writes.
		v.record(line, l)
	case complete:
		v.bad(v.n, l.seq, "the hash is not that of the line: the record was changed")
		v.claimed = &l
		v.know = v.know && l.seq > 0
	default:
		v.fragments = append(v.fragments, v.n)
	}
}

// record checks a record with a hash of its own that holds.
func (v *verifier) record(line []byte, l link) {
	var rec struct {
		Schema int
		Seq    uint64
		Time   string
		Torn   int
	}
	err := json.Unmarshal(line, &rec)
	switch {
	case err != nil || rec.Seq != l.seq:
		v.bad(v.n, l.seq, "not a record, though its hash holds: it was forged")
	case rec.Torn == len(v.fragments):
		v.sum.Torn = append(v.sum.Torn, v.fragments...)
	case len(v.fragments) > 0:
		v.bad(v.fragments[0], 0, "not a record, and the next record knows nothing of it: a line was changed or added")
		v.know = false
	default:
		v.bad(v.n, l.seq, fmt.Sprintf("the record speaks of %d torn lines before it, and there are none: they were cut out", rec.Torn))
	}
	v.fragments = nil

	want := v.head.seq + 1
	switch {
	case v.follows(v.head, l), v.claimed != nil && v.follows(*v.claimed, l), !v.know:
	case l.seq > want:
		v.bad(v.n, l.seq, fmt.Sprintf("records %d to %d are missing before this one", want, l.seq-1))
	case l.seq < want:
		v.bad(v.n, l.seq, fmt.Sprintf("record %d where %d is due: it was doubled or moved", l.seq, want))
	default:
		v.bad(v.n, l.seq, "prev is not the hash of the record before: that one was exchanged")
	}
	v.head, v.claimed, v.know = l, nil, true
	v.sum.Records++
	if v.sum.First == "" {
		v.sum.First = rec.Time
	}
	v.sum.Last, v.sum.Seq, v.sum.Hash = rec.Time, l.seq, l.hash
}

// follows reports whether l is the record right behind last.
func (v *verifier) follows(last, l link) bool {
	return l.seq == last.seq+1 && l.prev == last.hash
}

// end judges what no record followed: only the very last line may be torn.
func (v *verifier) end() {
	if len(v.fragments) == 0 {
		return
	}
	if v.fragments[len(v.fragments)-1] == v.n && !v.whole {
		v.sum.Torn = append(v.sum.Torn, v.fragments...)
		return
	}
	v.bad(v.fragments[0], 0, "not a record: a line was changed or added")
}

// errno takes the os package's wrapping off: ours names the file.
func errno(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}
