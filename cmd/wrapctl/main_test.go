package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/wrapexec/wrap/audit"
	"github.com/wrapexec/wrap/breaker"
	"github.com/wrapexec/wrap/guard"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"wrapctl": main})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, "state"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"records": records,
			"failing": failing,
		},
	})
}

// records writes three records into the state directory.
func records(ts *testscript.TestScript, _ bool, _ []string) {
	log, err := audit.Open(filepath.Join(ts.Getenv("XDG_STATE_HOME"), "wrap"))
	ts.Check(err)
	defer log.Close()
	for range 3 {
		ts.Check(log.Append(&audit.Record{Kind: audit.Decision, Tool: "cat"}))
	}
}

// failing opens a circuit whose texts want to act on the terminal.
func failing(ts *testscript.TestScript, _ bool, _ []string) {
	b := breaker.Open(filepath.Join(ts.Getenv("XDG_STATE_HOME"), "wrap", breaker.DirName), breaker.Options{})
	for range 5 {
		tk, err := b.Admit(breaker.Key{Module: "sort", Root: "/r\x1b[2K"}, 0)
		ts.Check(err)
		ts.Check(tk.Report(breaker.Failure, "died of SEGV\u202e"))
	}
}

// TestExit is every way out of the dispatcher, and its code.
func TestExit(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	for _, tt := range []struct {
		name   string
		args   []string
		code   int
		stdout string
		stderr string
	}{
		{"nothing", nil, 125, "", "wrapctl: no command named"},
		{"help", []string{"help"}, 0, "usage: wrapctl", ""},
		{"--help", []string{"--help"}, 0, "usage: wrapctl", ""},
		{"-h behind a command", []string{"audit", "verify", "-h"}, 0, "usage: wrapctl", ""},
		{"--version", []string{"--version"}, 0, "wrapctl ", ""},
		{"unknown", []string{"audit"}, 125, "", "no such command: audit"},
		{"unknown, escaped", []string{"\x1b[31m"}, 125, "", `no such command: $'\x1b[31m'`},
		{"unknown flag", []string{"doctor", "--fix"}, 125, "", "unknown flag: --fix"},
		{"argument too many", []string{"audit", "path", "x"}, 125, "", "audit path takes no argument x"},
		{"four", []string{"audit", "verify", "a", "b"}, 125, "", "too many arguments: b"},
		{"doctor with one", []string{"doctor", "x"}, 125, "", "doctor takes no argument x"},
		{"no log", []string{"audit", "verify"}, 125, "", "no such file"},
		{"empty name", []string{"audit", "verify", ""}, 125, "", "name is empty"},
		{"no failures", []string{"breaker", "list"}, 0, "no tool has failed\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			code := run(tt.args, &stdout, &stderr)
			if code != tt.code || !strings.Contains(stdout.String(), tt.stdout) || !strings.Contains(stderr.String(), tt.stderr) {
				t.Errorf("run(%q) = %d, stdout %q, stderr %q, want %d, %q, %q", tt.args, code, stdout.String(), stderr.String(), tt.code, tt.stdout, tt.stderr)
			}
			if (tt.stdout == "") != (stdout.Len() == 0) || (tt.stderr == "") != (stderr.Len() == 0) || strings.Count(stderr.String(), "\n") > 1 {
				t.Errorf("run(%q): stdout %q, stderr %q", tt.args, stdout.String(), stderr.String())
			}
		})
	}
	t.Run("stdout that is full", func(t *testing.T) {
		var stderr bytes.Buffer
		if code := run([]string{"--help"}, full{}, &stderr); code != 125 || !strings.Contains(stderr.String(), "stdout: full") {
			t.Errorf("run = %d, %q", code, stderr.String())
		}
	})
	t.Run("relative state directory", func(t *testing.T) {
		t.Setenv("XDG_STATE_HOME", "state")
		var stdout, stderr bytes.Buffer
		if code := run([]string{"audit", "path"}, &stdout, &stderr); code != 125 || stdout.Len() > 0 {
			t.Errorf("run = %d, %q, %q", code, stdout.String(), stderr.String())
		}
	})
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("full") }

// TestKernelChecks is what the doctor says of kernels that we do not have.
func TestKernelChecks(t *testing.T) {
	for _, tt := range []struct {
		name string
		k    guard.Kernel
		want []string // landlock, seccomp, mounts, read-only, writing
	}{
		{"all", guard.Kernel{Landlock: 7, Seccomp: true, Mounts: true}, []string{"ok", "ok", "ok", "ok", "ok"}},
		{"an ordinary user", guard.Kernel{Landlock: 7, Seccomp: true}, []string{"ok", "ok", "limited", "ok", "limited"}},
		{"ABI 3", guard.Kernel{Landlock: 3, Seccomp: true, Mounts: true}, []string{"ok", "ok", "ok", "ok", "ok"}},
		{"ABI 1", guard.Kernel{Landlock: 1, Seccomp: true, Mounts: true}, []string{"limited", "ok", "ok", "ok", "limited"}},
		{"no Landlock", guard.Kernel{Seccomp: true, Mounts: true}, []string{"missing", "ok", "ok", "missing", "limited"}},
		{"no seccomp", guard.Kernel{Landlock: 7, Mounts: true}, []string{"ok", "missing", "ok", "missing", "limited"}},
		{"nothing", guard.Kernel{}, []string{"missing", "missing", "limited", "missing", "limited"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			checks := kernelChecks(tt.k)
			var got []string
			for _, c := range checks[1:] {
				got = append(got, string(c.Status))
				if c.Status != ok && c.Help == "" {
					t.Errorf("%s is %s, and nothing says what to do", c.Name, c.Status)
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("statuses of %+v are %v, want %v", tt.k, got, tt.want)
			}
			var b bytes.Buffer
			code := printChecks(&output{w: &b, json: true}, checks)
			var answer struct {
				OK     bool
				Checks []check
			}
			if err := json.Unmarshal(b.Bytes(), &answer); err != nil || len(answer.Checks) != len(checks) {
				t.Fatalf("%v in %s", err, b.Bytes())
			}
			if want := !slices.Contains(tt.want, "missing"); answer.OK != want || (code == 0) != want {
				t.Errorf("ok is %v, exit %d, want %v", answer.OK, code, want)
			}
		})
	}
}

// TestStateCheck is what the doctor says of the state directory.
func TestStateCheck(t *testing.T) {
	for _, tt := range []struct {
		name  string
		make  func(dir string) error
		want  status
		value string
		help  string
	}{
		{"absent", func(string) error { return nil }, ok, "made when it is needed", ""},
		{"good", func(dir string) error { return os.Mkdir(dir, 0o700) }, ok, "(mode 0700)", ""},
		{"wide", func(dir string) error { return os.Mkdir(dir, 0o755) }, ok, "(mode 0755)", "narrows"},
		{"file", func(dir string) error { return os.WriteFile(dir, nil, 0o600) }, missing, "", "not a directory"},
		{"link", func(dir string) error { return os.Symlink("/tmp", dir) }, missing, "", "not a directory"},
		{"somebody else's", func(dir string) error {
			return errors.Join(os.Mkdir(dir, 0o700), os.Chown(dir, 12345, 12345))
		}, missing, "", "owned by user 12345"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if strings.Contains(tt.name, "else's") && os.Geteuid() != 0 {
				t.Skip("needs root, to give a directory away")
			}
			dir := filepath.Join(t.TempDir(), "wrap")
			if err := tt.make(dir); err != nil {
				t.Fatal(err)
			}
			c := stateCheck(dir)
			if c.Status != tt.want || !strings.Contains(c.Value, tt.value) || !strings.Contains(c.Help, tt.help) || (tt.help == "") != (c.Help == "") {
				t.Errorf("stateCheck = %+v, want %s, %q, %q", c, tt.want, tt.value, tt.help)
			}
			// What the doctor says is what the log does.
			log, err := audit.Open(dir)
			if (err == nil) != (tt.want == ok) {
				t.Errorf("audit.Open = %v, the doctor says %s", err, c.Status)
			}
			if err == nil {
				log.Close()
			}
		})
	}
}

func TestForPeople(t *testing.T) {
	e := breaker.Entry{
		Key: breaker.Key{Module: "sort", Root: "/a b"}, State: "half-open", Failures: 5, Last: "x\n",
		RetryAfter: 1500 * time.Millisecond, Holder: 42,
	}
	got := strings.Join(forPeople(&e), "|")
	if want := `half-open, tried by 42|5|in 2s|sort|'/a b'|x\n`; got != want {
		t.Errorf("forPeople = %q, want %q", got, want)
	}
}
