package breaker

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/sony/gobreaker/v2"
)

// phase is a state of the circuit, as it stands in the file.
type phase string

const (
	closed   phase = "closed"
	open     phase = "open"
	halfOpen phase = "half-open"
)

// version is that of the file format.
const version = 1

// maxLast bounds the words on a failure that are kept.
const maxLast = 200

// state is what a file holds of one circuit. An absent file is fresh.
type state struct {
	Version int   `json:"version"`
	Key     Key   `json:"key"`
	State   phase `json:"state"`
	// Generation counts the changes of state, so that a result can be matched
	// with the state under which its call began.
	Generation uint64 `json:"generation"`
	// Failures is the length of the row. In the other states too, where it is
	// what led to them.
	Failures int    `json:"failures"`
	Last     string `json:"last,omitempty"`
	// The window of an open circuit, by the wall clock of Boot.
	window
	Boot string `json:"boot,omitempty"`
	// Lease is the place of the one probe of a half-open circuit.
	Lease *lease `json:"lease,omitempty"`
}

// window is a span of wall clock time.
type window struct {
	Since time.Time `json:"since"`
	Until time.Time `json:"until"`
}

// lease is held by the process that probes.
type lease struct {
	Token string  `json:"token"`
	Owner process `json:"owner"`
	window
}

// process names a process for good: its number alone comes back.
type process struct {
	PID int `json:"pid"`
	// Start is the start time in clock ticks since boot, 0 where unknown.
	Start uint64 `json:"start,omitempty"`
	// Boot is the boot id, "" where there is none.
	Boot string `json:"boot,omitempty"`
}

func fresh(key Key) *state {
	return &state{Version: version, Key: key, State: closed, Generation: 1}
}

// left is how much of w is to come. If the clock was set back to before w, all
// of it is, and no more: back is set, and w must start again now, or it would
// last for as long as the clock was set back by.
func (w window) left(now time.Time) (left time.Duration, back bool) {
	if now.Before(w.Since) {
		return w.Until.Sub(w.Since), true
	}
	return max(0, w.Until.Sub(now)), false
}

// stamp is a window of length d from now on. It is without the monotonic
// reading, which would not survive the file, and with the file's precision.
func stamp(now time.Time, d time.Duration) window {
	now = now.UTC().Round(0)
	return window{now, now.Add(d)}
}

// refuse is the answer to a call for as long as it follows from s as it is;
// nil: the circuit is closed, or s has to change first.
func (b *Breaker) refuse(s *state) *OpenError {
	e := &OpenError{Module: s.Key.Module, Failures: s.Failures, Last: s.Last}
	var w window
	switch {
	case s.State == open && s.Boot == b.opt.self().Boot: // a reboot ends the window
		w = s.window
	case s.State == halfOpen && s.Lease != nil && b.holds(s.Lease):
		e.Probe, w = true, s.Lease.window
	default:
		return nil
	}
	now := b.opt.now()
	left, back := w.left(now)
	if left <= 0 || back {
		return nil
	}
	e.RetryAfter, e.Until = left, now.Add(left)
	return e
}

// holds reports whether a lease's owner lives, and its time is not over.
func (b *Breaker) holds(l *lease) bool {
	left, _ := l.left(b.opt.now())
	return left > 0 && l.Owner.Boot == b.opt.self().Boot && b.opt.alive(l.Owner)
}

// probe decides under the lock. Exactly one of the answers is set where the
// circuit is not closed: the lease of a probe, which stands in s too, or why the
// call may not run. Where changed is set, s is to be saved.
func (b *Breaker) probe(s *state, limit time.Duration) (l *lease, changed bool, err error) {
	if s.State == closed {
		return nil, false, nil
	}
	now := b.opt.now()
	w := &s.window
	if s.State == halfOpen && s.Lease != nil {
		w = &s.Lease.window
	}
	if _, back := w.left(now); back {
		*w = stamp(now, w.Until.Sub(w.Since))
		changed = true
	}
	if e := b.refuse(s); e != nil {
		return nil, changed, e
	}
	if err := b.step(s, Excluded, ""); err != nil {
		return nil, changed, err
	}
	length := min(max(b.opt.Window, limit), maxWindow)
	s.Lease = &lease{Token: strconv.FormatUint(rand.Uint64(), 36), Owner: b.opt.self(), window: stamp(now, length)}
	return s.Lease, true, nil
}

// step puts one result through gobreaker's state machine. Excluded only makes
// it look at the clock.
func (b *Breaker) step(s *state, c Class, last string) error {
	now, real := b.opt.now(), time.Now()
	mem := &memory{}
	shared := gobreaker.SharedState{Generation: s.Generation, Start: real, Buckets: []gobreaker.Counts{{}}}
	switch s.State {
	case closed:
		// Only the row of failures is kept: a total would change the file with
		// every success, and say nothing that opens a circuit.
		n := uint32(s.Failures)
		shared.State = gobreaker.StateClosed
		shared.Counts = gobreaker.Counts{Requests: n, TotalFailures: n, ConsecutiveFailures: n}
		shared.Buckets[0] = shared.Counts
	case open:
		// gobreaker asks its own clock, so it is told what is left on ours.
		left, _ := s.left(now)
		if s.Boot != b.opt.self().Boot {
			left = 0
		}
		shared.State, shared.Expiry = gobreaker.StateOpen, real.Add(left-time.Nanosecond)
	case halfOpen:
		shared.State = gobreaker.StateHalfOpen
	}
	if err := mem.put(shared); err != nil {
		return err
	}
	dcb, err := gobreaker.NewDistributedCircuitBreaker[struct{}](mem, gobreaker.Settings{
		Timeout:     b.opt.Window,
		ReadyToTrip: func(c gobreaker.Counts) bool { return int(c.ConsecutiveFailures) >= b.opt.Failures },
		IsExcluded:  func(err error) bool { return errors.Is(err, errExcluded) },
	})
	if err != nil {
		return err
	}
	if c == Excluded {
		_, err = dcb.State()
	} else {
		_, err = dcb.Execute(func() (struct{}, error) {
			if c == Failure {
				return struct{}{}, errFailure
			}
			return struct{}{}, nil
		})
	}
	if err != nil && !errors.Is(err, errFailure) {
		return err
	}
	if shared, err = mem.get(); err != nil {
		return err
	}

	was := s.State
	switch shared.State {
	case gobreaker.StateClosed:
		s.State, s.Failures = closed, int(shared.Counts.ConsecutiveFailures)
	case gobreaker.StateOpen:
		s.State = open
		if c == Failure {
			s.Failures++
		}
	case gobreaker.StateHalfOpen:
		s.State = halfOpen
	default:
		return fmt.Errorf("unexpected state %v", shared.State)
	}
	s.Generation = shared.Generation
	switch {
	case s.State == closed && s.Failures == 0:
		s.Last = ""
	case c == Failure:
		s.Last = last
		if len(last) > maxLast {
			s.Last = last[:maxLast]
		}
	}
	if was != s.State {
		s.window, s.Boot = stamp(now, 0), ""
		if s.State == open {
			s.window, s.Boot = stamp(now, b.opt.Window), b.opt.self().Boot
		}
	}
	return nil
}

var (
	errFailure  = errors.New("failure")
	errExcluded = errors.New("excluded")
)

// memory is the store that gobreaker sees: one state, and no lock, since all of
// it happens under ours.
type memory struct{ data []byte }

func (*memory) Lock(string) error                     { return nil }
func (*memory) Unlock(string) error                   { return nil }
func (m *memory) GetData(string) ([]byte, error)      { return m.data, nil }
func (m *memory) SetData(_ string, data []byte) error { m.data = data; return nil }

func (m *memory) put(s gobreaker.SharedState) (err error) {
	m.data, err = json.Marshal(s)
	return err
}

func (m *memory) get() (s gobreaker.SharedState, err error) {
	err = json.Unmarshal(m.data, &s)
	return s, err
}
