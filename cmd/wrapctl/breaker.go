package main

import (
	"path/filepath"
	"strconv"
	"time"

	"github.com/wrapexec/wrap/argv"
	"github.com/wrapexec/wrap/breaker"
)

// circuit is an entry of the list for programs.
type circuit struct {
	Key       *breaker.Key `json:"key,omitempty"`
	State     string       `json:"state"` // as breaker.Entry, or "unreadable"
	Failures  int          `json:"failures"`
	Last      string       `json:"last,omitempty"`
	Since     *time.Time   `json:"since,omitempty"`
	RetryMS   int64        `json:"retry_after_ms,omitempty"`
	Holder    int          `json:"probe_pid,omitempty"`
	HeldSince *time.Time   `json:"probe_since,omitempty"`
	File      string       `json:"file"`
	Error     string       `json:"error,omitempty"`
}

func breakerList(out *output) (int, error) {
	dir, err := stateDir()
	if err != nil {
		return 0, err
	}
	list, err := breaker.Open(filepath.Join(dir, breaker.DirName), breaker.Options{}).List()
	if err != nil {
		return 0, err
	}
	if out.json {
		circuits := make([]circuit, 0, len(list))
		for i := range list {
			circuits = append(circuits, forPrograms(&list[i]))
		}
		out.object(map[string]any{"schema": 1, "circuits": circuits})
		return exitOK, nil
	}
	if len(list) == 0 {
		out.line("no tool has failed")
		return exitOK, nil
	}
	rows := [][]string{{"STATE", "FAILURES", "NEXT TRY", "MODULE", "ROOT", "LAST"}}
	for i := range list {
		rows = append(rows, forPeople(&list[i]))
	}
	out.table(rows)
	return exitOK, nil
}

func forPrograms(e *breaker.Entry) circuit {
	if e.Err != nil {
		return circuit{State: "unreadable", File: e.File, Error: e.Err.Error()}
	}
	c := circuit{
		Key: &e.Key, State: e.State, Failures: e.Failures, Last: e.Last,
		RetryMS: e.RetryAfter.Milliseconds(), Holder: e.Holder, File: e.File,
	}
	if !e.Since.IsZero() { // closed without ever having been open
		c.Since = &e.Since
	}
	if e.Holder != 0 {
		c.HeldSince = &e.HeldSince
	}
	return c
}

func forPeople(e *breaker.Entry) []string {
	if e.Err != nil {
		return []string{"unreadable", "-", "now", "-", "-", argv.Escape(e.Err.Error())}
	}
	next := "now"
	if e.RetryAfter > 0 {
		next = "in " + (e.RetryAfter + time.Second - 1).Truncate(time.Second).String()
	}
	state := e.State
	if e.Holder != 0 {
		state += ", tried by " + strconv.Itoa(e.Holder)
	}
	return []string{state, strconv.Itoa(e.Failures), next, argv.Quote(e.Key.Module), argv.Quote(e.Key.Root), argv.Escape(e.Last)}
}
