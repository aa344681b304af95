package exec

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
)

// TestStream: the first and the last half are kept, and the text says what is
// missing between them.
func TestStream(t *testing.T) {
	gap := func(n string) string { return "\n[wrap: " + n + " bytes left out]\n" }
	for _, tt := range []struct {
		name   string
		half   int
		writes []string
		text   string
		base64 string
		cut    bool
	}{
		{"empty", 4, nil, "", "", false},
		{"below the cap", 4, []string{"abc"}, "abc", "", false},
		{"at the cap", 4, []string{"abcd", "efgh"}, "abcdefgh", "", false},
		{"one above", 4, []string{"abcdefghi"}, "abcd" + gap("1") + "fghi", "", true},
		{"one above, byte by byte", 4, strings.Split("abcdefghi", ""), "abcd" + gap("1") + "fghi", "", true},
		{"round and round", 4, []string{"abcdefg", "hijkl", "mn", "opqrstuvw", "xyz"}, "abcd" + gap("18") + "wxyz", "", true},
		{"a chunk over the partly filled ring", 4, []string{"abcdef", "ghijklm"}, "abcd" + gap("5") + "jklm", "", true},
		{"nothing is kept", 0, []string{"abc"}, gap("3"), "", true},
		{"rune across the halves", 4, []string{"abcé€"}, "abcé€", "", false},
		{"gap within runes", 4, []string{"abcééé€z"}, "abc" + gap("6") + "€z", "", true},
		{"not text", 4, []string{"a\xffb"}, "", "a\xffb", false},
		{"not text, above the cap", 2, []string{"\xff\xfe1234\xfd\xfc"}, "", "\xff\xfe\xfd\xfc", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := stream{half: tt.half}
			for _, w := range tt.writes {
				if n, err := s.Write([]byte(w)); n != len(w) || err != nil {
					t.Fatalf("Write(%q) = %d, %v", w, n, err)
				}
			}
			r := s.report()
			if r.Truncated != tt.cut || r.Bytes != int64(len(strings.Join(tt.writes, ""))) {
				t.Errorf("truncated %v after %d bytes of %q, want %v", r.Truncated, r.Bytes, tt.writes, tt.cut)
			}
			switch {
			case tt.base64 != "":
				if r.Text != nil || string(r.Base64) != tt.base64 {
					t.Errorf("base64 %q, text %v, want %q alone", r.Base64, r.Text, tt.base64)
				}
				b, _ := json.Marshal(r)
				if want := base64.StdEncoding.EncodeToString([]byte(tt.base64)); !strings.Contains(string(b), want) {
					t.Errorf("%s, want %q in it", b, want)
				}
			case r.Text == nil || *r.Text != tt.text:
				t.Errorf("text %v, base64 %q, want %q", r.Text, r.Base64, tt.text)
			}
		})
	}
}
