package exec

import (
	"io"
	"os"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"
)

const (
	// drainQuiet is how long a captured pipe may stay silent after the child
	// has ended while somebody else still holds it; every chunk starts it anew.
	drainQuiet = 500 * time.Millisecond
	// drainBound ends the waiting for a holder that never falls silent.
	drainBound = 10 * time.Second

	readSize = 64 << 10
)

// stream keeps the first and the last half of what is written to it, and
// counts the rest. It is safe for concurrent use; the zero stream keeps nothing.
type stream struct {
	mu sync.Mutex
	// At most half bytes each. A full tail is a ring whose oldest byte is at next.
	head, tail []byte
	half, next int
	total      int64
	// ended: the pipe was read to its end. cut: somebody still held it when it
	// was left, or when they were ended.
	ended, cut bool
}

// Write takes everything and never fails.
func (s *stream) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(b)
	s.total += int64(n)
	if room := s.half - len(s.head); room > 0 {
		k := min(room, len(b))
		s.head, b = append(s.head, b[:k]...), b[k:]
	}
	if len(b) > s.half {
		// Only the end of a chunk that is larger than the ring can be kept.
		b = b[len(b)-s.half:]
	}
	if room := s.half - len(s.tail); room > 0 {
		k := min(room, len(b))
		s.tail, b = append(s.tail, b[:k]...), b[k:]
	}
	for len(b) > 0 {
		k := copy(s.tail[s.next:], b)
		s.next, b = (s.next+k)%s.half, b[k:]
	}
	return n, nil
}

// parts are the kept bytes, and how many lie between them.
func (s *stream) parts() (head, tail []byte, omitted int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tail = append(append(make([]byte, 0, len(s.tail)), s.tail[s.next:]...), s.tail[:s.next]...)
	return s.head, tail, s.total - int64(len(s.head)+len(tail))
}

// data is all that was kept, without a mark where bytes were left out.
func (s *stream) data() []byte {
	head, tail, _ := s.parts()
	return append(append(make([]byte, 0, len(head)+len(tail)), head...), tail...)
}

// report renders the stream. A text says in a line of its own what was left
// out, and that it was cut; for bytes that are no text only Truncated says so.
func (s *stream) report() StreamReport {
	s.mu.Lock()
	total, cut := s.total, s.cut
	s.mu.Unlock()
	head, tail, omitted := s.parts()
	r := StreamReport{Bytes: total, Truncated: omitted > 0 || cut}
	gap := ""
	if omitted > 0 {
		head, tail, omitted = wholeRunes(head, tail, omitted)
		gap = "\n[wrap: " + strconv.FormatInt(omitted, 10) + " bytes left out]\n"
	}
	text := string(head) + gap + string(tail)
	if !utf8.ValidString(text) {
		r.Base64 = s.data()
		return r
	}
	if cut {
		text += "\n[wrap: cut: a process that was left behind still held this stream]\n"
	}
	r.Text = &text
	return r
}

// wholeRunes moves the bytes of a rune that the gap runs through into the gap.
func wholeRunes(head, tail []byte, omitted int64) (h, t []byte, o int64) {
	for i := 1; i <= min(utf8.UTFMax-1, len(head)); i++ {
		if b := head[len(head)-i]; utf8.RuneStart(b) {
			if !utf8.FullRune(head[len(head)-i:]) {
				head, omitted = head[:len(head)-i], omitted+int64(i)
			}
			break
		}
	}
	n := 0
	for n < min(utf8.UTFMax-1, len(tail)) && !utf8.RuneStart(tail[n]) {
		n++
	}
	return head, tail[n:], omitted + int64(n)
}

// capture reads a child's stdout and stderr, both at once and to their ends
// whatever is kept of them, so that the child never blocks on a full pipe.
type capture struct {
	stdout, stderr stream
	read, write    [2]*os.File
	// active has a token after every chunk; done is closed when both are at
	// their end.
	active chan struct{}
	done   chan struct{}
}

// newCapture makes the pipes. limit bounds what is kept of each stream.
func newCapture(limit int64) (*capture, error) {
	c := &capture{active: make(chan struct{}, 1), done: make(chan struct{})}
	c.stdout.half, c.stderr.half = int((limit+1)/2), int((limit+1)/2)
	for i := range c.read {
		var err error
		if c.read[i], c.write[i], err = os.Pipe(); err != nil {
			c.close()
			return nil, err
		}
		growPipe(c.read[i])
	}
	return c, nil
}

// start leaves the writing ends to the child and reads. It is called once the
// child has been started.
func (c *capture) start() {
	var wg sync.WaitGroup
	for i, s := range [...]*stream{&c.stdout, &c.stderr} {
		c.write[i].Close()
		wg.Go(func() { c.pump(c.read[i], s) })
	}
	go func() { wg.Wait(); close(c.done) }()
}

func (c *capture) pump(r *os.File, s *stream) {
	buf := make([]byte, readSize)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			s.Write(buf[:n])
			select {
			case c.active <- struct{}{}:
			default:
			}
		}
		if err != nil {
			s.mu.Lock()
			s.ended = err == io.EOF // else: the deadline that stop sets
			s.cut = s.cut || !s.ended
			s.mu.Unlock()
			return
		}
	}
}

// cut says that what still holds the streams is about to be ended, so that what
// they bring may not be all.
func (c *capture) cut() {
	for _, s := range [...]*stream{&c.stdout, &c.stderr} {
		s.mu.Lock()
		s.cut = s.cut || !s.ended
		s.mu.Unlock()
	}
}

// stop ends the reading where it is and closes the pipes. It is called after
// start.
func (c *capture) stop() {
	for _, r := range c.read {
		r.SetReadDeadline(time.Unix(1, 0))
	}
	<-c.done
	c.close()
}

// close closes whatever is open of the pipes.
func (c *capture) close() {
	for i := range c.read {
		if c.read[i] != nil {
			c.read[i].Close()
			c.write[i].Close()
		}
	}
}
