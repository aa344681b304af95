package wrap_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestCodesAreDocumented compares the constants of type guard.Code with the
// table in docs/codes.md, both ways. Each row says what the code means and what
// helps.
func TestCodesAreDocumented(t *testing.T) {
	inCode := refusalCodes(t)
	if len(inCode) < 10 {
		t.Fatalf("found %d codes in guard/refusal.go, want at least 10", len(inCode))
	}
	var inDocs []string
	for _, cells := range tableRows(t, "docs/codes.md") {
		code, isCode := strings.CutPrefix(cells[0], "`")
		if !isCode {
			continue // the header
		}
		code = strings.TrimSuffix(code, "`")
		inDocs = append(inDocs, code)
		if len(cells) != 3 || cells[1] == "" || cells[2] == "" {
			t.Errorf("docs/codes.md: %s: the row has cells %q, want code, meaning, what helps", code, cells)
		}
		if !slices.Contains(inCode, code) {
			t.Errorf("docs/codes.md lists %s, which no constant in guard/refusal.go has", code)
		}
	}
	for _, code := range inCode {
		if !slices.Contains(inDocs, code) {
			t.Errorf("docs/codes.md does not list %s", code)
		}
	}
}

// refusalCodes reads the values of all constants of type Code.
func refusalCodes(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "guard/refusal.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if typ, ok := spec.Type.(*ast.Ident); !ok || typ.Name != "Code" {
			return true
		}
		for _, v := range spec.Values {
			lit, ok := v.(*ast.BasicLit)
			if !ok {
				t.Fatalf("guard/refusal.go: %s is not a literal", spec.Names[0])
			}
			code, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			codes = append(codes, code)
		}
		return true
	})
	return codes
}

// tableRows returns the trimmed cells of every row of a Markdown file's tables,
// headers included, rulers not.
func tableRows(t *testing.T, name string) [][]string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|-") || strings.HasPrefix(line, "| -") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows = append(rows, cells)
	}
	return rows
}
