package overlays

import (
	"bytes"
	"strconv"
	"strings"
)

// Match says whether the output of o's probe is that of o's variant, which
// version it names, and whether that version lies in the range that a truth
// record covers. The version is "" if the output names none; then it is not
// verified.
//
// It believes the program: whether the file may be asked at all is for
// FindTool to say.
func (o *Overlay) Match(probeOutput []byte) (version string, ok, verified bool) {
	if o.Probe.Contains == "" || !bytes.Contains(probeOutput, []byte(o.Probe.Contains)) {
		return "", false, false
	}
	after := o.Probe.After
	if after == "" {
		after = o.Probe.Contains
	}
	_, rest, found := bytes.Cut(probeOutput, []byte(after))
	if !found {
		return "", true, false
	}
	version = dotted(rest)
	return version, true, version != "" && InVersions(o.Versions, version)
}

// dotted is the first dotted number on the first line of text, "" if there is
// none. "2.39.5-rc1" gives "2.39.5".
func dotted(text []byte) string {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	start := bytes.IndexAny(line, "0123456789")
	if start < 0 {
		return ""
	}
	end := start
	for end < len(line) && (line[end] == '.' || '0' <= line[end] && line[end] <= '9') {
		end++
	}
	return strings.Trim(string(line[start:end]), ".")
}

// InVersions reports whether version lies in a range such as ">=9.1,<9.2": all
// conditions, separated by commas, must hold. A range or version that cannot be
// read, and the empty range, holds nothing.
func InVersions(versions, version string) bool {
	v, ok := numbers(version)
	if !ok {
		return false
	}
	for condition := range strings.SplitSeq(versions, ",") {
		op := strings.TrimRight(condition, "0123456789.")
		bound, ok := numbers(condition[len(op):])
		if !ok {
			return false
		}
		c := compare(v, bound)
		switch op {
		case ">=":
			ok = c >= 0
		case ">":
			ok = c > 0
		case "<=":
			ok = c <= 0
		case "<":
			ok = c < 0
		case "=":
			ok = c == 0
		default:
			ok = false
		}
		if !ok {
			return false
		}
	}
	return true
}

// compare orders versions; a part that is missing counts as 0.
func compare(a, b []uint64) int {
	for i := range max(len(a), len(b)) {
		var x, y uint64
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
	}
	return 0
}

func numbers(version string) ([]uint64, bool) {
	parts := make([]uint64, 0, 4)
	for part := range strings.SplitSeq(version, ".") {
		n, err := strconv.ParseUint(part, 10, 64)
		if err != nil {
			return nil, false
		}
		parts = append(parts, n)
	}
	return parts, true
}
