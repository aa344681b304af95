// Package breaker is the health of installed tools: after a row of failures a
// tool's circuit opens, its calls are answered at once for a while, and then a
// single call may try whether it works again. The state lives in files, because
// a launcher lives for one call.
//
// The state machine is gobreaker's (closed, open, half-open; generations;
// exclusion). Its distributed breaker holds the store's lock for as long as the
// request runs, and reads the state before it locks; so here both its steps are
// short sections under a lock of our own, and the tool runs between them.
//
// A breaker is a convenience for callers, and no guard: where its state cannot
// be read, kept or locked, the call runs, and the Ticket says why. It does not
// protect against: a process of the same user, which can write any state; a
// probe by a process of another PID namespace, which seems to have died, so that
// a second one may run beside it.
package breaker

import (
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/wrapexec/wrap/argv"
)

// DirName is the name of the breakers' directory within the state directory.
const DirName = "breaker"

// Class is what a run says of the health of its tool. The zero Class says
// nothing: it counts neither way, and gives the place of a probe back.
type Class uint8

// The classes.
const (
	// Excluded: refused, malformed or cancelled calls, limits that the caller
	// set, and everything else that is no fault of the tool.
	Excluded Class = iota
	// Success ends a row of failures.
	Success
	// Failure adds to it.
	Failure
)

// String is "none", "success" or "failure".
func (c Class) String() string {
	switch c {
	case Success:
		return "success"
	case Failure:
		return "failure"
	default:
		return "none"
	}
}

// Key names one circuit.
type Key struct {
	// Module is the tool or subcommand, "git.log".
	Module string `json:"module"`
	// Path is the program's name, for people: it does not tell keys apart.
	Path string `json:"path,omitempty"`
	// Dev and Ino are the program's file: another installation starts afresh.
	Dev uint64 `json:"dev"`
	Ino uint64 `json:"ino"`
	// Root is where the call works.
	Root string `json:"root"`
	// Class is the kind of caller, "" for none in particular.
	Class string `json:"class,omitempty"`
}

// ErrOpen is what every OpenError is to errors.Is.
var ErrOpen = errors.New("circuit open")

// OpenError says that a circuit lets no call through now.
type OpenError struct {
	Module string
	// Failures is the length of the row, Last what the last of it was.
	Failures int
	Last     string
	// Probe: the time is over, and another call is trying the tool out.
	Probe bool
	// RetryAfter is when the next try is allowed, at the latest; it is above
	// zero. Until is the same as a time.
	RetryAfter time.Duration
	Until      time.Time
}

// Error is one escaped line: what failed, how often, when to come back.
func (e *OpenError) Error() string {
	s := "circuit open: " + argv.Escape(e.Module) + " failed " + strconv.Itoa(e.Failures) + " times in a row"
	if e.Last != "" {
		s += " (last: " + argv.Escape(e.Last) + ")"
	}
	// Rounded up: a caller who comes back then is let in.
	wait := (e.RetryAfter + time.Second - 1).Truncate(time.Second).String()
	if e.Probe {
		return s + "; one call is trying it now, the next try is allowed in " + wait + " at the latest"
	}
	return s + "; the next try is allowed in " + wait
}

// Is makes errors.Is(e, ErrOpen) true.
func (e *OpenError) Is(target error) bool { return target == ErrOpen }

// Options configure a Breaker. The zero Options are the defaults.
type Options struct {
	// Failures is how many in a row open a circuit, 0 for 5.
	Failures int
	// Window is how long it stays open, and how long a probe may take before
	// its place is given to another call; 0 for 30 seconds. At most a day.
	Window time.Duration

	// Tests make these up.
	now   func() time.Time
	self  func() process
	alive func(process) bool
}

// Breaker keeps circuits in one directory. It is safe for concurrent use and
// shares the directory with any number of other Breakers and processes.
type Breaker struct {
	store store
	opt   Options
}

// Open returns a Breaker that keeps its state in dir. Nothing is touched before a
// call is admitted, and nothing is written before one fails.
func Open(dir string, opt Options) *Breaker {
	if opt.Failures <= 0 {
		opt.Failures = 5
	}
	if opt.Window <= 0 {
		opt.Window = 30 * time.Second
	}
	opt.Window = min(opt.Window, maxWindow)
	if opt.now == nil {
		opt.now = time.Now
	}
	if opt.self == nil {
		opt.self = sync.OnceValue(self)
	}
	if opt.alive == nil {
		opt.alive = process.alive
	}
	return &Breaker{store: store{dir: dir}, opt: opt}
}

// Ticket is the permission to run one call. Its Report must be called once, when
// the call has ended; a Ticket that is dropped counts nothing, but if it was a
// probe, holds its place until the process ends or the window is over.
type Ticket struct {
	// Warning is nil, or why the state could not be read or changed. The call
	// may run all the same.
	Warning error
	// Probe: the call tries out a tool whose circuit was open.
	Probe bool

	b          *Breaker // nil: the call is not counted
	key        Key
	generation uint64
	token      string // of the probe's lease
}

// Admit asks whether a call may run; if not, the error is an *OpenError. limit is
// the time after which the caller ends the call, 0 for none: a probe with a limit
// above the window keeps its place for as long.
//
// While the tool never failed, Admit is one system call.
func (b *Breaker) Admit(key Key, limit time.Duration) (*Ticket, error) {
	t := &Ticket{b: b, key: key}
	s, err := b.store.load(key)
	if err != nil {
		t.Warning, s = err, fresh(key)
	}
	if s.State == closed {
		t.generation = s.Generation
		return t, nil
	}
	if open := b.refuse(s); open != nil {
		return nil, open
	}

	// The state has to change: a probe takes its place, or the window is moved
	// to a clock that was set back.
	unlock, err := b.store.lock()
	if err != nil {
		return &Ticket{Warning: err}, nil
	}
	defer unlock()
	if s, err = b.store.load(key); err != nil {
		return &Ticket{Warning: err}, nil
	}
	l, changed, err := b.probe(s, limit)
	if changed {
		if err := b.store.save(s); err != nil {
			// Nobody would see the lease. Better many probes than none.
			return &Ticket{Warning: err}, nil
		}
	}
	if open, ok := errors.AsType[*OpenError](err); ok {
		return nil, open
	}
	if err != nil {
		return &Ticket{Warning: err}, nil
	}
	t.generation = s.Generation
	if l != nil {
		t.Probe, t.token = true, l.Token
	}
	return t, nil
}

// Report tells how the call ended. last is a few words on a failure, for people.
// The error is only a warning: that the result could not be counted.
//
// A result of an older generation is ignored: one that ran while the circuit
// opened or closed, or whose place as a probe was given away. A nil Ticket
// counts nothing.
func (t *Ticket) Report(c Class, last string) error {
	if t == nil || t.b == nil || c == Excluded && !t.Probe {
		return nil
	}
	d := &t.b.store
	if c == Success && !t.Probe {
		// Without a row of failures there is nothing to end, and nothing to write.
		s, err := d.load(t.key)
		if err == nil && (s.State != closed || s.Failures == 0) || errors.Is(err, errFuture) {
			return err
		}
	}
	unlock, err := d.lock()
	if err != nil {
		return err
	}
	defer unlock()
	s, err := d.load(t.key)
	if errors.Is(err, errFuture) {
		return err
	}
	if err != nil {
		s = fresh(t.key) // what cannot be read is replaced
	}
	if s.Generation != t.generation || t.Probe && (s.Lease == nil || s.Lease.Token != t.token) {
		return nil
	}
	s.Lease = nil
	if err := t.b.step(s, c, last); err != nil {
		return err
	}
	return d.save(s)
}

// Entry is one circuit, for people.
type Entry struct {
	Key      Key
	State    string
	Failures int
	Last     string
	// Since is when the state began, RetryAfter when it ends if it is open or
	// being probed, 0 for now.
	Since      time.Time
	RetryAfter time.Duration
	// Holder is the process that runs the probe, 0 for none, and HeldSince when
	// it began.
	Holder    int
	HeldSince time.Time
	// File is the state's, and Err why it cannot be read; then it counts as
	// closed, and nothing else is set.
	File string
	Err  error
}

// List returns all circuits that ever failed, in the order of their files. A
// missing directory is none.
func (b *Breaker) List() ([]Entry, error) {
	names, err := b.store.names()
	if err != nil {
		return nil, err
	}
	var list []Entry
	for _, name := range names {
		e := Entry{File: b.store.path(name)}
		s, err := b.store.read(name)
		if err != nil {
			e.Err = err
			list = append(list, e)
			continue
		}
		if s == nil {
			continue // gone meanwhile
		}
		e.Key, e.State, e.Failures, e.Last, e.Since = s.Key, string(s.State), s.Failures, s.Last, s.Since
		if open := b.refuse(s); open != nil {
			e.RetryAfter = open.RetryAfter
		}
		if l := s.Lease; l != nil && b.holds(l) {
			e.Holder, e.HeldSince = l.Owner.PID, l.Since
		}
		list = append(list, e)
	}
	return list, nil
}
