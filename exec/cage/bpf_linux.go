//go:build linux && (amd64 || arm64)

package cage

import "golang.org/x/sys/unix"

// Classic BPF as seccomp(2) runs it: loads of 32 bit words of struct
// seccomp_data, jumps forward, and a return of what to do.
const (
	loadWord = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	andConst = unix.BPF_ALU | unix.BPF_AND | unix.BPF_K
	jumpTo   = unix.BPF_JMP | unix.BPF_JA
	jumpEq   = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	jumpGe   = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
	jumpSet  = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
	ret      = unix.BPF_RET | unix.BPF_K

	// Offsets in struct seccomp_data.
	offNumber = 0
	offArch   = 4
)

// offArg is where the low 32 bits of argument i lie: both machines that have a
// filter are little-endian.
func offArg(i int) uint32 { return 16 + 8*uint32(i) }

// program is assembled from its end, so that whatever is jumped to is there
// before the jump. The jumps go forward, as they must.
type program struct{ rev []unix.SockFilter }

// label is the place of an instruction, counted from the program's end.
type label int

func (p *program) emit(i unix.SockFilter) label {
	p.rev = append(p.rev, i)
	return label(len(p.rev) - 1)
}

func (p *program) ret(k uint32) label { return p.emit(unix.SockFilter{Code: ret, K: k}) }

// then emits an instruction that goes on with the one at next.
func (p *program) then(code uint16, k uint32, next label) label {
	if next != label(len(p.rev)-1) {
		p.emit(unix.SockFilter{Code: jumpTo, K: uint32(p.distance(next))})
	}
	return p.emit(unix.SockFilter{Code: code, K: k})
}

// branch emits a comparison with k.
func (p *program) branch(code uint16, k uint32, yes, no label) label {
	// Each trampoline moves the other target away by one.
	yes = p.near(yes, maxJump-1)
	no = p.near(no, maxJump)
	return p.emit(unix.SockFilter{Code: code, Jt: uint8(p.distance(yes)), Jf: uint8(p.distance(no)), K: k})
}

// maxJump is the farthest that a comparison jumps.
const maxJump = 255

// distance is how many instructions one emitted now would skip to reach l.
func (p *program) distance(l label) int { return len(p.rev) - 1 - int(l) }

// near is l, or something within reach that leads there.
func (p *program) near(l label, reach int) label {
	if p.distance(l) <= reach {
		return l
	}
	if target := p.rev[l]; target.Code == ret {
		return p.emit(target)
	}
	return p.emit(unix.SockFilter{Code: jumpTo, K: uint32(p.distance(l))})
}

// span is all numbers from its own to the next span's.
type span struct {
	from uint32
	to   label
}

// search emits a binary search of the loaded word. The first span must start
// at 0.
func (p *program) search(spans []span) label {
	if len(spans) == 1 {
		return spans[0].to
	}
	mid := len(spans) / 2
	high := p.search(spans[mid:])
	low := p.search(spans[:mid])
	return p.branch(jumpGe, spans[mid].from, high, low)
}

// code is the program in the order of execution, beginning at start.
func (p *program) code(start label) []unix.SockFilter {
	p.rev = p.rev[:start+1]
	code := make([]unix.SockFilter, len(p.rev))
	for i, ins := range p.rev {
		code[len(code)-1-i] = ins
	}
	return code
}
