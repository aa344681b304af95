package guard

import (
	"testing"
	"time"
)

func TestWidens(t *testing.T) {
	for _, tt := range []struct {
		name, value string
		want        bool
	}{
		{"readonly", "true", false},
		{"readonly", "false", true},
		{"root", "/x", true},
		{"workdir", "x", false},
		{"ro", "/x", true},
		{"rw", "/x", true},
		{"deny", "/x", false},
		{"net", "none", false},
		{"net", "all", true},
		{"net", "new", true},
		{"timeout", "1s", false},
		{"grace", "1s", false},
		{"grace", "2s", false},
		{"grace", "3s", true},
		{"grace", "x", true},
		{"env", "X=1", true},
		{"tmp", "private", false},
		{"tmp", "shared", true},
		{"cage", "require", false},
		{"cage", "auto", true},
		{"cage", "off", true},
		{"no-breaker", "true", true},
		{"no-breaker", "false", false},
		{"dry-run", "true", false},
		{"json", "true", false},
		{"XDG_STATE_HOME", "/x", true},
		{"pass-fd", "3", true},
		{"a flag of tomorrow", "", true},
	} {
		if got := Widens(tt.name, tt.value, 2*time.Second); got != tt.want {
			t.Errorf("Widens(%s, %s) = %t, want %t", tt.name, tt.value, got, tt.want)
		}
	}
}
