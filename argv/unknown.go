package argv

import "strings"

// Unknown is the Invocation of a tool that no overlay describes: every token
// behind the first may name a file that is used in any way. Empty tokens name
// nothing. The errors are those of Parse.
func Unknown(argv []string) (*Invocation, error) {
	if err := check(argv); err != nil {
		return nil, err
	}
	inv := &Invocation{Tool: argv[0], Module: argv[0], Argv: argv}
	for i, tok := range argv[1:] {
		if tok != "" {
			inv.Operands = append(inv.Operands, Operand{Arg: i + 1, Text: tok, Value: Value{Kind: Path}})
		}
	}
	return inv, nil
}

// Bounds of the search for a near spelling: it is a courtesy, and an argv from
// a stranger must not make it dear.
const (
	nearestTokens = 8  // unexplained tokens of a call that get one
	nearestLength = 48 // bytes of a token
)

// nearest returns the one of known that is fewest edits away from token, or ""
// if none is near enough to be what was meant.
func nearest(token string, known []string) string {
	if len(token) > nearestLength {
		return ""
	}
	best, found := 1+max(1, len(strings.TrimLeft(token, "-"))/3), ""
	for _, k := range known {
		if len(k) < 3 || len(k) > nearestLength || k == token { // a lone letter is near to all
			continue
		}
		if d := distance(token, k); d < best {
			best, found = d, k
		}
	}
	return found
}

// distance is the number of bytes inserted, dropped, replaced, or swapped with
// their neighbour, that turn a into b. Both are short.
func distance(a, b string) int {
	var rows [3][nearestLength + 1]int
	older, old, row := &rows[0], &rows[1], &rows[2]
	for j := range len(b) + 1 {
		row[j] = j
	}
	for i := range len(a) {
		older, old, row = old, row, older
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(old[j]+cost, old[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], older[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
