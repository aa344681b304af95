package exec

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// running is one run of a child, from its start to the end of its tree.
type running struct {
	spec *spawnSpec
	lim  limits
	p    *proc
	tree *tree
	tty  *terminal        // nil without
	sigs chan os.Signal   // nil unless a launcher
	out  *capture         // nil unless captured
	sent []syscall.Signal // handed on to the child
	// reaping: SIGCHLD comes to sigs.
	reaping bool
}

// reapAfter is the age of a run at which its orphans begin to be reaped as they
// die. Most runs are over before, and need not pay for SIGCHLD.
const reapAfter = 50 * time.Millisecond

// run starts the child, waits for it, and ends everything that it started. An
// error is a *spawnError; the result is never nil and says spawn_failed then,
// or cancelled where ctx was done before the start.
//
// When ctx is done or the timeout is over, the whole tree gets TERM, the grace,
// KILL. A signal that reaches a launcher is handed on once, to the child's
// process group; one that came before the child was there, after its start.
func (spec *spawnSpec) run(ctx context.Context, lim limits) (*result, error) {
	began := time.Now()
	r := &running{spec: spec, lim: lim}
	if r.lim.grace == 0 {
		r.lim.grace = defaultGrace
	}
	res := &result{}
	err := r.start(ctx)
	if err == nil {
		res, err = r.finish(ctx)
	}
	r.close()
	if err != nil {
		res.outcome = err.(*spawnError).outcome() // start and finish make no other
	}
	res.outcome.DurationMS = time.Since(began).Milliseconds()
	return res, err
}

func (r *running) start(ctx context.Context) error {
	if ctx.Err() != nil {
		return &spawnError{stage: stageCanceled, err: context.Cause(ctx)}
	}
	spec := r.spec
	if spec.capture {
		var err error
		if r.out, err = newCapture(spec.maxOutput); err != nil {
			return &spawnError{stage: stageStreams, err: err}
		}
		copied := *spec
		copied.files[1], copied.files[2] = r.out.write[0], r.out.write[1]
		spec = &copied
	}
	if spec.subreaper {
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			return &spawnError{stage: stageStreams, err: err}
		}
	}
	var listening chan struct{}
	if spec.launcher {
		// Registering takes as long as the confinement; neither needs the other.
		r.sigs, listening = make(chan os.Signal, 64), make(chan struct{})
		r.tty = openTerminal(spec.files[0], spec.files[1])
		go func() { listen(r.sigs, r.tty != nil); close(listening) }()
	}
	r.tree = newTree(spec)
	p, err := start(spec, r.tty, listening)
	if err != nil {
		if listening != nil {
			<-listening // or it would register what close takes back
		}
		return err
	}
	r.p, r.tree.p = p, p
	if r.out != nil {
		r.out.start()
	}
	return nil
}

// finish waits for the child and ends its tree.
func (r *running) finish(ctx context.Context) (*result, error) {
	res := &result{outcome: Outcome{Kind: Exited, Quarantined: []string{}}}
	o := &res.outcome
	var expired <-chan time.Time
	if r.lim.timeout > 0 {
		timer := time.NewTimer(r.lim.timeout)
		defer timer.Stop()
		expired = timer.C
	}
	switch r.wait(ctx.Done(), expired, r.stopped) {
	case byTimeout:
		o.Kind = TimedOut
	case byContext:
		o.Kind = Cancelled
	case byItself:
		r.reclaim()
		r.drain(ctx.Done(), expired)
		r.settle(res, time.Now().Add(r.lim.grace), ctx.Done(), expired)
	}
	if o.Kind != Exited {
		grace := time.NewTimer(r.lim.grace)
		defer grace.Stop()
		deadline := time.Now().Add(r.lim.grace)
		r.tree.terminate()
		if r.wait(nil, grace.C, func(syscall.Signal) {}) == byTimeout {
			res.survivors = r.tree.kill()
		}
		r.reclaim()
		if r.p.hasExited() {
			r.settle(res, deadline, nil, nil)
		}
	}
	if r.out != nil {
		r.awaitEnd(drainQuiet)
		r.out.stop()
		res.stdout, res.stderr = &r.out.stdout, &r.out.stderr
	}
	err := r.p.describe(o)
	o.ours = o.Kind == Signaled && slices.Contains(r.sent, r.p.sig)
	return res, err
}

// cause is why a wait ended.
type cause int

const (
	byItself cause = iota // the child has ended
	byContext
	byTimeout
)

// wait waits for the child's end, or for what ends it, and hands on the signals
// that come meanwhile.
func (r *running) wait(done <-chan struct{}, expired <-chan time.Time, stopped func(syscall.Signal)) cause {
	var grown <-chan time.Time
	if r.sigs != nil && r.spec.subreaper && !r.reaping {
		timer := time.NewTimer(reapAfter)
		defer timer.Stop()
		grown = timer.C
	}
	for {
		why := byItself
		select {
		case <-r.p.exited:
		case <-done:
			why = byContext
		case <-expired:
			why = byTimeout
		case sig := <-r.sigs:
			r.forward(sig)
			continue
		case sig := <-r.p.stops:
			stopped(sig)
			continue
		case <-grown:
			r.reaping = true
			signal.Notify(r.sigs, unix.SIGCHLD)
			r.tree.reapDead()
			continue
		}
		if r.p.hasExited() { // both at once: it was in time
			return byItself
		}
		return why
	}
}

func (r *running) stopped(sig syscall.Signal) { r.tty.stopped(r.p, sig) }

func (r *running) forward(sig os.Signal) {
	switch sig {
	case unix.SIGCHLD:
		r.tree.reapDead()
		return
	case unix.SIGCONT:
		if r.tty != nil {
			r.tty.give(r.p.pid)
		}
	}
	r.sent = append(r.sent, sig.(syscall.Signal))
	r.p.signal(sig.(syscall.Signal))
}

func (r *running) reclaim() {
	if r.tty != nil {
		r.tty.reclaim()
	}
}

// drain gives those who still hold a captured pipe after the child's end the
// time to write what they have to write. When it returns with somebody holding
// one, they were silent for drainQuiet, or wrote on and on for drainBound, or
// the caller wants to wait no longer.
func (r *running) drain(done <-chan struct{}, expired <-chan time.Time) {
	if r.out == nil {
		return
	}
	bound := time.NewTimer(drainBound)
	defer bound.Stop()
	for {
		quiet := time.NewTimer(drainQuiet)
		select {
		case <-r.out.done:
			quiet.Stop()
			return
		case <-r.out.active:
			quiet.Stop()
			continue
		case <-quiet.C:
		case <-bound.C:
		case <-done:
		case <-expired:
		case sig := <-r.sigs:
			quiet.Stop()
			r.forward(sig)
			if !ends(sig) {
				continue
			}
		}
		break
	}
	if !r.spec.keepBackground {
		r.out.cut()
	}
}

// awaitEnd waits for the ends of the streams of a tree that has ended. Somebody
// outside it may hold them.
func (r *running) awaitEnd(quiet time.Duration) {
	timer := time.NewTimer(quiet)
	defer timer.Stop()
	select {
	case <-r.out.done:
	case <-timer.C:
	}
}

// ends reports whether a person who sends sig wants an end, now.
func ends(sig os.Signal) bool {
	return sig == unix.SIGINT || sig == unix.SIGTERM || sig == unix.SIGHUP || sig == unix.SIGQUIT
}

// settle ends what the child has left behind.
func (r *running) settle(res *result, deadline time.Time, done <-chan struct{}, expired <-chan time.Time) {
	if r.spec.keepBackground && res.outcome.Kind == Exited {
		res.outcome.LeftBehind = r.tree.count()
		return
	}
	res.outcome.LeftBehind, res.survivors = r.tree.settle(deadline, func() bool {
		select {
		case <-done:
		case <-expired:
		case sig := <-r.sigs:
			return ends(sig)
		default:
			return false
		}
		return true
	})
}

// describe says how the child ended.
func (p *proc) describe(o *Outcome) error {
	if !p.hasExited() {
		// Not even KILL ended it: it hangs in the kernel.
		o.Code, o.Signal = 128+int(unix.SIGKILL), signalName(unix.SIGKILL)
		return nil
	}
	o.MaxRSSKiB = int64(p.rusage.Maxrss) // an int32 on some systems
	if p.sig == 0 {
		o.Code = p.code
		return p.err
	}
	o.Code, o.Signal = 128+int(p.sig), signalName(p.sig)
	if o.Kind == Exited {
		o.Kind = Signaled
	}
	return nil
}

func (r *running) close() {
	if r.sigs != nil {
		signal.Stop(r.sigs)
	}
	r.reclaim() // after a start that failed: the child took it before its exec
	if r.tty != nil {
		r.tty.close()
	}
	if r.p != nil {
		r.tree.close()
		r.p.release()
	} else if r.out != nil {
		r.out.close()
	}
}
