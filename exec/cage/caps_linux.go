package cage

import (
	"fmt"

	"golang.org/x/sys/unix"
)

type capData [2]unix.CapUserData

// getCaps reads the calling thread's capability sets, capget(2) version 3.
func getCaps() (unix.CapUserHeader, capData, error) {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data capData
	if err := unix.Capget(&hdr, &data[0]); err != nil {
		return hdr, data, fmt.Errorf("capget: %w", err)
	}
	return hdr, data, nil
}

func effective(d *capData) uint64 { return uint64(d[1].Effective)<<32 | uint64(d[0].Effective) }
func permitted(d *capData) uint64 { return uint64(d[1].Permitted)<<32 | uint64(d[0].Permitted) }

// The bits of securebits.h that the unix package does not name.
const secbitNoRoot, secbitNoRootLocked = 1 << 0, 1 << 1

// dropCaps leaves the thread the capabilities of keep that it has, and none
// that it could inherit or regain by execve.
//
// no_new_privs alone keeps execve from giving more than the permitted set
// holds (capabilities(7), Linux 3.5). Where CAP_SETPCAP is there, a second lock
// does so: with nothing kept, execve stops being special for root; else
// root's execve is to give what is kept, and the bounding set bounds it, at
// the price of a call for each capability (40 µs together, which a read-only
// call does not pay).
func dropCaps(keep []int) error {
	hdr, data, err := getCaps()
	if err != nil {
		return err
	}
	var mask uint64
	for _, c := range keep {
		if c < 0 || c > 63 {
			return fmt.Errorf("capability %d: %w", c, unix.EINVAL)
		}
		mask |= 1 << c
	}
	mask &= permitted(&data)
	if effective(&data)&(1<<unix.CAP_SETPCAP) != 0 {
		if mask == 0 {
			err = addSecurebits(secbitNoRoot | secbitNoRootLocked)
		} else {
			err = dropBounding(mask)
		}
		if err != nil {
			return err
		}
	}
	// EINVAL: no ambient set, before Linux 4.3.
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil && err != unix.EINVAL {
		return fmt.Errorf("prctl PR_CAP_AMBIENT_CLEAR_ALL: %w", err)
	}
	low, high := uint32(mask), uint32(mask>>32)
	data = capData{{Effective: low, Permitted: low}, {Effective: high, Permitted: high}}
	if err := unix.Capset(&hdr, &data[0]); err != nil {
		return fmt.Errorf("capset: %w", err)
	}
	return nil
}

// addSecurebits sets bits beside those that are set: they may be locked.
func addSecurebits(bits int) error {
	have, err := unix.PrctlRetInt(unix.PR_GET_SECUREBITS, 0, 0, 0, 0)
	if err != nil {
		return fmt.Errorf("prctl PR_GET_SECUREBITS: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_SECUREBITS, uintptr(have|bits), 0, 0, 0); err != nil {
		return fmt.Errorf("prctl PR_SET_SECUREBITS: %w", err)
	}
	return nil
}

// dropBounding leaves keep in the bounding set. The kernel says EINVAL beyond
// the last capability that it knows.
func dropBounding(keep uint64) error {
	for c := uintptr(0); c < 64; c++ {
		if keep&(1<<c) != 0 {
			continue
		}
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if err == unix.EINVAL {
			return nil
		}
		if err != nil {
			return fmt.Errorf("prctl PR_CAPBSET_DROP: %w", err)
		}
	}
	return nil
}
